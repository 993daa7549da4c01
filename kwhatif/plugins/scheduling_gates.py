"""SchedulingGates: a gated pod does not enter the queue (`plugins/schedulinggates/scheduling_gates.go`)."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.framework.status import SUCCESS, Status, unresolvable
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class SchedulingGates:
    """Keeps a pod with `spec.schedulingGates` out of the queue."""

    name: ClassVar[str] = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo, snapshot: State) -> Status:
        """SUCCESS, or the gates that the pod waits for, in the order of the spec."""
        del snapshot
        gates = pod.pod.spec.scheduling_gates
        if not gates:
            return SUCCESS
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")
