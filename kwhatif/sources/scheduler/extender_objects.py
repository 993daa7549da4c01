"""Pods and nodes as an extender is sent them: whole, as the API server stores them.

Also with fields that scheduling does not read, and that a manifest may leave out: `pkg/apis/core/v1/defaults.go`,
`pkg/registry/core/pod/strategy.go`, and what Go writes of an empty field. An object that comes from an API server has
them already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.quantity import parse_amount, parse_quantity
from kwhatif.kube.model.saved import SessionOriginals
from kwhatif.sources.decoding.lenient import AddProblemWithHint, reader
from kwhatif.state.pod_info import PodInfo
from kwhatif.workloads.applied_template import without_nulls

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
    cleaned: dict[str, Any] = without_nulls(obj)
    for name in ("apiVersion", "kind"):
        cleaned.pop(name, None)
    cleaned.setdefault("metadata", {}).pop("managedFields", None)
    return cleaned


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


def overlay(whole: Any, before: Any, after: Any) -> Any:
    """The whole value with what differs between its partial views `before` and `after`; all are plain JSON values.

    What the partial view does not show stays as it is.
    """
    if before == after:
        return whole
    if isinstance(whole, dict) and isinstance(before, Mapping) and isinstance(after, Mapping):
        return _overlay_map(whole, before, after)
    if isinstance(whole, list) and isinstance(before, list) and isinstance(after, list):
        return _overlay_list(whole, before, after)
    return after


def _overlay_map(whole: dict[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in whole.items() if name in after or name not in before}
    changed = {
        # A partial view leaves out what is empty, although the whole may hold something that the view does not show.
        name: overlay(whole[name], before.get(name, {} if isinstance(value, Mapping) else None), value)
        if name in whole
        else value
        for name, value in after.items()
    }
    return kept | changed


def _overlay_list(whole: list[Any], before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    places = (_place(index, item, before, after) for index, item in enumerate(after))
    return [
        item if place is None or place >= len(whole) else overlay(whole[place], before[place], item)
        for place, item in zip(places, after, strict=True)
    ]


def _place(index: int, item: Any, before: Sequence[Any], after: Sequence[Any]) -> int | None:
    """Where the item of `after` stood: in a list of the same length where it stands now, else by value or name."""
    if len(before) == len(after):
        return index
    if item in before:
        return before.index(item)
    name = item.get("name") if isinstance(item, Mapping) else None
    if name is None:
        return None
    names = (other.get("name") if isinstance(other, Mapping) else None for other in before)
    return next((place for place, other in enumerate(names) if other == name), None)


class WholeObjects:
    """Makes the JSON of pods and nodes from their originals, with what admission has changed since."""

    def __init__(self, originals: SessionOriginals) -> None:
        self._originals = originals
        #: Nodes by name: they stay the same from pod to pod, and are large.
        self._nodes: dict[str, tuple[Node, msgspec.Raw]] = {}

    def candidate(self, pod: PodInfo) -> dict[str, Any]:
        """The pod that looks for a node."""
        stored, candidates = self._originals
        original = candidates.get("Pod", pod.key)
        return self._pod(pod, stored.get("Pod", pod.key) if original is None else original)

    def victim(self, pod: PodInfo) -> dict[str, Any]:
        """A pod that has a node."""
        return self._pod(pod, self._originals.stored.get("Pod", pod.key))

    def node(self, node: Node) -> msgspec.Raw:
        """A node."""
        name = node.metadata.name
        known = self._nodes.get(name)
        if known is None or known[0] is not node:
            whole = _whole(self._originals.stored.get("Node", name), node)
            complete_node(whole)
            known = self._nodes[name] = node, msgspec.Raw(msgspec.json.encode(whole))
        return known[1]

    def remember(self, node: Node, whole: object) -> None:
        """This is what the node looks like: an extender has said so."""
        self._nodes[node.metadata.name] = node, msgspec.Raw(msgspec.json.encode(whole))

    def _pod(self, pod: PodInfo, original: dict[str, Any] | None) -> dict[str, Any]:
        whole = _whole(original, pod.pod)
        complete_pod(whole, pod.uid)
        return whole


def _whole(original: dict[str, Any] | None, obj: Model) -> dict[str, Any]:
    after = _plain(obj)
    if original is None:
        return as_informed(after)
    before = _plain(read_object(type(obj), original, lambda *_: None))
    changed: dict[str, Any] = overlay(original, before, after)
    return as_informed(changed)


def _plain(obj: Model) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    plain.get("metadata", {}).pop("kwhatif.dev/applied", None)
    return plain


def read_object(type_: type[Model], value: Any, add: AddProblemWithHint) -> Any:
    """Parsed JSON as a pod or a node, read as Go reads it; `add` hears what is wrong.

    Raises:
        msgspec.ValidationError: something is, and so much that there is no object.
    """
    read = reader(type_)(value, (), add)
    return msgspec.convert(read | {"kind": type_.__name__}, type_)
