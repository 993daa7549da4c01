"""Strategies about where a pod runs: RemovePodsViolatingNodeAffinity, …NodeTaints and …InterPodAntiAffinity.

(`framework/plugins/removepodsviolatingnodeaffinity`, `removepodsviolatingnodetaints` and
`removepodsviolatinginterpodantiaffinity`.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from kwhatif.descheduler.attempt import BetterNode, BrokenAntiAffinity, BrokenNodeAffinity, UntoleratedTaint, Why
from kwhatif.descheduler.handle import Handle, Result, chosen
from kwhatif.descheduler.node_fit import AntiAffinity, required_terms, sort_by_priority, untolerated
from kwhatif.descheduler.policy import (
    RemovePodsViolatingInterPodAntiAffinityArgs,
    RemovePodsViolatingNodeAffinityArgs,
    RemovePodsViolatingNodeTaintsArgs,
)
from kwhatif.kube.matching.labels import SelectorError
from kwhatif.kube.matching.nodes import NO_SCHEDULE, PREFER_NO_SCHEDULE, RequiredNodeAffinity, Term, TermError, named
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import NodeAffinity
from kwhatif.scheduler.framework.evidence import taint_text

_Violation = Callable[[Pod, Node, Sequence[Node]], Why | None]


def remove_pods_violating_node_affinity(args: RemovePodsViolatingNodeAffinityArgs, handle: Handle) -> str:
    """Evict pods whose node does not match their affinity, if another node does."""
    choose = chosen(args.namespaces, args.label_selector)
    for type_ in args.node_affinity_type:
        violation = _TYPES.get(type_)
        if violation is None:
            handle.note("Invalid nodeAffinityType", nodeAffinity=type_)
            continue
        for node in handle.nodes:
            found = [
                (pod, why)
                for pod in handle.sandbox.active(node.metadata.name)
                if choose(pod)
                and (why := violation(pod, node, handle.nodes)) is not None
                and handle.is_evictable(pod)
                and handle.fit.fits_any(pod, handle.nodes)
            ]
            if not handle.evict_each(found):
                break
    return ""


def _affinity(pod: Pod) -> NodeAffinity:
    affinity = pod.spec.affinity
    return affinity.node_affinity if affinity and affinity.node_affinity else NodeAffinity()


def _required(pod: Pod, node: Node, nodes: Sequence[Node]) -> Why | None:
    """The reason by required affinity; a node selector alone does not count."""
    del nodes
    if _affinity(pod).required is None or RequiredNodeAffinity(pod.spec).matches(named(node)):
        return None
    return BrokenNodeAffinity()


def _preferred(pod: Pod, node: Node, nodes: Sequence[Node]) -> Why | None:
    terms = [
        (preferred.weight, term)
        for preferred in _affinity(pod).preferred or ()
        if (term := _term(preferred.preference.match_expressions, preferred.preference.match_fields)) is not None
    ]

    def weight(of: Node) -> int:
        return sum(each for each, term in terms if term.matches(of.metadata.name, of.metadata.labels))

    best = max((weight(each) for each in nodes), default=0) if terms else 0
    return BetterNode(weight=weight(node), best=best) if best > weight(node) else None


def _term(expressions: Sequence[object], fields: Sequence[object]) -> Term | None:
    """The term; None if it does not parse, so that it does not count."""
    try:
        return Term(expressions, fields)  # type: ignore[arg-type] # both are requirements
    except TermError:
        return None


_TYPES: Mapping[str, _Violation] = {
    "requiredDuringSchedulingIgnoredDuringExecution": _required,
    "preferredDuringSchedulingIgnoredDuringExecution": _preferred,
}


def remove_pods_violating_node_taints(args: RemovePodsViolatingNodeTaintsArgs, handle: Handle) -> str:
    """Evict pods from nodes with a NoSchedule taint that they do not tolerate; the cluster handles NoExecute."""
    choose = chosen(args.namespaces, args.label_selector)
    effects = (NO_SCHEDULE, PREFER_NO_SCHEDULE) if args.include_prefer_no_schedule else (NO_SCHEDULE,)

    def counts(taint: Taint) -> bool:
        included = args.included_taints is None or _is_in(args.included_taints, taint)
        return taint.effect in effects and not _is_in(args.excluded_taints, taint) and included

    for node in handle.nodes:
        taints = [taint for taint in node.spec.taints if counts(taint)]
        found = [
            (pod, UntoleratedTaint(taint=taint_text(taint)))
            for pod in (handle.sandbox.active(node.metadata.name) if taints else ())
            if choose(pod) and (taint := untolerated(pod, taints)) is not None and handle.is_evictable(pod)
        ]
        if not handle.evict_each(found):
            break
    return ""


def _is_in(names: Collection[str], taint: Taint) -> bool:
    return taint.key in names or (taint.value != "" and f"{taint.key}={taint.value}" in names)


#: By namespace.
_Pods = dict[str, list[Pod]]


def remove_pods_violating_inter_pod_anti_affinity(
    args: RemovePodsViolatingInterPodAntiAffinityArgs, handle: Handle
) -> str:
    """Evict pods that violate their anti-affinity to other pods, those of low priority first."""
    choose = chosen(args.namespaces, args.label_selector)
    pods = [pod for pod in handle.sandbox.active_on(handle.nodes) if choose(pod)]
    others: _Pods = {}
    on_node: dict[str, list[Pod]] = {}
    for pod in pods:
        others.setdefault(pod.metadata.namespace, []).append(pod)
        on_node.setdefault(pod.spec.node_name, []).append(pod)
    nodes = {node.metadata.name: node for node in handle.nodes}
    for node in handle.nodes:
        if not _evict_from(on_node.get(node.metadata.name, []), others, nodes, handle):
            break
    return ""


def _evict_from(pods: list[Pod], others: _Pods, nodes: Mapping[str, Node], handle: Handle) -> bool:
    """Evict from one node; returns False if the total limit is reached. Evicted pods no longer count."""
    sort_by_priority(pods)
    for pod in pods:
        why = _broken(pod, others, nodes)
        if why is None or not handle.is_evictable(pod):
            continue
        result = handle.evict(pod, why)
        if result is Result.EVICTED:
            _forget(pod, others)
        elif result is Result.NODE_LIMIT:
            return True
        elif result is Result.TOTAL_LIMIT:
            return False
    return True


def _broken(pod: Pod, others: _Pods, nodes: Mapping[str, Node]) -> BrokenAntiAffinity | None:
    """`CheckPodsWithAntiAffinityExist`: terms after one with an invalid selector are ignored."""
    here = nodes[pod.spec.node_name]
    for each in required_terms(pod):
        try:
            term = AntiAffinity(each, pod)
        except SelectorError:
            return None
        for namespace in sorted(term.namespaces):
            for other in others.get(namespace, ()):
                if other.metadata.name == pod.metadata.name or not term.matches(other):
                    continue
                if _share_domain(here, nodes[other.spec.node_name], term.topology_key):
                    return BrokenAntiAffinity(other=key_of(other), topology_key=term.topology_key)
    return None


def _share_domain(one: Node, other: Node, key: str) -> bool:
    """Whether the nodes are in one domain; a node always is with itself, even without the label."""
    if one.metadata.name == other.metadata.name:
        return True
    labels = one.metadata.labels
    return key in labels and labels[key] == other.metadata.labels.get(key)


def _forget(pod: Pod, others: _Pods) -> None:
    pods = others[pod.metadata.namespace]
    del pods[next(index for index, other in enumerate(pods) if other.metadata.name == pod.metadata.name)]
