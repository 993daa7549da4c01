"""InterPodAffinity (`pkg/scheduler/framework/plugins/interpodaffinity/plugin.go`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.pod import pod_affinities
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.hints import ClusterEventWithHint
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, always
from kwhatif.scheduler.framework.signers import Fragments
from kwhatif.scheduler.framework.status import SKIP, Status, error, unresolvable
from kwhatif.scheduler.plugins.inter_pod_affinity import hints
from kwhatif.scheduler.plugins.inter_pod_affinity.incoming import (
    AcceptsNamespace,
    accepts_namespace,
    accepts_only_selected,
)
from kwhatif.scheduler.plugins.inter_pod_affinity.pre_filter import compile_filter
from kwhatif.scheduler.plugins.inter_pod_affinity.scoring import compile_scorer
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


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
        """The labels, which terms of other pods may match; pods with terms of their own cannot be signed."""
        if pod.has_affinity:
            return None
        # QUIRK: (plugin.go, SignPod) others' required anti-affinity counts with these arguments, too.
        ignores = self._args.ignore_preferred_terms_of_existing_pods
        return {} if ignores else {signers.LABELS: frozenset(pod.labels.items())}

    events_to_register: Callable[[], Sequence[ClusterEventWithHint]] = staticmethod(hints.events_to_register)

    #: Score fails, because it needs PreScore's state.
    without_pre_score = always(error('failed to read "PreScoreInterPodAffinity" from cycleState: not found'))


def _prefers(pod: PodInfo) -> bool:
    """Whether the pod has any preferred terms, valid or not."""
    return any(part.preferred for part in pod_affinities(pod.pod.spec))


class InterPodAffinitySince137(InterPodAffinity):
    """The plugin since 1.37: a namespaceSelector is used only once, and one anti-affinity term is enough for hints."""

    _accepts = staticmethod(accepts_only_selected)

    events_to_register = staticmethod(hints.events_since_137)


class InterPodAffinityUntil135(InterPodAffinity):
    """The plugin up to 1.35: other hints (`isSchedulableAfterPodChange`)."""

    events_to_register = staticmethod(partial(hints.events_to_register, until_135=True))


class InterPodAffinityUntil133(InterPodAffinityUntil135):
    """The plugin up to 1.33."""

    _accepts = staticmethod(accepts_only_selected)
