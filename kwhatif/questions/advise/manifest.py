"""Possible changes of the manifest: of a pod's spec, derived from the obstacles to a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kwhatif.kube.matching.requests import PODS
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.advise.change import AdvisedChange, Revise, Spec, in_spec
from kwhatif.questions.advise.node_rules import other_nodes, soften_node_affinity
from kwhatif.questions.advise.pod_rules import soft_spread, soft_terms, wider
from kwhatif.questions.advise.requests import request_less
from kwhatif.questions.advise.reserved import RESERVED, is_for, is_reserved
from kwhatif.scheduler.framework.evidence import (
    Evidence,
    InsufficientResource,
    MissingTopologyLabel,
    PodAffinityUnmatched,
    PodAntiAffinityMatched,
    PortConflict,
    SpreadSkew,
    UnmatchedSelector,
    UntoleratedTaint,
    WrongNode,
    taint_text,
)
from kwhatif.state.node_info import NodeInfo

#: Taints by which the node controller marks nodes with problems: pods should not tolerate these.
STATE_OF_NODE = "node.kubernetes.io/"
_PORTS = range(1, 65_536)


def in_manifest(pod: Pod, evidence: Evidence | None, node: NodeInfo | None) -> Iterator[AdvisedChange]:
    """Changes of the manifest that remove this obstacle to the node."""
    match evidence:
        case InsufficientResource():
            yield from _less(evidence)
        case UntoleratedTaint() if not evidence.key.startswith(STATE_OF_NODE):
            yield _tolerate(evidence, pod, node)
        case WrongNode():
            yield in_spec("drop-node-name", lambda spec: _drop(spec, "nodeName"), before=evidence.wanted)
        case UnmatchedSelector() if node is not None:
            yield from other_nodes(pod, evidence, node)
        case PortConflict() if node is not None:
            yield from _ports(evidence, node)
        case SpreadSkew():
            yield from wider(pod, evidence)
            yield from soft_spread(pod, evidence.topology_key)
        case MissingTopologyLabel():
            yield from soft_spread(pod, evidence.topology_key)
        case PodAffinityUnmatched() | PodAntiAffinityMatched():
            yield from soft_terms(pod, [evidence])


def anywhere(pod: Pod) -> Iterator[AdvisedChange]:
    """Without node names: if PreFilter leaves only some nodes, or none."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if pod.spec.node_name:
        yield in_spec("drop-node-name", lambda spec: _drop(spec, "nodeName"), before=pod.spec.node_name)
    if affinity is not None and affinity.required is not None:
        yield in_spec("soften-node-affinity", soften_node_affinity, about="its nodes by name")


def ungated(pod: Pod) -> AdvisedChange:
    """Without its scheduling gates."""
    gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
    return in_spec("drop-gates", lambda spec: _drop(spec, "schedulingGates"), before=gates)


def with_scheduler(name: str, before: str) -> AdvisedChange:
    """Left to another scheduler."""

    def revise(spec: Spec) -> None:
        spec["schedulerName"] = name

    return in_spec("scheduler-name", revise, before=before, after=name)


def with_priority_class(name: str, before: str) -> AdvisedChange:
    """Of another priority class."""

    def revise(spec: Spec) -> None:
        spec["priorityClassName"] = name
        _drop(spec, "priority")
        _drop(spec, "preemptionPolicy")

    return in_spec("priority-class", revise, before=before, after=name)


def may_preempt() -> AdvisedChange:
    """Allowed to evict pods of lower priority."""

    def revise(spec: Spec) -> None:
        spec["preemptionPolicy"] = "PreemptLowerPriority"

    return in_spec("preemption-policy", revise, before="Never", after="PreemptLowerPriority")


def _drop(spec: Spec, field: str) -> None:
    spec.pop(field, None)


def _less(evidence: InsufficientResource) -> Iterator[AdvisedChange]:
    free = evidence.allocatable - evidence.used
    if evidence.resource != PODS and 0 < free < evidence.requested:
        yield request_less(evidence.resource, evidence.requested, evidence.requested - free)


def _tolerate(taint: UntoleratedTaint, pod: Pod, node: NodeInfo | None) -> AdvisedChange:
    entry = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    if not taint.value:
        entry = {"key": taint.key, "operator": "Exists", "effect": taint.effect}

    def revise(spec: Spec) -> None:
        spec.setdefault("tolerations", []).append(entry)

    extra = RESERVED if is_reserved(taint, node) and not is_for(pod, node) else _own_domain(taint)
    return in_spec("tolerate", revise, about=taint_text(taint), extra=extra)


def _own_domain(taint: UntoleratedTaint) -> int:
    """The extra cost of tolerating a taint that some software has defined."""
    return 10 if "/" in taint.key else 0


# --- host ports --------------------------------------------------------------------------------------------------


def _ports(evidence: PortConflict, node: NodeInfo) -> Iterator[AdvisedChange]:
    taken = {port.port for other in node.pods for port in other.ports}
    other = next((port for port in (*_PORTS[evidence.port :], *_PORTS) if port not in taken), None)
    before = f"{evidence.port}/{evidence.protocol}"
    if other is not None:
        yield in_spec(
            "change-host-port",
            _on_ports(evidence, lambda port: port.update(hostPort=other)),
            before=before,
            after=f"{other}/{evidence.protocol}",
        )
    yield in_spec("drop-host-port", _on_ports(evidence, lambda port: port.pop("hostPort")), before=before)


def _on_ports(evidence: PortConflict, act: Callable[[dict[str, Any]], object]) -> Revise:
    def revise(spec: Spec) -> None:
        if spec.get("hostNetwork"):
            return  # there, the container port is the host port
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            for port in container.get("ports") or ():
                same = port.get("hostPort") == evidence.port and (port.get("protocol") or "TCP") == evidence.protocol
                if same:
                    act(port)

    return revise
