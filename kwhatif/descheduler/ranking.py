"""The order of evictions: by priority, then by QoS class (`descheduler/pod/pods.go`, `utils/qos.go`)."""

from __future__ import annotations

from kwhatif.kube.matching.qos import qos_class
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.pod import Pod

_CLASSES = ("BestEffort", "Burstable", "Guaranteed")


def sort_by_priority(pods: list[Pod]) -> None:
    """Sort in place: low priority before high, then BestEffort, Burstable, Guaranteed.

    QUIRK: (SortPodsBasedOnPriorityLowToHigh) each of two equal pods is less than the other, so equals are swapped.
    """
    go_sort(pods, _goes_before)


def _goes_before(one: Pod, other: Pod) -> bool:
    mine, others = one.spec.priority, other.spec.priority
    if mine != others:
        return mine is None or (others is not None and mine < others)
    my_class, other_class = qos_class(one), qos_class(other)
    if my_class != other_class or my_class not in _CLASSES:
        return my_class == "BestEffort" or (my_class == "Burstable" and other_class == "Guaranteed")
    annotations, other_annotations = one.metadata.annotations, other.metadata.annotations
    return annotations.prefer_no_eviction is None or other_annotations.prefer_no_eviction is not None
