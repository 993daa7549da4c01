"""NodeResourcesBalancedAllocation: prefers nodes whose resource usage becomes more balanced with the pod.

(`pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go`.) Up to 1.35 it prefers nodes whose usage is
balanced with the pod, whether or not the pod improves it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from kwhatif.dra.devices import classes_under
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.requests import pod_requests, units
from kwhatif.kube.model.meta import Model
from kwhatif.scheduler.framework import signers
from kwhatif.scheduler.framework.incremental import SignedScorer
from kwhatif.scheduler.framework.plugin import MAX_NODE_SCORE, NodeScorer, Reads
from kwhatif.scheduler.framework.scoring_strategy import (
    DEFAULT_RESOURCES,
    ResourceSpec,
    ScoredResource,
    compile_resources,
    resources_signature,
)
from kwhatif.scheduler.framework.signers import Fragments
from kwhatif.scheduler.framework.status import SKIP, Status
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class NodeResourcesBalancedAllocationArgs(Model):
    """`NodeResourcesBalancedAllocationArgs`; the default resources are cpu and memory."""

    resources: tuple[ResourceSpec, ...] = ()


class _Balance(SignedScorer):
    """50 to 100; about 75 if the pod does not change the balance."""

    reads = Reads.PODS

    def __init__(self, entries: Sequence[ScoredResource]) -> None:
        self._entries = entries
        self.signature = resources_signature(entries)

    def score(self, node: NodeInfo) -> int:
        """How much more balanced the node is with the pod than without it."""
        with_pod: list[float] = []
        without: list[float] = []
        for requested, _, usage, _ in self._entries:
            allocatable, used = usage(node)
            if allocatable:
                asked = used + requested
                # Floats are exact for these amounts, so dividing integers gives the same result as dividing floats.
                with_pod.append(asked / allocatable if asked < allocatable else 1.0)
                without.append(used / allocatable if used < allocatable else 1.0)
        return self._scored(with_pod, without)

    def _scored(self, with_pod: list[float], without: list[float]) -> int:
        half = MAX_NODE_SCORE // 2
        return half + (half + _balance(with_pod) - _balance(without)) // 2


class _BalanceItself(_Balance):
    """0 to 100: how balanced the node is with the pod, without comparison (1.35: `balancedResourceScorer`)."""

    def _scored(self, with_pod: list[float], without: list[float]) -> int:
        return _balance(with_pod)


class NodeResourcesBalancedAllocation:
    """Scores nodes by how balanced their resource usage is with the pod."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"

    _scorer: ClassVar[type[_Balance]] = _Balance

    def __init__(self, args: NodeResourcesBalancedAllocationArgs | None = None, *, gates: Gates = BASE_GATES) -> None:
        self._gates = gates
        self._resources = (args.resources if args else ()) or DEFAULT_RESOURCES

    def pre_score(self, pod: PodInfo, state: State, nodes: Sequence[NodeInfo]) -> NodeScorer | Status:
        """Compile the pod's requests; SKIP for a pod that requests none of the resources."""
        requests = pod_requests(pod.pod, resizes=state.cluster.facts.resizes)
        if not any(units(resource.name, requests.get(resource.name, 0)) for resource in self._resources):
            return SKIP
        return self._scorer(
            compile_resources(self._resources, requests, state.cluster, nonzero=False, gates=self._gates)
        )

    def sign(self, pod: PodInfo, state: State) -> Fragments | None:
        """The pod's requests; the pod cannot be signed if devices may provide one of them."""
        return signers.resources(pod.pod, classes_under(self._gates)(state.cluster))


class BalanceItself(NodeResourcesBalancedAllocation):
    """The plugin up to 1.35."""

    _scorer = _BalanceItself


def _balance(fractions: Sequence[float]) -> int:
    """100 if all resources are used equally; computed with floats in upstream's order of operations."""
    count = len(fractions)
    deviation = 0.0
    if count == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif count > 2:
        mean = _sum(fractions) / count
        deviation = math.sqrt(_sum([(fraction - mean) * (fraction - mean) for fraction in fractions]) / count)
    return int((1 - deviation) * MAX_NODE_SCORE)


def _sum(terms: Sequence[float]) -> float:
    # From left to right, because Python 3.12's `sum` compensates rounding errors and Go's loop does not.
    total = 0.0
    for term in terms:
        total += term
    return total
