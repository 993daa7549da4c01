"""The pods that fill a cluster: more pods of a workload, and the pending pods of the cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.load import with_pod_images
from kwhatif.admission.new_objects import check_workload
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import PendingAsleep
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, PodGroupStatus
from kwhatif.kube.model.workload import PodSource
from kwhatif.questions.decisions.decide import stand_in
from kwhatif.questions.judging.pending_pods import in_queue_order, unschedulable_pods
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.new_pods import NewPod, NewPods, Planner
from kwhatif.questions.pod_groups import GroupRows, Tries
from kwhatif.questions.session.session import Session
from kwhatif.report.capacity import GangFitRow
from kwhatif.report.inputs import SourceRow
from kwhatif.report.pod_groups import GroupRow
from kwhatif.scheduler.framework.profile import Profile, scheduler_of
from kwhatif.scheduler.pod_groups.cycle import GroupOutcome, GroupPreemption, GroupResult
from kwhatif.simulation.instant import GroupTurn, InstantEngine
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.comparison import unstarted
from kwhatif.workloads.expand import copies, more_pods, named
from kwhatif.workloads.owners import pods_of


def pods_without_end(applied: Applied, new_pods: NewPods, planner: Planner) -> Iterator[NewPod]:
    """More pods of the workload, each created and admitted on demand."""
    obj, api_server = applied.object, new_pods.api_server
    cluster = api_server.state.cluster
    if isinstance(obj, CustomResource):
        pod = next((group.pod for group in planner.pods_of_custom(obj).added.groups), None)
        more = iter(()) if pod is None else copies(pod, cluster)
    else:
        workload = named(cast("PodSource", obj), cluster)
        if isinstance(workload, Pod):
            workload = _as_asked(workload) if applied.restarted else workload
        elif not applied.restarted:
            wrong = check_workload(workload, cluster)
            if wrong is not None:
                yield NewPod(stand_in(applied), refusal=wrong)
                return
            api_server.put(default_object(workload), None)
        more = more_pods(workload, cluster)
    for group in more:
        yield from new_pods.create_all(group, obj)


def _as_asked(pod: Pod) -> Pod:
    """A pod of the cluster as a user would create it: admission sets its fields again.

    It counts as having images even if the input lacks them.
    """
    new = with_pod_images(unstarted(pod), pod)
    return replace(new, spec=replace(new.spec, priority=None, preemption_policy=""))


class PendingToTry(NamedTuple):
    """The pending pods of the cluster to try, the next one last; a caveat names the unschedulable ones."""

    pods: list[PodInfo]
    caveat: Caveat | None


def waiting(session: Session, state: State, applied: Sequence[Applied], counted: Sequence[Applied]) -> PendingToTry:
    """The pending pods, without unschedulable ones that nothing requeues.

    If a workload with pending pods is asked about by name, all are tried, as in `judge`.

    Args:
        session: the cluster as it was.
        state: the cluster with `applied`.
        applied: everything that was given.
        counted: the workloads of it that are counted.
    """
    events = state.cluster.facts.scheduling_events
    ours = [info for info in state.pending.values() if scheduler_of(info.pod) in session.profiles]
    by_name = any(each.restarted and _has_pending(each, state) for each in counted)
    unschedulable = (
        [] if by_name else list(unschedulable_pods(ours, session.profiles, session.state, state.cluster, applied))
    )
    keys = {info.key for info in unschedulable}
    tried = in_queue_order([info for info in ours if info.key not in keys], events)[::-1]
    if not unschedulable:
        return PendingToTry(tried, None)
    return PendingToTry(tried, PendingAsleep(pods=tuple(info.key for info in in_queue_order(unschedulable, events))))


def _has_pending(applied: Applied, state: State) -> bool:
    """Whether pods of the workload are already pending."""
    obj = cast("PodSource", applied.object)
    if not state.pending or isinstance(obj, Pod):
        return isinstance(obj, Pod) and key_of(obj) in state.pending
    return any(key_of(pod) in state.pending for pod in pods_of(obj, state.cluster))


def members_of(group: str, state: State, file: str) -> Iterator[Applied]:
    """The pods of a group of the cluster, as patterns for more of them; `file`: how they were asked for."""
    for key, info in sorted(state.members_of(group).items()):
        yield Applied(info.pod, SourceRow(file=file, object=f"Pod {key}"), restarted=True)


class TriedGang(NamedTuple):
    """One more group was tried."""

    turn: GroupTurn
    #: The result, with the name of the group that it copies.
    row: GroupRow


class Gangs:
    """Places copies of groups with an engine, which changes."""

    def __init__(self, engine: InstantEngine, profiles: Mapping[str, Profile]) -> None:
        self._engine, self._profiles = engine, profiles
        #: What groups have evicted.
        self.evicting: list[GroupPreemption] = []
        #: Key of a group -> the row about its copies.
        self._rows: dict[str, GangFitRow] = {}

    def place(self, key: str, number: int, pods: Sequence[Pod], spared: Collection[str] | None) -> TriedGang:
        """Try one more copy of a group, with these pods; pods without a node are removed again.

        Args:
            key: of the group that it copies.
            number: of this copy.
            pods: its pods, which name the copied group.
            spared: keys of pods that it may not evict, as they would not fit together; None: it may evict no pods.
        """
        state = self._engine.api_server.state
        like = state.cluster.all(PodGroup)[key]
        group = _another(like, number)
        infos = [PodInfo(_of_group(pod, group.metadata.name), state.cluster.facts.resizes) for pod in pods]
        infos.sort(key=lambda info: (-info.priority, info.key))
        state.apply(Upsert(group), *(Upsert(info.pod) for info in infos))
        turn = self._engine.try_group(
            group,
            infos,
            lambda found: spared is not None and not any(pod.key in spared for pod in found.pods),
        )
        result, placed = turn.result, turn.nodes
        if turn.evicted is not None:
            self.evicting.append(turn.evicted)
        row = self._row(group, key, result, placed)
        state.apply(*(Delete(Pod, info.key) for info in infos if info.key not in placed))
        if not placed:
            state.apply(Delete(PodGroup, key_of(group)))
        self._note(like, result, len(pods))
        return TriedGang(turn, row)

    def _row(self, group: PodGroup, like: str, result: GroupResult, placed: Collection[str]) -> GroupRow:
        outcome = GroupOutcome(result, "" if result.is_placed else result.status.message)
        tries = Tries({key_of(group): outcome}, placed, {})
        return replace(GroupRows(self._engine.api_server, self._profiles, tries).group(group), group=like)

    def _note(self, like: PodGroup, result: GroupResult, pods: int) -> None:
        key = key_of(like)
        row = self._rows.get(key) or GangFitRow(
            group=key, pods=pods, min_count=like.min_count, topology_key=like.topology_key
        )
        if result.is_placed:
            counts = {**row.placements, result.placement: row.placements.get(result.placement, 0) + 1}
            row = replace(row, fit=row.fit + 1, placements=counts if like.topology_key else {})
        self._rows[key] = row

    @property
    def rows(self) -> tuple[GangFitRow, ...]:
        """How many copies of each group fit."""
        return tuple(self._rows[key] for key in sorted(self._rows))


def _another(like: PodGroup, number: int) -> PodGroup:
    meta = replace(like.metadata, name=f"{like.metadata.name}-more-{number}", uid="")
    return replace(like, metadata=meta, status=PodGroupStatus())


def _of_group(pod: Pod, name: str) -> Pod:
    named = pod.spec.scheduling_group
    assert named is not None, "it is of a group"
    return replace(pod, spec=replace(pod.spec, scheduling_group=replace(named, pod_group_name=name)))
