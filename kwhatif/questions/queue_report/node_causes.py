"""What could change about nodes, and the room on them, so that a pod fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.kube.matching.requests import PODS
from kwhatif.kube.matching.tolerations import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE_TAINT, tolerated
from kwhatif.questions.queue_report.objected import FEW, OnNode, WakingChange, by, names, of
from kwhatif.report.queue import (
    FeaturesDeclared,
    NodeGrows,
    NodeLabelled,
    RoomFreed,
    TaintRemoved,
    Uncordoned,
    VictimsEnd,
)
from kwhatif.scheduler.framework.evidence import (
    CordonedNode,
    InsufficientResource,
    MissingFeature,
    MissingTopologyLabel,
    UnmatchedSelector,
    UntoleratedTaint,
    taint_text,
)
from kwhatif.state.pod_info import PodInfo

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
    """So much is freed on a node, by pods that end or are deleted."""
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
    """Nodes that are too small even when they are empty grow."""
    for (plugin, amounts), group in list(_short_of(found, too_small=True).items())[:1]:
        nodes, more = names([each.node.name for each in group])
        yield WakingChange(plugin, NodeGrows(dict(amounts), nodes, more), group[0].alone)


def taints(pod: PodInfo, found: Sequence[OnNode]) -> Iterator[WakingChange]:
    """By taint; enough where the pod tolerates all the others."""
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
