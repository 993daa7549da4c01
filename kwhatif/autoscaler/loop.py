"""`AutoscalerLoop`: the results of an autoscaler's loops so far, each over the pending pods.

When its nodes become ready, and how pods are placed then, is up to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from kwhatif.autoscaler.contract import Decided, Destination, NodeAutoscaler, ScalingRound
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import AutoscalerKnowsNoGroups
from kwhatif.kube.model.pod import is_unschedulable
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.state.state import State


class AutoscalerLoop(msgspec.Struct, frozen=True):
    """Everything in it is immutable, so that forks of a simulation share it."""

    #: The autoscaler, with the nodes that it has requested.
    autoscaler: NodeAutoscaler
    rounds: tuple[ScalingRound, ...] = ()
    caveats: tuple[Caveat, ...] = ()

    @property
    def refused(self) -> set[str]:
        """The pods for which some round cannot add a node."""
        return {row.pod for found in self.rounds for row in found.refused}

    def look(self, state: State, profiles: Mapping[str, Profile], at: str) -> tuple[AutoscalerLoop, Decided]:
        """Run the autoscaler once more for the pending pods.

        A round that adds no node, and refuses no further pods, is left out.

        Args:
            state: the cluster, which stays as it is.
            profiles: the scheduler's profiles.
            at: the moment, RFC 3339.
        """
        found = self.autoscaler.decide(state, profiles, at)
        caveats = (*self.caveats, *found.caveats, *_knows_no_groups(self.autoscaler, state))
        after = replace(self, caveats=tuple(dict.fromkeys(caveats)))
        if found.nodes:
            added = replace(found.round, added=tuple(node.row for node in found.nodes))
            return replace(after, autoscaler=found.then, rounds=(*self.rounds, added)), found
        repeats = self.rounds and {row.pod for row in found.round.refused} <= self.refused
        return after if repeats else replace(after, rounds=(*self.rounds, found.round)), found

    def placing(self, placed: tuple[Destination, ...]) -> AutoscalerLoop:
        """Record the pods that the scheduler has placed after the nodes of the last round existed."""
        return replace(self, rounds=(*self.rounds[:-1], replace(self.rounds[-1], placed=placed)))


def _knows_no_groups(autoscaler: NodeAutoscaler, state: State) -> Iterator[Caveat]:
    """A caveat if pods of PodGroups are pending: no autoscaler reads `scheduling.k8s.io`; both add nodes pod by pod."""
    if has_groups(state.cluster):
        waiting = {group_of(info.pod) for info in state.pending.values() if is_unschedulable(info.pod)}
        known = waiting & state.cluster.all(PodGroup).keys()
        if known:
            yield AutoscalerKnowsNoGroups(autoscaler=autoscaler.name, groups=tuple(sorted(known)))
