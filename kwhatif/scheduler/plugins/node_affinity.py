"""NodeAffinity: `nodeSelector` and node affinity (`plugins/nodeaffinity/node_affinity.go`)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import ClassVar

from kwhatif.kube.matching.nodes import (
    PreferredTerms,
    RequiredNodeAffinity,
    Term,
    TermError,
    any_matches,
    mismatch,
    named,
    named_nodes,
)
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodSpec, node_affinity_of
from kwhatif.kube.model.pod_spec import NodeAffinity as NodeAffinitySpec
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.evidence import UnmatchedSelector
from kwhatif.scheduler.framework.filters import ByShape
from kwhatif.scheduler.framework.hints import (
    ClusterEventWithHint,
    HintIndex,
    Keys,
    QueueingHint,
    builtin,
    changed_keys,
    queue_if,
)
from kwhatif.scheduler.framework.incremental import NormalizesByRange
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.scoring import default_normalize
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Status, error, unresolvable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

REASON_POD = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT = "pod affinity terms conflict"


class NodeAffinityArgs(Model):
    """`NodeAffinityArgs` of kubescheduler.config.k8s.io/v1: affinity that applies to every pod of the profile."""

    added_affinity: NodeAffinitySpec | None = None


class _Selected(NodeFilter):
    def __init__(
        self,
        added: Sequence[Term] | None,
        required: RequiredNodeAffinity,
        only_nodes: frozenset[str] | None,
        reads: Reads,
    ) -> None:
        self._added = added
        self._required = required
        self.only_nodes = only_nodes
        self.reads = reads

    def filter(self, node: NodeInfo) -> Status:
        if self._added is not None and not any_matches(self._added, node):
            return unresolvable(REASON_ENFORCED, UnmatchedSelector(*mismatch((), self._added, node)))
        if not self._required.matches(node):
            return unresolvable(REASON_POD, UnmatchedSelector(*self._required.mismatch(node)))
        return SUCCESS


class _Preferred(ByShape, NormalizesByRange, NodeScorer):
    reads = Reads.NODE

    def __init__(self, terms: Sequence[PreferredTerms], *, by_shape: bool) -> None:
        self._terms = terms
        self.by_shape = by_shape

    def score(self, node: NodeInfo) -> int:
        """The sum of the weights of all terms that match the node."""
        return sum(terms.score(node) for terms in self._terms)

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        return default_normalize(scores)


def _of_the_shape(readers: Collection[Term | RequiredNodeAffinity | PreferredTerms], state: State) -> bool:
    """Whether the terms read only parts of a node's shape."""
    unfixed = state.shapes.unfixed
    return all(not reader.reads_name and unfixed.isdisjoint(reader.keys) for reader in readers)


def _required(pod: Pod) -> RequiredNodeAffinity:
    return RequiredNodeAffinity(pod.spec)


class NodeAffinity:
    """Rejects nodes that the pod or the profile does not select; scores nodes by preferred terms."""

    name: ClassVar[str] = "NodeAffinity"

    def __init__(self, args: NodeAffinityArgs | None = None) -> None:
        """Compile the added affinity.

        Raises:
            TermError: a term does not parse; the scheduler would not start.
        """
        added = (args and args.added_affinity) or NodeAffinitySpec()
        self._added_required: tuple[Term, ...] | None = None
        if added.required is not None:
            self._added_required = tuple(
                Term(term.match_expressions, term.match_fields, f"nodeSelectorTerms[{index}].")
                for index, term in enumerate(added.required.node_selector_terms)
            )
        self._added_preferred = PreferredTerms(added.preferred) if added.preferred else None

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """SKIP without required terms; if the terms list node names, only these nodes are considered."""
        spec = pod.pod.spec
        own = node_affinity_of(spec).required
        added = self._added_required
        if own is None and added is None and not spec.node_selector:
            return SKIP
        only_nodes = None
        if own is not None and own.node_selector_terms:
            only_nodes = named_nodes(own.node_selector_terms)
            if only_nodes is not None and not only_nodes:
                return unresolvable(REASON_CONFLICT)
        return self._selected(spec, state, only_nodes)

    def without_pre_filter(self, pod: PodInfo, state: State) -> NodeFilter:
        """Without PreFilter, Filter reads the pod's terms itself, and all nodes are considered."""
        return self._selected(pod.pod.spec, state, None)

    def _selected(self, spec: PodSpec, state: State, only_nodes: frozenset[str] | None) -> NodeFilter:
        added, required = self._added_required, RequiredNodeAffinity(spec)
        by_shape = _of_the_shape((required, *(added or ())), state)
        return _Selected(added, required, only_nodes, Reads.SHAPE if by_shape else Reads.NODE)

    def pre_score(self, pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        """SKIP without preferred terms (an empty list is not skipped); an error if a term is invalid."""
        own = node_affinity_of(pod.pod.spec).preferred
        added = self._added_preferred
        try:
            terms = [] if own is None else [PreferredTerms(own)]
        except TermError as failure:
            return error(str(failure))
        if added is not None:
            terms.append(added)
        if not terms:
            return SKIP
        return _Preferred(terms, by_shape=_of_the_shape(terms, state))

    sign = staticmethod(signers.node_affinity)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A node is added, or its labels change."""
        node = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
        return (builtin(EventResource.NODE, node, self._after_node_change, HintIndex(_wanted_labels, _changed_labels)),)

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node, _cluster: Cluster) -> QueueingHint:
        """The pod selects the node now, and did not before; invalid terms are an error, which queues the pod."""
        if self._added_required is not None and not any_matches(self._added_required, named(new)):
            return QueueingHint.QUEUE_SKIP
        required = pod.derived(_required)
        if not required.matches(named(new)):
            return queue_if(required.fails_on(named(new)))
        return queue_if(old is None or not required.matches(named(old)))


def _wanted_labels(pod: Pod) -> Keys:
    """The labels that the terms read: before a node matches, one of them must change."""
    required = node_affinity_of(pod.spec).required
    keys: set[Hashable] = set((pod.spec.node_selector or {}).items())
    for term in required.node_selector_terms if required else ():
        for requirement in term.match_expressions:
            pairs = [(requirement.key, value) for value in requirement.values]
            keys.update(pairs if requirement.operator == "In" else [requirement.key])
    return None if _required(pod).is_broken else keys


def _changed_labels(old: Node | None, new: Node, _cluster: Cluster) -> Keys:
    if old is None:
        return None
    changed = changed_keys(old.metadata.labels, new.metadata.labels)
    return [*changed, *((key, new.metadata.labels.get(key)) for key in changed)]
