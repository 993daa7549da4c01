"""`GroupTurns`: groups of pods in the queue, each tried once, when the first of its pods has its turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kwhatif.kube.matching.groups import group_of, has_groups
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.questions.decisions.rows import decision_about
from kwhatif.questions.groups.rows import GroupRows, Tries
from kwhatif.report.decision import Decision, PreEnqueueRow
from kwhatif.report.pod_groups import GroupPodRow, GroupRow, PodGroupsRow
from kwhatif.scheduler.framework.attempt import held_back
from kwhatif.scheduler.framework.profile import Profile, profile_of
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.pod_groups.result import GROUP_UNSCHEDULABLE, GroupOutcome, GroupResult
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.pod_info import PodInfo


class GroupTurn(NamedTuple):
    """A group that was tried."""

    #: Of the last attempt.
    result: GroupResult
    decisions: Mapping[str, Decision]
    #: The pods that it has evicted.
    victims: Sequence[PodInfo] = ()

    def rejectors_of(self, key: str) -> tuple[str, ...]:
        """The plugins that rejected a member; none where it was not tried, or would have fitted."""
        return next((each.rejectors for each in self.result.results if each.pod.key == key), ())


class GroupTurns:
    """Tries groups by an engine, which changes."""

    def __init__(self, profiles: Mapping[str, Profile], engine: InstantEngine, *, evicts: bool = True) -> None:
        """`evicts`: whether groups may evict others; else those that would have to go on waiting."""
        self._profiles, self._engine, self._state = profiles, engine, engine.api_server.state
        self._evicts = evicts
        #: By key of the pod.
        self._decided: dict[str, Decision] = {}
        #: By key of the group, what came of its last turn.
        self.turns: dict[str, GroupTurn] = {}
        #: What became of each group, by key, as things were when it was tried.
        self._rows_of: dict[str, GroupRow] = {}
        self._groups: dict[str, GroupOutcome] = {}
        self._placed: set[str] = set()
        self._rows = GroupRows(engine.api_server, profiles, Tries(self._groups, self._placed, {}))

    def decide(self, info: PodInfo) -> Decision | None:
        """What becomes of the pod with its group; None: it is of none, or of another scheduler."""
        key = group_of(info.pod)
        if not key or not has_groups(self._state.cluster) or self._profile_of(info) is None:
            return None
        if info.key not in self._decided:
            members = self._waiting(key)
            gated = self._gate_of(members)
            if gated is None:
                self.take(key, members)
            else:
                self._decided.update((info.key, _gated(info, gated)) for info in members)
                self._note(key)
        return self._decided[info.key]

    def take(self, key: str, members: Sequence[PodInfo]) -> GroupTurn:
        """It is the group's turn: its members that wait, in this order, and none of which is gated, are tried."""
        group = self._state.cluster.all(PodGroup)[key]
        result = self._engine.attempt_group(group, members)
        evicting, victims = tuple[GroupResult, ...](), list[PodInfo]()
        if self._evicts and result.preemption is not None and result.preemption.victims:
            evicting, victims = (result,), result.preemption.pods
            result = self._engine.evict_for_group(result)
        before = self._groups.get(key)
        evicting = evicting if before is None else (*before.evicting, *evicting)
        self._groups[key] = GroupOutcome(result, "" if result.is_placed else result.status.message, evicting)
        nodes = self._engine.carry_out_group(result)
        self._placed.update(info.pod.metadata.uid or info.key for info in members if info.key in nodes)
        decisions = {info.key: _decision(info, result, nodes.get(info.key), evicts=bool(victims)) for info in members}
        self._decided |= decisions
        self._note(key)
        self.turns[key] = GroupTurn(result, decisions, victims)
        return self.turns[key]

    def gated(self, info: PodInfo) -> Decision | None:
        """That the pod's group is kept out of the queue; None: it is not."""
        key = group_of(info.pod)
        gated = self._gate_of(self._waiting(key))
        if gated is None:
            return None
        self._note(key)
        return _gated(info, gated)

    def _waiting(self, key: str) -> list[PodInfo]:
        """The members that wait for a node, in the queue's order."""
        pending = self._state.members_of(key).values()
        return in_group_order(
            each for each in pending if not each.pod.spec.node_name and self._profile_of(each) is not None
        )

    def _profile_of(self, info: PodInfo) -> Profile | None:
        return profile_of(info.pod, self._profiles)

    def _gate_of(self, members: Iterable[PodInfo]) -> Verdict | None:
        """What keeps the first of them out of the queue that is kept out, and so all of them."""
        profiles = ((info, self._profile_of(info)) for info in members)
        gates = (held_back(profile, info, self._state) for info, profile in profiles if profile is not None)
        return next(filter(None, gates), None)

    def _note(self, key: str) -> None:
        group = self._state.cluster.get(PodGroup, key)
        if group is not None:
            self._rows_of[key] = self._rows.group(group)

    def rows(self, decided: Iterable[tuple[PodInfo, Decision]]) -> PodGroupsRow | None:
        """What becomes of the groups of these pods, and of them; None: they are of none that had a turn."""
        members = [(info, decision) for info, decision in decided if group_of(info.pod)]
        asked = {group_of(info.pod) for info, _ in members} & self._rows_of.keys()
        return (
            PodGroupsRow(tuple(self._rows_of[key] for key in sorted(asked)), tuple(_rows(members))) if asked else None
        )


def in_group_order(members: Iterable[PodInfo]) -> list[PodInfo]:
    """The members of a group that was not tried yet, in the order in which they are tried."""
    return sorted(members, key=lambda each: (-each.priority, each.pod.metadata.creation_timestamp or "", each.key))


def _rows(members: Iterable[tuple[PodInfo, Decision]]) -> Iterator[GroupPodRow]:
    for info, decision in members:
        message = "" if decision.node else decision.said
        yield GroupPodRow(pod=info.key, group=group_of(info.pod), node=decision.node, message=message)


def _gated(info: PodInfo, gate: Verdict) -> Decision:
    row = PreEnqueueRow(plugin=gate.plugin, message=gate.status.message)
    return decision_about(info.pod, "Gated", pre_enqueue=row, detail="short")


def _decision(info: PodInfo, result: GroupResult, node: str | None, *, evicts: bool) -> Decision:
    if node is not None:
        return decision_about(info.pod, "Preempts" if evicts else "Placed", node=node, detail="short")
    return decision_about(info.pod, "Unschedulable", message=_why(result, info), detail="short")


def _why(result: GroupResult, info: PodInfo) -> str:
    """What the pod's condition says."""
    own = next((each for each in result.results if each.pod.key == info.key), None)
    if own is None:
        return result.status.without_post_filter.message
    return own.message if own.node is None else f"{GROUP_UNSCHEDULABLE}, {result.status.message}"
