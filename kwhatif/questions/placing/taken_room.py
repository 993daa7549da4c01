"""Which of the pods before it in the queue are why a pod does not fit."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def took_room(
    asked: ScheduleResult, before: Sequence[ScheduleResult], profile: Profile, state: State
) -> tuple[str, ...]:
    """The pods without which the pod would fare better, by key; none if it would not.

    Args:
        asked: of a pod that evicts others, or stays pending.
        before: the pods in question, in the order in which they were placed.
        profile: of the pod's scheduler.
        state: what the pod was judged on.
    """
    there = [each for each in before if _is_there(each, state)]
    result = attempt(profile, asked.pod, without(there, state))
    if result.scores is not None:
        nodes = {node.name for node in result.cycle.feasible}
    elif asked.outcome == "Unschedulable":
        outcome = result.post_filter.outcome if result.post_filter else None
        nodes = {each.node for each in outcome.candidates} if isinstance(outcome, Preemption) else set()
    else:
        nodes = set()
    return in_the_way(there, nodes)


def without(placed: Sequence[ScheduleResult], state: State, gone: Sequence[PodInfo] = ()) -> State:
    """A fork as if these had not been placed: their victims, and others that are gone, are there again."""
    fork = state.fork()
    fork.apply(*(Delete(Pod, each.pod.key) for each in placed))
    for victim in (*(victim.pod for each in placed for victim in each.victims), *gone):
        if victim.key not in fork.pods:
            fork.apply(Upsert(victim.pod))
    return fork


def in_the_way(placed: Sequence[ScheduleResult], nodes: Collection[str]) -> tuple[str, ...]:
    """Those of the placed pods that are on the nodes where another pod would fit without all of them, by key.

    Where none is, they are in the way by what they are: affinity, spreading, a volume or a device.
    """
    here = tuple(each.pod.key for each in placed if each.node in nodes)
    return here or (tuple(each.pod.key for each in placed) if nodes else ())


def _is_there(placed: ScheduleResult, state: State) -> bool:
    """Whether it was not evicted meanwhile."""
    pod = state.pods.get(placed.pod.key)
    return pod is not None and pod.pod.spec.node_name == placed.node
