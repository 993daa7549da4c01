"""Which nodes are unneeded (`core/scaledown/planner/planner.go`, `core/scaledown/eligibility/eligibility.go`).

How a node is drained follows `simulator/cluster.go`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.autoscaler.cluster_autoscaler.drainability import Budgets, Rules
from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroup, NodeGroups
from kwhatif.autoscaler.cluster_autoscaler.nodes import (
    SCALE_DOWN_DISABLED,
    TO_BE_DELETED,
    gpu_of,
    is_being_deleted,
    is_halted,
    readiness,
    unready_of,
)
from kwhatif.autoscaler.cluster_autoscaler.pods import is_daemon, is_long_terminating, is_mirror
from kwhatif.autoscaler.cluster_autoscaler.snapshot import Snapshot, nearest
from kwhatif.autoscaler.contract import Destination, NearestNode, NodeVerdict
from kwhatif.kube.matching.requests import CPU, MEMORY
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import SECOND
from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.quantity import milli_value, parse_quantity
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo


class Utilization(NamedTuple):
    """The resource of a node with the largest utilization; on a node with GPUs, the GPUs."""

    resource: str
    #: Requested fraction of the resource; 1: all of it.
    part: float
    #: The node may be removed if at most this fraction is requested.
    threshold: float

    @property
    def is_low(self) -> bool:
        """Whether the node may be removed."""
        return self.part <= self.threshold


def utilization(node: NodeInfo, flags: Flags, now: int) -> Utilization | None:
    """The utilization of the node (`simulator/utilization/info.go`); None: its cpu or memory is not known."""
    gpu = gpu_of(node.node)
    if gpu is not None:
        # A node whose GPUs are not ready counts as unused.
        return Utilization(gpu, _part(node, gpu, flags, now) or 0.0, flags.scale_down_gpu_utilization_threshold)
    cpu, memory = _part(node, CPU, flags, now), _part(node, MEMORY, flags, now)
    if cpu is None or memory is None:
        return None
    threshold = flags.scale_down_utilization_threshold
    return Utilization(CPU, cpu, threshold) if cpu > memory else Utilization(MEMORY, memory, threshold)


def _part(node: NodeInfo, resource: str, flags: Flags, now: int) -> float | None:
    """Requests divided by allocatable; requests of ignored pods are subtracted from allocatable."""
    there = milli_value(parse_quantity(node.node.status.allocatable_or_capacity.get(resource, 0)))
    if not there:
        return None
    requested = ignored = 0
    for info in node.pods:
        amount = _milli(resource, info.resources.requested.of(resource))
        is_ignored = (flags.ignore_daemonsets_utilization and is_daemon(info.pod)) or (
            flags.ignore_mirror_pods_utilization and is_mirror(info.pod)
        )
        if is_ignored:
            ignored += amount
        elif not is_long_terminating(info.pod, now):
            requested += amount
    left = there - ignored
    return requested / left if left else float("inf") if requested else 0.0


def _milli(resource: str, amount: int) -> int:
    return amount if resource == CPU else amount * 1000


NOT_A_CANDIDATE = "NotACandidate"


class ScaleDown:
    """One loop over all nodes, by name. The pods of a removed node run on other nodes when the next node is checked."""

    def __init__(self, snapshot: Snapshot, cluster: Cluster, settings: NodeGroups, now: int) -> None:
        self._snapshot, self._flags, self._now = snapshot, settings.flags, now
        self._groups: Mapping[str, NodeGroup] = settings.of_nodes()
        self._budgets = Budgets(cluster)
        self._rules = Rules(cluster, settings.flags, self._budgets, now)
        #: Nodes to which pods may move.
        self._destinations = {name for name in snapshot.names if not is_being_deleted(snapshot.node(name).node, now)}
        self._removed = 0
        nodes = [info.node for info in snapshot.state.nodes]
        self._is_off = not settings.flags.scale_down_enabled or is_halted(
            unready_of(nodes, settings.flags), len(nodes), settings.flags, now
        )

    def run(self) -> Sequence[NodeVerdict]:
        """A verdict for every node of the cluster; the utilization of all is computed before any node is removed."""
        judged = [self._judged(name) for name in self._snapshot.names]
        return [verdict if verdict.reason else self._simulated(verdict) for verdict in judged]

    def _judged(self, name: str) -> NodeVerdict:
        """Why the node is not removable; without a reason, only its pods are left to be checked."""
        group = self._groups.get(name)
        if group is None:
            return NodeVerdict(node=name, removable=False, reason=NOT_A_CANDIDATE)
        if self._is_off:
            return NodeVerdict(node=name, removable=False, reason="NotUnneededOtherReason", group=group.name)
        if group.size <= group.minimum:
            return NodeVerdict(node=name, removable=False, reason=NOT_A_CANDIDATE, group=group.name)
        node = self._snapshot.node(name)
        used = utilization(node, self._flags, self._now)
        return NodeVerdict(
            node=name,
            removable=False,
            reason=self._ineligible(node, used) or None,
            group=group.name,
            utilization=None if used is None else round(used.part, 6),
            threshold=None if used is None else used.threshold,
            resource=None if used is None else used.resource,
        )

    # --- eligibility -----------------------------------------------------------------------------------------------

    def _ineligible(self, node: NodeInfo, used: Utilization | None) -> str:
        """Upstream's UnremovableReason, if the node's pods are not even checked; "" if they are."""
        if is_being_deleted(node.node, self._now):
            return "CurrentlyBeingDeleted"
        if node.node.metadata.annotations.get(SCALE_DOWN_DISABLED) == "true":
            return "ScaleDownDisabledAnnotation"
        if used is None:
            return "UnexpectedError"
        if not self._flags.scale_down_unready_enabled and not readiness(node.node, self._flags).ready:
            return "ScaleDownUnreadyDisabled"
        return "" if used.is_low else "NotUnderutilized"

    # --- the drain -------------------------------------------------------------------------------------------------

    def _simulated(self, verdict: NodeVerdict) -> NodeVerdict:
        """The verdict after the removal of the node is simulated (`SimulateNodeRemoval`)."""
        if self._removed >= 2 * self._flags.max_scale_down_parallelism:  # the maximum that is removed at once
            return replace(verdict, reason=NOT_A_CANDIDATE)
        moved = self._rules.moved(self._snapshot.node(verdict.node).pods)
        if moved.blocking is not None:
            reason, pod = f"BlockedByPod: {moved.reason}", moved.blocking
            return replace(verdict, reason=reason, pod=pod.key, budgets=self._exhausted(pod, moved.reason))
        found = self._moved(verdict.node, moved.pods)
        if isinstance(found, _NoPlace):
            return replace(verdict, reason="NoPlaceToMovePods", unplaced=found.pod, nearest=found.nearest)
        self._removed += 1
        self._destinations.discard(verdict.node)
        self._budgets.remove(moved.pods)
        price = self._groups[verdict.node].price
        return replace(verdict, removable=True, destinations=tuple(found), saved=price)

    def _exhausted(self, pod: PodInfo, reason: str) -> tuple[str, ...]:
        """The budgets that allow no disruption of the pod, if that is the reason."""
        budgets = self._budgets
        found = budgets.of(pod.pod) if reason == "NotEnoughPdb" else ()
        return tuple(key for key in found if budgets.allowed[key] < 1)

    def _moved(self, name: str, pods: Sequence[PodInfo]) -> _NoPlace | Sequence[Destination]:
        """The pods' new nodes (`findPlaceFor`), applied to the snapshot; or the first pod that fits on no node.

        Meanwhile the node still exists, empty and tainted: it counts for spread constraints.
        """
        trial = self._snapshot.fork()
        trial.empty_node(_doomed(trial.node(name).node, self._now))
        found: list[Destination] = []
        destinations = self._destinations - {name}
        for pod in pods:
            moving = _unassigned(pod)
            node = trial.schedule_anywhere(moving, destinations)
            if not node:
                return _NoPlace(pod.key, _nearest(trial.objections(moving, destinations)))
            found.append(Destination(pod=pod.key, node=node))
        trial.remove_node(name)
        self._snapshot.adopt(trial)
        return found


class _NoPlace(NamedTuple):
    """A pod that fits on no other node, and the node that comes closest."""

    pod: str
    nearest: NearestNode | None


def _nearest(objections: Mapping[str, Verdict]) -> NearestNode | None:
    if not objections:
        return None
    name = nearest(objections)
    status = objections[name].status
    return NearestNode(node=name, plugin=objections[name].plugin, reasons=status.reasons, evidence=status.evidence)


def _doomed(node: Node, now: int) -> Node:
    taint = Taint(key=TO_BE_DELETED, value=str(now // SECOND), effect="NoSchedule")
    return replace(node, spec=replace(node.spec, taints=(*node.spec.taints, taint)))


def _unassigned(info: PodInfo) -> PodInfo:
    pod = info.pod
    return PodInfo(replace(pod, spec=replace(pod.spec, node_name="")))
