"""What became of groups of pods, as rows of the report.

`group_rows` is about a simulation that has come to its end, `InstantGroupRows` about the engine without time.
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
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.attempt import attempt, run_pre_enqueue
from kwhatif.scheduler.framework.evidence import Evidence, InsufficientResource
from kwhatif.scheduler.framework.profile import Profile, profile_of, scheduler_of
from kwhatif.scheduler.framework.status import Status
from kwhatif.scheduler.pod_groups.cycle import (
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

#: Larger groups are tried in no other order.
_MOST_REORDERED = 64


def group_rows(engine: Engine) -> PodGroupsRow | None:
    """What became of all groups in a simulation; None if the scheduler has no groups."""
    scheduler = engine.scheduler
    if scheduler.groups is None:
        return None
    tried = Tries(scheduler.groups.outcomes, scheduler.groups.placed, scheduler.messages)
    return GroupRows(engine.api_server, scheduler.profiles, tried).rows()


def tried_groups(engine: Engine) -> PodGroupsRow | None:
    """The same for groups that were tried or wait; None if there are none."""
    rows, cycle = group_rows(engine), engine.scheduler.groups
    if rows is None or cycle is None:
        return None
    tried = cycle.outcomes
    groups = tuple(row for row in rows.groups if row.group in tried or row.outcome != "scheduled")
    names = {row.group for row in groups}
    pods = tuple(row for row in rows.pods if row.group in names)
    return PodGroupsRow(groups=groups, pods=pods, victims=rows.victims) if groups else None


class Tries(NamedTuple):
    """What a scheduler did with groups."""

    groups: Mapping[str, GroupOutcome]
    placed: Collection[str]
    messages: Mapping[str, str]


class GroupRows:
    """Rows about groups at the end of a simulation, or when a group was tried."""

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
        """The obstacles to the first member without a node, beside those before it; the most frequent ones first."""
        failed = next((each.pod for each in found.results if each.node is None), None)
        if failed is None:
            return
        state = without_nominations(self._api_server.state, found.members)
        for each in found.results:
            if each.pod is failed:
                break
            if each.node is not None and each.pod.key in state.pending:
                state.apply(Bind(each.pod.key, each.node, each.reserve(state.by_name[each.node])))
        key, placement = found.group.topology_key, found.placement
        some = frozenset(node.name for node in state.nodes if node.labels.get(key) == placement) if placement else None
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
        """An order of the members in which the group would fit; empty if none was found.

        Only two orders are tried, by size up and down; the scheduler itself tries only its own order.
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
        """Why its pods are kept out of the queue: the message for the first such pod."""
        state = self._api_server.state
        for info in state.members_of(key_of(group)).values():
            profile = profile_of(info.pod, self._profiles)
            gated = None if info.pod.spec.node_name or profile is None else run_pre_enqueue(profile, info, state)
            if gated is not None:
                return gated.status.message
        return ""


def _farthest(found: GroupResult) -> GroupResult:
    """The result on the placement that was taken; if none fits, on the one where most pods find a node.

    The scheduler's own message is about the first placement.
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


class InstantGroupRows:
    """Rows about groups that the engine without time tries, each made right after the attempt."""

    def __init__(self, engine: InstantEngine, profiles: Mapping[str, Profile]) -> None:
        tried = Tries(engine.group_outcomes, engine.group_placed, {})
        self._of_engine = GroupRows(engine.api_server, profiles, tried)
        self._cluster = engine.api_server.state.cluster
        self._rows: dict[str, GroupRow] = {}
        engine.group_watchers.append(self._note)

    def _note(self, key: str) -> None:
        group = self._cluster.get(PodGroup, key)
        if group is not None:
            self._rows[key] = self._of_engine.group(group)

    def rows(self, decided: Iterable[tuple[PodInfo, Decision]]) -> PodGroupsRow | None:
        """Rows about these pods and their groups; None: none of these groups was tried."""
        members = [(info, decision) for info, decision in decided if group_of(info.pod)]
        asked = {group_of(info.pod) for info, _ in members} & self._rows.keys()
        return PodGroupsRow(tuple(self._rows[key] for key in sorted(asked)), tuple(_rows(members))) if asked else None


def _rows(members: Iterable[tuple[PodInfo, Decision]]) -> Iterator[GroupPodRow]:
    for info, decision in members:
        message = "" if decision.node else decision.said
        yield GroupPodRow(pod=info.key, group=group_of(info.pod), node=decision.node, message=message)


def decision_of_member(result: ScheduleResult) -> Decision:
    """The decision about a pod that was tried with its group."""
    if result.gated is not None:
        row = PreEnqueueRow(plugin=result.gated.plugin, message=result.gated.status.message)
        return decision_about(result.pod.pod, "Gated", pre_enqueue=row, detail="short")
    about, node = result.pod.pod, result.node
    return decision_about(about, result.outcome, node=node, message=result.message, detail="short")


def is_about_groups(cluster: Cluster) -> bool:
    """Whether a cluster has groups that its scheduler places as a whole: judging them needs time."""
    return has_groups(cluster) and bool(cluster.all(PodGroup))
