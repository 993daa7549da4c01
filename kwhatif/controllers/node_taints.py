"""The taints for a node's conditions (`pkg/controller/nodelifecycle/node_lifecycle_controller.go`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from kwhatif.kube.matching.tolerations import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE_TAINT
from kwhatif.kube.model.node import Node, Taint

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
