"""Karpenter's own scheduler (`scheduling/scheduler.go`, `existingnode.go`, `queue.go`): pods onto nodes and NodeClaims.

It tries the largest pods first, takes the first node that fits, and creates a NodeClaim if none fits. There are no
scores and no priorities.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from kwhatif.autoscaler.karpenter.amounts import Amounts, largest, subtracted
from kwhatif.autoscaler.karpenter.claims import Addition, NewClaim, NodeClaimTemplate, Reservations
from kwhatif.autoscaler.karpenter.existing_nodes import ExistingNode, SchedulerInputs
from kwhatif.autoscaler.karpenter.instance_types import InstanceType
from kwhatif.autoscaler.karpenter.nodes import nanos_of
from kwhatif.autoscaler.karpenter.pods import PodData, relaxed
from kwhatif.autoscaler.karpenter.requirements import Refusal
from kwhatif.autoscaler.karpenter.topology import Topology
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.node import HOSTNAME

_CPU, _MEMORY = "cpu", "memory"
_DEVICES = "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"


# --- the queue -------------------------------------------------------------------------------------------------------


class Queue:
    """Pods to try, until a whole pass over the queue places none (`scheduling.Queue`)."""

    def __init__(self, pods: Iterable[PodData]) -> None:
        self._pods = deque(sorted(pods, key=_order))
        self._length_then: dict[str, int] = {}

    def pop(self) -> PodData | None:
        """The next pod; None if the queue is empty, or all its pods have been tried without success."""
        if not self._pods or self._length_then.get(self._pods[0].uid) == len(self._pods):
            return None
        return self._pods.popleft()

    def push(self, pod: PodData) -> None:
        """Add a pod that could not be placed."""
        self._pods.append(pod)
        self._length_then[pod.uid] = len(self._pods)


def _order(pod: PodData) -> tuple[int, int, int, str]:
    requests, created = pod.requests, nanos_of(pod.pod.metadata.creation_timestamp) or 0
    return -requests.get(_CPU, 0), -requests.get(_MEMORY, 0), created, pod.uid


# --- the scheduler ---------------------------------------------------------------------------------------------------


class Results(NamedTuple):
    """The placements of the pods (`scheduling.Results`)."""

    claims: list[NewClaim]
    #: Existing nodes that get pods.
    existing: list[ExistingNode]
    refused: dict[str, tuple[PodData, Refusal]]


class Scheduler:
    """One run: pods are placed until no more pods can be placed (`Solve`)."""

    def __init__(
        self,
        inputs: SchedulerInputs,
        pods: Sequence[PodData],
        *,
        without: frozenset[str] = frozenset(),
        strictly_reserved: bool = False,
        consolidates: bool = False,
    ) -> None:
        """Prepare.

        Args:
            inputs: the existing nodes, and the templates of new ones.
            pods: the pods to place; their present nodes are ignored.
            without: names of nodes that are left out.
            strictly_reserved: do not fall back to other capacity if a pod fits on reserved capacity that is in use.
            consolidates: nodes with recent pod events (`consolidateAfter`) must not get pods of candidates.
        """
        self._inputs, self._without = inputs, without
        self._pods = pods
        self._strictly_reserved, self._consolidates = strictly_reserved, consolidates
        self._active = [node for node in inputs.nodes if node.name not in without]
        nodes = [node.for_topology for node in self._active]
        found = [pod for pod in pods if not pod.is_lost]
        self.topology = Topology(inputs.cluster_state.standing, list(filter(None, nodes)), inputs.domains, found)
        self.topology.register_all(HOSTNAME, (node.node.hostname for node in self._active))
        self._left: dict[str, Amounts] = dict(inputs.limits)
        for node in self._active:
            pool = node.node.pool or ""
            if self._left.get(pool):
                self._left[pool] = subtracted(self._left[pool], node.node.capacity)
        self._settings = inputs.cluster_state.settings
        self._reservations = Reservations(
            inputs.cluster_state.catalogue.types if self._settings.reserved_capacity else ()
        )
        self._existing: dict[int, ExistingNode] = {}
        self._claims: list[NewClaim] = []
        self._hosts = 0

    def solve(self) -> Results:
        """Place the pods."""
        refused: dict[str, tuple[PodData, Refusal]] = {}
        queue = Queue(self._pods)
        while (pod := queue.pop()) is not None:
            refusal = self._try(pod)
            if refusal is None:
                refused.pop(pod.uid, None)
                continue
            refused[pod.uid] = (pod, refusal)
            self.topology.update(pod)
            queue.push(pod)
        for claim in self._claims:
            claim.finish()
        return self._truncated(
            Results(self._claims, [self._existing[index] for index in sorted(self._existing)], refused)
        )

    def _truncated(self, results: Results) -> Results:
        claims = []
        for claim in results.claims:
            refusal = claim.truncate()
            if refusal is None:
                claims.append(claim)
            else:
                results.refused.update({pod.uid: (pod, refusal) for pod in claim.pods})
        return results._replace(claims=claims)

    def _try(self, pod: PodData) -> Refusal | None:
        """Place the pod; if that fails, drop its preferences one by one (`trySchedule`)."""
        while True:
            refusal = self._add(pod)
            if refusal is None or refusal.reserved or pod.devices:
                return refusal
            rest = relaxed(pod.pod, tolerate_preferences=self._inputs.tolerates_preferences)
            if rest is None:
                return refusal
            pod = pod.with_pod(rest)
            self.topology.update(pod)

    def _add(self, pod: PodData) -> Refusal | None:
        if pod.devices:
            return Refusal(lambda: _DEVICES)
        if self._to_standing(pod):
            return None
        _sort_by_pods(self._claims)
        for claim in self._claims:
            addition = claim.can_add(pod)
            if isinstance(addition, Addition):
                claim.add(pod, addition)
                return None
        if not self._inputs.templates:
            return Refusal(lambda: "nodepool requirements filtered out all available instance types")
        return self._to_new(pod)

    def _to_standing(self, pod: PodData) -> bool:
        inputs = self._inputs
        volumes = inputs.cluster_state.volumes(pod.pod)
        if volumes is None:
            return False
        stays_off_fresh = self._consolidates and not (
            pod.pod.status.phase == "Pending" or pod.pod.spec.node_name in inputs.going
        )
        for index in inputs.with_room(pod):
            start = inputs.nodes[index]
            if start.name in self._without or (stays_off_fresh and start.is_fresh):
                continue
            known = self._existing.get(index) or ExistingNode(start)
            requirements = known.can_add(pod, volumes, self.topology)
            if requirements is not None:
                self._existing[index] = known
                known.add(pod, requirements, volumes, self.topology)
                return True
        return False

    def _to_new(self, pod: PodData) -> Refusal | None:
        refusals: list[Refusal] = []
        for template in self._inputs.templates:
            found = self._within_limits(template)
            if isinstance(found, Refusal):
                refusals.append(found)
                continue
            self._hosts += 1
            claim = NewClaim(
                template,
                found,
                f"hostname-placeholder-{self._hosts:04}",
                self.topology,
                self._reservations,
                strictly_reserved=self._strictly_reserved,
                relaxes_min_values=self._settings.relaxes_min_values,
            )
            addition = claim.can_add(pod)
            if isinstance(addition, Addition):
                claim.add(pod, addition)
                self._claims.append(claim)
                left, largest_capacity = self._left[template.name], largest(type_.capacity for type_ in claim.types)
                self._left[template.name] = subtracted(left, largest_capacity)
                return None
            refusals.append(addition)
            if addition.reserved:
                break
        return Refusal(lambda: "; ".join(each.text for each in refusals), reserved=any(r.reserved for r in refusals))

    def _within_limits(self, template: NodeClaimTemplate) -> Sequence[InstanceType] | Refusal:
        left = self._left[template.name]
        if left.get("nodes") == 0:
            return Refusal(lambda: f"node limits have been exhausted for nodepool (NodePool={template.name})")
        if not left:
            return template.types
        found = [
            type_
            for type_ in template.types
            if all(type_.capacity.get(name, 0) <= amount for name, amount in left.items())
        ]
        if not found:
            return Refusal(
                lambda: f"all available instance types exceed limits for nodepool (NodePool={template.name})"
            )
        return found


def _sort_by_pods(claims: list[NewClaim]) -> None:
    """Sort by number of pods, fewest first. Equals end up in the order of Go's sort; a sorted list does not change."""
    counts = [len(claim.pods) for claim in claims]
    if any(one > other for one, other in pairwise(counts)):
        go_sort(claims, lambda one, other: len(one.pods) < len(other.pods))
