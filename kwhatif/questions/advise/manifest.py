"""Possible changes of a manifest: of a pod's spec, derived from the obstacles to a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import convert

from kwhatif.kube.matching.field_errors import nearest
from kwhatif.kube.matching.labels import SelectorError, compile_requirement
from kwhatif.kube.matching.pods import AffinityTerm
from kwhatif.kube.matching.requests import PODS
from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import NodeSelectorTerm, PodAffinityTerm, TopologySpreadConstraint
from kwhatif.questions.advise.change import PREFERRED, REQUIRED, WEIGHT, AdvisedChange, Revise, Spec, in_spec, prune
from kwhatif.questions.advise.missing import request_less
from kwhatif.questions.advise.reserved import RESERVED, is_for, is_reserved
from kwhatif.report.advise import AdviceKind
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

#: The extra cost of each further term that is softened with the first.
_ANOTHER_TERM = 15
#: Evidence about a term of the pod's own (anti-)affinity.
OwnTerm = PodAffinityUnmatched | PodAntiAffinityMatched


def wider(pod: Pod, evidence: SpreadSkew) -> Iterator[AdvisedChange]:
    """The skew if the pod were placed there."""
    skew = evidence.matching + evidence.self_match - evidence.minimum
    for place, constraint in enumerate(pod.spec.topology_spread_constraints):
        if _is_hard(constraint, evidence.topology_key) and constraint.max_skew == evidence.max_skew:
            yield _skewed(place, evidence.topology_key, evidence.max_skew, skew)
            return


def _skewed(place: int, key: str, before: int, skew: int) -> AdvisedChange:
    def revise(spec: Spec) -> None:
        spec["topologySpreadConstraints"][place]["maxSkew"] = skew

    return in_spec("widen-skew", revise, about=key, before=str(before), after=str(skew))


def soft_spread(pod: Pod, key: str) -> Iterator[AdvisedChange]:
    """Make every constraint over this key preferred instead of required."""
    places = [
        place for place, constraint in enumerate(pod.spec.topology_spread_constraints) if _is_hard(constraint, key)
    ]

    def revise(spec: Spec) -> None:
        for place in places:
            spec["topologySpreadConstraints"][place]["whenUnsatisfiable"] = "ScheduleAnyway"

    if places:
        yield in_spec("soften-spread", revise, about=key, before="DoNotSchedule", after="ScheduleAnyway")


def _is_hard(constraint: TopologySpreadConstraint, key: str) -> bool:
    return constraint.topology_key == key and constraint.when_unsatisfiable == "DoNotSchedule"


def soft_terms(pod: Pod, objecting: Sequence[OwnTerm]) -> Iterator[AdvisedChange]:
    """Make the unmatched terms preferred; they are all of affinity, or all of anti-affinity."""
    affinity = pod.spec.affinity
    away = isinstance(objecting[0], PodAntiAffinityMatched)
    kind = "podAntiAffinity" if away else "podAffinity"
    rule = None if affinity is None else affinity.pod_anti_affinity if away else affinity.pod_affinity
    terms = rule.required if rule else ()
    places = [place for place, term in enumerate(terms) if any(_is_about(term, pod, each) for each in objecting)]

    def revise(spec: Spec) -> None:
        side = spec["affinity"][kind]
        soft = [side[REQUIRED][place] for place in places]
        hard = [term for place, term in enumerate(side[REQUIRED]) if place not in places]
        if hard:
            side[REQUIRED] = hard
        else:
            del side[REQUIRED]
        side.setdefault(PREFERRED, []).extend({"weight": WEIGHT, "podAffinityTerm": term} for term in soft)

    def less() -> Iterator[AdvisedChange]:
        for term in objecting if len(objecting) > 1 else ():
            yield from soft_terms(pod, [each for each in objecting if each is not term])

    if places:
        name: AdviceKind = "soften-anti-affinity" if away else "soften-pod-affinity"
        keys, selectors = ({each.topology_key: 0 for each in objecting}, {each.selector: 0 for each in objecting})
        extra = _ANOTHER_TERM * (len(objecting) - 1)
        yield in_spec(name, revise, extra=extra, about=" and ".join(keys), before=" and ".join(selectors), less=less)


def _is_about(term: PodAffinityTerm, pod: Pod, evidence: OwnTerm) -> bool:
    try:
        compiled = AffinityTerm.of(term, pod.metadata.namespace)
    except SelectorError:
        return False
    return compiled.topology_key == evidence.topology_key and compiled.selector_text == evidence.selector


def other_nodes(pod: Pod, evidence: UnmatchedSelector, node: NodeInfo) -> Iterator[AdvisedChange]:
    """The part of node selector and node affinity that the node does not match."""
    wanted = pod.spec.node_selector or {}
    wrong = {key: value for key, value in wanted.items() if node.labels.get(key) != value}
    if wrong:
        known = dict(_own_labels(wrong, node))
        if len(known) == len(wrong):
            yield in_spec(
                "change-selector",
                lambda spec: _exchange(spec["nodeSelector"], wrong, known),
                before=_pairs(wrong),
                after=_pairs(known),
            )
        yield in_spec("drop-selector", lambda spec: _drop_pairs(spec, wrong), before=_pairs(wrong))
        return
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if affinity is None or affinity.required is None:
        return
    yield from _widened(affinity.required.node_selector_terms, node)
    yield in_spec("soften-node-affinity", soften_node_affinity, about=" or ".join(evidence.terms))


def _own_labels(wrong: Iterable[str], node: NodeInfo) -> Iterator[tuple[str, str]]:
    """The node's labels with these keys, or with similar keys."""
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


def _widened(terms: Sequence[NodeSelectorTerm], node: NodeInfo) -> Iterator[AdvisedChange]:
    """The node's value added to those of an expression, if that is the only mismatch."""
    for at, term in enumerate(terms):
        wrong = [place for place, need in enumerate(term.match_expressions) if not _meets(need, node)]
        if len(wrong) != 1 or term.match_fields:
            continue
        need = term.match_expressions[wrong[0]]
        if need.operator == "In" and need.key in node.labels:
            value = node.labels[need.key]
            yield in_spec(
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


def soften_node_affinity(spec: Spec) -> None:
    """Make required node affinity preferred, as far as possible."""
    affinity = spec["affinity"]["nodeAffinity"]
    terms = affinity.pop(REQUIRED)["nodeSelectorTerms"]
    entries = [{"weight": WEIGHT, "preference": term} for term in terms if _can_be_preferred(term)]
    if entries:
        affinity.setdefault(PREFERRED, []).extend(entries)
    prune(spec, "nodeAffinity")


def _can_be_preferred(term: Mapping[str, Any]) -> bool:
    """Terms with node names, or that can never match, are left out: as preferences they would fail every attempt."""
    if not term.get("matchExpressions") or "matchFields" in term:
        return False
    try:
        for need in term["matchExpressions"]:
            compile_requirement(convert(need, Requirement))
    except SelectorError:
        return False
    return True


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
    """Remove node names, if PreFilter leaves only some nodes, or none."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if pod.spec.node_name:
        yield in_spec("drop-node-name", lambda spec: _drop(spec, "nodeName"), before=pod.spec.node_name)
    if affinity is not None and affinity.required is not None:
        yield in_spec("soften-node-affinity", soften_node_affinity, about="its nodes by name")


def ungated(pod: Pod) -> AdvisedChange:
    """Remove the scheduling gates."""
    gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
    return in_spec("drop-gates", lambda spec: _drop(spec, "schedulingGates"), before=gates)


def with_scheduler(name: str, before: str) -> AdvisedChange:
    """Use another scheduler."""

    def revise(spec: Spec) -> None:
        spec["schedulerName"] = name

    return in_spec("scheduler-name", revise, before=before, after=name)


def with_priority_class(name: str, before: str) -> AdvisedChange:
    """Use another priority class."""

    def revise(spec: Spec) -> None:
        spec["priorityClassName"] = name
        _drop(spec, "priority")
        _drop(spec, "preemptionPolicy")

    return in_spec("priority-class", revise, before=before, after=name)


def may_preempt() -> AdvisedChange:
    """Allow the pod to evict pods of lower priority."""

    def revise(spec: Spec) -> None:
        spec["preemptionPolicy"] = "PreemptLowerPriority"

    return in_spec("preemption-policy", revise, before="Never", after="PreemptLowerPriority")


def _drop(spec: Spec, field: str) -> None:
    spec.pop(field, None)


def _less(evidence: InsufficientResource) -> Iterator[AdvisedChange]:
    free = evidence.allocatable - evidence.used
    if evidence.resource != PODS and 0 < free < evidence.requested:
        yield request_less(evidence.resource, evidence.requested, evidence.requested - free)


def tolerating(taint: UntoleratedTaint, extra: int = 0) -> AdvisedChange:
    """Tolerate the taint; `extra` is the extra cost."""
    entry = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    if not taint.value:
        entry = {"key": taint.key, "operator": "Exists", "effect": taint.effect}

    def revise(spec: Spec) -> None:
        spec.setdefault("tolerations", []).append(entry)

    return in_spec("tolerate", revise, about=taint_text(taint), extra=extra)


def _tolerate(taint: UntoleratedTaint, pod: Pod, node: NodeInfo | None) -> AdvisedChange:
    extra = RESERVED if is_reserved(taint, node) and not is_for(pod, node) else _own_domain(taint)
    return tolerating(taint, extra)


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
