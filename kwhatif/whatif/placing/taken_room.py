"""Which of the pods before it in the queue are why a pod does not fit."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.batch import ScheduleResult
from kwhatif.framework.attempt import attempt
from kwhatif.framework.profile import Profile
from kwhatif.model.pod import Pod
from kwhatif.preemption.candidate import Preemption
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.state import State


def took_room(
    asked: ScheduleResult, before: Sequence[ScheduleResult], profile: Profile, snapshot: State
) -> tuple[str, ...]:
    """The pods without which the pod would fare better, by key; none if it would not.

    Args:
        asked: of a pod that evicts others, or stays pending.
        before: the pods in question, in the order in which they were placed.
        profile: of the pod's scheduler.
        snapshot: what the pod was judged on.
    """
    without = snapshot.fork()
    there = [each for each in before if _is_there(each, snapshot)]
    for each in there:
        without.apply(Delete(Pod, each.pod.key))
    for victim in (victim.pod for each in there for victim in each.victims):
        if victim.key not in without.pods:
            without.apply(Upsert(victim.pod))
    result = attempt(profile, asked.pod, without)
    if result.scores is not None:
        nodes = {node.name for node in result.cycle.feasible}
    elif asked.outcome == "Unschedulable":
        outcome = result.post_filter.outcome if result.post_filter else None
        nodes = {each.node for each in outcome.candidates} if isinstance(outcome, Preemption) else set()
    else:
        nodes = set()
    here = [each.pod.key for each in there if each.node in nodes]
    # Where they are elsewhere, they are in the way by what they are: affinity, spreading, a volume or a device.
    return tuple(here or ([each.pod.key for each in there] if nodes else []))


def _is_there(placed: ScheduleResult, snapshot: State) -> bool:
    """Nobody has evicted it meanwhile."""
    pod = snapshot.pods.get(placed.pod.key)
    return pod is not None and pod.pod.spec.node_name == placed.node
