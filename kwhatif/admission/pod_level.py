"""Pod-level resources: whether the API server keeps them, and their defaults."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from kwhatif.admission.same import with_parts
from kwhatif.kube.gates import Gates
from kwhatif.kube.matching.requests import CPU, HUGEPAGES_PREFIX, MEMORY, is_pod_level_resource, limited, requested
from kwhatif.kube.model.container import ResourceRequirements
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.quantity import QuantityText, amounts

#: With this feature gate the defaults are set after the admission plugins, otherwise before.
_AFTER_PLUGINS = "PodLevelResourcesFixDefaulting"


def without_disabled(pod: Pod, gates: Gates) -> Pod:
    """The pod without pod-level resources if `PodLevelResources` is off (`dropDisabledFields`)."""
    if pod.spec.resources is None or "PodLevelResources" in gates:
        return pod
    return _with(pod, None)


def default_before_plugins(pod: Pod, gates: Gates, default: Callable[[Pod], Pod]) -> Pod:
    """Apply `default` to the pod, before any admission plugin.

    Pod-level resources are dropped if they are disabled. If their defaults are set after the plugins, they do not
    change here.
    """
    pod = without_disabled(pod, gates)
    resources = pod.spec.resources
    if resources is None or _AFTER_PLUGINS not in gates:
        return default(pod)
    return _with(default(_with(pod, None)), resources)


def complete_pod_level(pod: Pod, gates: Gates) -> Pod:
    """Set defaults after the admission plugins (`DefaultPodLevelResources` in `pkg/api/pod/util.go`, 1.37)."""
    resources = pod.spec.resources
    if resources is None or _AFTER_PLUGINS not in gates or not (resources.limits or resources.requests):
        return pod
    limits = _with_huge_pages(pod.spec, resources)
    requests = _with_requests(pod.spec, resources, limits)
    together = limited(pod.spec)
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    for name in requests:
        everywhere = bool(containers) and all(name in each.resources.limits for each in containers)
        if everywhere and name not in limits and is_pod_level_resource(name):
            asked = amounts({name: requests[name]})[name]
            limits[name] = str(max(together[name], asked))
    return with_parts(pod, spec=_with_amounts(pod.spec, resources, limits, requests))


def default_pod_level(spec: PodSpec, resources: ResourceRequirements) -> PodSpec:
    """`defaultHugePagePodLimits`, then `defaultPodRequests`; containers must have their defaults already."""
    if not (resources.limits or resources.requests):
        return spec
    limits = _with_huge_pages(spec, resources)
    return _with_amounts(spec, resources, limits, _with_requests(spec, resources, limits)) if limits else spec


def _with_amounts(
    spec: PodSpec,
    resources: ResourceRequirements,
    limits: dict[str, QuantityText],
    requests: dict[str, QuantityText],
) -> PodSpec:
    if limits == resources.limits and requests == resources.requests:
        return spec
    return replace(spec, resources=replace(resources, limits=limits, requests=requests))


def _with_huge_pages(spec: PodSpec, resources: ResourceRequirements) -> dict[str, QuantityText]:
    """The default limits of huge pages are the combined limits of the containers."""
    limits = dict(resources.limits)
    for name, amount in limited(spec).items():
        if name.startswith(HUGEPAGES_PREFIX) and name not in resources.requests:
            limits.setdefault(name, str(amount))
    return limits


def _with_requests(
    spec: PodSpec, resources: ResourceRequirements, limits: dict[str, QuantityText]
) -> dict[str, QuantityText]:
    """The default requests are the combined requests of the containers, or the limit if there are none."""
    requests = dict(resources.requests)
    together = requested(spec)
    for name in (CPU, MEMORY):
        if name in together:
            requests.setdefault(name, str(together[name]))
    for name, limit in limits.items():
        if is_pod_level_resource(name):
            requests.setdefault(name, limit)
    return requests


def _with(pod: Pod, resources: ResourceRequirements | None) -> Pod:
    return replace(pod, spec=replace(pod.spec, resources=resources))
