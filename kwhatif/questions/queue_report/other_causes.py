"""What could change about other pods, volumes and devices, so that a pod fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from kwhatif.kube.matching.labels import selector_text
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.queue_report.objected import FEW, OnNode, WakingChange, by, of
from kwhatif.report.queue import (
    Cause,
    DevicesFreed,
    MatchingPodComes,
    MatchingPodsDeleted,
    PodDeleted,
    VolumeDetached,
    VolumeUsable,
)
from kwhatif.scheduler.framework.evidence import (
    ClaimElsewhere,
    DeviceShortage,
    ExistingAntiAffinity,
    InvalidDevicePool,
    PodAffinityUnmatched,
    PodAntiAffinityMatched,
    PortConflict,
    SpreadSkew,
    VolumeConflict,
    VolumeLimit,
)
from kwhatif.state.pod_info import PodInfo


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
    """Pods come or go that affinity and anti-affinity speak of."""
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
    """Volumes come within reach, or are detached."""
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
    """Devices come, or are given back."""
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
