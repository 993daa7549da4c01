"""What every stored pod and node has, and a manifest need not say: fields that scheduling does not read.

Follows `pkg/apis/core/v1/defaults.go`, `pkg/registry/core/pod/strategy.go`, and what Go writes of an empty field. An
object that comes from an API server has all of it already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kwhatif.kube.model.quantity import parse_amount, parse_quantity

_SYSTEM_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
_QOS_RESOURCES = ("cpu", "memory")


def as_informed(obj: dict[str, Any]) -> dict[str, Any]:
    """The object as the scheduler's informers hold it: without its kind, managed fields, and whatever is null."""
    cleaned: dict[str, Any] = _without_nulls(obj)
    for name in ("apiVersion", "kind"):
        cleaned.pop(name, None)
    cleaned.setdefault("metadata", {}).pop("managedFields", None)
    return cleaned


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def complete_node(node: dict[str, Any]) -> None:
    """Fill in what a stored node has."""
    node.setdefault("spec", {})
    status = node.setdefault("status", {})
    for name in ("capacity", "allocatable"):
        if name in status:
            status[name] = _canonical(status[name])
    status.setdefault("daemonEndpoints", {"kubeletEndpoint": {"Port": 0}})
    info = status.setdefault("nodeInfo", {})
    for name in _SYSTEM_INFO:
        info.setdefault(name, "")


def complete_pod(pod: dict[str, Any], uid: str) -> None:
    """Fill in what a stored pod has. A pod that does not exist yet gets a UID, by which answers may name it."""
    metadata = pod.setdefault("metadata", {})
    if not metadata.get("uid"):
        metadata["uid"] = uid
    metadata.setdefault("generation", 1)
    spec = pod.setdefault("spec", {})
    for container in (*spec.setdefault("containers", []), *spec.get("initContainers", ())):
        _complete_container(container)
    for name, value in (
        ("restartPolicy", "Always"),
        ("terminationGracePeriodSeconds", 30),
        ("dnsPolicy", "ClusterFirst"),
        ("securityContext", {}),
        ("enableServiceLinks", True),
    ):
        spec.setdefault(name, value)
    if "overhead" in spec:
        spec["overhead"] = _canonical(spec["overhead"])
    if "resources" in spec:
        _canonicalize(spec["resources"])
    status = pod.setdefault("status", {})
    status.setdefault("phase", "Pending")
    status.setdefault("qosClass", qos_class(spec))


def _complete_container(container: dict[str, Any]) -> None:
    container.setdefault("name", "")
    _canonicalize(container.setdefault("resources", {}))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))


def _pull_policy(image: str) -> str:
    """The newest image is always pulled; a digest names exactly one."""
    name, at, _ = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    if not tag:
        return "IfNotPresent" if at or not image else "Always"
    return "Always" if tag == "latest" else "IfNotPresent"


def _canonicalize(resources: dict[str, Any]) -> None:
    for name in ("limits", "requests"):
        if name in resources:
            resources[name] = _canonical(resources[name])


def _canonical(resources: Mapping[str, Any]) -> dict[str, str]:
    """Quantities as the API server writes them."""
    return {name: str(parse_amount(quantity)) for name, quantity in resources.items()}


def qos_class(spec: Mapping[str, Any]) -> str:
    """`ComputePodQOS` (`pkg/apis/core/v1/helper/qos/qos.go`)."""
    whole = spec.get("resources") or {}
    parts = [whole]
    if not (whole.get("requests") or whole.get("limits")):
        containers = (*spec.get("containers", ()), *spec.get("initContainers", ()))
        parts = [container.get("resources") or {} for container in containers]
    requests, _ = _sum(part.get("requests") or {} for part in parts)
    limits, all_limited = _sum(part.get("limits") or {} for part in parts)
    if not requests and not limits:
        return "BestEffort"
    guaranteed = all_limited and requests == limits
    return "Guaranteed" if guaranteed else "Burstable"


def _sum(resources: Iterable[Mapping[str, Any]]) -> tuple[dict[str, int], bool]:
    """Sums of cpu and memory, and whether every part has some of both."""
    total: dict[str, int] = {}
    complete = True
    for part in resources:
        amounts = {name: parse_quantity(part[name]) for name in _QOS_RESOURCES if name in part}
        positive = {name: nanos for name, nanos in amounts.items() if nanos > 0}
        complete = complete and len(positive) == len(_QOS_RESOURCES)
        for name, nanos in positive.items():
            total[name] = total.get(name, 0) + nanos
    return total, complete
