"""`Run`: pods that are all alike, placed one after another; what the last one left is what the next one starts from.

A whole attempt is made for the first pod, and again whenever something happens that cannot be followed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.framework.attempt import Attempt
from kwhatif.framework.cycle import CycleError
from kwhatif.framework.guard import GuardedPlugin
from kwhatif.framework.incremental import NormalizesByRange, apply_pod_change
from kwhatif.framework.plugin import NodeFilter, NodeScorer, Reads, by_claims
from kwhatif.framework.scoring import Scores, score_nodes
from kwhatif.model.cluster import KubernetesObject
from kwhatif.preemption.candidate import Preemption
from kwhatif.preemption.disruption import Spent
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.whatif.placing.board import Board
from kwhatif.whatif.placing.placement import Placement
from kwhatif.whatif.placing.replicas import SAME, Difference, labels_read
from kwhatif.whatif.placing.standing import Standing, standing_after


class Move(NamedTuple):
    """What a placement changed: all of it on one node."""

    node: str
    came: PodInfo
    left: tuple[PodInfo, ...] = ()
    #: The budgets that allow less.
    spent: Sequence[Spent] = ()


class Run:
    """The pods like the one that an attempt was made for.

    Either all of them fail as the first one did, or there is a `board`, a `standing`, or both: a pod that evicts more
    than it needs makes room for the next one, which then needs to evict nobody.
    """

    def __init__(self, result: Attempt, placement: Placement) -> None:
        self._cycle = result.cycle
        #: Whether a pod that is placed changes what its claims are.
        self._reserves = any(compiled.reserves for compiled in self._cycle.compiled.values())
        self._owns_claims = self._are_unused(self._cycle.pod.claim_names)
        self._failure = placement if placement.node is None else None
        self._scores = result.scores
        self._board: Board | None = None
        found = result.post_filter.outcome if result.post_filter else None
        #: What preemption came to, until there is a standing.
        self._found = found if isinstance(found, Preemption) and found.node else None
        self._standing: Standing | None = None
        self._is_over = not _can_be_kept_up(result) or self._cycle.skipped_until_placed
        #: Node names by label, for near-unique labels.
        self._domains: dict[str, dict[str, list[str]]] = {}

    def place(self, pod: PodInfo, differs: Difference, moves: Iterable[Move]) -> Placement | None:
        """Place the next pod, after these moves; None: a whole attempt has to be made.

        Args:
            pod: the pod.
            differs: in what it differs from the one before it.
            moves: everything that has happened since.
        """
        if self._is_over or not self._bears(pod, differs):
            self._is_over = True
            return None
        if self._found is not None:
            self._standing, self._found = standing_after(self._cycle, self._found), None
        try:
            if not all(self._follow(move) for move in moves):
                return None
            return self._next(pod)
        except CycleError:  # the whole attempt will tell
            self._is_over = True
            return None

    def rejects(self, node_name: str) -> bool:
        """Whether the next pod does not fit on the node, as it is now."""
        return self._cycle.check(self._cycle.snapshot.by_name[node_name], self._cycle.filters) is not None

    def reserve(self, node: NodeInfo) -> Sequence[KubernetesObject]:
        """The pod that was placed last goes to the node: the objects that this changes."""
        return self._cycle.reserve(node) if self._reserves else ()

    def _bears(self, pod: PodInfo, differs: Difference) -> bool:
        """Whether no rule minds the difference between the pods."""
        cycle = self._cycle
        if differs == SAME:
            return not self._reserves or self._failure is not None
        if any(isinstance(plugin, GuardedPlugin) for plugin in cycle.profile.plugins):
            return False  # who knows what it reads
        if differs.labels and not differs.labels.isdisjoint(labels_read(cycle.pod, cycle.snapshot)):
            return False
        own = [name for name in pod.claim_names if name not in cycle.pod.claim_names]
        if not own:
            return not self._reserves
        return self._owns_claims and self._are_unused(own) and cycle.rebind(pod)

    def _are_unused(self, claims: Collection[str]) -> bool:
        snapshot, namespace = self._cycle.snapshot, self._cycle.pod.namespace
        return not claims or not any(snapshot.users_of(f"{namespace}/{name}") for name in claims)

    def _next(self, pod: PodInfo) -> Placement | None:
        if self._failure is not None:
            return msgspec.structs.replace(self._failure, pod=pod)
        best = self._board.best() if self._board else None
        if best is not None:
            return Placement(pod, "Placed", best.node, score=best.score, scores=best.scores, find_ties=best.find_ties)
        placement = self._standing.place(pod) if self._standing else None
        self._is_over = placement is None
        return placement

    # --- keeping up ----------------------------------------------------------------------------------

    def _follow(self, move: Move) -> bool:
        """Be as if everything had been compiled after the move; False where that cannot be."""
        node = self._cycle.snapshot.by_name[move.node]
        names = {move.node}
        for follower in self._followers():
            for pod, amount in (*((pod, -1) for pod in move.left), (move.came, 1)):
                domains = apply_pod_change(follower, pod, node, amount)
                if domains is None:
                    self._is_over = True
                    return False
                for key, value in domains:
                    names.update(self._nodes_with(key, value))
        self._refresh(sorted(names), move.spent)
        return True

    def _followers(self) -> Iterator[NodeFilter | NodeScorer]:
        for _, plugin in self._cycle.filters:
            if plugin.reads is Reads.CLUSTER:
                yield plugin
        scorers = self._scores.scorers if self._scores else None
        for scorer in (scorers or {}).values():
            if scorer.reads is Reads.CLUSTER:
                yield scorer

    def _refresh(self, names: Collection[str], spent: Sequence[Spent]) -> None:
        if self._standing is not None:
            feasible = self._standing.refresh(names, spent)
            if feasible and self._scores is None:
                self._score(feasible)
        if self._board is not None:
            self._board.refresh(names)
        elif self._scores is not None:
            self._board = Board(self._cycle, self._scores, names)

    def _score(self, feasible: Iterable[str]) -> None:
        """Where pods evict more than they need, others find room."""
        self._cycle.feasible = [self._cycle.snapshot.by_name[name] for name in feasible]
        self._scores = score_nodes(self._cycle)
        if not _suit(self._scores) or self._cycle.skipped_until_placed:
            raise CycleError("the scores cannot be kept up")

    def _nodes_with(self, key: str, value: str) -> list[str]:
        by_value = self._domains.get(key)
        if by_value is None:
            by_value = self._domains[key] = {}
            for node in self._cycle.snapshot.nodes:
                if key in node.labels:
                    by_value.setdefault(node.labels[key], []).append(node.name)
        return by_value.get(value, [])


def _can_be_kept_up(result: Attempt) -> bool:
    """Whether the next pod that is alike may start from this one's result."""
    cycle = result.cycle
    if result.gated is not None or result.failed or cycle.extenders.interested:
        return False
    own = by_claims(cycle.profile.pre_filter)
    if any(compiled.reserves and name not in own for name, compiled in cycle.compiled.items()):
        return False
    if result.scores is not None:
        return _suit(result.scores)
    return not (cycle.pre_filter_message and result.post_filter and result.post_filter.nominated)


def _suit(scores: Scores) -> bool:
    """Whether all scorers can be asked about one node of each kind."""
    return scores.scorers is not None and all(
        isinstance(scorer, NormalizesByRange) or not scorer.normalizes for scorer in scores.scorers.values()
    )
