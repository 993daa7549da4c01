"""LimitRanger: default requests and limits of containers, and their bounds.

(`plugin/pkg/admission/limitranger/admission.go`.) Upstream applies several LimitRanges of a namespace in arbitrary
order; here they are sorted by name. Constraints that iterate over a map are sorted by resource name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, LimitRangeViolated, forbidden
from kwhatif.admission.same import each, with_parts
from kwhatif.kube.matching.requests import CPU, MEMORY, limited, requested
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import Container, ResourceList, ResourceRequirements
from kwhatif.kube.model.policy import LimitRange, LimitRangeItem
from kwhatif.kube.model.quantity import MAX_INT64, Quantity, amounts, milli_value, value
from kwhatif.kube.model.storage import PersistentVolumeClaim

_CONTAINER, _POD, _CLAIM = "Container", "Pod", "PersistentVolumeClaim"
#: The largest quantity whose milli-units fit into 64 bits (`resource.MaxMilliValue`).
_MAX_MILLI_VALUE = MAX_INT64 // 1000

Amounts = Mapping[str, int]
Constraint = Callable[[str, str, Quantity, Amounts, Amounts], str | None]


def _by_namespace(cluster: Cluster) -> Mapping[str, Sequence[LimitRange]]:
    found: dict[str, list[LimitRange]] = {}
    for limits in cluster.all(LimitRange).values():
        found.setdefault(limits.metadata.namespace, []).append(limits)
    return found


def limit_ranges(namespace: str, cluster: Cluster) -> Sequence[LimitRange]:
    """The LimitRanges of a namespace."""
    return cluster.derived(_by_namespace, LimitRange).get(namespace, ())


# --- defaults ----------------------------------------------------------------------------------------


def fill_in_limits(pod: Pod, cluster: Cluster) -> Pod:
    """The pod with the default requests and limits of its namespace."""
    for limits in limit_ranges(pod.metadata.namespace, cluster):
        fill, spec = partial(_fill, _defaults(limits)), pod.spec
        containers, init_containers = each(fill, spec.containers), each(fill, spec.init_containers)
        pod = with_parts(pod, spec=with_parts(spec, containers=containers, init_containers=init_containers))
    return pod


def _defaults(limits: LimitRange) -> ResourceRequirements:
    requests: ResourceList = {}
    ceilings: ResourceList = {}
    for item in limits.spec.limits:
        if item.type == _CONTAINER:
            requests |= item.default_request
            ceilings |= item.default
    return ResourceRequirements(requests=requests, limits=ceilings)


def _fill(defaults: ResourceRequirements, container: Container) -> Container:
    own = container.resources
    if defaults.requests.keys() <= own.requests.keys() and defaults.limits.keys() <= own.limits.keys():
        return container
    resources = replace(own, requests={**defaults.requests, **own.requests}, limits={**defaults.limits, **own.limits})
    return replace(container, resources=resources)


# --- constraints -------------------------------------------------------------------------------------


def check_limits(pod: Pod, cluster: Cluster) -> Denied | None:
    """The rejection of a pod that requests more, or less, than its namespace allows."""
    for limits in limit_ranges(pod.metadata.namespace, cluster):
        messages = [message for item in limits.spec.limits for message in _objections(item, pod)]
        if messages:
            return forbidden(pod, _together(messages), LimitRangeViolated())
    return None


def check_claim_limits(claim: PersistentVolumeClaim, cluster: Cluster) -> Denied | None:
    """The rejection of a claim that requests more storage, or less, than its namespace allows."""
    requests = amounts(claim.spec.resources.requests)
    for limits in limit_ranges(claim.metadata.namespace, cluster):
        items = [item for item in limits.spec.limits if item.type == _CLAIM]
        messages = [message for item in items for message in _constrain(_min, item.min, _CLAIM, requests, {})]
        messages += [message for item in items for message in _constrain(_max_request, item.max, _CLAIM, requests, {})]
        if messages:
            return forbidden(claim, _together(messages), LimitRangeViolated())
    return None


def _together(messages: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _objections(item: LimitRangeItem, pod: Pod) -> Iterator[str]:
    if item.type == _CONTAINER:
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            resources = container.resources
            yield from _violations(item, amounts(resources.requests), amounts(resources.limits))
    elif item.type == _POD:
        requests, limits = requested(pod.spec), limited(pod.spec)
        if pod.spec.resources is not None:
            requests |= _pod_level(pod.spec.resources.requests)
            limits |= _pod_level(pod.spec.resources.limits)
        yield from _violations(item, requests, limits)


def _pod_level(resources: ResourceList) -> dict[str, Quantity]:
    """QUIRK: LimitRanger supports only cpu and memory of pod-level resources."""
    return {name: amount for name, amount in amounts(resources).items() if name in (CPU, MEMORY)}


def _violations(item: LimitRangeItem, requests: Amounts, limits: Amounts) -> Iterator[str]:
    yield from _constrain(_min, item.min, item.type, requests, limits)
    yield from _constrain(_max, item.max, item.type, requests, limits)
    yield from _constrain(_ratio, item.max_limit_request_ratio, item.type, requests, limits)


def _constrain(
    constraint: Constraint, bounds: ResourceList, kind: str, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    for name, bound in amounts(bounds).items():
        message = constraint(name, kind, bound, requests, limits)
        if message is not None:
            yield message


def _comparable(*quantities: int) -> tuple[int, ...]:
    """The quantities in milli-units if all fit, otherwise in units."""
    milli = all(value(nanos) <= _MAX_MILLI_VALUE for nanos in quantities)
    return tuple(milli_value(nanos) if milli else value(nanos) for nanos in quantities)


def _min(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str | None:
    said = f"minimum {name} usage per {kind} is {bound}"
    request, limit, least = _comparable(requests.get(name, 0), limits.get(name, 0), bound)
    if name not in requests:
        return f"{said}.  No request is specified"
    if request < least:
        return f"{said}, but request is {requests[name]}"
    return f"{said}, but limit is {limits[name]}" if name in limits and limit < least else None


def _max(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str | None:
    said = f"maximum {name} usage per {kind} is {bound}"
    request, limit, most = _comparable(requests.get(name, 0), limits.get(name, 0), bound)
    if name not in limits:
        return f"{said}.  No limit is specified"
    if limit > most:
        return f"{said}, but limit is {limits[name]}"
    return f"{said}, but request is {requests[name]}" if name in requests and request > most else None


def _max_request(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str | None:
    del limits
    said = f"maximum {name} usage per {kind} is {bound}"
    if name not in requests:
        return f"{said}.  No request is specified"
    request, most = _comparable(requests[name], bound)
    return f"{said}, but request is {requests[name]}" if request > most else None


def _ratio(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str | None:
    said = f"{name} max limit to request ratio per {kind} is {bound}"
    request, limit, _ = _comparable(requests.get(name, 0), limits.get(name, 0), bound)
    if not request:
        return f"{said}, but no request is specified or request is 0"
    if not limit:
        return f"{said}, but no limit is specified or limit is 0"
    # In floating point, with upstream's rounding.
    ratio = limit / request
    return f"{said}, but provided ratio is {ratio:f}" if ratio * 1000 > milli_value(bound) else None
