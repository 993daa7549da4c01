"""Pods of equal priority that want the same nodes: who has one only because it came first.

Pods of equal priority are tried in the order in which their controllers create them, which is only roughly that of the
manifests. A pod that found no node is tried again when another one has got its own (`EventHandlers`), so the order
matters only where both fit on the same nodes, and these have room for one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kwhatif.kube.model.caveat.scheduling import OrderOfEquals
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.judging.manifest_rollout import Planned
from kwhatif.report.decision import Decision
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.profile import Profile, profile_of
from kwhatif.state.change import Delete
from kwhatif.state.state import State


def fits_later(planned: Sequence[Planned], state: State, profiles: Mapping[str, Profile]) -> bool:
    """Whether a pod that found no node would find one now that all others have theirs."""
    stuck = filter(None, map(_stuck, planned))
    return any((found := _tried(each, (), state, profiles)) is not None and _fits(found) for each in stuck)


def rivals(planned: Sequence[Planned], state: State, profiles: Mapping[str, Profile]) -> Iterator[OrderOfEquals]:
    """Workloads with a node only because their pods came before others of the same priority, which have none."""
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


def largest(caveats: Sequence[OrderOfEquals]) -> Iterator[OrderOfEquals]:
    """The caveats, without those whose workloads are all named by another one."""
    named = [frozenset(each.workloads) for each in caveats]
    return (each for each, names in zip(caveats, named, strict=True) if not any(names < others for others in named))


def _stuck(workload: Planned) -> Decision | None:
    """Its first pod that found no node."""
    return next((each for each in workload.decided if each.outcome == "Unschedulable"), None)


def _equals(workload: Planned, stuck: Decision) -> list[Decision]:
    """Its pods of the same priority that have a node."""
    return [each for each in workload.decided if each.outcome == "Placed" and each.priority == stuck.priority]


def _tried(stuck: Decision, without: Sequence[str], state: State, profiles: Mapping[str, Profile]) -> Attempt | None:
    """The pod tried again without these others; None: it is gone, it has a node, or another scheduler places it."""
    info = state.pods.get(stuck.pod)
    profile = None if info is None else profile_of(info.pod, profiles)
    if info is None or profile is None or info.pod.spec.node_name:
        return None
    fork = state.fork()
    fork.apply(*(Delete(Pod, key) for key in (stuck.pod, *without) if key in fork.pods))
    return attempt(profile, info, fork)


def _fits(found: Attempt) -> bool:
    return found.scores is not None
