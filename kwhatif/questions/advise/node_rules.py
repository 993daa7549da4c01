"""Changes of a manifest's rules about nodes: node selector, node affinity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import convert

from kwhatif.kube.matching.labels import SelectorError, compile_requirement
from kwhatif.kube.matching.names import nearest
from kwhatif.kube.model.affinity import NodeSelectorTerm
from kwhatif.kube.model.meta import Requirement
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.advise.change import PREFERRED, REQUIRED, WEIGHT, AdvisedChange, Revise, Spec, in_spec, prune
from kwhatif.scheduler.framework.evidence import UnmatchedSelector
from kwhatif.state.node_info import NodeInfo


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
    """Not terms with node names, or that can never match: as preferences they would fail every attempt."""
    if not term.get("matchExpressions") or "matchFields" in term:
        return False
    try:
        for need in term["matchExpressions"]:
            compile_requirement(convert(need, Requirement))
    except SelectorError:
        return False
    return True
