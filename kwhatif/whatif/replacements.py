"""Replacements: the pods that controllers make of evicted ones, placed one after another by the scheduler's cycle.

Evicted pods count as gone, and their replacements come in the order of the evictions. One that finds a node runs there
at once; pods that it evicts in turn are gone for good.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.admission.disruption import SyncFailed, counted_status
from kwhatif.batch import ScheduleResult
from kwhatif.controllers.budget_pods import pods_selected_by
from kwhatif.framework.profile import Profile
from kwhatif.model.caveat import Caveat, OwnersNotInDump, UnknownController
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import Model, OwnerReference, controller_of
from kwhatif.model.pod import Pod, PodCondition, PodStatus, is_terminal
from kwhatif.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from kwhatif.model.workload import DaemonSet, Job, ReplicaSet, ReplicationController, StatefulSet
from kwhatif.report import Landing, ReplacementRow
from kwhatif.state.change import Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.whatif.placer import Placer
from kwhatif.whatif.rows import owner_of
from kwhatif.workloads.stand_ins import generated_names, uid_of

_CONTROLLERS: Mapping[str, type[Model]] = {
    "DaemonSet": DaemonSet,
    "Job": Job,
    "ReplicaSet": ReplicaSet,
    "ReplicationController": ReplicationController,
    "StatefulSet": StatefulSet,
}
#: Controllers that have long replaced a pod which has ended, or is being deleted.
_DO_NOT_WAIT = frozenset({"Job", "ReplicaSet", "ReplicationController"})
_COUNTED = (ReplicaSet, ReplicationController)
_READY = (PodCondition(type="Ready", status="True"), PodCondition(type="ContainersReady", status="True"))


class Replacements:
    """What comes after the evictions of one cycle."""

    def __init__(self, state: State, profiles: Mapping[str, Profile], moment: str) -> None:
        """Set up.

        Args:
            state: without the evicted pods; it moves on.
            profiles: those of the scheduler.
            moment: when the replacements are made, RFC 3339.
        """
        self.state = state
        self._placer = Placer(profiles, state)
        self._moment = moment
        self._caveats: dict[Caveat, None] = {}
        self._active = _active_by_owner(state)
        self._landed: list[str] = []

    @property
    def caveats(self) -> Iterable[Caveat]:
        """What was assumed, and what the decisions leave out."""
        return (*self._caveats, *self._placer.caveats)

    def land(self, evicted: Sequence[Pod]) -> list[ReplacementRow]:
        """What comes in the place of each pod."""
        rows = [self._land(pod) for pod in evicted]
        self._settle()
        return rows

    def _land(self, pod: Pod) -> ReplacementRow:
        why_not = self._why_not(pod)
        if why_not:
            return ReplacementRow(landing="None", message=why_not)
        made = self._made(pod)
        owner = controller_of(pod.metadata)
        assert owner is not None, "others are not replaced"
        self._active[_key(owner, pod)] += 1
        placement = self._placer.place(PodInfo(made)).result
        landing = _landing(placement, pod)
        if placement.node is not None:
            self._landed.append(placement.pod.key)
        return ReplacementRow(
            landing=landing,
            pod=placement.pod.key,
            node=placement.node,
            ties=placement.ties,
            message=placement.message if placement.gated is None else "; ".join(placement.gated.status.reasons),
            victims=tuple(victim.pod.key for victim in placement.victims),
        )

    def _why_not(self, pod: Pod) -> str:
        """Why nothing comes in its place; "" if something does."""
        owner = controller_of(pod.metadata)
        if pod.metadata.annotations.mirror is not None:
            return "it is a static pod, which its kubelet keeps running"
        if owner is None:
            return "no controller makes it anew"
        is_done = is_terminal(pod) or pod.metadata.deletion_timestamp is not None
        if is_done and owner.kind in _DO_NOT_WAIT:
            return f"its {owner.kind} has counted it out before"
        return self._unwanted(owner, pod)

    def _unwanted(self, owner: OwnerReference, pod: Pod) -> str:
        """Why the owner wants no other pod."""
        type_ = _CONTROLLERS.get(owner.kind)
        name = f"{owner.kind} {pod.metadata.namespace}/{owner.name}"
        if type_ is None:
            self._caveats[UnknownController(workload=name)] = None
            return ""
        found = _find(self.state.cluster, type_, f"{pod.metadata.namespace}/{owner.name}")
        if found is None:
            if self.state.cluster.all(type_):  # type: ignore[type-var] # each of them has metadata
                return f"its {owner.kind} is not there any more"
            self._caveats[OwnersNotInDump(kind=owner.kind)] = None
            return ""
        if found.metadata.deletion_timestamp is not None:
            return f"its {owner.kind} is being deleted"
        if isinstance(found, _COUNTED):
            wanted = 1 if found.spec.replicas is None else found.spec.replicas
            there = self._active[_key(owner, pod)]
            if there >= wanted:
                return f"its {owner.kind} has {there} pods, and wants {wanted}"
        return ""

    def _made(self, pod: Pod) -> Pod:
        """The pod that comes instead: the same again, without a node; of a StatefulSet under the same name."""
        meta, owner = pod.metadata, controller_of(pod.metadata)
        name = meta.name
        if owner is not None and owner.kind != "StatefulSet":
            prefix = meta.generate_name or f"{owner.name}-"
            pods = self.state.cluster.all(Pod)
            taken = lambda name: f"{meta.namespace}/{name}" in pods  # noqa: E731
            (name,) = generated_names(prefix, f"{meta.name} {self._moment}", 1, taken)
        return replace(
            pod,
            metadata=replace(
                meta,
                name=name,
                uid=uid_of("Pod", meta.namespace, f"{name} {self._moment}"),
                creation_timestamp=self._moment,
                deletion_timestamp=None,
            ),
            spec=replace(pod.spec, node_name=""),
            status=PodStatus(phase="Pending"),
        )

    def _settle(self) -> None:
        """What landed runs and is ready; budgets count anew."""
        for key in self._landed:
            info = self.state.pods.get(key)
            if info is None:
                continue  # another one has evicted it
            status = PodStatus(phase="Running", start_time=self._moment, conditions=_READY)
            self.state.apply(Upsert(replace(info.pod, status=status)))
        cluster = self.state.cluster
        for key, budget in list(cluster.all(PodDisruptionBudget).items()):
            status_now = counted_status(budget, pods_selected_by(key, cluster), cluster)
            if isinstance(status_now, SyncFailed):
                before = budget.status or PodDisruptionBudgetStatus()
                status_now = replace(before, disruptions_allowed=0)
            if status_now != budget.status:
                self.state.apply(Upsert(replace(budget, status=status_now)))


def _landing(placement: ScheduleResult, pod: Pod) -> Landing:
    if placement.outcome == "Preempts":
        return "Preempts"
    if placement.node is None:
        return "Pending"
    return "SameNode" if placement.node == pod.spec.node_name else "Elsewhere"


def _find(cluster: Cluster, type_: type[Model], key: str) -> DaemonSet | Job | ReplicaSet | StatefulSet | None:
    return cluster.get(type_, key)  # type: ignore[type-var, return-value] # each of them has metadata


def _key(owner: OwnerReference, pod: Pod) -> str:
    return owner.uid or f"{owner.kind} {pod.metadata.namespace}/{owner.name}"


def _active_by_owner(state: State) -> Counter[str]:
    """How many pods each controller counts: neither ended nor being deleted."""
    found: Counter[str] = Counter()
    for info in state.pods.values():
        owner = controller_of(info.pod.metadata)
        if owner is not None and not info.terminating:
            found[_key(owner, info.pod)] += 1
    return found


def fingerprint(state: State) -> frozenset[tuple[str, str, int]]:
    """Which workload has how many pods on which node: equal for states between which a policy goes back and forth."""
    return frozenset((owner, node, count) for (owner, node), count in Counter(_places(state)).items())


def _places(state: State) -> Iterator[tuple[str, str]]:
    for key, info in state.pods.items():
        yield owner_of(info.pod) or key, info.pod.spec.node_name
