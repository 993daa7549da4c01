"""Four admission plugins: DefaultTolerationSeconds, NamespaceLifecycle, Priority and LimitRanger.

(`plugin/pkg/admission/defaulttolerationseconds`, `apiserver/pkg/admission/plugin/namespace/lifecycle`,
`plugin/pkg/admission/priority` and `plugin/pkg/admission/limitranger`, each in its `admission.go`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, Forbidden, LimitRangeViolated, ObjectNotFound, forbidden
from kwhatif.admission.same import each, with_parts
from kwhatif.kube.matching.field_errors import aggregate
from kwhatif.kube.matching.nodes import NO_EXECUTE
from kwhatif.kube.matching.requests import CPU, MEMORY, limited, requested
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster, KubernetesObject
from kwhatif.kube.model.kinds import in_namespace
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import Container, ResourceList, ResourceRequirements, Toleration
from kwhatif.kube.model.policy import LimitRange, LimitRangeItem, PriorityClass
from kwhatif.kube.model.quantity import MAX_INT64, Quantity, amounts, milli_value, value
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import Namespace

DEFAULT_TOLERATIONS = tuple(
    Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=300)
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)


def add_default_tolerations(pod: Pod) -> Pod:
    """Tolerate nodes that are not ready or unreachable for five minutes, unless the pod has its own tolerations."""
    tolerations = pod.spec.tolerations
    missing = tuple(default for default in DEFAULT_TOLERATIONS if not _speaks_of(default.key, tolerations))
    return replace(pod, spec=replace(pod.spec, tolerations=tolerations + missing)) if missing else pod


def _speaks_of(key: str, tolerations: tuple[Toleration, ...]) -> bool:
    return any(toleration.key in ("", key) and toleration.effect in ("", NO_EXECUTE) for toleration in tolerations)


#: Namespaces that the API server creates itself.
ALWAYS_THERE = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})


def check_namespace(obj: KubernetesObject, cluster: Cluster) -> Denied | None:
    """The rejection of an object whose namespace is missing or terminating.

    A cluster without any Namespace is a dump of other kinds: then nothing is known, and nothing is rejected.
    """
    name = obj.metadata.namespace
    namespace = cluster.get(Namespace, name)
    if namespace is None:
        if name in ALWAYS_THERE or not cluster.all(Namespace):
            return None
        return Denied(f'namespaces "{name}" not found', ObjectNotFound("Namespace", name))
    if namespace.metadata.deletion_timestamp is None:
        return None
    reason = f"unable to create new content in namespace {name} because it is being terminated"
    return forbidden(obj, reason, Forbidden("NamespaceLifecycle"))


def no_priority_class(obj: KubernetesObject, name: str) -> Denied:
    """The rejection of an object that names a PriorityClass that does not exist."""
    return forbidden(obj, f"no PriorityClass with name {name} was found", ObjectNotFound("PriorityClass", name))


DEFAULT_POLICY = "PreemptLowerPriority"


class PriorityClasses:
    """The priority classes of a cluster."""

    def __init__(self, classes: Iterable[PriorityClass]) -> None:
        self._by_name = {priority_class.metadata.name: priority_class for priority_class in classes}
        defaults = [priority_class for priority_class in self._by_name.values() if priority_class.global_default]
        #: The class of pods that name none. There can be two only by a race; then the lower one counts.
        self.default = min(defaults, key=lambda priority_class: priority_class.value, default=None)

    def of(self, pod: Pod) -> PriorityClass | None:
        """The class that the pod names, or the global default if it names none."""
        name = pod.spec.priority_class_name
        return self._by_name.get(name) if name else self.default

    def lacks(self, pod: Pod) -> bool:
        """Whether the pod's priority is unknown: it names a missing class, and has no number."""
        spec = pod.spec
        return (
            spec.priority is None and bool(spec.priority_class_name) and spec.priority_class_name not in self._by_name
        )


def classes_above(priority: int, cluster: Cluster, *, evicting: bool = True) -> list[PriorityClass]:
    """The classes of a higher priority, the lowest first, without the two system classes.

    `evicting`: only those whose pods may evict others.
    """
    found = [
        each
        for each in cluster.all(PriorityClass).values()
        if each.value > priority
        and each.metadata.name not in SYSTEM_PRIORITY_CLASSES
        and not (evicting and each.preemption_policy == "Never")
    ]
    return sorted(found, key=lambda each: (each.value, each.metadata.name))


def resolve_priority(pod: Pod, classes: PriorityClasses) -> Pod:
    """The pod with its priority: `spec.priority` if set, otherwise by class; the same object if it is complete.

    For pods that a cluster has admitted, and for pods that are treated like that. Values that admission would reject
    are kept; an unknown class counts as 0 (see `PriorityClasses.lacks`), as it does for the scheduler.
    """
    spec = pod.spec
    if spec.priority is not None and (spec.preemption_policy or not spec.priority_class_name):
        return pod
    priority_class = classes.of(pod)
    value, policy = _value_and_policy(priority_class)
    if spec.priority is not None:
        if priority_class is None:
            return pod
        return replace(pod, spec=replace(spec, preemption_policy=policy))
    return replace(
        pod,
        spec=replace(
            spec,
            priority=value,
            priority_class_name=spec.priority_class_name or _name(priority_class),
            preemption_policy=spec.preemption_policy or policy,
        ),
    )


def admit_priority(pod: Pod, classes: PriorityClasses) -> Pod | Denied:
    """The pod after Priority admission, or why it is rejected."""
    spec = pod.spec
    priority_class = classes.of(pod)
    if priority_class is None and spec.priority_class_name:
        return no_priority_class(pod, spec.priority_class_name)
    value, policy = _value_and_policy(priority_class)
    if spec.priority not in (None, value):
        return not_computed(pod, f"integer value of priority ({spec.priority})", "pod spec", value)
    if spec.preemption_policy not in ("", policy):
        return not_computed(pod, f"string value of PreemptionPolicy ({spec.preemption_policy})", "pod spec", policy)
    name = _name(priority_class)
    return replace(pod, spec=replace(spec, priority=value, priority_class_name=name, preemption_policy=policy))


def not_computed(obj: KubernetesObject, given: str, where: str, computed: object) -> Denied:
    """The rejection of an object with another value than that of its PriorityClass."""
    reason = (
        f"the {given} must not be provided in {where};"
        f" priority admission controller computed {computed} from the given PriorityClass name"
    )
    return forbidden(obj, reason, Forbidden("Priority"))


def _value_and_policy(priority_class: PriorityClass | None) -> tuple[int, str]:
    if priority_class is None:
        return 0, DEFAULT_POLICY
    return priority_class.value, priority_class.preemption_policy


def _name(priority_class: PriorityClass | None) -> str:
    return priority_class.metadata.name if priority_class else ""


# --- LimitRanger: defaults and bounds of requests and limits ------------------------------------------
# Upstream applies the LimitRanges of a namespace in no fixed order; here they are sorted by name. Constraints that
# iterate over a map are sorted by resource name.

_CONTAINER, _POD, _CLAIM = "Container", "Pod", "PersistentVolumeClaim"
#: The largest quantity whose milli-units fit into 64 bits (`resource.MaxMilliValue`).
_MAX_MILLI_VALUE = MAX_INT64 // 1000

Amounts = Mapping[str, int]
Constraint = Callable[[str, str, Quantity, Amounts, Amounts], str | None]


# --- defaults ----------------------------------------------------------------------------------------


def fill_in_limits(pod: Pod, cluster: Cluster) -> Pod:
    """The pod with the default requests and limits of its namespace."""
    for limits in in_namespace(LimitRange, pod.metadata.namespace, cluster):
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
    for limits in in_namespace(LimitRange, pod.metadata.namespace, cluster):
        messages = [message for item in limits.spec.limits for message in _objections(item, pod)]
        if messages:
            return forbidden(pod, aggregate(messages), LimitRangeViolated())
    return None


def check_claim_limits(claim: PersistentVolumeClaim, cluster: Cluster) -> Denied | None:
    """The rejection of a claim that requests more storage, or less, than its namespace allows."""
    requests = amounts(claim.spec.resources.requests)
    for limits in in_namespace(LimitRange, claim.metadata.namespace, cluster):
        items = [item for item in limits.spec.limits if item.type == _CLAIM]
        messages = [message for item in items for message in _constrain(_min, item.min, _CLAIM, requests, {})]
        messages += [message for item in items for message in _constrain(_max_request, item.max, _CLAIM, requests, {})]
        if messages:
            return forbidden(claim, aggregate(messages), LimitRangeViolated())
    return None


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
    bounded = f"minimum {name} usage per {kind} is {bound}"
    request, limit, minimum = _comparable(requests.get(name, 0), limits.get(name, 0), bound)
    if name not in requests:
        return f"{bounded}.  No request is specified"
    if request < minimum:
        return f"{bounded}, but request is {requests[name]}"
    return f"{bounded}, but limit is {limits[name]}" if name in limits and limit < minimum else None


def _max(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str | None:
    bounded = f"maximum {name} usage per {kind} is {bound}"
    request, limit, maximum = _comparable(requests.get(name, 0), limits.get(name, 0), bound)
    if name not in limits:
        return f"{bounded}.  No limit is specified"
    if limit > maximum:
        return f"{bounded}, but limit is {limits[name]}"
    return f"{bounded}, but request is {requests[name]}" if name in requests and request > maximum else None


def _max_request(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str | None:
    del limits
    bounded = f"maximum {name} usage per {kind} is {bound}"
    if name not in requests:
        return f"{bounded}.  No request is specified"
    request, maximum = _comparable(requests[name], bound)
    return f"{bounded}, but request is {requests[name]}" if request > maximum else None


def _ratio(name: str, kind: str, bound: Quantity, requests: Amounts, limits: Amounts) -> str | None:
    bounded = f"{name} max limit to request ratio per {kind} is {bound}"
    request, limit, _ = _comparable(requests.get(name, 0), limits.get(name, 0), bound)
    if not request:
        return f"{bounded}, but no request is specified or request is 0"
    if not limit:
        return f"{bounded}, but no limit is specified or limit is 0"
    # Computed in floating point, with upstream's rounding.
    ratio = limit / request
    return f"{bounded}, but provided ratio is {ratio:f}" if ratio * 1000 > milli_value(bound) else None
