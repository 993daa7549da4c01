"""RemovePodsViolatingNodeAffinity (`framework/plugins/removepodsviolatingnodeaffinity`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kwhatif.descheduler.arguments import RemovePodsViolatingNodeAffinityArgs
from kwhatif.descheduler.attempt import BetterNode, BrokenNodeAffinity, Why
from kwhatif.descheduler.handle import Handle, chosen
from kwhatif.kube.matching.nodes import RequiredNodeAffinity, Term, TermError, named
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import NodeAffinity

_Violation = Callable[[Pod, Node, Sequence[Node]], Why | None]


def run(args: RemovePodsViolatingNodeAffinityArgs, handle: Handle) -> str:
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
                for pod in handle.world.active(node.metadata.name)
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
