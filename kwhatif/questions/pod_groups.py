"""Groups of pods: what becomes of them, as rows of the report; `GroupTurns` tries each once, as if it were its turn.

`group_rows` is about a simulation that has come to its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, identity, key_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups
from kwhatif.questions.rows import decision_about
from kwhatif.report.decision import Decision, PreEnqueueRow
from kwhatif.report.pod_groups import GroupPlacementRow, GroupPodRow, GroupRow, GroupShortageRow, PodGroupsRow
from kwhatif.scheduler.framework.attempt import attempt, run_pre_enqueue
from kwhatif.scheduler.framework.evidence import Evidence, InsufficientResource
from kwhatif.scheduler.framework.profile import Profile, profile_of, scheduler_of
from kwhatif.scheduler.framework.status import Status, Verdict
from kwhatif.scheduler.pod_groups.cycle import (
    GROUP_UNSCHEDULABLE,
    GroupOutcome,
    GroupResult,
    for_members,
    plain_cycle,
    run_algorithm,
    without_nominations,
)
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.change import Bind
from kwhatif.state.pod_info import PodInfo

if TYPE_CHECKING:  # one attempt needs no engine with time
    from kwhatif.simulation.engine import Engine

#: Of larger groups no other order is tried.
_MOST_REORDERED = 64


def group_rows(engine: Engine) -> PodGroupsRow | None:
    """What became of all groups in a simulation; None where the scheduler knows none."""
    scheduler = engine.scheduler
    if scheduler.groups is None:
        return None
    tried = Tries(scheduler.groups.outcomes, scheduler.groups.placed, scheduler.messages)
    return GroupRows(engine.api_server, scheduler.profiles, tried).rows()


def tried_groups(engine: Engine) -> PodGroupsRow | None:
    """The same of the groups that were tried, or wait; None where there are none."""
    rows, cycle = group_rows(engine), engine.scheduler.groups
    if rows is None or cycle is None:
        return None
    tried = cycle.outcomes
    groups = tuple(row for row in rows.groups if row.group in tried or row.outcome != "scheduled")
    names = {row.group for row in groups}
    pods = tuple(row for row in rows.pods if row.group in names)
    return PodGroupsRow(groups=groups, pods=pods, victims=rows.victims) if groups else None


class Tries(NamedTuple):
    """What a scheduler did with groups: see `GroupCycle`."""

    groups: Mapping[str, GroupOutcome]
    placed: Collection[str]
    messages: Mapping[str, str]


class GroupRows:
    """Says what became of groups, once a simulation has come to its end, or a group was tried."""

    def __init__(self, api_server: ApiServer, profiles: Mapping[str, Profile], tried: Tries) -> None:
        self._api_server, self._profiles, self._tried = api_server, profiles, tried

    def rows(self) -> PodGroupsRow:
        """What became of all groups."""
        cluster = self._api_server.state.cluster
        gone = self._api_server.history.gone.values()
        return PodGroupsRow(
            groups=tuple(self.group(group) for _, group in sorted(cluster.all(PodGroup).items())),
            pods=tuple(self._pods(cluster)),
            victims=tuple(sorted(each.pod for each in gone if each.how == "Preempted" and each.initial)),
        )

    def _pods(self, cluster: Cluster) -> Iterator[GroupPodRow]:
        messages = self._tried.messages
        for key, pod in sorted(cluster.all(Pod).items()):
            is_ours = pod.spec.scheduler_name in self._profiles or group_of(pod)
            if self._was_bound(pod) or is_terminal(pod) or not is_ours:
                continue
            yield GroupPodRow(
                pod=key,
                group=group_of(pod) or None,
                node=pod.spec.node_name or None,
                nominated_node=None if pod.spec.node_name else pod.status.nominated_node_name or None,
                message="" if pod.spec.node_name else messages.get(pod.metadata.uid or key, ""),
            )

    def _was_bound(self, pod: Pod) -> bool:
        return bool(pod.spec.node_name) and identity(pod) not in self._tried.placed

    def group(self, group: PodGroup) -> GroupRow:
        """What became of one group."""
        key = key_of(group)
        state = self._api_server.state
        members = state.members_of(key).values()
        with_node = sum(bool(info.pod.spec.node_name) for info in members)
        before = sum(self._was_bound(info.pod) for info in members)
        fate = self._tried.groups.get(key)
        found = None if fate is None else fate.result
        if with_node >= group.min_count:
            outcome, message = "scheduled", ""
        elif fate is None:
            outcome, message = "waiting", ""
        else:
            outcome, message = "unscheduled", fate.message or fate.result.status.message
        evicting = () if fate is None else fate.evicting
        units = [unit for each in evicting if each.preemption for unit in each.preemption.victims]
        return GroupRow(
            group=key,
            outcome=outcome,  # type: ignore[arg-type]
            message=message,
            waits_for=self._why_waiting(group) if outcome == "waiting" else "",
            min_count=group.min_count,
            policy="basic" if group.spec.scheduling_policy.gang is None else "gang",
            priority=group.priority,
            pods=len(members),
            bound=before,
            placed=with_node,
            fitting=0 if found is None or found.is_placed else found.bound + len(_farthest(found).placed),
            topology_key=group.topology_key,
            placement="" if found is None else _farthest(found).placement,
            placements=() if found is None else tuple(self._placements(found)),
            shortages=() if found is None or outcome != "unscheduled" else tuple(self._shortages(_farthest(found))),
            fits_in_order=() if found is None or outcome != "unscheduled" else self._fitting_order(found),
            victims=tuple(sorted(pod.key for unit in units for pod in unit.pods)),
            victim_groups=tuple(sorted(unit.group for unit in units if unit.group)),
            violations=tuple(sorted(_violations(evicting))),
        )

    def _placements(self, found: GroupResult) -> Iterator[GroupPlacementRow]:
        key = found.group.topology_key
        sizes: dict[str, int] = {}
        for node in self._api_server.state.nodes:
            name = node.labels.get(key, "")
            sizes[name] = sizes.get(name, 0) + 1
        for each in found.tried:
            fits = each.status.message == ""
            yield GroupPlacementRow(
                name=each.name,
                nodes=sizes.get(each.name, 0),
                placed=found.bound + each.placed,
                fits=fits,
                message=each.status.message,
                score=each.score,
            )

    def _shortages(self, found: GroupResult) -> Iterator[GroupShortageRow]:
        """What the first member that found no node ran into beside those before it: what most nodes lack first."""
        failed = next((each.pod for each in found.results if each.node is None), None)
        if failed is None:
            return
        state = without_nominations(self._api_server.state, found.members)
        for each in found.results:
            if each.pod is failed:
                break
            if each.node is not None and each.pod.key in state.pending:
                state.apply(Bind(each.pod.key, each.node, each.reserve(state.by_name[each.node])))
        key, place = found.group.topology_key, found.placement
        some = frozenset(node.name for node in state.nodes if node.labels.get(key) == place) if place else None
        profile = for_members(self._profiles[scheduler_of(failed.pod)])
        verdicts = attempt(profile, failed, state, placement=some).cycle.verdicts
        by_reason: dict[str, list[tuple[int, str, Status]]] = {}
        for name, verdict in verdicts.items():
            for reason in verdict.status.reasons:
                by_reason.setdefault(reason, []).append((_lack(verdict.status.evidence), name, verdict.status))
        for reason, there in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
            _, name, status = min(there, key=lambda each: each[:2])
            yield GroupShortageRow(pod=failed.key, reason=reason, nodes=len(there), node=name, evidence=status.evidence)

    def _fitting_order(self, found: GroupResult) -> tuple[str, ...]:
        """An order of the members in which the group would fit, as things are; nothing where none was found.

        Only the two are tried that have the largest first, or the smallest: the scheduler tries no other than its own.
        """
        members = found.members
        sizes = {info.resources for info in members}
        if len(sizes) < 2 or len(members) > _MOST_REORDERED:
            return ()
        profile = self._profiles[scheduler_of(members[0].pod)]
        state = without_nominations(self._api_server.state, members)
        for sign in (-1, 1):
            order = sorted(members, key=lambda info: tuple(sign * each for each in info.resources[:2]))
            if run_algorithm(plain_cycle(profile), found.group, order, state).is_placed:
                return tuple(info.key for info in order)
        return ()

    def _why_waiting(self, group: PodGroup) -> str:
        """What keeps the first of its pods out of the queue that is kept out."""
        state = self._api_server.state
        for info in state.members_of(key_of(group)).values():
            profile = profile_of(info.pod, self._profiles)
            gated = None if info.pod.spec.node_name or profile is None else run_pre_enqueue(profile, info, state)
            if gated is not None:
                return gated.status.message
        return ""


def _farthest(found: GroupResult) -> GroupResult:
    """The group on the placement that was taken; of one that fits on none, where most of its pods find a node.

    The scheduler's own words are about the first placement.
    """
    if found.is_placed or not found.tried:
        return found
    nearest = min(found.tried, key=lambda each: (-each.placed, each.name))
    return replace(found, placement=nearest.name, results=nearest.results)


def _violations(evicting: Sequence[GroupResult]) -> set[str]:
    return {
        name
        for each in evicting
        if each.preemption is not None
        for names in each.preemption.breaking.values()
        for name in names
    }


def _lack(evidence: Iterable[Evidence]) -> int:
    """How much of a resource is missing."""
    return sum(
        each.requested + each.used - each.allocatable for each in evidence if isinstance(each, InsufficientResource)
    )


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
        gates = (run_pre_enqueue(profile, info, self._state) for info, profile in profiles if profile is not None)
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


def is_about_groups(cluster: Cluster) -> bool:
    """Whether a cluster has groups that its scheduler places together: then time has to pass until they are settled."""
    return has_groups(cluster) and bool(cluster.all(PodGroup))
