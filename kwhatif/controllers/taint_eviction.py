"""Taints for nodes' conditions, and the eviction of pods from nodes with NoExecute taints.

(`pkg/controller/nodelifecycle/node_lifecycle_controller.go`, `pkg/controller/tainteviction/taint_eviction.go`.) Budgets
are ignored. `tolerationSeconds` count from when the taint of the pod's node is seen, not from its `timeAdded`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, DeletePod, SyncResult, View
from kwhatif.controllers.pods import pods_assigned_to
from kwhatif.kube.matching.nodes import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE_TAINT, no_execute_taints, tolerates
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.pod import Pod, PodCondition
from kwhatif.kube.model.pod_spec import Toleration

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
#: Condition and status -> the key of the NoSchedule taint.
_NO_SCHEDULE: Mapping[tuple[str, str], str] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_NO_SCHEDULE_KEYS = frozenset([*_NO_SCHEDULE.values(), UNSCHEDULABLE_TAINT.key])
#: Status of the condition Ready -> the key of the NoExecute taint.
_NO_EXECUTE = {"False": NOT_READY, "Unknown": UNREACHABLE}


def ready_status(node: Node) -> str:
    """The status of the node's condition Ready; "True" if it has none, as in a hand-written node."""
    return next((each.status for each in node.status.conditions if each.type == "Ready"), "True")


def with_no_schedule_taints(node: Node) -> Node:
    """The node with the NoSchedule taints of its conditions and of its cordon (`doNoScheduleTaintingPass`)."""
    keys = [
        key
        for condition in node.status.conditions
        if (key := _NO_SCHEDULE.get((condition.type, condition.status))) is not None
    ]
    if node.spec.unschedulable:
        keys.append(UNSCHEDULABLE_TAINT.key)
    return _with_taints(node, NO_SCHEDULE, keys, _NO_SCHEDULE_KEYS)


def with_no_execute_taint(node: Node) -> Node:
    """The node with the NoExecute taint for its condition Ready."""
    key = _NO_EXECUTE.get(ready_status(node))
    return _with_taints(node, NO_EXECUTE, [] if key is None else [key], _NO_EXECUTE.values())


def without_no_execute_taints(node: Node) -> Node:
    """The node without the NoExecute taints for the condition Ready (`markNodeAsReachable`)."""
    return _with_taints(node, NO_EXECUTE, (), _NO_EXECUTE.values())


def is_evicting(node: Node) -> bool:
    """Whether the node has a NoExecute taint for the condition Ready."""
    return any(taint.effect == NO_EXECUTE and taint.key in _NO_EXECUTE.values() for taint in node.spec.taints)


def registered(node: Node) -> Node:
    """A new node as the API server stores it: not ready until the controller has seen its conditions.

    Follows `plugin/pkg/admission/nodetaint/admission.go`.
    """
    return _with_taints(node, NO_SCHEDULE, [NOT_READY], ())


def _with_taints(node: Node, effect: str, keys: Collection[str], own: Collection[str]) -> Node:
    """The node with taints of these keys and this effect, and without those of the other keys in `own`.

    New taints come last, as in upstream's `addOrUpdateTaint`.
    """
    taints = node.spec.taints
    kept = [taint for taint in taints if taint.effect != effect or taint.key not in own or taint.key in keys]
    there = {taint.key for taint in kept if taint.effect == effect}
    new = [Taint(key=key, effect=effect) for key in dict.fromkeys(keys) if key not in there]
    if not new and len(kept) == len(taints):
        return node
    return replace(node, spec=replace(node.spec, taints=(*kept, *new)))


#: The condition that the eviction sets in the pod's status.
TAINTED = PodCondition(type="DisruptionTarget", status="True", reason="DeletionByTaintManager")
_NOT_TOLERATED = -1.0
#: The API server adds tolerations for these to every pod, for 300 s by default (`defaulttolerationseconds`). A pod
#: without these tolerations was never stored by the API server: it is not known how long it would stay, so it is not
#: evicted.
DEFAULTED = (NOT_READY, UNREACHABLE)


class TaintEviction:
    """Deletes pods that do not tolerate a NoExecute taint of their node, or no longer; its keys are pods.

    QUIRK: (processPodOnNode) once a pod's timer runs, it does not change while all taints are tolerated: a second
    taint that is tolerated for a shorter time has no effect.
    """

    name = "TaintEviction"
    watches = (Node, Pod)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """Pods on a node whose NoExecute taints changed; a pod that was bound, or whose tolerations changed.

        Deleting a node does not evict its pods or cancel their timers.
        """
        if isinstance(after, Node):
            was = no_execute_taints(before) if isinstance(before, Node) else ()
            same = was == no_execute_taints(after)
            return () if same else pods_assigned_to(after.metadata.name, view.state)
        if isinstance(after, Pod) and after.spec.node_name:
            same = (
                isinstance(before, Pod)
                and before.spec.node_name == after.spec.node_name
                and before.spec.tolerations == after.spec.tolerations
            )
            return () if same or not _taints_of(after, view) else (key_of(after),)
        if isinstance(before, Pod) and view.memory(self.name, key_of(before)):
            return (key_of(before),)
        return ()

    def sync(self, key: str, view: View) -> SyncResult:
        """Delete the pod, or start, keep or cancel its timer."""
        memory = view.memory(self.name, key)
        pod = view.state.cluster.get(Pod, key)
        if pod is None or memory.get("uid", pod.metadata.uid) != pod.metadata.uid:
            memory.clear()
        if pod is None:
            return NOTHING
        if view.state.node(pod.spec.node_name) is not None:
            self._set_timer(pod, view)
        due: float | None = memory.get("due")
        if due is None:
            return NOTHING
        if due > view.now:
            return SyncResult(again=due)
        memory.clear()
        if pod.metadata.deletion_timestamp is not None:
            return NOTHING
        return SyncResult((DeletePod(key, "TaintEviction", condition=TAINTED),))

    def _set_timer(self, pod: Pod, view: View) -> None:
        memory = view.memory(self.name, key_of(pod))
        seconds = _tolerated_for(_taints_of(pod, view), pod.spec.tolerations)
        if seconds is None:
            memory.clear()
        elif seconds == _NOT_TOLERATED or "due" not in memory or memory["since"] == view.now:
            memory.update(uid=pod.metadata.uid, since=view.now, due=view.now + max(seconds, 0))


def evicted_after(pod: Pod, node: Node) -> float | None:
    """Seconds after which the node's NoExecute taints would evict the pod; None: never.

    The two taints that the API server makes every pod tolerate do not count: they are temporary.
    """
    taints = [taint for taint in no_execute_taints(node) if taint.key not in DEFAULTED]
    seconds = _tolerated_for(taints, pod.spec.tolerations)
    return None if seconds is None else max(seconds, 0.0)


def says_for_how_long(pod: Pod, node: Node) -> bool:
    """Whether the pod's tolerations set how long it stays on a lost node; the tolerations of stored pods do."""
    taints = [taint for taint in no_execute_taints(node) if taint.key in DEFAULTED]
    return all(any(tolerates(each, taint) for each in pod.spec.tolerations) for taint in taints)


def stays_for_ever(pod: Pod, node: Node) -> bool:
    """Whether the pod tolerates all NoExecute taints of its node without a time limit."""
    return _tolerated_for(no_execute_taints(node), pod.spec.tolerations) is None


def _taints_of(pod: Pod, view: View) -> Sequence[Taint]:
    node = view.state.node(pod.spec.node_name)
    return () if node is None or not node.taints else no_execute_taints(node.node)


def _tolerated_for(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> float | None:
    """Seconds for which all taints are tolerated; None: forever. For each taint the first toleration counts."""
    least: float | None = None
    for taint in taints:
        used = next((toleration for toleration in tolerations if tolerates(toleration, taint)), None)
        if used is None:
            if taint.key in DEFAULTED:
                continue
            return _NOT_TOLERATED
        if used.toleration_seconds is not None:
            seconds = max(used.toleration_seconds, 0)
            least = seconds if least is None else min(least, seconds)
    return least
