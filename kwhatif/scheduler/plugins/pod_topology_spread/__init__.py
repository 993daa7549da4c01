"""PodTopologySpread (`pkg/scheduler/framework/plugins/podtopologyspread/plugin.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.kube.matching.labels import SelectorError
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import TopologySpreadConstraint
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import (
    QUEUE,
    QUEUE_SKIP,
    ClusterEventWithHint,
    HintIndex,
    Keys,
    QueueingHint,
    builtin,
    changed_keys,
    is_same_pod,
    is_scheduled,
    queue_if,
)
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, always
from kwhatif.scheduler.framework.signers import Fragments
from kwhatif.scheduler.framework.status import SKIP, Status, error
from kwhatif.scheduler.plugins.pod_topology_spread.constraints import (
    SYSTEM_DEFAULTS,
    SpreadConstraint,
    compile_constraints,
    has_all,
    with_default_selector,
)
from kwhatif.scheduler.plugins.pod_topology_spread.filtering import compile_filter
from kwhatif.scheduler.plugins.pod_topology_spread.scoring import compile_scorer
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def is_involved(pod: PodInfo, other: Pod) -> bool:
    """Whether the other pod can count for this one (`involvedInTopologySpreading`)."""
    return is_same_pod(pod, other) or (is_scheduled(other) and other.metadata.namespace == pod.namespace)


def after_pod_change(
    pod: PodInfo, old: Pod | None, new: Pod | None, constraints: Sequence[SpreadConstraint]
) -> QueueingHint:
    """A pod that a constraint matches is added, deleted, or changes its match; or the pod's tolerations change."""
    if old is None or new is None:
        one = new if old is None else old
        return queue_if(one is not None and any(_selects(constraint, one) for constraint in constraints))
    honored = any(constraint.honor_taints for constraint in constraints)
    if honored and is_same_pod(pod, new) and old.spec.tolerations != new.spec.tolerations:
        return QUEUE
    return queue_if(any(_selects(constraint, old) != _selects(constraint, new) for constraint in constraints))


def _selects(constraint: SpreadConstraint, pod: Pod) -> bool:
    return constraint.selector.matches(pod.metadata.labels)


def after_node_change(old: Node | None, new: Node | None, constraints: Sequence[SpreadConstraint]) -> QueueingHint:
    """A node with all topology keys is added or deleted, or changes its domains or taints."""
    keys = [constraint.topology_key for constraint in constraints]
    before, after = ({} if node is None else node.metadata.labels for node in (old, new))
    counted_before, counted_after = (
        node is not None and has_all(labels, keys) for node, labels in ((old, before), (new, after))
    )
    if old is None or new is None or counted_before != counted_after:
        return queue_if(counted_before or counted_after)
    if not counted_after:
        return QUEUE_SKIP
    return queue_if(old.spec.taints != new.spec.taints or any(before[key] != after[key] for key in keys))


def pods_of_event(old: Pod | None, new: Pod | None, _cluster: Cluster) -> Keys:
    """The namespaces and labels of an event's pods. A new toleration matters only to the pod itself."""
    metas = [pod.metadata for pod in (old, new) if pod is not None]
    return [(meta.namespace, *label) for meta in metas for label in meta.labels.items()]


def changed_domains(old: Node | None, new: Node | None, _cluster: Cluster) -> Keys:
    """The labels that changed; None if the node was added or deleted, or its taints changed."""
    if old is None or new is None or old.spec.taints != new.spec.taints:
        return None
    return changed_keys(old.metadata.labels, new.metadata.labels)


_SYSTEM = "System"


class PodTopologySpreadArgs(Model):
    """`kubescheduler.config.k8s.io/v1 PodTopologySpreadArgs`."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    #: `System`: built-in soft constraints; `List`: `default_constraints`.
    defaulting_type: str = _SYSTEM


class PodTopologySpread:
    """Spreads pods evenly over topology domains."""

    name: ClassVar[str] = "PodTopologySpread"

    def __init__(self, args: PodTopologySpreadArgs | None = None) -> None:
        args = args or PodTopologySpreadArgs()
        self._system = args.defaulting_type == _SYSTEM
        self._defaults = SYSTEM_DEFAULTS if self._system else args.default_constraints

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter | Status:
        """Count the matching pods per domain of every hard constraint."""
        try:
            constraints = self._constraints(pod, state.cluster, "DoNotSchedule")
        except SelectorError as failure:
            return error(f"get constraints from pod: {_doing(pod, 'hard')}: {failure}")
        return compile_filter(pod, state, constraints) if constraints else SKIP

    #: Filter fails, because it needs PreFilter's state.
    without_pre_filter = always(error('reading "PreFilterPodTopologySpread" from cycleState: not found'))

    def pre_score(self, pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        """Count the matching pods per domain of every soft constraint, and compute the weights of the constraints."""
        if not state.nodes:
            return SKIP
        try:
            constraints = self._constraints(pod, state.cluster, "ScheduleAnyway")
        except SelectorError as failure:
            return error(f"calculating preScoreState: {_doing(pod, 'soft')}: {failure}")
        if not constraints:
            return SKIP
        # With the built-in constraints, a node without a zone label still counts for the spread over hosts.
        require_all = bool(pod.pod.spec.topology_spread_constraints) or not self._system
        return compile_scorer(pod, state, nodes, constraints, require_all=require_all)

    #: Score fails, because it needs PreScore's state.
    without_pre_score = always(error('error reading "PreScorePodTopologySpread" from cycleState: not found'))

    def sign(self, pod: PodInfo, state: State) -> Fragments | None:
        """Pods with constraints cannot be signed; with default constraints no pod can."""
        return None if pod.pod.spec.topology_spread_constraints or self._defaults else {}

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A pod is added, deleted or relabelled; this pod gets a toleration; a node is added, deleted or changed."""
        pod = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION | ActionType.DELETE
        node = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        by_pods, by_domains = HintIndex(counted_pods, pods_of_event), HintIndex(spread_domains, changed_domains)
        return (
            builtin(EventResource.POD, pod, self._after_pod_change, by_pods),
            builtin(EventResource.NODE, node, self._after_node_change, by_domains),
        )

    def _after_pod_change(self, pod: PodInfo, old: Pod | None, new: Pod | None, cluster: Cluster) -> QueueingHint:
        if not all(is_involved(pod, other) for other in (old, new) if other is not None):
            return QUEUE_SKIP
        try:
            return after_pod_change(pod, old, new, self._hard(pod, cluster))
        except SelectorError:
            return QUEUE  # an error

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node | None, cluster: Cluster) -> QueueingHint:
        try:
            return after_node_change(old, new, self._hard(pod, cluster))
        except SelectorError:
            return QUEUE  # an error

    def _hard(self, pod: PodInfo, cluster: Cluster) -> tuple[SpreadConstraint, ...]:
        """The hard constraints (`DoNotSchedule`)."""
        if pod.pod.spec.topology_spread_constraints:
            return pod.derived(_own_hard)
        return self._constraints(pod, cluster, "DoNotSchedule")

    def _constraints(self, pod: PodInfo, cluster: Cluster, action: str) -> tuple[SpreadConstraint, ...]:
        """The pod's own constraints with that action; the defaults only if the pod has no constraints at all."""
        own = pod.pod.spec.topology_spread_constraints
        if own:
            return compile_constraints(own, pod.labels, action)
        defaults = compile_constraints(self._defaults, pod.labels, action)
        return with_default_selector(defaults, pod, cluster) if defaults else ()


def _own_hard(pod: Pod) -> tuple[SpreadConstraint, ...]:
    return compile_constraints(pod.spec.topology_spread_constraints, pod.metadata.labels, "DoNotSchedule")


def counted_pods(pod: Pod) -> Keys:
    """The pods that its constraints may count, see `pods_of_event`; any pod with default constraints."""
    constraints = _indexable(pod)
    if constraints is None:
        return None
    pairs = [constraint.selector.pair for constraint in constraints]
    return None if None in pairs else [(pod.metadata.namespace, *pair) for pair in pairs if pair is not None]


def spread_domains(pod: Pod) -> Keys:
    """The topology keys; None with default constraints."""
    constraints = _indexable(pod)
    return None if constraints is None else {constraint.topology_key for constraint in constraints}


def _indexable(pod: Pod) -> tuple[SpreadConstraint, ...] | None:
    try:
        return _own_hard(pod) if pod.spec.topology_spread_constraints else None
    except SelectorError:
        return None


def _doing(pod: PodInfo, hardness: str) -> str:
    if pod.pod.spec.topology_spread_constraints:
        return f"obtaining pod's {hardness} topology spread constraints"
    return f"setting default {hardness} topology spread constraints"


class PodTopologySpreadUntil135(PodTopologySpread):
    """The plugin up to 1.35: events of pods that are only nominated do not matter (`involvedInTopologySpreading`)."""

    def _after_pod_change(self, pod: PodInfo, old: Pod | None, new: Pod | None, cluster: Cluster) -> QueueingHint:
        others = [other for other in (old, new) if other is not None and not is_same_pod(pod, other)]
        if not all(other.spec.node_name for other in others):
            return QUEUE_SKIP
        return super()._after_pod_change(pod, old, new, cluster)
