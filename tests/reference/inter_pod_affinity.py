"""InterPodAffinity the plain way: every node looks at every pod of the cluster.

Slow and literal, beside `pkg/scheduler/framework/plugins/interpodaffinity`; the plugin must come to the same results.
"""

from collections.abc import Iterator, Mapping, Sequence

from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State
from tests.reference.labels import matches, requirements


def required(pod: Pod, *, anti: bool) -> tuple[PodAffinityTerm, ...]:
    """The pod's required terms."""
    part = _part(pod, anti=anti)
    return part.required if part else ()


def preferred(pod: Pod, *, anti: bool) -> tuple[WeightedPodAffinityTerm, ...]:
    """The pod's preferred terms."""
    part = _part(pod, anti=anti)
    return part.preferred if part else ()


def _part(pod: Pod, *, anti: bool) -> PodAffinity | None:
    affinity = pod.spec.affinity
    if affinity is None:
        return None
    return affinity.pod_anti_affinity if anti else affinity.pod_affinity


def _names(term: PodAffinityTerm, owner: Pod) -> set[str]:
    if not term.namespaces and term.namespace_selector is None:
        return {owner.metadata.namespace}
    return set(term.namespaces)


def _about(term: PodAffinityTerm, names: set[str], pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
    in_namespace = pod.metadata.namespace in names or matches(requirements(term.namespace_selector), namespace_labels)
    return in_namespace and matches(requirements(term.label_selector), pod.metadata.labels)


def mine(term: PodAffinityTerm, incoming: Pod, other: Pod, snap: State) -> bool:
    """Whether a term of the incoming pod is about the other: its selected namespaces are listed first."""
    names = _names(term, incoming)
    namespaces = {pod.namespace for pod in snap.pods.values()} | {incoming.metadata.namespace}
    selector = requirements(term.namespace_selector)
    names |= {name for name in namespaces if matches(selector, snap.cluster.namespace_labels(name))}
    return _about(term, names, other, {})


def theirs(term: PodAffinityTerm, other: Pod, incoming: Pod, snap: State) -> bool:
    """Whether a term of the other pod is about the incoming one."""
    return _about(term, _names(term, other), incoming, snap.cluster.namespace_labels(incoming.metadata.namespace))


def _everybody(snap: State) -> Iterator[tuple[Pod, NodeInfo]]:
    return ((pod.pod, node) for node in snap.nodes for pod in node.pods)


def _together(key: str, one: NodeInfo, other: NodeInfo) -> bool:
    return key in one.labels and key in other.labels and one.labels[key] == other.labels[key]


def objection(incoming: Pod, snap: State, node: NodeInfo) -> str:
    """Which kind of no the node gets; "" for a yes."""
    wanted = required(incoming, anti=False)
    friends = [
        (pod, where) for pod, where in _everybody(snap) if all(mine(term, incoming, pod, snap) for term in wanted)
    ]
    if any(term.topology_key not in node.labels for term in wanted):
        return "affinity"
    if not all(any(_together(term.topology_key, node, where) for _, where in friends) for term in wanted):
        nobody = not any(term.topology_key in where.labels for term in wanted for _, where in friends)
        if not (nobody and all(mine(term, incoming, incoming, snap) for term in wanted)):
            return "affinity"
    for pod, where in _everybody(snap):
        for term in required(incoming, anti=True):
            if mine(term, incoming, pod, snap) and _together(term.topology_key, node, where):
                return "anti-affinity"
    return "existing" if _refused(incoming, snap, node) else ""


def _refused(incoming: Pod, snap: State, node: NodeInfo) -> bool:
    return any(
        theirs(term, pod, incoming, snap) and _together(term.topology_key, node, where)
        for pod, where in _everybody(snap)
        for term in required(pod, anti=True)
    )


def has_nothing_to_check(incoming: Pod, snap: State) -> bool:
    """Whether PreFilter skips the plugin."""
    if required(incoming, anti=False) or required(incoming, anti=True):
        return False
    return not any(_refused(incoming, snap, node) for node in snap.nodes)


def preferences(
    incoming: Pod, snap: State, hard_weight: int = 1, *, ignore_others: bool = False
) -> list[tuple[str, str, int]]:
    """Everything that counts in scoring: topology key, value and weight, pod by pod and term by term."""
    if ignore_others and not preferred(incoming, anti=False) and not preferred(incoming, anti=True):
        return []
    found: list[tuple[str, str, int]] = []
    for pod, node in _everybody(snap):
        terms: list[tuple[PodAffinityTerm, int, bool]] = []
        for sign, anti in ((1, False), (-1, True)):
            terms += [(each.pod_affinity_term, sign * each.weight, True) for each in preferred(incoming, anti=anti)]
            terms += [(each.pod_affinity_term, sign * each.weight, False) for each in preferred(pod, anti=anti)]
        terms += [(term, hard_weight, False) for term in required(pod, anti=False) if hard_weight > 0]
        for term, weight, own in terms:
            about = mine(term, incoming, pod, snap) if own else theirs(term, pod, incoming, snap)
            if about and term.topology_key in node.labels:
                found.append((term.topology_key, node.labels[term.topology_key], weight))
    return found


def scores(preferences: Sequence[tuple[str, str, int]], feasible: Sequence[NodeInfo]) -> tuple[list[int], list[int]]:
    """Raw and normalised scores of the feasible nodes."""
    raw = [sum(weight for key, value, weight in preferences if node.labels.get(key) == value) for node in feasible]
    least, most = min(raw), max(raw)
    return raw, [int(100.0 * (float(score - least) / float(most - least))) if most > least else 0 for score in raw]
