"""What hangs on the order in which pods of equal priority are tried.

The scheduler takes pods of one priority as they come, and each controller makes its pods in its own time: that is the
order of the manifests only by and large. A pod that finds no node is tried again when another one has got its own
(`EventHandlers`), so the order matters only where both want one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kwhatif.kube.model.caveat.scheduling import OrderOfEquals
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.judging.planned import Planned
from kwhatif.report.decision import Decision
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.state.change import Delete
from kwhatif.state.state import State


def fits_later(planned: Sequence[Planned], state: State, profiles: Mapping[str, Profile]) -> bool:
    """Whether a pod that has found no node finds one now that all others have theirs."""
    stuck = filter(None, map(_stuck, planned))
    return any((found := _tried(each, (), state, profiles)) is not None and _fits(found) for each in stuck)


def rivals(planned: Sequence[Planned], state: State, profiles: Mapping[str, Profile]) -> Iterator[OrderOfEquals]:
    """Who has a place only because its pods came before others of the same priority, which have none."""
    for workload in planned:
        stuck = _stuck(workload)
        others = [] if stuck is None else [each for each in planned if each is not workload and _equals(each, stuck)]
        if stuck is None or not others:
            continue
        in_the_way = {each.pod: each.node for other in others for each in _equals(other, stuck)}
        found = _tried(stuck, tuple(in_the_way), state, profiles)
        if found is None or not _fits(found):
            continue
        nodes = {node.name for node in found.cycle.feasible}
        here = [each for each in others if any(in_the_way[one.pod] in nodes for one in _equals(each, stuck))]
        names = (each.applied.source.object for each in (workload, *(here or others)))
        yield OrderOfEquals(workloads=tuple(sorted(names)))


def _stuck(workload: Planned) -> Decision | None:
    """Its first pod that found no node."""
    decisions = filter(None, workload.decisions.values())
    return next((each for each in decisions if each.outcome == "Unschedulable"), None)


def _equals(workload: Planned, stuck: Decision) -> list[Decision]:
    """Its pods of the same priority that have a node."""
    decisions = filter(None, workload.decisions.values())
    return [each for each in decisions if each.outcome == "Placed" and each.priority == stuck.priority]


def _tried(stuck: Decision, without: Sequence[str], state: State, profiles: Mapping[str, Profile]) -> Attempt | None:
    """The pod tried again as things are, without these; None where it is not there, or not this scheduler's."""
    info = state.pods.get(stuck.pod)
    profile = None if info is None else profiles.get(info.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
    if info is None or profile is None or info.pod.spec.node_name:
        return None
    fork = state.fork()
    fork.apply(*(Delete(Pod, key) for key in (stuck.pod, *without) if key in fork.pods))
    return attempt(profile, info, fork)


def _fits(found: Attempt) -> bool:
    return found.scores is not None
