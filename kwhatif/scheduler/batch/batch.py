"""`Batch`: the results for one pod, updated with the state for all pods with its signature.

A nominated pod is tried on its node first (`evaluateNominatedNode`), with the results of its batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any

from msgspec.structs import replace

from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota
from kwhatif.kube.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from kwhatif.kube.model.workload import WORKLOADS, Namespace, Service
from kwhatif.scheduler.batch.eviction_candidates import EvictionCandidates, candidates_after
from kwhatif.scheduler.batch.feasible_nodes import FeasibleNodes, node_of
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.batch.signature import Changed, SharedCandidates, Signature, sharing_key
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.incremental import (
    Incremental,
    NormalizesByRange,
    apply_node_change,
    apply_pod_change,
    namespace_of,
)
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.scoring import Scores, score_nodes
from kwhatif.scheduler.framework.status import Code
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.scheduler.preemption.victims import goes_by_units
from kwhatif.state.change import Touched
from kwhatif.state.node_info import nodes_by_label
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: A UID that no pod has; without a UID, a pod is identified by its name.
_NOBODY = "-"


def without_nomination(pod: PodInfo) -> PodInfo:
    """A generic pod with the same signature, for which the pod's own nomination counts, too."""
    given = pod.pod
    status = replace(given.status, nominated_node_name="")
    return PodInfo(replace(given, metadata=replace(given.metadata, uid=_NOBODY), status=status))


def attempt_nominated(
    cycle: Cycle, pod: PodInfo, candidates: EvictionCandidates | None, *, score_single_node: bool
) -> ScheduleResult | None:
    """The result for the pod if no other node is feasible; None: a full attempt is needed.

    Args:
        cycle: the updated cycle of the batch, for the pod `without_nomination`.
        pod: the nominated pod.
        candidates: the candidates of its signature.
        score_single_node: whether to score its node; the scheduler does not.

    Raises:
        CycleError: a plugin failed.
    """
    node = cycle.state.node(pod.pod.status.nominated_node_name)
    # Without its own nomination, other nodes may be worse for the pod only by its own affinity.
    if node is None or cycle.node_set is not None or cycle.pre_filter_message or pod.affinity_terms.required:
        return None
    own = copy(cycle)
    own.pod = pod
    objection = own.check(node, own.filters)
    if objection is None:
        own.feasible = [node]
        scores = score_nodes(own) if score_single_node else None
        return ScheduleResult(
            pod,
            "Placed",
            node.name,
            score=scores.total[0] if scores else 0,
            scores={name: column[0] for name, column in scores.by_plugin.items()} if scores else {},
            find_ties=partial(tuple, (node.name,)),
            reserve=own.reserve,
        )
    others = cycle.check(node, cycle.filters)
    if candidates is None or objection.status.code is Code.ERROR or others is None:
        return None
    if (others.plugin, others.status.reasons) != (objection.plugin, objection.status.reasons):
        return None
    own.verdicts = {node.name: objection}
    return candidates.refuse(own)


#: Kinds that a batch follows, and kinds that no scheduling rule reads or that are part of the signature.
_FOLLOWED = frozenset((Pod, PodDisruptionBudget))
_HARMLESS = _FOLLOWED | {Node, PersistentVolumeClaim, PriorityClass, LimitRange, ResourceQuota, Service, *WORKLOADS}
#: Kinds that matter only to pods with volumes.
_OF_VOLUMES = frozenset((PersistentVolume, StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment))


def followed_kinds(cycle: Cycle) -> frozenset[type]:
    """The kinds whose objects may change."""
    if cycle.profile.has_custom_plugins:
        return _FOLLOWED
    return _HARMLESS if cycle.pod.pod.spec.volumes else _HARMLESS | _OF_VOLUMES


def is_followed(touched: Touched, kinds: frozenset[type], cycle: Cycle, origin: State) -> bool:
    """Whether a batch can follow these changes of the state: it handles all their effects.

    Args:
        touched: what has changed since the batch was up to date.
        kinds: see `followed_kinds`.
        cycle: the cycle of the batch, on the current state.
        origin: the state for which the filters were compiled: some read namespaces of it.
    """
    state = cycle.state
    if touched.reordered or any(kind not in kinds for kind, _ in touched.objects):
        return False
    if not all(_is_mild(before, after) for before, after in touched.changed_nodes):
        return False
    if cycle.pod.pod.spec.volumes and not _only_own_claims(touched, state):
        return False
    return origin is state or origin.cluster.generation(Namespace) == state.cluster.generation(Namespace)


def _is_mild(before: Node, after: Node) -> bool:
    """Whether only what `Incremental.apply_node_change` handles has changed."""
    spec = replace(before.spec, taints=after.spec.taints, unschedulable=after.spec.unschedulable)
    status = replace(before.status, conditions=after.status.conditions)
    return replace(before, spec=spec, status=status) == after


def _only_own_claims(touched: Touched, state: State) -> bool:
    """Whether claims changed only because pods that use them were added: otherwise other volumes may differ."""
    claims = [key for kind, key in touched.objects if kind is PersistentVolumeClaim]
    if not claims:
        return True
    came = (pod for pod, _, amount in touched.moves if amount > 0)
    used = Counter(f"{pod.namespace}/{name}" for pod in came for name in pod.claim_names)
    return all(state.users_of(key) <= used[key] for key in claims)


class Batch:
    """Either all pods fail like the first one, or there are `_feasible`, `_candidates`, or both.

    After a failure, `_candidates` contain the reasons.

    A pod that evicts more than it needs makes room for the next one, which then need not evict pods.
    """

    def __init__(self, whole: Attempt, result: ScheduleResult, owner: object) -> None:
        self._cycle = whole.cycle
        #: The cache that may change it.
        self.owner = owner
        #: The state for which the filters were compiled: some read namespaces of it.
        self._origin = whole.cycle.state
        #: The generation of the state up to which all changes are processed.
        self.generation = self._origin.generation
        self._failure = replace(result, whole=None) if result.node is None else None
        self._scores = whole.scores
        self._feasible: FeasibleNodes | None = None
        found = whole.post_filter.outcome if whole.post_filter else None
        #: The result of preemption, until there are `_candidates`.
        self._found = found if isinstance(found, Preemption) and (found.node or _tried_all(whole)) else None
        self._budgets = Budgets(self._origin.cluster) if self._found else None
        self._candidates: EvictionCandidates | None = None
        #: The key by which other signatures share the candidates; None: they do not.
        self._sharing: Hashable | None = None
        self._kinds = followed_kinds(self._cycle)
        #: Whether it can no longer be updated.
        self.is_over = False

    def attempt(
        self, pod: PodInfo, signature: Signature, shared: SharedCandidates, *, score_single_node: bool = True
    ) -> ScheduleResult | None:
        """The result for a pod with the signature; None: a full attempt is needed.

        In that case the batch is dropped, unless the pod is nominated. `shared`: those of the cache.
        """
        cycle = self._cycle
        is_nominated = bool(pod.pod.status.nominated_node_name)
        cycle.pod = without_nomination(pod) if is_nominated else pod
        if signature.compiled:
            cycle.replace_filters(signature.compiled)
        try:
            if not self._keep_up(shared):
                self.is_over = True
                return None
            if is_nominated:
                elsewhere = self._feasible.best() if self._feasible else None
                candidates = None if elsewhere else self._candidates
                return attempt_nominated(cycle, pod, candidates, score_single_node=score_single_node)
            if self._failure is not None:
                return replace(self._failure, pod=pod)
            best = self._feasible.best() if self._feasible else None
            if best is None:
                found = self._candidates.place(pod) if self._candidates else None
                self._failure = found if found is not None and found.node is None else None
                return found
        except CycleError:  # the full attempt will report it
            self.is_over = True
            return None
        return ScheduleResult(
            pod,
            "Placed",
            best.node,
            score=best.score,
            scores=best.scores,
            find_ties=best.find_ties,
            tied=best.tied,
            reserve=cycle.reserve,
        )

    # --- forks ---------------------------------------------------------------------------------------

    def fork(self, state: State, owner: object) -> Batch:
        """An independent batch for a fork of the state."""
        self._build()
        other = copy(self)
        other.owner = owner
        filters = self._cycle.compiled.items()
        kept = {name: _forked(plugin, state) for name, plugin in filters if isinstance(plugin, Incremental)}
        other._cycle = self._cycle.fork(state, kept)
        if self._scores is not None:
            scorers = {name: _forked(scorer, state) for name, scorer in (self._scores.scorers or {}).items()}
            other._scores = replace(self._scores, scorers=scorers)
            if self._feasible is not None:
                other._feasible = self._feasible.fork(other._cycle, other._scores)
        if self._candidates is not None:
            other._candidates = self._candidates.fork(other._cycle)
        return other

    def _build(self) -> None:
        """Rank the results of the first attempt, unless the state has changed: then that is done by the update."""
        if self.generation != self._cycle.state.generation:
            return
        self._rank_candidates(self.generation)
        if self._failure is None and self._feasible is None and self._scores is not None:
            self._feasible = FeasibleNodes(self._cycle, self._scores, ())

    def _rank_candidates(self, generation: int) -> None:
        """Rank the candidates that the first attempt found at that generation of the state."""
        if self._found is not None and self._budgets is not None:
            self._candidates, self._found = candidates_after(self._cycle, self._found, self._budgets), None
            if self._candidates is not None:
                self._candidates.generation = generation
                self._sharing = sharing_key(self._cycle, self._candidates)

    # --- updating ------------------------------------------------------------------------------------

    def _keep_up(self, shared: SharedCandidates) -> bool:
        """Update everything to the current state; returns False if that is not possible."""
        state, since = self._cycle.state, self.generation
        if self._failure is not None and self.generation == state.generation:
            return True
        touched = state.since(self.generation)
        self.generation = state.generation
        if touched is None or not is_followed(touched, self._kinds, self._cycle, self._origin):
            return False
        if self._failure is not None:
            if not touched.nodes and not any(kind is PodDisruptionBudget for kind, _ in touched.objects):
                return True
            if self._found is None and self._candidates is None:
                return not touched.nodes
            self._failure = None
        self._rank_candidates(since)
        budgets = {key for kind, key in touched.objects if kind is PodDisruptionBudget}
        if self._candidates is not None and not self._candidates.knows(budgets):
            return False
        names = self._follow(touched)
        if names is None:
            return False
        if self._candidates is not None:
            changed = Changed(since, names, budgets)
            self._candidates = shared.updated(self._sharing, self._candidates, self._cycle, changed)
        self._refresh(names)
        return True

    def _follow(self, touched: Touched) -> set[str] | None:
        """Update filters and scorers; returns the nodes for which results may have changed, or None if not possible."""
        state = self._cycle.state
        names = {name for name in touched.nodes if state.node(name) is not None}
        followers = list(self._followers())
        for before, after in touched.changed_nodes:
            if not all(apply_node_change(follower, before, after) for follower in followers):
                return None
        came = [move.pod for move in touched.net_moves if move.amount > 0]
        if any(any(map(concerns, came)) for concerns in self._cycle.skipped_until):
            return None
        for follower in followers:
            namespace = namespace_of(follower)
            for pod, node_name, amount in touched.net_moves if namespace is None else touched.net_moves_in(namespace):
                domains = apply_pod_change(follower, pod, node_of(state, node_name), amount)
                if domains is None:
                    return None
                for key, value in domains:
                    names.update(nodes_by_label(state.cluster).of(key).get(value, ()))
        placement = self._cycle.placement
        return names if placement is None else names & placement

    def _followers(self) -> Iterator[NodeFilter | NodeScorer]:
        for _, plugin in self._cycle.filters:
            if plugin.reads is Reads.CLUSTER:
                yield plugin
        scorers = self._scores.scorers if self._scores else None
        for scorer in (scorers or {}).values():
            if scorer.reads is Reads.CLUSTER:
                yield scorer

    def _refresh(self, names: Collection[str]) -> None:
        if self._candidates is not None and self._scores is None and (feasible := self._candidates.feasible):
            self._score(feasible)
        if self._feasible is not None:
            self._feasible.refresh(sorted(names))
        elif self._scores is not None:
            self._feasible = FeasibleNodes(self._cycle, self._scores, sorted(names))

    def _score(self, feasible: Iterable[str]) -> None:
        """Score the nodes: if pods evict more than they need, others find room."""
        self._cycle.feasible = [node_of(self._cycle.state, name) for name in feasible]
        self._cycle.verdicts = {}  # outdated, from the first attempt
        self._scores = score_nodes(self._cycle)
        if not _keep_up_by_class(self._scores):
            raise CycleError("the scores cannot be updated")


def can_be_kept_up(whole: Attempt, signature: Signature) -> bool:
    """Whether other pods with the signature can reuse this attempt."""
    cycle = whole.cycle
    if whole.gated is not None or whole.failed or cycle.extenders.interested:
        return False
    if any(compiled.reserves and name not in signature.compiled for name, compiled in cycle.compiled.items()):
        return False
    if whole.scores is not None:
        return _keep_up_by_class(whole.scores)
    if whole.post_filter and goes_by_units(cycle.state.cluster):
        return False
    return not (cycle.pre_filter_message and whole.post_filter and whole.post_filter.nominated)


def _tried_all(whole: Attempt) -> bool:
    """Whether the pod may evict others, but that does not make room on any node."""
    found = whole.post_filter
    if found is None or found.status.code is not Code.UNSCHEDULABLE or whole.cycle.pre_filter_message:
        return False
    outcome = found.outcome
    return isinstance(outcome, Preemption) and outcome.eligible and not outcome.candidates and found.nominated == ""


def _keep_up_by_class(scores: Scores) -> bool:
    """Whether all scorers can be evaluated on one node of each class."""
    return scores.scorers is not None and all(
        isinstance(scorer, NormalizesByRange) or not scorer.normalizes for scorer in scores.scorers.values()
    )


def _forked(plugin: NodeFilter | NodeScorer, state: State) -> Any:
    return plugin.fork_with(state) if isinstance(plugin, Incremental) else plugin
