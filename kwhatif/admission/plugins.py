"""Three small admission plugins: DefaultTolerationSeconds, NamespaceLifecycle and Priority.

(`plugin/pkg/admission/defaulttolerationseconds`, `apiserver/pkg/admission/plugin/namespace/lifecycle` and
`plugin/pkg/admission/priority`, each in its `admission.go`.)
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, Forbidden, ObjectNotFound, forbidden
from kwhatif.kube.matching.tolerations import NO_EXECUTE
from kwhatif.kube.model.affinity import Toleration
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES, Cluster, KubernetesObject
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PriorityClass
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
    """The classes of a higher priority, without those of the system, the lowest first.

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

    For pods that a cluster has admitted, and for pods that are treated like that. What admission would reject is kept;
    an unknown class counts as 0 (see `PriorityClasses.lacks`), as it does for the scheduler.
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
        return forbidden(
            pod,
            f"the integer value of priority ({spec.priority}) must not be provided in pod spec;"
            f" priority admission controller computed {value} from the given PriorityClass name",
            Forbidden("Priority"),
        )
    if spec.preemption_policy not in ("", policy):
        return forbidden(
            pod,
            f"the string value of PreemptionPolicy ({spec.preemption_policy}) must not be provided in pod spec;"
            f" priority admission controller computed {policy} from the given PriorityClass name",
            Forbidden("Priority"),
        )
    name = _name(priority_class)
    return replace(pod, spec=replace(spec, priority=value, priority_class_name=name, preemption_policy=policy))


def _value_and_policy(priority_class: PriorityClass | None) -> tuple[int, str]:
    if priority_class is None:
        return 0, DEFAULT_POLICY
    return priority_class.value, priority_class.preemption_policy


def _name(priority_class: PriorityClass | None) -> str:
    return priority_class.metadata.name if priority_class else ""
