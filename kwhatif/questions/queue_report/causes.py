"""Which changes of nodes, pods, volumes and devices would let a pod fit, from the objections of plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from kwhatif.kube.matching.labels import selector_text
from kwhatif.kube.matching.nodes import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE_TAINT, tolerated
from kwhatif.kube.matching.requests import PODS
from kwhatif.kube.model.pod import Pod
from kwhatif.report.causes import (
    Cause,
    DevicesFreed,
    FeaturesDeclared,
    MatchingPodComes,
    MatchingPodsDeleted,
    NodeGrows,
    NodeLabelled,
    PodDeleted,
    RoomFreed,
    TaintRemoved,
    Uncordoned,
    VictimsEnd,
    VolumeDetached,
    VolumeUsable,
)
from kwhatif.scheduler.framework.evidence import (
    ClaimElsewhere,
    CordonedNode,
    DeviceShortage,
    Evidence,
    ExistingAntiAffinity,
    InsufficientResource,
    InvalidDevicePool,
    MissingFeature,
    MissingTopologyLabel,
    PodAffinityUnmatched,
    PodAntiAffinityMatched,
    PortConflict,
    SpreadSkew,
    UnmatchedSelector,
    UntoleratedTaint,
    VolumeConflict,
    VolumeLimit,
    taint_text,
)
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

#: The most nodes, pods, and kinds of shortage to name.
FEW = 3
#: The most nodes to name where each would do: more than a sentence shows, for programs.
_MOST_NODES = 10
E = TypeVar("E")


class WakingChange(NamedTuple):
    """A change that would help, as far as the plugin is concerned."""

    plugin: str
    cause: Cause
    #: Whether nothing else keeps the pod from these nodes.
    enough: bool


class OnNode(NamedTuple):
    """The objection of one plugin to a node; `alone`: no other plugin objects."""

    node: NodeInfo
    plugin: str
    evidence: Sequence[Evidence]
    alone: bool


def of(found: Iterable[OnNode], kind: type[E]) -> list[tuple[OnNode, list[E]]]:
    """The objections with evidence of that kind: those that are alone on their node, or all if none is."""
    pairs: list[tuple[OnNode, list[E]]] = []
    for each in found:
        items: list[E] = [item for item in each.evidence if isinstance(item, kind)]
        if items:
            pairs.append((each, items))
    return [pair for pair in pairs if pair[0].alone] or pairs


Named = tuple[tuple[str, ...], int]


def names(nodes: Sequence[str]) -> Named:
    """The first of the names, and how many more there are."""
    return tuple(nodes[:_MOST_NODES]), max(len(nodes) - _MOST_NODES, 0)


K = TypeVar("K")


def by(
    found: Sequence[OnNode],
    kind: type[E],
    key: Callable[[E], K],
    make: Callable[[tuple[str, ...], int, K], Cause],
) -> Iterator[WakingChange]:
    """One change for each value of the key."""
    groups: dict[tuple[str, K], list[OnNode]] = {}
    for each, items in of(found, kind):
        groups.setdefault((each.plugin, key(items[0])), []).append(each)
    for (plugin, value), group in groups.items():
        nodes, more = names([each.node.name for each in group])
        yield WakingChange(plugin, make(nodes, more, value), group[0].alone)


def ports(found: Sequence[OnNode]) -> Iterator[WakingChange]:
    """The pods that use a host port go."""
    for each, items in of(found, PortConflict)[:FEW]:
        in_the_way = dict.fromkeys(item.pod for item in items)
        ports = ", ".join(f"{item.port}/{item.protocol}" for item in items)
        for key in in_the_way:
            enough = each.alone and len(in_the_way) == 1
            yield WakingChange(each.plugin, PodDeleted(key, f"host port {ports}", each.node.name), enough)


def spread(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[WakingChange]:
    """Too many in this domain, or too few in the one with the least."""
    selectors = pod.derived(_spread_selectors)
    seen: set[tuple[str, str]] = set()
    lowest: dict[str, tuple[str, int]] = {}
    for each, items in of(found, SpreadSkew):
        item = items[0]
        lowest[item.topology_key] = each.plugin, item.minimum
        if (item.topology_key, item.domain) not in seen and len(seen) < FEW:
            seen.add((item.topology_key, item.domain))
            count = item.matching + item.self_match - item.minimum - item.max_skew
            selector = selectors.get(item.topology_key, "")
            cause = MatchingPodsDeleted(item.topology_key, item.domain, min(count, item.matching), selector)
            yield WakingChange(each.plugin, cause, each.alone and count <= item.matching)
    for key, (plugin, _) in lowest.items():
        yield WakingChange(plugin, MatchingPodComes(key, selectors.get(key, ""), least=True), enough=False)


def _spread_selectors(pod: Pod) -> dict[str, str]:
    """The selectors by topology key; of default constraints nothing is known here."""
    return {each.topology_key: selector_text(each.label_selector) for each in pod.spec.topology_spread_constraints}


def affinity(found: Sequence[OnNode]) -> Iterator[WakingChange]:
    """Pods that affinity and anti-affinity select come or go."""
    yield from by(
        found,
        PodAffinityUnmatched,
        lambda item: (item.topology_key, item.selector),
        lambda _nodes, _more, key: MatchingPodComes(*key),
    )
    for each, items in _first_of_each(of(found, PodAntiAffinityMatched)):
        cause: Cause = MatchingPodsDeleted(items.topology_key, items.domain, items.count, items.selector)
        yield WakingChange(each.plugin, cause, each.alone)
    for each, existing in _first_of_each(of(found, ExistingAntiAffinity)):
        cause = MatchingPodsDeleted(existing.topology_key, existing.domain, existing.count, own=False)
        yield WakingChange(each.plugin, cause, each.alone)


D = TypeVar("D", PodAntiAffinityMatched, ExistingAntiAffinity)


def _first_of_each(pairs: Iterable[tuple[OnNode, list[D]]]) -> Iterator[tuple[OnNode, D]]:
    """One node of each domain, those with the fewest pods in the way first."""
    domains: dict[tuple[str, str], tuple[OnNode, D]] = {}
    for each, items in pairs:
        domains.setdefault((items[0].topology_key, items[0].domain), (each, items[0]))
    yield from sorted(domains.values(), key=lambda pair: (pair[1].count, pair[1].domain))[:FEW]


def volumes(found: Sequence[OnNode]) -> Iterator[WakingChange]:
    """Volumes become usable on the node, or are detached."""
    claims: dict[tuple[str, str, str], bool] = {}
    for each, items in of(found, VolumeConflict):
        for item in items:
            claims.setdefault((each.plugin, item.claim, item.detail), each.alone)
    for (plugin, claim, detail), alone in list(claims.items())[:FEW]:
        yield WakingChange(plugin, VolumeUsable(claim, detail), alone)
    yield from by(
        found,
        VolumeLimit,
        lambda item: (item.driver, item.attached + item.new - item.limit),
        lambda nodes, more, key: VolumeDetached(*key, nodes, more),
    )


def devices(found: Sequence[OnNode]) -> Iterator[WakingChange]:
    """Devices are added, or released."""
    missing: dict[tuple[str, str, str], tuple[int | None, bool]] = {}
    tainted: set[tuple[str, str, str]] = set()
    for each, items in of(found, DeviceShortage):
        for item in items:
            short = item.wanted - item.free if item.wanted is not None and item.free < item.wanted else None
            key = each.plugin, item.claim, item.request
            if item.tainted:
                tainted.add(key)
            known, alone = missing.get(key, (short, each.alone))
            missing[key] = (min(short, known) if short is not None and known is not None else None), alone
    for key, (short, alone) in missing.items():
        plugin, claim, request = key
        yield WakingChange(plugin, DevicesFreed(claim, request, short, tainted=key in tainted), alone)
    for kind in (ClaimElsewhere, InvalidDevicePool):
        for each, elsewhere in of(found, kind)[:1]:
            claim = elsewhere[0].claim if isinstance(elsewhere[0], ClaimElsewhere) else ""
            yield WakingChange(each.plugin, DevicesFreed(claim), each.alone)


Amounts = tuple[tuple[str, int], ...]


def _short_of(found: Sequence[OnNode], *, too_small: bool) -> dict[tuple[str, Amounts], list[OnNode]]:
    """The nodes by plugin and by how much is missing on them; or by how much they would have to have."""
    groups: dict[tuple[str, Amounts], list[OnNode]] = {}
    for each, items in of(found, InsufficientResource):
        small = any(item.requested > item.allocatable for item in items)
        if small is not too_small:
            continue
        if small:
            amounts = tuple((item.resource, item.requested + item.used) for item in items)
        else:
            amounts = tuple((item.resource, item.requested + item.used - item.allocatable) for item in items)
        groups.setdefault((each.plugin, amounts), []).append(each)
    smallest = sorted(groups, key=lambda key: (len(key[1]), [amount for _, amount in key[1]], key))
    return {key: groups[key] for key in smallest[:FEW]}


def room(found: Sequence[OnNode]) -> Iterator[WakingChange]:
    """Enough is freed on a node, by pods that end or are deleted."""
    for (plugin, amounts), group in _short_of(found, too_small=False).items():
        for each in group[:FEW]:
            ending = [there for there in each.node.pods if there.terminating]
            if ending and all(sum(_gives(there, name) for there in ending) >= amount for name, amount in amounts):
                keys = tuple(sorted(there.key for there in ending))
                yield WakingChange(plugin, VictimsEnd(each.node.name, keys), each.alone)
        nodes, more = names([each.node.name for each in group])
        pods = _large_enough(group, amounts)
        yield WakingChange(plugin, RoomFreed(dict(amounts), nodes, pods, more), group[0].alone)


def _gives(pod: PodInfo, resource: str) -> int:
    return 1 if resource == PODS else pod.resources.requested.of(resource)


def _large_enough(group: Sequence[OnNode], amounts: Amounts) -> tuple[str, ...]:
    found = [
        there
        for each in group
        for there in each.node.pods
        if not there.terminating and all(_gives(there, name) >= amount for name, amount in amounts)
    ]
    found.sort(key=lambda there: (there.priority, there.key))
    return tuple(there.key for there in found[:FEW])


def growth(found: Sequence[OnNode]) -> Iterator[WakingChange]:
    """Nodes that are too small even if empty become larger."""
    for (plugin, amounts), group in list(_short_of(found, too_small=True).items())[:1]:
        nodes, more = names([each.node.name for each in group])
        yield WakingChange(plugin, NodeGrows(dict(amounts), nodes, more), group[0].alone)


def taints(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[WakingChange]:
    """Taints are removed; one is enough where the pod tolerates all others."""
    groups: dict[tuple[str, bool], list[OnNode]] = {}
    for each, items in of(found, UntoleratedTaint):
        if items[0].key == UNSCHEDULABLE_TAINT.key and each.node.node.spec.unschedulable:
            continue  # it goes with the cordon
        kept_out = [
            taint
            for taint in each.node.node.spec.taints
            if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(taint, pod.pod.spec.tolerations)
        ]
        groups.setdefault((taint_text(items[0]), each.alone and len(kept_out) <= 1), []).append(each)
    for (taint, enough), group in groups.items():
        nodes, more = names([each.node.name for each in group])
        yield WakingChange(group[0].plugin, TaintRemoved(taint, nodes, more), enough)


def cordons(found: Sequence[OnNode]) -> Iterator[WakingChange]:
    """Nodes are uncordoned."""
    pairs = of(found, CordonedNode)
    if pairs:
        nodes, more = names([each.node.name for each, _ in pairs])
        yield WakingChange(pairs[0][0].plugin, Uncordoned(nodes, more), pairs[0][0].alone)


def labels(found: Sequence[OnNode]) -> Iterator[WakingChange]:
    """Nodes get labels, or declare features."""
    yield from by(
        found,
        UnmatchedSelector,
        lambda item: item.terms,
        lambda nodes, more, terms: NodeLabelled(nodes, terms, (), more),
    )
    yield from by(
        found,
        MissingTopologyLabel,
        lambda item: item.topology_key,
        lambda nodes, more, key: NodeLabelled(nodes, (), (key,), more),
    )
    yield from by(
        found,
        MissingFeature,
        lambda item: item.features,
        lambda nodes, more, names: FeaturesDeclared(names, nodes, more),
    )
