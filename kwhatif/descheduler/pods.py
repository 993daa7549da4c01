"""What strategies ask about pods: tolerations, the order of evictions, states of containers.

(`descheduler/pod/pods.go`, `utils/qos.go`, `utils/predicates.go`.) QUIRK: the descheduler always supports the operators
`Lt` and `Gt` of tolerations; kube-scheduler 1.36 does so only if a feature gate is on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kwhatif.kube.matching.nodes import NO_EXECUTE, NO_SCHEDULE, tolerates
from kwhatif.kube.matching.requests import qos_class
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.node import Taint
from kwhatif.kube.model.pod import ContainerState, Pod


def keeps_away(taint: Taint) -> bool:
    """Whether the taint keeps new pods away."""
    return taint.effect in (NO_SCHEDULE, NO_EXECUTE)


def untolerated(pod: Pod, taints: Sequence[Taint], counts: Callable[[Taint], bool] = lambda _: True) -> Taint | None:
    """The first relevant taint that the pod does not tolerate."""
    for taint in taints:
        if counts(taint) and not any(
            tolerates(toleration, taint, compares=True) for toleration in pod.spec.tolerations
        ):
            return taint
    return None


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


def states(pod: Pod, *, init: bool, ephemeral: bool = False) -> Iterator[ContainerState]:
    """The states of the pod's containers, and of its init and ephemeral containers if requested."""
    status = pod.status
    for counts, statuses in (
        (True, status.container_statuses),
        (init, status.init_container_statuses),
        (ephemeral, status.ephemeral_container_statuses),
    ):
        for row in statuses if counts else ():
            if row.state is not None:
                yield row.state


def waiting_reasons(pod: Pod, *, init: bool, ephemeral: bool = False) -> Sequence[str]:
    """The reasons of waiting containers."""
    return [state.waiting.reason for state in states(pod, init=init, ephemeral=ephemeral) if state.waiting is not None]


def reasons(pod: Pod, *, init: bool, ephemeral: bool = False) -> Sequence[str]:
    """The reasons of waiting containers, then those of terminated ones."""
    ended = [state.terminated for state in states(pod, init=init, ephemeral=ephemeral) if state.terminated is not None]
    return [*waiting_reasons(pod, init=init, ephemeral=ephemeral), *(state.reason for state in ended)]


def exit_codes(pod: Pod, *, init: bool) -> Sequence[int]:
    """The exit codes of terminated containers."""
    return [state.terminated.exit_code for state in states(pod, init=init) if state.terminated is not None]
