"""podgc: force-deletes pods that nothing else removes (`pkg/controller/podgc/gc_controller.go`).

It runs every 20 s. Here this period starts when the first pod must be removed, so the delay is the longest that a real
cluster can have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, DeletePod, SyncResult, Update, View, Write
from kwhatif.controllers.pods import finished_pods
from kwhatif.controllers.taint_eviction import ready_status
from kwhatif.kube.model.cluster import KubernetesObject, key_of, lacks_node
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import ORPHANED, Pod, PodCondition, is_terminal
from kwhatif.state.state import State

#: Seconds between two runs, and seconds for which a node must have been absent.
PERIOD, QUARANTINE = 20.0, 40.0
#: `--terminated-pod-gc-threshold`: the number of finished pods that are kept.
MOST_FINISHED = 12500
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
#: The condition that is set on a pod whose node is gone.
_MARK = PodCondition(type="DisruptionTarget", status="True", reason=ORPHANED)
#: The only key.
ALL = ""


class PodGC:
    """Removes pods of nodes that are gone or out of service, and the oldest of too many finished ones."""

    name = "PodGC"
    watches = (Node, Pod)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """All changes after which there may be a pod to remove."""
        if isinstance(before, Node) or isinstance(after, Node):
            node = before if after is None else after
            assert isinstance(node, Node)
            return (ALL,) if after is None or _is_out_of_service(node) else ()
        if not isinstance(after, Pod):
            return ()
        if is_terminal(after):
            return (ALL,) if finished_pods(view.state.cluster).count > MOST_FINISHED else ()
        node_info = view.state.node(after.spec.node_name) if after.spec.node_name else None
        if node_info is not None and node_info.taints:
            return (ALL,) if after.metadata.deletion_timestamp and _is_out_of_service(node_info.node) else ()
        is_gone = node_info is None and not lacks_node(after.spec.node_name, view.state.cluster)
        is_loose = is_gone and (after.spec.node_name or after.metadata.deletion_timestamp)
        return (ALL,) if is_loose else ()

    def sync(self, key: str, view: View) -> SyncResult:
        """Run, if it is due."""
        memory = view.memory(self.name, key)
        if not _has_work(view):
            memory.clear()
            return NOTHING
        look: float = memory.setdefault("look", view.now + PERIOD)
        if look > view.now:
            return SyncResult(again=look)
        memory["look"] = view.now + PERIOD
        writes = [*_finished(view), *_out_of_service(view), *_orphaned(view, memory), *_unscheduled(view)]
        return SyncResult(tuple(writes), memory["look"])


def _has_work(view: View) -> bool:
    state = view.state
    return (
        bool(_on_missing_nodes(state))
        or finished_pods(state.cluster).count > MOST_FINISHED
        or any(True for _ in _out_of_service(view))
        or any(True for _ in _unscheduled(view))
    )


def _finished(view: View) -> Iterable[Write]:
    """`gcTerminated`: pods that a kubelet evicted first, then the oldest."""
    cluster = view.state.cluster
    surplus = finished_pods(cluster).count - MOST_FINISHED
    if surplus <= 0:
        return []
    pods = [pod for pod in cluster.all(Pod).values() if is_terminal(pod)]
    pods.sort(key=lambda pod: (pod.status.reason != "Evicted", pod.metadata.creation_timestamp or "", key_of(pod)))
    return [write for pod in pods[:surplus] for write in _forced(pod)]


def _out_of_service(view: View) -> Iterable[Write]:
    """`gcTerminating`: pods that are being deleted on nodes that are not ready and out of service."""
    for node in view.state.nodes:
        if node.taints and _is_out_of_service(node.node):
            for pod in node.pods:
                if pod.terminating:
                    yield from _forced(pod.pod)


def _orphaned(view: View, memory: dict[str, Any]) -> Iterable[Write]:
    """`gcOrphaned`: pods whose node has been absent for long enough."""
    missing = {f"node/{name}": pods for name, pods in _on_missing_nodes(view.state).items()}
    for name in [name for name in memory if name != "look" and name not in missing]:
        del memory[name]
    cluster = view.state.cluster
    for name, pods in missing.items():
        if memory.setdefault(name, view.now) + QUARANTINE <= view.now:
            for key in pods:
                yield from _forced(cluster.all(Pod)[key], _MARK)


def _on_missing_nodes(state: State) -> Mapping[str, list[str]]:
    """Name of a deleted node -> the keys of its pods, except those that only a finalizer holds.

    A node that the input lacks is not known to be deleted.
    """
    cluster = state.cluster
    missing = {name: [pod.key for pod in pods] for name, pods in state.strays.items() if not lacks_node(name, cluster)}
    for name in finished_pods(cluster).nodes():
        if name and state.node(name) is None and not lacks_node(name, cluster):
            pods = cluster.all(Pod)
            keys = [key for key in finished_pods(cluster).on(name) if pods[key].metadata.deletion_timestamp is None]
            if keys:
                missing[name] = sorted([*missing.get(name, ()), *keys])
    return dict(sorted(missing.items()))


def _unscheduled(view: View) -> Iterable[Write]:
    """`gcUnscheduledTerminating`: pods that are being deleted, and were never bound."""
    for pod in view.state.pending.values():
        if pod.terminating:
            yield from _forced(pod.pod)


def _forced(pod: Pod, condition: PodCondition | None = None) -> tuple[Write, ...]:
    """Mark the pod as failed if it is unfinished, and delete it without grace period (`markFailedAndDeletePod`)."""
    delete = DeletePod(key_of(pod), "PodGC", 0.0, None if is_terminal(pod) else condition)
    if is_terminal(pod):
        return (delete,)
    return (Update(replace(pod, status=replace(pod.status, phase="Failed"))), delete)


def _is_out_of_service(node: Node) -> bool:
    return ready_status(node) != "True" and any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)
