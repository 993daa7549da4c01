"""The node lifecycle controller: handles nodes that are not ready, or whose kubelet is silent.

Follows `pkg/controller/nodelifecycle/node_lifecycle_controller.go`. Its monitor runs every 5 s, and its rate-limited
queue is polled for nodes to taint every 0.1 s. Here both run exactly when there is something to do: a node is lost
exactly one grace period after its last heartbeat. In a real cluster it is up to 10 s earlier or later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, SyncResult, Update, View, Write, earliest
from kwhatif.controllers.pods import pods_assigned_to
from kwhatif.controllers.taint_eviction import (
    is_evicting,
    ready_status,
    with_no_execute_taint,
    with_no_schedule_taints,
    without_no_execute_taints,
)
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.node import Node, NodeCondition
from kwhatif.kube.model.pod import Pod, PodCondition, is_ready, pod_condition
from kwhatif.state.nodes import Zone, zone_of

#: The label of nodes that are not counted in their zone.
_EXCLUDED = "node.kubernetes.io/exclude-disruption"

#: Zone -> the number of its nodes that are not ready, and that are ready.
ZoneCounts = Mapping[Zone, tuple[int, int]]


class NodeHealth:
    """Which nodes are unhealthy, and how many nodes of each zone are ready.

    Built once for a cluster, and updated when nodes change (`Cluster.derived`).
    """

    def __init__(self, cluster: Cluster) -> None:
        self.counts: ZoneCounts = {}
        #: The names of nodes that are not ready, or have a NoExecute taint of this controller.
        self.unwell: Mapping[str, None] = {}
        for node in cluster.all(Node).values():
            self._count(node, 1)

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> NodeHealth:
        """See `Index`."""
        other = NodeHealth.__new__(NodeHealth)
        other.counts, other.unwell = self.counts, self.unwell
        if isinstance(before, Node):
            other._count(before, -1)
        if isinstance(after, Node):
            other._count(after, 1)
        return other

    def _count(self, node: Node, amount: int) -> None:
        ready = ready_status(node) == "True"
        if _EXCLUDED not in node.metadata.labels:
            self.counts = moved(self.counts, zone_of(node), lost=0 if ready else amount, ready=amount if ready else 0)
        name = node.metadata.name
        if amount > 0 and (not ready or is_evicting(node)):
            self.unwell = {**self.unwell, name: None}
        elif amount < 0 and name in self.unwell:
            self.unwell = {other: None for other in self.unwell if other != name}

    def after_losing(self, nodes: list[Node]) -> ZoneCounts:
        """The counts if these nodes, which are ready now, are not ready any more."""
        counts = self.counts
        for node in nodes:
            if _EXCLUDED not in node.metadata.labels:
                counts = moved(counts, zone_of(node), lost=1, ready=-1)
        return counts


def moved(counts: ZoneCounts, zone: Zone, *, lost: int, ready: int) -> ZoneCounts:
    """The counts with these numbers added to the zone; a zone without nodes is dropped."""
    before = counts.get(zone, (0, 0))
    after = before[0] + lost, before[1] + ready
    if after == (0, 0):
        return {other: count for other, count in counts.items() if other != zone}
    return {**counts, zone: after}


#: Nodes to taint per second: `--node-eviction-rate`, `--secondary-node-eviction-rate`.
RATE, SECONDARY_RATE = 0.1, 0.01
#: `--unhealthy-zone-threshold`, and `--large-cluster-size-threshold`, which counts the nodes of one zone.
UNHEALTHY_ZONE, LARGE_ZONE = 0.55, 50
#: Up to this number of lost nodes do not disrupt a zone that has other nodes.
_FEW_LOST = 2

ZoneState = Literal["Normal", "PartialDisruption", "FullDisruption"]
#: Zone -> its state and number of nodes.
_States = Mapping[Zone, tuple[ZoneState, int]]


class _Limiter(msgspec.Struct, frozen=True):
    """A zone's token bucket, which holds at most one token."""

    state: ZoneState
    #: Tokens per second.
    rate: float
    #: When the next token is available, in seconds since the start.
    free_at: float


class Zones:
    """The rate limiters of the zones, during one run of the monitor: the more nodes are lost, the lower the rate.

    Follows `handleDisruption`, `ComputeZoneState` and `SwapLimiter`.
    """

    def __init__(self, memory: dict[Any, Any], counts: ZoneCounts, now: float) -> None:
        """Set up.

        Args:
            memory: what is kept between two runs.
            counts: the counts before the current losses: the initial state of new zones.
            now: the time in seconds since the start.
        """
        self._memory = memory
        self._now = now
        states = _states(counts)
        everywhere = _is_everywhere(states)
        for zone, (state, size) in states.items():
            if zone not in memory:
                memory[zone] = _Limiter(state, 0.0 if everywhere else _rate(state, size), now)

    @property
    def probed(self) -> float:
        """When all silent nodes got another grace period, in seconds since the start; minus infinity if never."""
        probed: float = self._memory.get("probed", float("-inf"))
        return probed

    def taint(self, nodes: dict[str, Node], counts: ZoneCounts) -> float | None:
        """Add or remove NoExecute taints of nodes in place.

        If several nodes are lost at one moment, the first one of a zone is tainted before the zone's state is computed:
        in a real cluster that is a race, which the first one usually wins.

        Args:
            nodes: all unhealthy nodes.
            counts: the current counts of each zone.

        Returns:
            When there is more to do, in seconds since the start; None: nothing.
        """
        lost = []
        for name, node in nodes.items():
            if ready_status(node) == "True":
                nodes[name] = without_no_execute_taints(node)
            elif is_evicting(node):
                nodes[name] = with_no_execute_taint(node)
            else:
                lost.append(name)
        waiting = self._next(lost, nodes)
        self._look(nodes, counts)
        waiting = self._next([name for name in waiting if not is_evicting(nodes[name])], nodes)
        zones = {zone_of(nodes[name]) for name in waiting}
        return min((self._memory[zone].free_at for zone in zones if self._limiter(zone).rate > 0), default=None)

    def _next(self, lost: list[str], nodes: dict[str, Node]) -> list[str]:
        """Taint the nodes that get a token; returns the others."""
        waiting = []
        for name in lost:
            zone = zone_of(nodes[name])
            limiter = self._limiter(zone)
            if limiter.rate <= 0 or limiter.free_at > self._now:
                waiting.append(name)
                continue
            nodes[name] = with_no_execute_taint(nodes[name])
            self._memory[zone] = msgspec.structs.replace(limiter, free_at=self._now + 1 / limiter.rate)
        return waiting

    def _limiter(self, zone: Zone) -> _Limiter:
        """The zone's limiter; a zone without counted nodes has the normal state."""
        limiter: _Limiter = self._memory.setdefault(zone, _Limiter("Normal", RATE, self._now))
        return limiter

    def _look(self, nodes: dict[str, Node], counts: ZoneCounts) -> None:
        """Compute the states of the zones, and set their eviction rates."""
        states = _states(counts)
        memory = self._memory
        known = [zone for zone in memory if zone != "probed"]
        is_everywhere = _is_everywhere(states)
        was_everywhere = all(memory[zone].state == "FullDisruption" for zone in known if zone in states)
        if is_everywhere and was_everywhere:
            return
        if is_everywhere:
            nodes.update({name: without_no_execute_taints(node) for name, node in nodes.items()})
        elif was_everywhere:
            memory["probed"] = self._now
        for zone, (state, size) in states.items():
            self._swap(zone, state, 0.0 if is_everywhere else _rate(state, size))

    def _swap(self, zone: Zone, state: ZoneState, rate: float) -> None:
        """Change the rate; the new bucket has as many tokens as the old one."""
        before = self._limiter(zone)
        free_at = before.free_at
        if before.rate != rate and rate > 0:
            was_empty = before.rate == 0 or before.free_at > self._now
            free_at = self._now + 1 / rate if was_empty else self._now
        self._memory[zone] = _Limiter(state, rate, free_at)


def _states(counts: ZoneCounts) -> _States:
    return {zone: (_state(lost, ready), lost + ready) for zone, (lost, ready) in counts.items()}


def _state(lost: int, ready: int) -> ZoneState:
    if ready == 0:
        return "FullDisruption"
    if lost > _FEW_LOST and lost / (lost + ready) >= UNHEALTHY_ZONE:
        return "PartialDisruption"
    return "Normal"


def _is_everywhere(states: _States) -> bool:
    """Whether no zone has a ready node: then no pod is evicted."""
    return all(state == "FullDisruption" for state, _ in states.values())


def _rate(state: ZoneState, size: int) -> float:
    if state == "PartialDisruption":
        return SECONDARY_RATE if size > LARGE_ZONE else 0.0
    return RATE


#: The conditions that a kubelet reports, and that are Unknown once it is silent.
_OF_KUBELET = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
#: The key of the monitor, which checks all nodes; every other key is the name of a node.
MONITOR = ""


class NodeLifecycle:
    """Taints nodes by their conditions, and detects kubelets that have been silent for too long."""

    name = "NodeLifecycle"
    watches = (Node,)

    def __init__(self, grace_period: float = 50.0) -> None:
        """`grace_period`: `--node-monitor-grace-period`, in seconds."""
        self._grace_period = grace_period

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """A new or changed node; and the monitor if its health, taints or labels have changed."""
        del view
        if isinstance(after, Node):
            yield after.metadata.name
            if isinstance(before, Node) and _same_to_monitor(before, after):
                return
        if isinstance(before, Node) or isinstance(after, Node):
            yield MONITOR

    def sync(self, key: str, view: View) -> SyncResult:
        """Update the NoSchedule taints of a node by its conditions, or run the monitor for all nodes."""
        if key == MONITOR:
            return self._monitor(view)
        node = view.state.cluster.get(Node, key)
        if node is None:
            return NOTHING
        changed = with_no_schedule_taints(node)
        return NOTHING if changed is node else SyncResult((Update(changed),))

    def _monitor(self, view: View) -> SyncResult:
        """`monitorNodeHealth`, and the NoExecute taints that the zones' rate limits allow now."""
        cluster = view.state.cluster
        before = cluster.all(Node)
        health = cluster.derived(NodeHealth, Node)
        zones = Zones(view.memory(self.name, MONITOR), health.counts, view.now)
        silent = {
            name: max(since, zones.probed) + self._grace_period
            for name, since in view.silent.items()
            if name in before and ready_status(before[name]) != "Unknown"
        }
        lost = sorted(name for name, due in silent.items() if due <= view.now)
        counts = health.after_losing([before[name] for name in lost if ready_status(before[name]) == "True"])
        nodes = {name: before[name] for name in sorted({*health.unwell, *lost})}
        pods: list[Write] = []
        for name in lost:
            pods += _pods_not_ready(name, view)
            nodes[name] = with_no_schedule_taints(_lost(nodes[name]))
        again = zones.taint(nodes, counts)
        changed = [Update(node) for name, node in nodes.items() if node is not before[name]]
        return SyncResult((*changed, *pods), earliest(again, *(due for due in silent.values() if due > view.now)))


def silent_before(view: View) -> Iterator[str]:
    """The nodes that are lost at the start: their kubelets are silent until they return.

    Pods on them that became not ready at the last heartbeat were ready before: this is kept for `returned`.
    """
    pods = view.state.cluster.all(Pod)
    for name in view.state.cluster.derived(NodeHealth, Node).unwell:
        node = view.state.cluster.all(Node)[name]
        if ready_status(node) != "Unknown":
            continue
        since = next((each.last_heartbeat_time for each in node.status.conditions if each.type == "Ready"), None)
        there = (key for key in pods_assigned_to(name, view.state) if _was_ready(pods[key], since, view))
        view.memory(NodeLifecycle.name, name)["ready"] = tuple(there)
        yield name


def _was_ready(pod: Pod, since: str | None, view: View) -> bool:
    ready = pod_condition(pod, "Ready")
    if ready is None or ready.status == "True" or ready.last_transition_time is None or since is None:
        return ready is not None
    return view.at(ready.last_transition_time) >= view.at(since)


def returned(name: str, view: View) -> tuple[Write, ...]:
    """The writes of a kubelet that is no longer silent: the node is ready, and so are the pods that were before."""
    node = view.state.cluster.get(Node, name)
    if node is None:
        return ()
    conditions = tuple(
        replace(condition, status="True" if condition.type == "Ready" else "False")
        if condition.type in _OF_KUBELET and condition.status == "Unknown"
        else condition
        for condition in node.status.conditions
    )
    pods = [view.state.cluster.get(Pod, key) for key in view.memory(NodeLifecycle.name, name).pop("ready", ())]
    there = [pod for pod in pods if pod is not None and pod.spec.node_name == name and pod.status.phase == "Running"]
    changed = replace(node, status=replace(node.status, conditions=conditions))
    return (Update(changed), *(Update(_with_ready(pod, "True", view)) for pod in there))


def _same_to_monitor(before: Node, after: Node) -> bool:
    return (
        before.status.conditions == after.status.conditions
        and before.spec.taints == after.spec.taints
        and before.metadata.labels == after.metadata.labels
    )


def _lost(node: Node) -> Node:
    """The node with unknown conditions (`tryUpdateNodeHealth`)."""
    there = {condition.type for condition in node.status.conditions}
    conditions = (
        *(replace(each, status="Unknown") if each.type in _OF_KUBELET else each for each in node.status.conditions),
        *(NodeCondition(type=name, status="Unknown") for name in _OF_KUBELET if name not in there),
    )
    return replace(node, status=replace(node.status, conditions=conditions))


def _pods_not_ready(node: str, view: View) -> list[Write]:
    """Mark the node's pods as not ready (`MarkPodsNotReady`); which ones were ready is kept for `returned`."""
    pods = view.state.cluster.all(Pod)
    ready = tuple(key for key in pods_assigned_to(node, view.state) if is_ready(pods[key]))
    view.memory(NodeLifecycle.name, node)["ready"] = ready
    return [Update(_with_ready(pods[key], "False", view)) for key in ready]


def _with_ready(pod: Pod, status: str, view: View) -> Pod:
    before = pod_condition(pod, "Ready")
    if before is None or before.status == status:
        return pod
    after = PodCondition(type="Ready", status=status, last_transition_time=view.stamp(view.now))
    conditions = tuple(after if condition is before else condition for condition in pod.status.conditions)
    return replace(pod, status=replace(pod.status, conditions=conditions))
