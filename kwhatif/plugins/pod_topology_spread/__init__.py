"""PodTopologySpread (`pkg/scheduler/framework/plugins/podtopologyspread/plugin.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.framework.plugin import NodeFilter, NodeScorer
from kwhatif.framework.status import SKIP, Status, error
from kwhatif.matching.labels import SelectorError
from kwhatif.model.meta import Model
from kwhatif.model.pod import TopologySpreadConstraint
from kwhatif.plugins.pod_topology_spread.constraints import (
    SYSTEM_DEFAULTS,
    Constraint,
    compile_constraints,
    with_default_selector,
)
from kwhatif.plugins.pod_topology_spread.filtering import compile_filter
from kwhatif.plugins.pod_topology_spread.scoring import compile_scorer
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_SYSTEM = "System"


class PodTopologySpreadArgs(Model):
    """`kubescheduler.config.k8s.io/v1 PodTopologySpreadArgs`."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    #: `System`: a built-in list of soft constraints; `List`: `default_constraints`.
    defaulting_type: str = _SYSTEM


class PodTopologySpread:
    """Keeps pods evenly spread over topology domains."""

    name: ClassVar[str] = "PodTopologySpread"

    def __init__(self, args: PodTopologySpreadArgs | None = None) -> None:
        args = args or PodTopologySpreadArgs()
        self._system = args.defaulting_type == _SYSTEM
        self._defaults = SYSTEM_DEFAULTS if self._system else args.default_constraints

    @property
    def has_defaults(self) -> bool:
        """Whether it spreads pods that have no constraints of their own."""
        return bool(self._defaults)

    def pre_filter(self, pod: PodInfo, snapshot: State) -> NodeFilter | Status:
        """Count the matching pods per domain of every hard constraint."""
        try:
            constraints = self._constraints(pod, snapshot, "DoNotSchedule")
        except SelectorError as failure:
            return error(f"get constraints from pod: {_doing(pod, 'hard')}: {failure}")
        return compile_filter(pod, snapshot, constraints) if constraints else SKIP

    def without_pre_filter(self, pod: PodInfo, snapshot: State) -> Status:
        """Filter fails: it relies on what PreFilter left behind."""
        del pod, snapshot
        return error('reading "PreFilterPodTopologySpread" from cycleState: not found')

    def pre_score(self, pod: PodInfo, snapshot: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        """Count the matching pods per domain of every soft constraint, and weigh the constraints."""
        if not snapshot.nodes:
            return SKIP
        try:
            constraints = self._constraints(pod, snapshot, "ScheduleAnyway")
        except SelectorError as failure:
            return error(f"calculating preScoreState: {_doing(pod, 'soft')}: {failure}")
        if not constraints:
            return SKIP
        # With the built-in constraints a node without a zone label still takes part in spreading over hosts.
        require_all = bool(pod.pod.spec.topology_spread_constraints) or not self._system
        return compile_scorer(pod, snapshot, nodes, constraints, require_all=require_all)

    def without_pre_score(self, pod: PodInfo, snapshot: State, nodes: Sequence[NodeInfo]) -> Status:
        """Score fails: it relies on what PreScore left behind."""
        del pod, snapshot, nodes
        return error('error reading "PreScorePodTopologySpread" from cycleState: not found')

    def _constraints(self, pod: PodInfo, snapshot: State, action: str) -> tuple[Constraint, ...]:
        """The pod's own constraints with that action; the defaults only if it has none at all, of either action."""
        own = pod.pod.spec.topology_spread_constraints
        if own:
            return compile_constraints(own, pod.labels, action)
        defaults = compile_constraints(self._defaults, pod.labels, action)
        return with_default_selector(defaults, pod, snapshot) if defaults else ()


def _doing(pod: PodInfo, hardness: str) -> str:
    if pod.pod.spec.topology_spread_constraints:
        return f"obtaining pod's {hardness} topology spread constraints"
    return f"setting default {hardness} topology spread constraints"
