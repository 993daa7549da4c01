"""InterPodAffinity (`pkg/scheduler/framework/plugins/interpodaffinity/plugin.go`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import ClassVar

from kwhatif.kube.matching.labels import Labels
from kwhatif.kube.matching.pods import AffinityTerm, AffinityTerms, affinity_terms
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, pod_affinities
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import (
    QUEUE,
    QUEUE_SKIP,
    ClusterEventWithHint,
    HintIndex,
    Keys,
    QueueingHint,
    answer_at_once,
    builtin,
    changed_keys,
    queue_if,
)
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, always
from kwhatif.scheduler.framework.signers import Fragments
from kwhatif.scheduler.framework.status import SKIP, Status, error, unresolvable
from kwhatif.scheduler.plugins.inter_pod_affinity.filtering import (
    AcceptsNamespace,
    accepts_namespace,
    accepts_only_selected,
    compile_filter,
)
from kwhatif.scheduler.plugins.inter_pod_affinity.scoring import compile_scorer
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: Whether terms match a pod.
TermsMatch = Callable[[Sequence[AffinityTerm], Pod], bool]


def events_to_register(*, until_135: bool = False) -> Sequence[ClusterEventWithHint]:
    """A pod is added, deleted, or its labels change; a node is added, or its labels change."""
    after_pod_change = _after_pod_change_until_135 if until_135 else _after_pod_change
    pod = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
    node = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
    return (
        builtin(EventResource.POD, pod, after_pod_change, HintIndex(_matching_pods, _pods_of_event)),
        builtin(EventResource.NODE, node, _after_node_change, HintIndex(_domains, _changed_domains)),
    )


def events_since_137() -> Sequence[ClusterEventWithHint]:
    """The events since 1.37: a pod matters if a single anti-affinity term matches it."""
    after_pod_change = partial(_after_pod_change, keeps_away=_any_matches)
    index = HintIndex(partial(_matching_pods, by_any=True), partial(_pods_of_event, by_any=True))
    on_pod, on_node = events_to_register()
    return builtin(on_pod.event.resource, on_pod.event.action, after_pod_change, index), on_node


def _all_match(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    """Whether there are terms, and all of them match the pod.

    QUIRK: (podMatchesAllAffinityTerms) also for anti-affinity all terms must match, although one term is enough to
    keep a pod away; and a namespaceSelector is tested against empty labels.
    """
    meta = pod.metadata
    return bool(terms) and all(term.matches(meta.namespace, meta.labels, {}) for term in terms)


def _any_matches(terms: Sequence[AffinityTerm], pod: Pod) -> bool:
    """Since 1.37: whether any anti-affinity term matches the pod (`podMatchesAnyAffinityTerms`)."""
    meta = pod.metadata
    return any(term.matches(meta.namespace, meta.labels, {}) for term in terms)


def _after_pod_change(
    pod: PodInfo, old: Pod | None, new: Pod | None, _cluster: Cluster, keeps_away: TermsMatch = _all_match
) -> QueueingHint:
    at_once = answer_at_once(pod, old, new)
    if at_once is not None:
        return at_once
    terms = pod.affinity_terms
    if terms.problem:
        return QUEUE  # an error
    wanted, refused = terms.required, terms.required_anti
    if old is None:
        return queue_if(new is not None and _all_match(wanted, new))
    if new is None:
        return queue_if(keeps_away(refused, old) or _refuses(old, pod, keeps_away))
    comes = _all_match(wanted, new) and not _all_match(wanted, old)
    goes = keeps_away(refused, old) and not keeps_away(refused, new)
    return queue_if(comes or goes)


def _after_pod_change_until_135(pod: PodInfo, old: Pod | None, new: Pod | None, cluster: Cluster) -> QueueingHint:
    """Up to 1.35: pods that are only nominated do not count, and the anti-affinity of a deleted pod does not count."""
    if not all(other.spec.node_name for other in (old, new) if other is not None):
        return QUEUE_SKIP
    terms = pod.affinity_terms
    if new is None and old is not None and not terms.problem:
        return queue_if(_all_match(terms.required_anti, old))
    return _after_pod_change(pod, old, new, cluster)


#: Prefix of keys for the labels of pending pods: terms of the pod of an event may match these labels.
_OWN = "own"
#: The key of all pods with anti-affinity: they may fit every new node.
_ANTI = ""


def _matching_pods(pod: Pod, *, by_any: bool = False) -> Keys:
    """A label that the first term of each kind selects, and the pod's own labels.

    The first term is enough, because all terms must match a pod. `by_any`: all anti-affinity terms, because one term
    that matches is enough.
    """
    terms = affinity_terms(pod)
    if terms.problem:
        return None
    decisive = (*terms.required[:1], *_indexed_anti_terms(terms, by_any=by_any))
    pairs = [term.selector.pair for term in decisive]
    if None in pairs:
        return None
    own: list[Hashable] = [(_OWN, *label) for label in pod.metadata.labels.items()]
    return [*own, *pairs]


def _indexed_anti_terms(terms: AffinityTerms, *, by_any: bool) -> Sequence[AffinityTerm]:
    return terms.required_anti if by_any else terms.required_anti[:1]


def _pods_of_event(old: Pod | None, new: Pod | None, _cluster: Cluster, *, by_any: bool = False) -> Keys:
    keys: list[Hashable] = [label for pod in (old, new) if pod is not None for label in pod.metadata.labels.items()]
    if new is None and old is not None:
        terms = affinity_terms(old)
        for term in _indexed_anti_terms(terms, by_any=by_any):
            if term.selector.pair is None:
                return None
            keys.append((_OWN, *term.selector.pair))
        if terms.problem:
            return None
    return keys


def _domains(pod: Pod) -> Keys:
    terms = affinity_terms(pod)
    if terms.problem:
        return None
    keys = {term.topology_key for term in (*terms.required, *terms.required_anti)}
    return keys | {_ANTI} if terms.required_anti else keys


def _changed_domains(old: Node | None, new: Node, _cluster: Cluster) -> Keys:
    labels = new.metadata.labels
    return {*labels, _ANTI} if old is None else changed_keys(old.metadata.labels, labels)


def _refuses(deleted: Pod, pod: PodInfo, keeps_away: TermsMatch) -> bool:
    """Whether the deleted pod's own anti-affinity matches the pod."""
    terms = affinity_terms(deleted)
    return bool(terms.problem) or keeps_away(terms.required_anti, pod.pod)


def _after_node_change(pod: PodInfo, old: Node | None, new: Node, _cluster: Cluster) -> QueueingHint:
    """The node joins a domain of a term, leaves one, or moves to another one."""
    terms = pod.affinity_terms
    if terms.problem:
        return QUEUE  # an error
    after = new.metadata.labels
    if old is None:
        return queue_if(terms.required_anti or any(term.topology_key in after for term in terms.required))
    before = old.metadata.labels
    enters = any(_moves(term, after, before) for term in terms.required)
    return queue_if(enters or any(_moves(term, before, after) for term in terms.required_anti))


def _moves(term: AffinityTerm, within: Labels, other: Labels) -> bool:
    """Whether the node has a domain with the labels `within`, and another domain or none with the labels `other`."""
    key = term.topology_key
    return key in within and within[key] != other.get(key)


class InterPodAffinityArgs(Model):
    """`kubescheduler.config.k8s.io/v1 InterPodAffinityArgs`."""

    #: The weight of required affinity terms of existing pods in scoring.
    hard_pod_affinity_weight: int = 1
    #: Whether preferred terms of existing pods are ignored for a pod without preferred terms.
    ignore_preferred_terms_of_existing_pods: bool = False


class InterPodAffinity:
    """Places pods near other pods, or away from them."""

    name: ClassVar[str] = "InterPodAffinity"
    _accepts: AcceptsNamespace = staticmethod(accepts_namespace)

    def __init__(self, args: InterPodAffinityArgs | None = None) -> None:
        self._args = args or InterPodAffinityArgs()

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """Count, per domain, the pods that match required terms, in both directions."""
        problem = pod.affinity_terms.problem
        if problem:
            return unresolvable(f"parsing pod: {problem}")
        return compile_filter(pod, state, self._accepts)

    #: Filter fails, because it needs PreFilter's state.
    without_pre_filter = always(error('error reading "PreFilterInterPodAffinity" from cycleState: not found'))

    def pre_score(self, pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        """Sum up, per domain, the weights of all preferences, in both directions."""
        if self._args.ignore_preferred_terms_of_existing_pods and not _prefers(pod):
            return SKIP
        if pod.affinity_terms.problem:
            return error(f"failed to parse pod: {pod.affinity_terms.problem}")
        return compile_scorer(pod, state, self._args.hard_pod_affinity_weight, self._accepts)

    def sign(self, pod: PodInfo, state: State) -> Fragments | None:
        """The pod's labels, because terms of other pods may match them; a pod with terms itself cannot be signed."""
        if pod.has_affinity:
            return None
        # QUIRK: (plugin.go, SignPod) required anti-affinity of other pods counts even with these arguments.
        ignores = self._args.ignore_preferred_terms_of_existing_pods
        return {} if ignores else {signers.LABELS: frozenset(pod.labels.items())}

    events_to_register: Callable[[], Sequence[ClusterEventWithHint]] = staticmethod(events_to_register)

    #: Score fails, because it needs PreScore's state.
    without_pre_score = always(error('failed to read "PreScoreInterPodAffinity" from cycleState: not found'))


def _prefers(pod: PodInfo) -> bool:
    """Whether the pod has any preferred terms, valid or not."""
    return any(part.preferred for part in pod_affinities(pod.pod.spec))


class InterPodAffinitySince137(InterPodAffinity):
    """The plugin since 1.37: a namespaceSelector is used only once, and one anti-affinity term is enough for hints."""

    _accepts = staticmethod(accepts_only_selected)

    events_to_register = staticmethod(events_since_137)


class InterPodAffinityUntil135(InterPodAffinity):
    """The plugin up to 1.35: other hints (`isSchedulableAfterPodChange`)."""

    events_to_register = staticmethod(partial(events_to_register, until_135=True))


class InterPodAffinityUntil133(InterPodAffinityUntil135):
    """The plugin up to 1.33."""

    _accepts = staticmethod(accepts_only_selected)
