"""`BatchCache`: attempts on one state, which reuse results of earlier ones with the same signature."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from functools import partial
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.batch.batch import Batch, can_be_kept_up, without_nomination
from kwhatif.scheduler.batch.result import ScheduleResult, gated_result, result_of
from kwhatif.scheduler.batch.signature import SharedCandidates, Signature, Signer
from kwhatif.scheduler.framework.attempt import attempt, run_pre_enqueue
from kwhatif.scheduler.framework.opportunistic_batch import OpportunisticBatch, Placed, ScoredNode
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.scoring import Scores
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

K = TypeVar("K")


#: The most verdicts of nodes to cache in total, separately for each fork: beyond that, the least recently used
#: signatures are dropped. Fewer save memory; too few make the cache useless for a round of many workloads.
_KEPT_NODES = 500_000
#: The least and the most signatures to cache, for clusters of any size. At least that of the workload whose pods are
#: being placed, and that of one whose pods come in between.
_KEPT, _MOST = 2, 1000


class AttemptOptions(msgspec.Struct, frozen=True):
    """How the attempts of one `BatchCache` are made."""

    #: Whether a node is scored that is the only feasible one; the scheduler does not.
    score_single_node: bool = True
    #: Takes one of several equally good nodes; by default the first by name.
    choose: Callable[[ScheduleResult], ScheduleResult] = lambda result: result
    #: The names of the nodes that are tried; None: all.
    placement: frozenset[str] | None = None


DEFAULT_OPTIONS = AttemptOptions()


class Cycles:
    """Counts the scheduling cycles of one scheduler, for all profiles (`CurrentCycle`)."""

    def __init__(self) -> None:
        self.number = 0

    def begin(self) -> int:
        """The number of the next cycle."""
        self.number += 1
        return self.number


class _LastingResults(Generic[K]):
    """Results that stay the same as long as only pods change that wait for a node."""

    def __init__(self) -> None:
        self._generation = 0
        self._known: dict[K, ScheduleResult] = {}

    def find(self, key: K, state: State) -> ScheduleResult | None:
        """The result of the next attempt, if it is known."""
        if self._generation != state.generation:
            touched = state.since(self._generation)
            self._generation = state.generation
            if touched is None or touched.nodes or any(kind is not Pod for kind, _ in touched.objects):
                self._known.clear()
        return self._known.get(key)

    def keep(self, key: K, result: ScheduleResult, state: State) -> None:
        """Store a result, unless the state has changed since the last `find`."""
        if self._generation == state.generation:
            self._known[key] = result


def _unconditional(pod: Pod) -> Pod:
    """The pod without the conditions that the scheduler sets."""
    return replace(pod, status=replace(pod.status, conditions=()))


class BatchCache:
    """Results of attempts on one state, by signature; the package docstring says how long they are valid."""

    def __init__(
        self,
        profile: Profile,
        state: State,
        cycles: Cycles | None = None,
        options: AttemptOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Set up.

        Args:
            profile: the profile of the pods.
            state: the state, which callers may change between attempts.
            cycles: shared by all profiles of one scheduler; by default there is only this profile.
            options: how attempts are made.
        """
        self._profile = profile
        self._state = state
        self._cycles = cycles or Cycles()
        self._owner_token = object()
        self._signer = Signer(profile)
        #: Extenders are not called more often than necessary, and custom plugins may have side effects.
        self._asks_base = not profile.extenders and not profile.has_custom_plugins
        self._opportunistic = OpportunisticBatch(profile, state)
        self._options = options
        self._node_results = profile.node_results
        #: Attempts that ended with an error, by UID: the next attempt ends with the same error.
        self._errors = _LastingResults[str]()
        #: Attempts that found no node, by template: the next pod of the template finds none either. So the pods of a
        #: workload that waits need not be signed one by one.
        self._unplaced = _LastingResults[bytes]()
        #: Whether equal templates (`QueuedPodInfo.template`) have equal signatures.
        self._knows_templates = self._asks_base and not self._signer.reads_all
        #: By signature; the most recently used one is at the end.
        self._batches: dict[Hashable, Batch] = {}
        self._shared = SharedCandidates()
        #: The cache that this one was forked from, and the generation of its state at that time: while that does not
        #: change, first attempts are made there, for all forks.
        self._base: tuple[BatchCache, int] | None = None

    def fork(
        self,
        state: State,
        cycles: Cycles | None = None,
        *,
        choose: Callable[[ScheduleResult], ScheduleResult] | None = None,
    ) -> BatchCache:
        """An independent cache for a fork of the state: results are shared until they change."""
        other = copy(self)
        if choose is not None:
            other._options = replace(self._options, choose=choose)
        other._state, other._cycles, other._owner_token = state, cycles or copy(self._cycles), object()
        other._opportunistic = copy(self._opportunistic)
        other._batches = self._batches.copy()
        other._errors, other._unplaced = _LastingResults(), _LastingResults()
        other._base = self, self._state.generation
        self._owner_token = object()
        # What batches have now is shared with the fork: from now on each changes only what it has copied.
        self._shared, other._shared = SharedCandidates(), SharedCandidates()
        return other

    def attempt(self, pod: PodInfo, template: bytes = b"") -> ScheduleResult:
        """What the scheduler would do with the pod if it were next in the queue; the state does not change.

        `template`: that of its record in the queue; empty if it has none.
        """
        state, opportunistic = self._state, self._opportunistic
        if not self._knows_templates or pod.pod.status.nominated_node_name or is_reference():
            template = b""
        gated = run_pre_enqueue(self._profile, pod, state)
        if gated is not None:
            return gated_result(pod, gated)
        known = self._unplaced.find(template, state) if template else None
        if known is not None:
            self._cycles.begin()
            return replace(known, pod=pod)
        cycle = self._cycles.begin()
        signature = opportunistic.sign(pod, state)
        hinted = opportunistic.hint(pod, signature, state, cycle) if self._options.placement is None else ()
        result = self._options.choose(self._try_first(pod, hinted) if hinted else self._from_batch(pod))
        is_of_batch = result.whole is None and not result.failed
        if template and result.outcome == "Unschedulable" and is_of_batch:
            self._unplaced.keep(template, result, state)
        if result.outcome == "Placed" and result.node is not None:
            placed = Placed(pod, result.node, result.whole)
            opportunistic.store(placed, signature, hinted[0].name if hinted else "", state, cycle)
        return result

    def _try_first(self, pod: PodInfo, hinted: Sequence[ScoredNode]) -> ScheduleResult:
        """Take the first of the nodes, which were equally good for the previous pod, if the pod fits there."""
        name, total, by_plugin = hinted[0]
        ties = tuple(sorted(node.name for node in hinted))
        fresh = self._from_batch(pod)
        if fresh.node == name and fresh.outcome == "Placed":
            return replace(fresh, hinted=fresh.ties != ties, find_ties=partial(tuple, ties))
        whole = attempt(self._profile, pod, self._state, name)
        node = self._state.node(name)
        if node is None or whole.cycle.feasible != [node] or pod.pod.status.nominated_node_name:
            return fresh
        whole.scores = Scores((node,), {plugin: [score] for plugin, score in by_plugin.items()}, [total])
        return replace(result_of(whole), hinted=True, find_ties=partial(tuple, ties))

    def _from_batch(self, pod: PodInfo) -> ScheduleResult:
        is_nominated = bool(pod.pod.status.nominated_node_name)
        signature = None if is_reference() else self._signer.sign(pod, self._state)
        if signature is not None:
            batch = self._batches.pop(signature.key, None)
            if batch is None:
                batch = self._from_base(without_nomination(pod) if is_nominated else pod, signature)
            if batch is not None:
                if batch.owner is not self._owner_token:
                    batch = batch.fork(self._state, self._owner_token)
                found = batch.attempt(pod, signature, self._shared, score_single_node=self._options.score_single_node)
                if found is not None or (is_nominated and not batch.is_over):
                    self._batches[signature.key] = batch
                if found is not None:
                    return found
        known = None if is_reference() else self._errors.find(pod.uid, self._state)
        if known is not None and _unconditional(known.pod.pod) == _unconditional(pod.pod):
            return known
        whole = attempt(
            self._profile, pod, self._state, node_results=self._node_results, placement=self._options.placement
        )
        result = result_of(whole)
        if whole.failed:
            self._errors.keep(pod.uid, replace(result, whole=None), self._state)
        elif signature is not None and not is_nominated and can_be_kept_up(whole, signature):
            self._batches[signature.key] = Batch(whole, result, self._owner_token)
            self._forget_some()
        return result

    def _from_base(self, pod: PodInfo, signature: Signature) -> Batch | None:
        """The batch of the signature from the cache that this one was forked from, computed there if necessary."""
        if (
            self._base is None
            or self._options.placement is not None
            or signature.compiled
            or pod.claim_names
            or not self._asks_base
        ):
            return None
        base, generation = self._base
        if base._state.generation != generation:
            return None
        there = base._signer.sign(pod, base._state)
        if there is None or there.key != signature.key:
            return None
        return base._known(pod, there)

    def _known(self, pod: PodInfo, signature: Signature) -> Batch | None:
        """The updated batch of the signature; None if there can be none."""
        batch = self._batches.pop(signature.key, None) or self._from_base(pod, signature)
        if batch is not None and batch.generation != self._state.generation:
            batch = batch.fork(self._state, self._owner_token)
            if batch.attempt(pod, signature, self._shared) is None:
                batch = None
        if batch is None:
            whole = attempt(self._profile, pod, self._state, node_results=self._node_results)
            if not can_be_kept_up(whole, signature):
                return None
            batch = Batch(whole, result_of(whole), self._owner_token)
        self._batches[signature.key] = batch
        self._forget_some()
        return batch

    def _forget_some(self) -> None:
        most = min(max(_KEPT, _KEPT_NODES // max(len(self._state.nodes), 1)), _MOST)
        while len(self._batches) > most:
            del self._batches[next(iter(self._batches))]
