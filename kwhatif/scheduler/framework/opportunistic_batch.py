"""`OpportunisticBatch`: the next of equal pods may take the second best node of the one before it (KEP-5598)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.filters import run_filters
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.scoring import Scores
from kwhatif.scheduler.framework.signers import PodSignature, sign_pod, signs_any_pod
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class ScoredNode(NamedTuple):
    """A feasible node with its scores."""

    name: str
    total: int
    by_plugin: Mapping[str, int]


class Placed(NamedTuple):
    """An attempt that found a node; `whole` None: its scores were not computed."""

    pod: PodInfo
    node: str
    whole: Attempt | None


class _Kept(NamedTuple):
    """The results of the last attempt for pods with the signature."""

    signature: PodSignature
    #: The other feasible nodes, the best first.
    find_nodes: Callable[[], Sequence[ScoredNode]]
    #: The number of nodes that were given out.
    used: int = 0


class OpportunisticBatch:
    """The next of equal pods may take the second best node of the previous one, if it follows immediately (KEP-5598).

    Follows `pkg/scheduler/framework/runtime/batch.go`; the feature gate OpportunisticBatching is on. With the default
    profile it has no effect: a pod with default spread constraints has no signature.

    Upstream drops it after half a second; here attempts follow without delay.
    """

    def __init__(self, profile: Profile, state: State) -> None:
        self._profile = profile
        self._signs = signs_any_pod(profile, state)
        self._kept: _Kept | None = None
        self._last_cycle = -1
        self._chosen = ""

    def sign(self, pod: PodInfo, state: State) -> PodSignature | None:
        """The pod's signature."""
        return sign_pod(self._profile, pod, state) if self._signs else None

    def hint(self, pod: PodInfo, signature: PodSignature | None, state: State, cycle: int) -> tuple[ScoredNode, ...]:
        """The node to try first and equally good ones; empty if none is known (`GetNodeHint`)."""
        kept = self._kept
        if signature is None or kept is None or cycle != self._last_cycle + 1 or signature != kept.signature:
            return ()
        nodes = kept.find_nodes()[kept.used :]
        if not nodes or not self._is_full(pod, state):
            return ()
        self._kept = kept._replace(used=kept.used + 1)
        return tuple(node for node in nodes if node.total == nodes[0].total)

    def _is_full(self, pod: PodInfo, state: State) -> bool:
        """Whether the pod does not fit on the node of the last pod: otherwise that may be the best one again."""
        node = state.node(self._chosen)
        cycle = Cycle(self._profile, pod, state)
        try:
            if node is None or not cycle.pre_filter():
                return False
        except CycleError:
            return False
        objection = run_filters(cycle.filters, node)
        return objection is not None and objection.status.rejected

    def store(self, placed: Placed, signature: PodSignature | None, hint: str, state: State, cycle: int) -> None:
        """Store a successful attempt (`StoreScheduleResults`); the state must still be that of the attempt."""
        if not self._signs:
            return
        self._last_cycle, self._chosen = cycle, placed.node
        if hint != placed.node:
            self._kept = None if signature is None else _Kept(signature, self._ranking(placed, state))

    def _ranking(self, placed: Placed, state: State) -> Callable[[], Sequence[ScoredNode]]:
        """The feasible nodes except the chosen one; computed on demand."""
        then = None if placed.whole else state.fork()
        found: list[Sequence[ScoredNode]] = []

        def find() -> Sequence[ScoredNode]:
            if not found:
                whole = attempt(self._profile, placed.pod, then) if then else placed.whole
                scores = whole.scores if whole else None
                found.append(_ranked(scores, placed.node) if scores else ())
            return found[0]

        return find


def _ranked(scores: Scores, taken: str) -> Sequence[ScoredNode]:
    columns = list(scores.by_plugin.values()) or [[0] * len(scores.nodes)]
    rows = zip(scores.nodes, scores.total, zip(*columns, strict=True), strict=True)
    nodes = [
        ScoredNode(node.name, total, dict(zip(scores.by_plugin, cells, strict=False)))
        for node, total, cells in rows
        if node.name != taken
    ]
    return sorted(nodes, key=lambda node: (-node.total, node.name))
