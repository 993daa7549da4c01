"""The autoscaler that a session's questions reckon with, where one is asked for.

The autoscalers are imported when one is asked for: most questions need none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kwhatif.autoscaler.contract import NodeAutoscaler
from kwhatif.controllers.contract import Controller, View
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import CloudCapacityUnknown, NodeStartupAssumed
from kwhatif.report.deciders import AutoscaleRow
from kwhatif.scheduler.framework.profile import Profile


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """Which autoscaler adds nodes for pods that find no room, and when."""

    autoscaler: NodeAutoscaler
    #: The moment, RFC 3339.
    at: str
    #: How many seconds a node takes from being asked for until it is ready.
    startup: float = 90.0
    caveats: Sequence[Caveat] = ()

    def controllers(self, profiles: Mapping[str, Profile]) -> tuple[Controller, ...]:
        """The autoscaler as an actor of a simulation with time."""
        from kwhatif.autoscaler.actor import NodeAutoscaling

        return (NodeAutoscaling(self.autoscaler, profiles, self.at, self.startup),)

    def played(self, view: View) -> tuple[AutoscaleRow, tuple[Caveat, ...]]:
        """What it has added in a simulation, and caveats about that."""
        from kwhatif.autoscaler.actor import NodeAutoscaling, rounds_of

        known = NodeAutoscaling(self.autoscaler, {}, self.at, self.startup).of(view)
        row = AutoscaleRow(autoscaler=self.autoscaler.name, at=self.at, rounds=rounds_of(known, view.state))
        said = (*self.caveats, *known.loop.caveats)
        return row, (*said, *self.of_new_nodes) if any(found.added for found in row.rounds) else said

    @property
    def of_new_nodes(self) -> tuple[Caveat, ...]:
        """Caveats if nodes are added."""
        return CloudCapacityUnknown(), NodeStartupAssumed(seconds=self.startup)
