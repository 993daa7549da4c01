"""Why a pod finds no node, in one word: the rule that keeps it from the nodes that it may use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kwhatif.kube.model.pod import PodSpec, node_affinity_of
from kwhatif.questions.decisions.decide import verdicts_of
from kwhatif.report.risks import AuditCause
from kwhatif.scheduler.framework.attempt import Attempt, Objections, filtered, run_pre_enqueue
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.evidence import (
    CordonedNode,
    Evidence,
    ExistingAntiAffinity,
    InsufficientResource,
    MissingTopologyLabel,
    PodAffinityUnmatched,
    PodAntiAffinityMatched,
    SpreadSkew,
    UnmatchedSelector,
    UntoleratedTaint,
    taint_text,
)
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class PendingCause(NamedTuple):
    """The rule, its subject (resources, topology keys, taints), and the pods' node selector in words."""

    kind: AuditCause
    about: tuple[str, ...] = ()
    pool: str = ""


#: The rules of plugins. `placement` comes first: the pod may not use a node that it excludes.
_KINDS: Mapping[str, AuditCause] = {
    "NodeUnschedulable": "placement",
    "NodeName": "placement",
    "TaintToleration": "placement",
    "NodeAffinity": "placement",
    "VolumeRestrictions": "volume",
    "VolumeBinding": "volume",
    "VolumeZone": "volume",
    "NodeVolumeLimits": "volume",
    "InterPodAffinity": "anti-affinity",
    "PodTopologySpread": "spread",
    "NodePorts": "ports",
    "DynamicResources": "devices",
    "NodeResourcesFit": "room",
}
#: If several rules reject a node, the first of these counts: a full node can be emptied, the others do not change.
_ORDER: tuple[AuditCause, ...] = (
    "placement",
    "volume",
    "affinity",
    "anti-affinity",
    "spread",
    "ports",
    "devices",
    "other",
    "room",
)


def cause_of(profile: Profile | None, pod: PodInfo, state: State, without: Collection[str]) -> PendingCause:
    """Why the pod is pending, without the nodes (`without`) that the what-if itself removes."""
    pool = pool_of(pod.pod.spec)
    if profile is None:
        return PendingCause("other", pool=pool)
    if run_pre_enqueue(profile, pod, state) is not None:
        return PendingCause("gates", tuple(sorted(gate.name for gate in pod.pod.spec.scheduling_gates)), pool)
    cycle = filtered(profile, pod, state)
    if cycle is not None and cycle.feasible:
        return PendingCause("other", pool=pool)
    found = {} if cycle is None else dict(_said_of(cycle, frozenset(without)))
    if not found:
        return PendingCause("placement", pool=pool)
    usable = {name: said for name, said in found.items() if "placement" not in said} or found
    votes = Counter(frozenset(said) for said in usable.values())
    rules = min(votes, key=lambda rules: (len(rules), -votes[rules], sorted(rules)))
    kind = min(rules, key=_ORDER.index)
    about = {text for said in usable.values() if set(said) == rules for text in said[kind]}
    return PendingCause(kind, tuple(sorted(about)[:4]), pool)


def _said_of(cycle: Cycle, without: AbstractSet[str]) -> Iterator[tuple[str, Mapping[AuditCause, tuple[str, ...]]]]:
    """Of each node that is left: the rules that reject it."""
    asking, nodes = Objections(cycle), cycle.state.by_name
    for name, verdict in verdicts_of(Attempt(cycle)).items():
        if name not in without:
            yield name, _said(asking.on(nodes[name], verdict))


def _said(verdicts: Sequence[Verdict]) -> Mapping[AuditCause, tuple[str, ...]]:
    """The rules that reject a node, and their subjects."""
    found: dict[AuditCause, tuple[str, ...]] = {}
    for verdict in verdicts:
        evidence = verdict.status.evidence
        kind = _KINDS.get(verdict.plugin, "other")
        if kind == "anti-affinity" and any(isinstance(each, PodAffinityUnmatched) for each in evidence):
            kind = "affinity"
        found[kind] = (*found.get(kind, ()), *filter(None, map(_about, evidence)))
    return found


def _about(evidence: Evidence) -> str:
    match evidence:
        case InsufficientResource(resource=resource):
            return resource
        case PodAntiAffinityMatched() | ExistingAntiAffinity() | PodAffinityUnmatched():
            return evidence.topology_key
        case SpreadSkew() | MissingTopologyLabel():
            return evidence.topology_key
        case UntoleratedTaint():
            return taint_text(evidence)
        case CordonedNode():
            return "cordoned"
        case UnmatchedSelector(terms=terms):
            return ", ".join(terms)
    return ""


def pool_of(spec: PodSpec) -> str:
    """The nodes that a pod requires, in words that are the same for all pods of a template."""
    said = [f"{key}={value}" for key, value in sorted((spec.node_selector or {}).items())]
    required = node_affinity_of(spec).required
    for term in required.node_selector_terms if required is not None else ():
        said += sorted(f"{each.key} {each.operator} {','.join(each.values)}" for each in term.match_expressions)
    return "; ".join(said)
