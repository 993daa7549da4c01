"""`GroupTurns`: groups of pods in the queue, each tried once, when the first of its pods has its turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kwhatif.kube.matching.groups import group_of, has_groups
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.questions.groups.rows import GroupRows, Tries
from kwhatif.questions.rows import decision_about
from kwhatif.report.decision import Decision, Outcome, PreEnqueueRow
from kwhatif.report.pod_groups import GroupRow
from kwhatif.scheduler.framework.attempt import held_back
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.pod_groups.result import GROUP_UNSCHEDULABLE, GroupResult
from kwhatif.simulation.groups import GroupOutcome
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.pod_info import PodInfo


class GroupTurns:
    """Tries groups by an engine, whose world changes."""

    def __init__(self, profiles: Mapping[str, Profile], engine: InstantEngine, *, evicts: bool = True) -> None:
        """`evicts`: whether groups may evict others; else those that would have to go on waiting."""
        self._profiles, self._engine, self._state = profiles, engine, engine.world.state
        self._evicts = evicts
        #: By key of the pod.
        self._decided: dict[str, Decision] = {}
        #: What became of each group, by key, as things were when it was tried.
        self.rows: dict[str, GroupRow] = {}
        self._groups: dict[str, GroupOutcome] = {}
        self._placed: set[str] = set()
        self._rows = GroupRows(engine.world, profiles, Tries(self._groups, self._placed, {}))

    def decide(self, info: PodInfo) -> Decision | None:
        """What becomes of the pod with its group; None: it is of none, or of another scheduler."""
        key = group_of(info.pod)
        if not key or not has_groups(self._state.cluster) or self._profile_of(info) is None:
            return None
        if info.key not in self._decided:
            pending = self._state.members_of(key).values()
            members = [each for each in pending if not each.pod.spec.node_name and self._profile_of(each) is not None]
            members.sort(key=lambda each: (-each.priority, each.pod.metadata.creation_timestamp or "", each.key))
            self._decided.update((each.pod, each) for each in self._of_group(key, members))
            group = self._state.cluster.get(PodGroup, key)
            if group is not None:
                self.rows[key] = self._rows.group(group)
        return self._decided[info.key]

    def _profile_of(self, info: PodInfo) -> Profile | None:
        return self._profiles.get(info.pod.spec.scheduler_name or DEFAULT_SCHEDULER)

    def _of_group(self, key: str, members: Sequence[PodInfo]) -> Iterator[Decision]:
        gated = next(filter(None, map(self._gate_of, members)), None)
        if gated is not None:
            row = PreEnqueueRow(plugin=gated.plugin, message=gated.status.message)
            yield from (decision_about(info.pod, "Gated", pre_enqueue=row, detail="short") for info in members)
            return
        group = self._state.cluster.all(PodGroup)[key]
        result = self._engine.attempt_group(group, members)
        placed: Outcome = "Placed"
        evicting: tuple[GroupResult, ...] = ()
        if self._evicts and result.preemption is not None and result.preemption.victims:
            evicting = (result,)
            result, placed = self._engine.evict_for_group(result), "Preempts"
        self._groups[key] = GroupOutcome(result, "" if result.is_placed else result.status.message, evicting)
        nodes = self._engine.carry_out_group(result)
        self._placed.update(info.pod.metadata.uid or info.key for info in members if info.key in nodes)
        for info in members:
            if info.key in nodes:
                yield decision_about(info.pod, placed, node=nodes[info.key], detail="short")
            else:
                yield decision_about(info.pod, "Unschedulable", message=_why(result, info), detail="short")

    def _gate_of(self, info: PodInfo) -> Verdict | None:
        profile = self._profile_of(info)
        return None if profile is None else held_back(profile, info, self._state)


def _why(result: GroupResult, info: PodInfo) -> str:
    """What the pod's condition says."""
    own = next((each for each in result.results if each.pod.key == info.key), None)
    if own is None:
        return result.status.without_post_filter.message
    return own.message if own.node is None else f"{GROUP_UNSCHEDULABLE}, {result.status.message}"
