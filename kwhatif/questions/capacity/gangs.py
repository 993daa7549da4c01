"""`Gangs`: more groups like one of the cluster or of the manifests, placed one after another, each as a whole."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, PodGroupStatus
from kwhatif.report.capacity import GangFitRow
from kwhatif.scheduler.pod_groups.result import GroupResult
from kwhatif.simulation.instant import InstantEngine
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.pod_info import PodInfo


class Gangs:
    """Places groups by an engine, whose world changes."""

    def __init__(self, engine: InstantEngine) -> None:
        self._engine = engine
        #: The cycles of groups that have evicted others.
        self.evicting: list[GroupResult] = []
        #: By key of the group that others are like: what is said of them.
        self._rows: dict[str, GangFitRow] = {}

    def place(self, key: str, number: int, pods: Sequence[Pod], spared: Collection[str] | None) -> GroupResult:
        """Try one more group like that one, with these pods; what finds no node does not stay.

        Args:
            key: of the group that it is like.
            number: how many of them there are with it.
            pods: its pods, which are of the group of that key.
            spared: keys of the pods that it may not evict: they would not fit together; None: it evicts none at all.
        """
        state = self._engine.world.state
        like = state.cluster.all(PodGroup)[key]
        group = _another(like, number)
        infos = [PodInfo(_of_group(pod, group.metadata.name), state.cluster.resizes) for pod in pods]
        infos.sort(key=lambda info: (-info.priority, info.key))
        state.apply(Upsert(group), *(Upsert(info.pod) for info in infos))
        result = self._engine.attempt_group(group, infos)
        victims = () if result.preemption is None else [pod.key for pod in result.preemption.pods]
        if victims and spared is not None and not any(key in spared for key in victims):
            self.evicting.append(result)
            result = self._engine.evict_for_group(result)
        placed = self._engine.carry_out_group(result)
        state.apply(*(Delete(Pod, info.key) for info in infos if info.key not in placed))
        if not placed:
            state.apply(Delete(PodGroup, key_of(group)))
        self._note(like, result, len(pods))
        return result

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
        """What fits of each."""
        return tuple(self._rows[key] for key in sorted(self._rows))


def _another(like: PodGroup, number: int) -> PodGroup:
    meta = replace(like.metadata, name=f"{like.metadata.name}-more-{number}", uid="")
    return replace(like, metadata=meta, status=PodGroupStatus())


def _of_group(pod: Pod, name: str) -> Pod:
    named = pod.spec.scheduling_group
    assert named is not None, "it is of a group"
    return replace(pod, spec=replace(pod.spec, scheduling_group=replace(named, pod_group_name=name)))
