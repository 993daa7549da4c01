"""NodeResourcesFit: the node must have enough resources for the pod; scores by how full the node would be.

(`pkg/scheduler/framework/plugins/noderesources/fit.go`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.device_classes import classes_under
from kwhatif.kube.matching.requests import (
    MISSING_REQUESTS,
    Resources,
    is_extended_resource,
    is_scalar_resource,
    pod_requests,
    to_resources,
    units,
)
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.hints import ClusterEventWithHint
from kwhatif.scheduler.framework.placement import Proposal
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, always
from kwhatif.scheduler.framework.resource_allocation import DEFAULT_RESOURCES, compile_resources
from kwhatif.scheduler.framework.scoring_strategy import ScoringStrategy, compile_strategy, most_allocated
from kwhatif.scheduler.framework.signers import Fragments
from kwhatif.scheduler.framework.status import error
from kwhatif.scheduler.plugins.node_resources_fit import hints
from kwhatif.scheduler.plugins.node_resources_fit.room import EvictableRoom, Room
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: With these no device stands behind a resource.
_NO_GATES: Gates = frozenset()


class NodeResourcesFitArgs(Model):
    """`NodeResourcesFitArgs`; the extenders' `ignoredByScheduler` resources replace `ignoredResources`."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()


class NodeResourcesFit:
    """Rejects nodes without enough resources for the pod's requests; scores nodes by how full they would be."""

    name: ClassVar[str] = "NodeResourcesFit"
    _room: ClassVar[type[Room]] = Room

    def __init__(self, args: NodeResourcesFitArgs | None = None, *, gates: Gates = BASE_GATES) -> None:
        self.args = args = args or NodeResourcesFitArgs()
        self._gates = gates
        self._classes_of = classes_under(gates)
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = args.scoring_strategy.resources or DEFAULT_RESOURCES
        self._scorer = compile_strategy(args.scoring_strategy)

    def pre_filter(self, pod: PodInfo, state: State) -> NodeFilter:
        """Compile the pod's requests. It is pending, so it cannot be in a resize: only the spec counts."""
        cpu, memory, ephemeral, scalars = to_resources(pod_requests(pod.pod))
        checked = tuple((name, amount) for name, amount in scalars if amount > 0 and not self._ignores(name))
        classes = self._classes_of(state.cluster) if checked else {}
        backed = frozenset(name for name, _ in checked if name in classes)
        # QUIRK: (types.go, SetMaxResource) a sum that overflowed below zero counts as 0.
        return self._room(Resources(max(0, cpu), max(0, memory), max(0, ephemeral), checked), backed)

    #: Filter fails, because it needs PreFilter's state.
    without_pre_filter = always(error('error reading "PreFilterNodeResourcesFit" from cycleState: not found'))

    def pre_score(self, pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer:
        """Compile the pod's requests for scoring.

        QUIRK: (resource_allocation.go) the score of Fit ignores pod-level resources, although its filter uses them.
        """
        requests = pod_requests(pod.pod, pod_level=False, missing=MISSING_REQUESTS)
        return self._scorer(
            compile_resources(self._resources, requests, state.cluster, nonzero=True, gates=self._gates)
        )

    def score_placement(self, group: PodGroup, state: State, proposal: Proposal) -> int:
        """How full the nodes of the placement would be together: rather where little is left (`scorePlacement`).

        QUIRK: (resource_allocation.go) of a resource that devices may stand behind, only what the node itself has
        counts.
        """
        requests = [pod_requests(pod.pod, pod_level=False, missing=MISSING_REQUESTS) for pod in proposal.pods]
        total = weights = 0
        for spec in self._resources:
            asked = sum(units(spec.name, each.get(spec.name, 0)) for each in requests)
            if not asked and is_scalar_resource(spec.name):
                continue
            (entry,) = compile_resources((spec,), {spec.name: 10**9}, state.cluster, nonzero=True, gates=_NO_GATES)
            found = [(has, used) for has, used in map(entry.usage, proposal.placement.nodes) if has]
            if found:
                has, used = map(sum, zip(*found, strict=True))
                total += most_allocated(asked + used, has) * entry.weight
                weights += entry.weight
        return total // weights if weights else 0

    def normalize_placement_scores(self, scores: Sequence[int]) -> Sequence[int]:
        """As they are."""
        return scores

    def __reduce__(self) -> tuple[object, ...]:
        """Leave out what is compiled from the arguments."""
        return partial(type(self), gates=self._gates), (self.args,)

    def sign(self, pod: PodInfo, state: State) -> Fragments | None:
        """The pod's requests; it cannot be signed if devices may back them."""
        return signers.resources(pod.pod, self._classes_of(state.cluster))

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """See `hints`."""
        return hints.events_to_register(self._gates)

    def _ignores(self, name: str) -> bool:
        if not is_extended_resource(name):
            return False
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups


class NodeResourcesFitUntil133(NodeResourcesFit):
    """The plugin up to 1.33."""

    _room = EvictableRoom
