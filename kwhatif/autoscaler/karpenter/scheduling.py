"""Karpenter's own scheduler (`scheduling/scheduler.go`, `existingnode.go`, `queue.go`): pods onto nodes and NodeClaims.

It tries the largest pods first, takes the first node that fits, and makes a NodeClaim where none does. There are no
scores and no priorities.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from kwhatif.autoscaler.karpenter.amounts import Amounts, largest, subtracted
from kwhatif.autoscaler.karpenter.claims import (
    Addition,
    NewClaim,
    Reservations,
    Template,
)
from kwhatif.autoscaler.karpenter.instance_types import InstanceType
from kwhatif.autoscaler.karpenter.nodes import nanos_of
from kwhatif.autoscaler.karpenter.places import Ground, Place
from kwhatif.autoscaler.karpenter.pods import Wanted, relaxed
from kwhatif.autoscaler.karpenter.requirements import Refusal
from kwhatif.autoscaler.karpenter.topology import Topology
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.node import HOSTNAME

_CPU, _MEMORY = "cpu", "memory"
_DEVICES = "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"


# --- the queue -------------------------------------------------------------------------------------------------------


class Queue:
    """Pods to try, until a whole turn has placed none (`scheduling.Queue`)."""

    def __init__(self, pods: Iterable[Wanted]) -> None:
        self._pods = deque(sorted(pods, key=_order))
        self._length_then: dict[str, int] = {}

    def pop(self) -> Wanted | None:
        """The next pod; None when there is none, or all have been tried without success."""
        if not self._pods or self._length_then.get(self._pods[0].uid) == len(self._pods):
            return None
        return self._pods.popleft()

    def push(self, pod: Wanted) -> None:
        """The pod has found no place yet."""
        self._pods.append(pod)
        self._length_then[pod.uid] = len(self._pods)


def _order(pod: Wanted) -> tuple[int, int, int, str]:
    requests, created = pod.requests, nanos_of(pod.pod.metadata.creation_timestamp) or 0
    return -requests.get(_CPU, 0), -requests.get(_MEMORY, 0), created, pod.uid


# --- the scheduler ---------------------------------------------------------------------------------------------------


class Results(NamedTuple):
    """Where the pods go (`scheduling.Results`)."""

    claims: list[NewClaim]
    #: Nodes that get pods.
    places: list[Place]
    refused: dict[str, tuple[Wanted, Refusal]]


class Scheduler:
    """One run: pods are placed until nothing moves any more (`Solve`)."""

    def __init__(
        self,
        ground: Ground,
        pods: Sequence[Wanted],
        *,
        without: frozenset[str] = frozenset(),
        strictly_reserved: bool = False,
        consolidates: bool = False,
    ) -> None:
        """Prepare.

        Args:
            ground: the nodes that stand, and what can be made.
            pods: those to place; where they are now does not count.
            without: names of nodes that are left out.
            strictly_reserved: no fallback where reserved capacity would do, but is taken.
            consolidates: nodes that pods have come to lately take no candidates' pods.
        """
        self._ground, self._without = ground, without
        self._pods = pods
        self._strictly_reserved, self._consolidates = strictly_reserved, consolidates
        self._active = [place for place in ground.standing if place.name not in without]
        nodes = [place.for_topology for place in self._active]
        found = [pod for pod in pods if not pod.is_lost]
        self.topology = Topology(ground.world.standing, list(filter(None, nodes)), ground.domains, found)
        self.topology.register_all(HOSTNAME, (place.node.hostname for place in self._active))
        self._left: dict[str, Amounts] = dict(ground.limits)
        for place in self._active:
            pool = place.node.pool or ""
            if self._left.get(pool):
                self._left[pool] = subtracted(self._left[pool], place.node.capacity)
        self._settings = ground.world.settings
        self._reservations = Reservations(ground.world.catalogue.types if self._settings.reserved_capacity else ())
        self._places: dict[int, Place] = {}
        self._claims: list[NewClaim] = []
        self._hosts = 0

    def solve(self) -> Results:
        """Place the pods."""
        refused: dict[str, tuple[Wanted, Refusal]] = {}
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
        return self._truncated(Results(self._claims, [self._places[index] for index in sorted(self._places)], refused))

    def _truncated(self, results: Results) -> Results:
        claims = []
        for claim in results.claims:
            refusal = claim.truncate()
            if refusal is None:
                claims.append(claim)
            else:
                results.refused.update({pod.uid: (pod, refusal) for pod in claim.pods})
        return results._replace(claims=claims)

    def _try(self, pod: Wanted) -> Refusal | None:
        """Place the pod; where that fails, without one preference after the other (`trySchedule`)."""
        while True:
            refusal = self._add(pod)
            if refusal is None or refusal.reserved or pod.devices:
                return refusal
            rest = relaxed(pod.pod, tolerate_preferences=self._ground.tolerates_preferences)
            if rest is None:
                return refusal
            pod = pod.with_pod(rest)
            self.topology.update(pod)

    def _add(self, pod: Wanted) -> Refusal | None:
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
        if not self._ground.templates:
            return Refusal(lambda: "nodepool requirements filtered out all available instance types")
        return self._to_new(pod)

    def _to_standing(self, pod: Wanted) -> bool:
        ground = self._ground
        volumes = ground.world.volumes(pod.pod)
        if volumes is None:
            return False
        stays_off_fresh = self._consolidates and not (
            pod.pod.status.phase == "Pending" or pod.pod.spec.node_name in ground.going
        )
        for index in ground.with_room(pod):
            standing = ground.standing[index]
            if standing.name in self._without or (stays_off_fresh and standing.is_fresh):
                continue
            place = self._places.get(index)
            known = place or Place(standing)
            requirements = known.can_add(pod, volumes, self.topology)
            if requirements is not None:
                self._places[index] = known
                known.add(pod, requirements, volumes, self.topology)
                return True
        return False

    def _to_new(self, pod: Wanted) -> Refusal | None:
        refusals: list[Refusal] = []
        for template in self._ground.templates:
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
                left, most = self._left[template.name], largest(type_.capacity for type_ in claim.types)
                self._left[template.name] = subtracted(left, most)
                return None
            refusals.append(addition)
            if addition.reserved:
                break
        return Refusal(lambda: "; ".join(each.text for each in refusals), reserved=any(r.reserved for r in refusals))

    def _within_limits(self, template: Template) -> Sequence[InstanceType] | Refusal:
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
    """Those with the fewest pods first; the rest as Go's sorting leaves it, which lets ordered lists be."""
    counts = [len(claim.pods) for claim in claims]
    if any(one > other for one, other in pairwise(counts)):
        go_sort(claims, lambda one, other: len(one.pods) < len(other.pods))
