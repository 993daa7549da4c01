"""From the evidence of one attempt to what could change in the cluster so that the pod fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kwhatif.framework.attempt import Attempt
from kwhatif.framework.evidence import (
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
)
from kwhatif.framework.status import Verdict
from kwhatif.matching.labels import selector_text
from kwhatif.matching.requests import PODS
from kwhatif.matching.tolerations import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE_TAINT, tolerated
from kwhatif.model.pod import Pod
from kwhatif.queue.wakeup import (
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
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

#: So many nodes, pods, and kinds of shortage are named.
FEW = 3
_MOST_NODES = 10
E = TypeVar("E")


class Change(NamedTuple):
    """A change that would help, as far as the plugin is concerned."""

    plugin: str
    cause: Cause
    #: Whether nothing else keeps the pod from these nodes.
    enough: bool


class OnNode(NamedTuple):
    """What one plugin has to say against a node; `alone` if it is the only one that objects."""

    node: NodeInfo
    plugin: str
    evidence: Sequence[Evidence]
    alone: bool


def changes(result: Attempt, objections: Mapping[str, tuple[Verdict, ...]]) -> Iterator[Change]:
    """The changes that would help on the nodes that were rejected; only of plugins that count as rejectors.

    Where some nodes need nothing else, those that need more are left out.
    """
    nodes = result.cycle.snapshot.by_name
    rejectors = result.cycle.unschedulable_plugins
    found = [
        OnNode(nodes[name], verdict.plugin, verdict.status.evidence, _is_alone(verdict, verdicts))
        for name, verdicts in sorted(objections.items())
        for verdict in verdicts
        if verdict.plugin in rejectors
    ]
    for make in _MAKERS:
        yield from make(result.cycle.pod, found)


def _is_alone(verdict: Verdict, verdicts: Sequence[Verdict]) -> bool:
    """A cordoned node has a taint as well, which goes with the cordon."""
    return all(other.plugin == verdict.plugin or _is_cordon(other) for other in verdicts)


def _is_cordon(verdict: Verdict) -> bool:
    return any(
        isinstance(item, CordonedNode) or (isinstance(item, UntoleratedTaint) and item.key == UNSCHEDULABLE_TAINT.key)
        for item in verdict.status.evidence
    )


def _of(found: Iterable[OnNode], kind: type[E]) -> list[tuple[OnNode, list[E]]]:
    """The objections with evidence of that kind: those that stand alone, or all if none does."""
    pairs: list[tuple[OnNode, list[E]]] = []
    for each in found:
        items: list[E] = [item for item in each.evidence if isinstance(item, kind)]
        if items:
            pairs.append((each, items))
    return [pair for pair in pairs if pair[0].alone] or pairs


Named = tuple[tuple[str, ...], int]


def names(nodes: Sequence[str]) -> Named:
    """The first of the names, and how many there are besides."""
    return tuple(nodes[:_MOST_NODES]), max(len(nodes) - _MOST_NODES, 0)


# --- room --------------------------------------------------------------------------------------------

Amounts = tuple[tuple[str, int], ...]


def _short_of(found: Sequence[OnNode], *, too_small: bool) -> dict[tuple[str, Amounts], list[OnNode]]:
    """The nodes by plugin and by how much is missing on them; or by how much they would have to have."""
    groups: dict[tuple[str, Amounts], list[OnNode]] = {}
    for each, items in _of(found, InsufficientResource):
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


def _room(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[Change]:
    for (plugin, amounts), group in _short_of(found, too_small=False).items():
        for each in group[:FEW]:
            ending = [there for there in each.node.pods if there.terminating]
            if ending and all(sum(_gives(there, name) for there in ending) >= amount for name, amount in amounts):
                keys = tuple(sorted(there.key for there in ending))
                yield Change(plugin, VictimsEnd(each.node.name, keys), each.alone)
        nodes, more = names([each.node.name for each in group])
        pods = _large_enough(group, amounts)
        yield Change(plugin, RoomFreed(dict(amounts), nodes, pods, more), group[0].alone)
    del pod


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


def _growth(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[Change]:
    for (plugin, amounts), group in list(_short_of(found, too_small=True).items())[:1]:
        nodes, more = names([each.node.name for each in group])
        yield Change(plugin, NodeGrows(dict(amounts), nodes, more), group[0].alone)
    del pod


# --- nodes -------------------------------------------------------------------------------------------


def _taints(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[Change]:
    """By taint; enough where the pod tolerates all the others."""
    groups: dict[tuple[str, bool], list[OnNode]] = {}
    for each, items in _of(found, UntoleratedTaint):
        if items[0].key == UNSCHEDULABLE_TAINT.key and each.node.node.spec.unschedulable:
            continue  # it goes with the cordon
        kept_out = [
            taint
            for taint in each.node.node.spec.taints
            if taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(taint, pod.pod.spec.tolerations)
        ]
        groups.setdefault((_taint_text(items[0]), each.alone and len(kept_out) <= 1), []).append(each)
    for (taint, enough), group in groups.items():
        nodes, more = names([each.node.name for each in group])
        yield Change(group[0].plugin, TaintRemoved(taint, nodes, more), enough)


def _taint_text(taint: UntoleratedTaint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _cordons(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[Change]:
    pairs = _of(found, CordonedNode)
    if pairs:
        nodes, more = names([each.node.name for each, _ in pairs])
        yield Change(pairs[0][0].plugin, Uncordoned(nodes, more), pairs[0][0].alone)
    del pod


def _labels(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[Change]:
    yield from _by(
        found,
        UnmatchedSelector,
        lambda item: item.terms,
        lambda nodes, more, terms: NodeLabelled(nodes, terms, (), more),
    )
    yield from _by(
        found,
        MissingTopologyLabel,
        lambda item: item.topology_key,
        lambda nodes, more, key: NodeLabelled(nodes, (), (key,), more),
    )
    yield from _by(
        found,
        MissingFeature,
        lambda item: item.features,
        lambda nodes, more, names: FeaturesDeclared(names, nodes, more),
    )
    del pod


K = TypeVar("K")


def _by(
    found: Sequence[OnNode],
    kind: type[E],
    key: Callable[[E], K],
    make: Callable[[tuple[str, ...], int, K], Cause],
) -> Iterator[Change]:
    """One change for each value of the key."""
    groups: dict[tuple[str, K], list[OnNode]] = {}
    for each, items in _of(found, kind):
        groups.setdefault((each.plugin, key(items[0])), []).append(each)
    for (plugin, value), group in groups.items():
        nodes, more = names([each.node.name for each in group])
        yield Change(plugin, make(nodes, more, value), group[0].alone)


# --- other pods --------------------------------------------------------------------------------------


def _ports(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[Change]:
    for each, items in _of(found, PortConflict)[:FEW]:
        in_the_way = dict.fromkeys(item.pod for item in items)
        ports = ", ".join(f"{item.port}/{item.protocol}" for item in items)
        for key in in_the_way:
            enough = each.alone and len(in_the_way) == 1
            yield Change(each.plugin, PodDeleted(key, f"host port {ports}", each.node.name), enough)
    del pod


def _spread(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[Change]:
    """Too many in this domain, or too few in the one with the least."""
    selectors = pod.derived(_spread_selectors)
    seen: set[tuple[str, str]] = set()
    lowest: dict[str, tuple[str, int]] = {}
    for each, items in _of(found, SpreadSkew):
        item = items[0]
        lowest[item.topology_key] = each.plugin, item.minimum
        if (item.topology_key, item.domain) not in seen and len(seen) < FEW:
            seen.add((item.topology_key, item.domain))
            count = item.matching + item.self_match - item.minimum - item.max_skew
            selector = selectors.get(item.topology_key, "")
            cause = MatchingPodsDeleted(item.topology_key, item.domain, min(count, item.matching), selector)
            yield Change(each.plugin, cause, each.alone and count <= item.matching)
    for key, (plugin, _) in lowest.items():
        yield Change(plugin, MatchingPodComes(key, selectors.get(key, ""), least=True), enough=False)


def _spread_selectors(pod: Pod) -> dict[str, str]:
    """The selectors by topology key; of default constraints nothing is known here."""
    return {each.topology_key: selector_text(each.label_selector) for each in pod.spec.topology_spread_constraints}


def _affinity(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[Change]:
    yield from _by(
        found,
        PodAffinityUnmatched,
        lambda item: (item.topology_key, item.selector),
        lambda _nodes, _more, key: MatchingPodComes(*key),
    )
    for each, items in _first_of_each(_of(found, PodAntiAffinityMatched)):
        cause: Cause = MatchingPodsDeleted(items.topology_key, items.domain, items.count, items.selector)
        yield Change(each.plugin, cause, each.alone)
    for each, existing in _first_of_each(_of(found, ExistingAntiAffinity)):
        cause = MatchingPodsDeleted(existing.topology_key, existing.domain, existing.count, own=False)
        yield Change(each.plugin, cause, each.alone)
    del pod


D = TypeVar("D", PodAntiAffinityMatched, ExistingAntiAffinity)


def _first_of_each(pairs: Iterable[tuple[OnNode, list[D]]]) -> Iterator[tuple[OnNode, D]]:
    """One node of each domain, those with the fewest pods in the way first."""
    domains: dict[tuple[str, str], tuple[OnNode, D]] = {}
    for each, items in pairs:
        domains.setdefault((items[0].topology_key, items[0].domain), (each, items[0]))
    yield from sorted(domains.values(), key=lambda pair: (pair[1].count, pair[1].domain))[:FEW]


# --- volumes and devices -----------------------------------------------------------------------------


def _volumes(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[Change]:
    claims: dict[tuple[str, str, str], bool] = {}
    for each, items in _of(found, VolumeConflict):
        for item in items:
            claims.setdefault((each.plugin, item.claim, item.detail), each.alone)
    for (plugin, claim, detail), alone in list(claims.items())[:FEW]:
        yield Change(plugin, VolumeUsable(claim, detail), alone)
    yield from _by(
        found,
        VolumeLimit,
        lambda item: (item.driver, item.attached + item.new - item.limit),
        lambda nodes, more, key: VolumeDetached(*key, nodes, more),
    )
    del pod


def _devices(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[Change]:
    missing: dict[tuple[str, str, str], tuple[int | None, bool]] = {}
    for each, items in _of(found, DeviceShortage):
        for item in items:
            short = item.wanted - item.free if item.wanted is not None and item.free < item.wanted else None
            key = each.plugin, item.claim, item.request
            known, alone = missing.get(key, (short, each.alone))
            missing[key] = (min(short, known) if short is not None and known is not None else None), alone
    for (plugin, claim, request), (short, alone) in missing.items():
        yield Change(plugin, DevicesFreed(claim, request, short), alone)
    for kind in (ClaimElsewhere, InvalidDevicePool):
        for each, elsewhere in _of(found, kind)[:1]:
            claim = elsewhere[0].claim if isinstance(elsewhere[0], ClaimElsewhere) else ""
            yield Change(each.plugin, DevicesFreed(claim), each.alone)
    del pod


_MAKERS: tuple[Callable[[PodInfo, Sequence[OnNode]], Iterator[Change]], ...] = (
    _room,
    _growth,
    _taints,
    _cordons,
    _labels,
    _ports,
    _spread,
    _affinity,
    _volumes,
    _devices,
)
