"""What could be different in the manifest: changes of a pod's spec, made from what keeps it away from a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from kwhatif.framework.evidence import (
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
)
from kwhatif.matching.affinity import AffinityTerm
from kwhatif.matching.labels import SelectorError, compile_requirement
from kwhatif.matching.requests import PODS
from kwhatif.model.meta import Requirement
from kwhatif.model.nearest import nearest
from kwhatif.model.pod import NodeSelectorTerm, Pod, PodAffinityTerm, TopologySpreadConstraint
from kwhatif.report import AdviceKind
from kwhatif.state.node_info import NodeInfo
from kwhatif.whatif.advise.change import COSTS, Change, Revise, Spec
from kwhatif.whatif.advise.requests import request_less

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
#: A rule that is preferred instead of required counts as much as one can.
_WEIGHT = 100
#: Taints by which the node controller says that a node is in trouble: nobody should tolerate those.
STATE_OF_NODE = "node.kubernetes.io/"
_PORTS = range(1, 65_536)


def _change(kind: AdviceKind, revise: Revise, about: str = "", before: str = "", after: str = "") -> Change:
    return Change(kind=kind, by="manifest", about=about, before=before, after=after, cost=COSTS[kind], revise=revise)


def in_manifest(pod: Pod, evidence: Evidence | None, node: NodeInfo | None) -> Iterator[Change]:
    """What the manifest could say instead, so that this no longer keeps the pod away from the node."""
    match evidence:
        case InsufficientResource():
            yield from _less(evidence)
        case UntoleratedTaint() if not evidence.key.startswith(STATE_OF_NODE):
            yield _tolerate(evidence)
        case WrongNode():
            yield _change("drop-node-name", lambda spec: _drop(spec, "nodeName"), before=evidence.wanted)
        case UnmatchedSelector() if node is not None:
            yield from _selectors(pod, evidence, node)
        case PortConflict() if node is not None:
            yield from _ports(evidence, node)
        case SpreadSkew():
            yield from _wider(pod, evidence)
            yield from _soft_spread(pod, evidence.topology_key)
        case MissingTopologyLabel():
            yield from _soft_spread(pod, evidence.topology_key)
        case PodAffinityUnmatched():
            yield from _soft_terms(pod, "podAffinity", evidence.topology_key, evidence.selector)
        case PodAntiAffinityMatched():
            yield from _soft_terms(pod, "podAntiAffinity", evidence.topology_key, evidence.selector)


def anywhere(pod: Pod) -> Iterator[Change]:
    """Not bound to nodes by name: where PreFilter leaves only some nodes, or none."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if pod.spec.node_name:
        yield _change("drop-node-name", lambda spec: _drop(spec, "nodeName"), before=pod.spec.node_name)
    if affinity is not None and affinity.required is not None:
        yield _change("soften-node-affinity", _soften_node_affinity, about="its nodes by name")


def ungated(pod: Pod) -> Change:
    """Without its scheduling gates."""
    gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
    return _change("drop-gates", lambda spec: _drop(spec, "schedulingGates"), before=gates)


def with_scheduler(name: str, before: str) -> Change:
    """Left to another scheduler."""

    def revise(spec: Spec) -> None:
        spec["schedulerName"] = name

    return _change("scheduler-name", revise, before=before, after=name)


def with_priority_class(name: str, before: str) -> Change:
    """Of another priority class."""

    def revise(spec: Spec) -> None:
        spec["priorityClassName"] = name
        _drop(spec, "priority")
        _drop(spec, "preemptionPolicy")

    return _change("priority-class", revise, before=before, after=name)


def may_preempt() -> Change:
    """Allowed to evict pods of lower priority."""

    def revise(spec: Spec) -> None:
        spec["preemptionPolicy"] = "PreemptLowerPriority"

    return _change("preemption-policy", revise, before="Never", after="PreemptLowerPriority")


def _drop(spec: Spec, field: str) -> None:
    spec.pop(field, None)


def _less(evidence: InsufficientResource) -> Iterator[Change]:
    free = evidence.allocatable - evidence.used
    if evidence.resource != PODS and 0 < free < evidence.requested:
        yield request_less(evidence.resource, evidence.requested, evidence.requested - free)


def _tolerate(taint: UntoleratedTaint) -> Change:
    entry = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    if not taint.value:
        entry = {"key": taint.key, "operator": "Exists", "effect": taint.effect}

    def revise(spec: Spec) -> None:
        spec.setdefault("tolerations", []).append(entry)

    value = f"={taint.value}" if taint.value else ""
    change = _change("tolerate", revise, about=f"{taint.key}{value}:{taint.effect}")
    return replace(change, cost=change.cost + precious(taint))


def precious(taint: UntoleratedTaint) -> int:
    """What it costs more to go to nodes that are kept for what needs them: control planes, devices."""
    if taint.key.startswith("node-role.kubernetes.io/"):
        return 40
    return 10 if "/" in taint.key else 0


# --- node selector and node affinity -----------------------------------------------------------------------------


def _selectors(pod: Pod, evidence: UnmatchedSelector, node: NodeInfo) -> Iterator[Change]:
    """The part of node selector and node affinity that the node does not match."""
    wanted = pod.spec.node_selector or {}
    wrong = {key: value for key, value in wanted.items() if node.labels.get(key) != value}
    if wrong:
        known = dict(_own_labels(wrong, node))
        if len(known) == len(wrong):
            yield _change(
                "change-selector",
                lambda spec: _exchange(spec["nodeSelector"], wrong, known),
                before=_pairs(wrong),
                after=_pairs(known),
            )
        yield _change("drop-selector", lambda spec: _drop_pairs(spec, wrong), before=_pairs(wrong))
        return
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if affinity is None or affinity.required is None:
        return
    yield from _widened(affinity.required.node_selector_terms, node)
    yield _change("soften-node-affinity", _soften_node_affinity, about=" or ".join(evidence.terms))


def _own_labels(wrong: Iterable[str], node: NodeInfo) -> Iterator[tuple[str, str]]:
    """The node's labels of these keys, or of keys that are spelled much like them."""
    for key in wrong:
        for own in [key] if key in node.labels else nearest(key, node.labels)[:1]:
            yield own, node.labels[own]


def _exchange(selector: dict[str, str], wrong: Iterable[str], known: Mapping[str, str]) -> None:
    for key in wrong:
        if key not in known:
            del selector[key]
    selector.update(known)


def _pairs(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in labels.items())


def _drop_pairs(spec: Spec, keys: Mapping[str, str]) -> None:
    left = {key: value for key, value in spec["nodeSelector"].items() if key not in keys}
    if left:
        spec["nodeSelector"] = left
    else:
        del spec["nodeSelector"]


def _widened(terms: Sequence[NodeSelectorTerm], node: NodeInfo) -> Iterator[Change]:
    """The node's own value as one more of those that an expression takes, where that is all that is wrong."""
    for at, term in enumerate(terms):
        wrong = [place for place, need in enumerate(term.match_expressions) if not _meets(need, node)]
        if len(wrong) != 1 or term.match_fields:
            continue
        need = term.match_expressions[wrong[0]]
        if need.operator == "In" and need.key in node.labels:
            value = node.labels[need.key]
            yield _change(
                "widen-node-affinity",
                _with_value(at, wrong[0], value),
                about=need.key,
                before=", ".join(need.values),
                after=value,
            )


def _meets(need: Requirement, node: NodeInfo) -> bool:
    try:
        return compile_requirement(need)(node.labels)
    except SelectorError:
        return False


def _with_value(term: int, place: int, value: str) -> Revise:
    def revise(spec: Spec) -> None:
        terms = spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
        terms[term]["matchExpressions"][place]["values"].append(value)

    return revise


def _soften_node_affinity(spec: Spec) -> None:
    affinity = spec["affinity"]["nodeAffinity"]
    terms = affinity.pop(REQUIRED)["nodeSelectorTerms"]
    entries = [{"weight": _WEIGHT, "preference": term} for term in terms if _can_be_preferred(term)]
    if entries:
        affinity.setdefault(PREFERRED, []).extend(entries)
    _prune(spec, "nodeAffinity")


def _can_be_preferred(term: Mapping[str, Any]) -> bool:
    """Not one about a node's name, or one that can never match: a preference of that kind would fail every attempt."""
    if not term.get("matchExpressions") or "matchFields" in term:
        return False
    try:
        for need in term["matchExpressions"]:
            compile_requirement(convert(need, Requirement))
    except SelectorError:
        return False
    return True


def _prune(spec: Spec, kind: str) -> None:
    """Leave no empty affinity behind."""
    if not spec["affinity"][kind]:
        del spec["affinity"][kind]
    if not spec["affinity"]:
        del spec["affinity"]


# --- host ports --------------------------------------------------------------------------------------------------


def _ports(evidence: PortConflict, node: NodeInfo) -> Iterator[Change]:
    taken = {port.port for other in node.pods for port in other.ports}
    other = next((port for port in (*_PORTS[evidence.port :], *_PORTS) if port not in taken), None)
    before = f"{evidence.port}/{evidence.protocol}"
    if other is not None:
        yield _change(
            "change-host-port",
            _on_ports(evidence, lambda port: port.update(hostPort=other)),
            before=before,
            after=f"{other}/{evidence.protocol}",
        )
    yield _change("drop-host-port", _on_ports(evidence, lambda port: port.pop("hostPort")), before=before)


def _on_ports(evidence: PortConflict, act: Callable[[dict[str, Any]], object]) -> Revise:
    def revise(spec: Spec) -> None:
        if spec.get("hostNetwork"):
            return  # there, the port of a container is that of the host
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            for port in container.get("ports") or ():
                same = port.get("hostPort") == evidence.port and (port.get("protocol") or "TCP") == evidence.protocol
                if same:
                    act(port)

    return revise


# --- pods elsewhere ----------------------------------------------------------------------------------------------


def _wider(pod: Pod, evidence: SpreadSkew) -> Iterator[Change]:
    """The skew that there would be."""
    skew = evidence.matching + evidence.self_match - evidence.minimum
    for place, constraint in enumerate(pod.spec.topology_spread_constraints):
        if _is_hard(constraint, evidence.topology_key) and constraint.max_skew == evidence.max_skew:
            yield _skewed(place, evidence.topology_key, evidence.max_skew, skew)
            return


def _skewed(place: int, key: str, before: int, skew: int) -> Change:
    def revise(spec: Spec) -> None:
        spec["topologySpreadConstraints"][place]["maxSkew"] = skew

    return _change("widen-skew", revise, about=key, before=str(before), after=str(skew))


def _soft_spread(pod: Pod, key: str) -> Iterator[Change]:
    places = [
        place for place, constraint in enumerate(pod.spec.topology_spread_constraints) if _is_hard(constraint, key)
    ]

    def revise(spec: Spec) -> None:
        for place in places:
            spec["topologySpreadConstraints"][place]["whenUnsatisfiable"] = "ScheduleAnyway"

    if places:
        yield _change("soften-spread", revise, about=key, before="DoNotSchedule", after="ScheduleAnyway")


def _is_hard(constraint: TopologySpreadConstraint, key: str) -> bool:
    return constraint.topology_key == key and constraint.when_unsatisfiable == "DoNotSchedule"


def _soft_terms(pod: Pod, kind: str, key: str, selector: str) -> Iterator[Change]:
    """The term that fails is preferred instead; all of affinity, where it is not known which of them fails."""
    affinity = pod.spec.affinity
    rule = None if affinity is None else affinity.pod_affinity if kind == "podAffinity" else affinity.pod_anti_affinity
    terms = rule.required if rule else ()
    places = [place for place, term in enumerate(terms) if _is_about(term, pod, key, selector)]

    def revise(spec: Spec) -> None:
        side = spec["affinity"][kind]
        soft = [side[REQUIRED][place] for place in places]
        hard = [term for place, term in enumerate(side[REQUIRED]) if place not in places]
        if hard:
            side[REQUIRED] = hard
        else:
            del side[REQUIRED]
        side.setdefault(PREFERRED, []).extend({"weight": _WEIGHT, "podAffinityTerm": term} for term in soft)

    if places:
        name: AdviceKind = "soften-pod-affinity" if kind == "podAffinity" else "soften-anti-affinity"
        yield _change(name, revise, about=key, before=selector)


def _is_about(term: PodAffinityTerm, pod: Pod, key: str, selector: str) -> bool:
    try:
        compiled = AffinityTerm(term, pod.metadata.namespace)
    except SelectorError:
        return False
    return compiled.topology_key == key and compiled.selector_text == selector
