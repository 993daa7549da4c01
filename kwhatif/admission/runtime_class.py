"""RuntimeClass: overhead, nodeSelector and tolerations (`plugin/pkg/admission/runtimeclass/admission.go`)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, forbidden
from kwhatif.kube.matching.requests import resource_nanos
from kwhatif.kube.matching.tolerations import NO_EXECUTE
from kwhatif.kube.model.affinity import Toleration
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.container import ResourceList
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import RuntimeClass, RuntimeClassScheduling

_OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_OWN_OVERHEAD = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


def apply_runtime_class(pod: Pod, cluster: Cluster) -> Pod | Denied:
    """The pod with what its RuntimeClass adds, or why it is rejected."""
    runtime_class = _class_of(pod, cluster)
    if isinstance(runtime_class, Denied):
        return runtime_class
    if runtime_class is not None and runtime_class.overhead is not None:
        overhead = runtime_class.overhead.pod_fixed
        if pod.spec.overhead and not _same(pod.spec.overhead, overhead):
            return forbidden(pod, _OTHER_OVERHEAD)
        pod = replace(pod, spec=replace(pod.spec, overhead=overhead))
    if runtime_class is None or runtime_class.scheduling is None:
        return pod
    return _apply_scheduling(pod, runtime_class.scheduling)


def check_overhead(pod: Pod, cluster: Cluster) -> Denied | None:
    """Check that the pod has the overhead of its RuntimeClass, and no other."""
    runtime_class = _class_of(pod, cluster)
    if isinstance(runtime_class, Denied):
        return runtime_class
    if runtime_class is None or runtime_class.overhead is None:
        return None if pod.spec.overhead is None else forbidden(pod, _OWN_OVERHEAD)
    same = _same(pod.spec.overhead, runtime_class.overhead.pod_fixed)
    return None if same else forbidden(pod, _OTHER_OVERHEAD)


def _class_of(pod: Pod, cluster: Cluster) -> RuntimeClass | Denied | None:
    name = pod.spec.runtime_class_name
    if name is None:
        return None
    found = cluster.get(RuntimeClass, name)
    return forbidden(pod, f'pod rejected: RuntimeClass "{name}" not found') if found is None else found


def _same(overhead: ResourceList | None, other: ResourceList) -> bool:
    return resource_nanos(overhead) == resource_nanos(other)


def _apply_scheduling(pod: Pod, scheduling: RuntimeClassScheduling) -> Pod | Denied:
    selector = pod.spec.node_selector or {}
    for key, value in scheduling.node_selector.items():
        if selector.get(key, value) != value:
            conflict = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            return forbidden(pod, f"conflict: {conflict}; pod.spec.nodeSelector[{key}] = {selector[key]}")
    both = {**selector, **scheduling.node_selector}
    tolerations = merge_tolerations((*pod.spec.tolerations, *scheduling.tolerations))
    spec = replace(pod.spec, node_selector=both or pod.spec.node_selector, tolerations=tolerations)
    return replace(pod, spec=spec)


def merge_tolerations(tolerations: Sequence[Toleration]) -> tuple[Toleration, ...]:
    """Drop tolerations that another one covers (`MergeTolerations` in `pkg/util/tolerations/tolerations.go`)."""
    merged: list[Toleration] = []
    for index, toleration in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if other != toleration)
        if not any(_covers(other, toleration) for other in (*merged, *later)):
            merged.append(toleration)
    return tuple(merged)


def _covers(wide: Toleration, narrow: Toleration) -> bool:
    """Whether the first tolerates everything that the second does (`isSuperset`)."""
    if wide == narrow:
        return True
    if narrow.key != wide.key and (wide.key or wide.operator != "Exists"):
        return False
    if wide.effect not in ("", narrow.effect):
        return False
    if wide.effect == NO_EXECUTE and _ends_before(wide, narrow):
        return False
    if wide.operator in ("", "Equal"):
        # QUIRK: an unset operator, which means Equal, is not covered by Equal.
        return narrow.operator == "Equal" and narrow.value == wide.value
    return wide.operator == "Exists"


def _ends_before(first: Toleration, second: Toleration) -> bool:
    """Whether the first ends earlier; a toleration without seconds never ends."""
    if first.toleration_seconds is None:
        return False
    return second.toleration_seconds is None or second.toleration_seconds > first.toleration_seconds
