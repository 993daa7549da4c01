"""The node lifecycle controller: handles nodes that are not ready, or whose kubelet is silent.

Follows `pkg/controller/nodelifecycle/node_lifecycle_controller.go`. Its monitor runs every 5 s, and its rate-limited
queue is polled for nodes to taint every 0.1 s. Here both run exactly when there is something to do: a node is lost
exactly one grace period after its last heartbeat. In a real cluster it is up to 10 s earlier or later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, SyncResult, Update, View, Write, earliest
from kwhatif.controllers.finished_pods import pods_assigned_to
from kwhatif.controllers.node_health import NodeHealth
from kwhatif.controllers.node_taints import ready_status, with_no_schedule_taints
from kwhatif.controllers.zones import Zones
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.node import Node, NodeCondition
from kwhatif.kube.model.pod import Pod, is_ready, pod_condition
from kwhatif.kube.model.pod_status import PodCondition

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
