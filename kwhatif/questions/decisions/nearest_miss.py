"""The nearest miss: the fewest obstacles of most nodes to a pod, and names in the pod that do not exist."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple

from kwhatif.kube.matching.nodes import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE_TAINT, tolerated
from kwhatif.kube.matching.requests import PODS, Resources
from kwhatif.questions.decisions.unknown_names import unknown_names
from kwhatif.report.decision import MissRow, NearRow, ObstacleRow, TooLargeRow
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.evidence import (
    CordonedNode,
    Evidence,
    ExistingAntiAffinity,
    InsufficientResource,
    PodAffinityUnmatched,
    PodAntiAffinityMatched,
    SpreadSkew,
    UnmatchedSelector,
    UntoleratedTaint,
)
from kwhatif.scheduler.framework.status import Code, Verdict
from kwhatif.state.node_info import NodeInfo

#: The number of groups of nodes to keep, and of names of each.
_MOST_GROUPS = 5
_MOST_EXAMPLES = 3
#: Evidence about the pods in a node's domain.
Elsewhere = SpreadSkew | PodAffinityUnmatched | PodAntiAffinityMatched | ExistingAntiAffinity


class _Obstacle(NamedTuple):
    """The smallest thing that could be changed: one resource, one taint, one requirement."""

    plugin: str
    code: str
    reason: str
    evidence: Evidence | None
    evictable: bool = False

    @property
    def key(self) -> Hashable:
        """Obstacles with equal keys are the same to a reader, though the numbers may differ."""
        evidence = self.evidence
        what: Hashable = type(evidence).__name__
        if isinstance(evidence, InsufficientResource):
            what = evidence.resource
        elif isinstance(evidence, UntoleratedTaint):
            what = evidence
        elif isinstance(evidence, UnmatchedSelector):
            what = evidence.terms
        elif isinstance(evidence, Elsewhere):
            what = what, evidence.topology_key, getattr(evidence, "selector", "")
        return self.plugin, self.reason, what, self.evictable


class _Group:
    """Nodes with the same obstacles."""

    def __init__(self, obstacles: Sequence[_Obstacle]) -> None:
        self.names: list[str] = []
        #: Per obstacle, the smallest one, and its node.
        self.closest: list[tuple[_Obstacle, str]] = [(obstacle, "") for obstacle in obstacles]
        #: Per obstacle, the domains in which pods were counted.
        self.domains: list[set[str | None]] = [set() for _ in obstacles]

    def add(self, name: str, obstacles: Sequence[_Obstacle]) -> None:
        """One more node."""
        self.names.append(name)
        for place, obstacle in enumerate(obstacles):
            best, node = self.closest[place]
            if not node or (obstacle is not best and (lack(obstacle.evidence), name) < (lack(best.evidence), node)):
                self.closest[place] = obstacle, name
            if isinstance(obstacle.evidence, Elsewhere):
                self.domains[place].add(obstacle.evidence.domain)

    def rank(self) -> tuple[int, int, int, int, int, str]:
        """Smallest first: too small, what eviction does not clear here, all obstacles, what it never clears.

        So a full node is nearer than one of another kind. Then most nodes, and name.
        """
        found = [obstacle for obstacle, _ in self.closest]
        too_small = sum(map(_is_too_small, found))
        lasting = sum(not obstacle.evictable for obstacle in found)
        never = sum(obstacle.code == Code.UNRESOLVABLE.value for obstacle in found)
        return too_small, lasting, len(found), never, -len(self.names), min(self.names)

    def row(self) -> MissRow:
        """As a row of the report."""
        return MissRow(
            nodes=len(self.names),
            obstacles=tuple(
                ObstacleRow(
                    plugin=item.plugin,
                    code=item.code,
                    reason=item.reason,
                    node=node,
                    evidence=item.evidence,
                    evictable=item.evictable,
                    differs=len(domains) > 1,
                )
                for (item, node), domains in zip(self.closest, self.domains, strict=True)
            ),
            examples=tuple(nsmallest(_MOST_EXAMPLES, self.names)),
        )


def nearest_miss(cycle: Cycle, objections: Mapping[str, Sequence[Verdict]]) -> NearRow:
    """What would have to change for the pod to fit; `objections` are those to every node that is out, by its name."""
    groups: dict[tuple[Hashable, ...], _Group] = {}
    known: dict[tuple[int, ...], tuple[tuple[Hashable, ...], list[_Obstacle]]] = {}
    by_name = cycle.state.by_name
    for name, verdicts in objections.items():
        node = by_name[name]
        # Nodes of one shape share the answers of filters that look at nothing else, and so their obstacles.
        statuses = (node.shape, *[id(verdict.status) for verdict in verdicts])
        if statuses in known:
            key, obstacles = known[statuses]
        else:
            obstacles = _freed(cycle, node, list(_obstacles(cycle, node, verdicts)))
            key = tuple([obstacle.key for obstacle in obstacles])
            known[statuses] = key, obstacles
        if key not in groups:
            groups[key] = _Group(obstacles)
        groups[key].add(name, obstacles)
    ranked = nsmallest(_MOST_GROUPS, groups.values(), key=_Group.rank)
    plugins = {verdict.plugin for verdicts in objections.values() for verdict in verdicts}
    return NearRow(
        misses=tuple(group.row() for group in ranked),
        unknown=unknown_names(cycle.pod.pod, cycle.state, plugins),
        too_large=tuple(_too_large(cycle)),
    )


def _obstacles(cycle: Cycle, node: NodeInfo, verdicts: Sequence[Verdict]) -> Iterator[_Obstacle]:
    """The objections taken apart: a filter may name several things at once, or only the first of several."""
    cordoned = False
    for verdict in verdicts:
        status = verdict.status
        reason = status.reasons[0] if status.reasons else ""
        first = status.evidence[0] if status.evidence else None
        parts: Sequence[tuple[str, Evidence | None]] = [(reason, first)]
        if isinstance(first, CordonedNode):
            cordoned = True
        elif isinstance(first, InsufficientResource) and len(status.reasons) == len(status.evidence):
            parts = list(zip(status.reasons, status.evidence, strict=True))
        elif isinstance(first, UnmatchedSelector):
            parts = [(reason, part) for part in _requirements(first)]
        elif isinstance(first, UntoleratedTaint):
            # A node controller cordons by a taint as well: that is one obstacle, not two.
            parts = [(reason, taint) for taint in _taints(cycle, node, without_cordon=cordoned)]
        yield from (_Obstacle(verdict.plugin, status.code.value, text, part) for text, part in parts)


def _is_too_small(obstacle: _Obstacle) -> bool:
    """Whether not even an empty node has enough, so eviction cannot help."""
    evidence = obstacle.evidence
    return isinstance(evidence, InsufficientResource) and evidence.requested > evidence.allocatable


def _freed(cycle: Cycle, node: NodeInfo, obstacles: list[_Obstacle]) -> list[_Obstacle]:
    """Mark resources that evicting all pods of lower priority would free enough of, besides other obstacles.

    If room is the only obstacle, preemption itself has tried.
    """
    pod = cycle.pod
    short = [isinstance(obstacle.evidence, InsufficientResource) for obstacle in obstacles]
    if all(short) or not any(short) or pod.pod.spec.preemption_policy == "Never":
        return obstacles
    lower = [other.resources.requested for other in node.pods if other.priority < pod.priority]
    return [obstacle._replace(evictable=_is_freed(obstacle, lower)) for obstacle in obstacles]


def _is_freed(obstacle: _Obstacle, lower: Sequence[Resources]) -> bool:
    evidence = obstacle.evidence
    return isinstance(evidence, InsufficientResource) and lack(obstacle.evidence) <= _sum(lower, evidence)


def _sum(requests: Sequence[Resources], evidence: InsufficientResource) -> int:
    name = evidence.resource
    return len(requests) if name == PODS else sum(amounts.of(name) for amounts in requests)


def _requirements(evidence: UnmatchedSelector) -> Iterator[UnmatchedSelector]:
    """Every `key=value` of a node selector by itself; node affinity as a whole, since one of its terms is enough."""
    own = {f"{key}={value}": key for term in evidence.terms for key, eq, value in [term.partition("=")] if eq}
    pairs = {term: key for term, key in own.items() if key in evidence.labels}
    for term in evidence.terms:
        keys = [pairs[term]] if term in pairs else [key for key in evidence.labels if key not in pairs.values()]
        yield UnmatchedSelector((term,), {key: evidence.labels[key] for key in keys})


def _taints(cycle: Cycle, node: NodeInfo, *, without_cordon: bool) -> Iterator[UntoleratedTaint]:
    """All taints that keep the pod away: the filter names the first."""
    tolerations = cycle.pod.pod.spec.tolerations
    for taint in node.taints:
        if taint.effect not in (NO_SCHEDULE, NO_EXECUTE) or tolerated(taint, tolerations):
            continue
        if not (without_cordon and taint.key == UNSCHEDULABLE_TAINT.key):
            yield UntoleratedTaint(taint.key, taint.value, taint.effect)


def lack(evidence: Evidence | None) -> int:
    """By how much a resource is short; 0 for everything that has no size."""
    if isinstance(evidence, InsufficientResource):
        return evidence.requested - (evidence.allocatable - evidence.used)
    return 0


def _too_large(cycle: Cycle) -> Iterator[TooLargeRow]:
    """Resources of which no node has enough, even when empty; one that no node has at all is an unknown name."""
    kinds, requested = {node.allocatable for node in cycle.state.nodes}, cycle.pod.resources.requested
    for name in requested.asked:
        largest = max((allocatable.of(name) for allocatable in kinds), default=0)
        if 0 < largest < requested.of(name):
            yield TooLargeRow(resource=name, requested=requested.of(name), largest=largest)
