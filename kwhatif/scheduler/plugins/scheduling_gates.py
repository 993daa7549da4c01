"""SchedulingGates: keeps gated pods out of the queue (`plugins/schedulinggates/scheduling_gates.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import ClusterEventWithHint, QueueingHint, builtin, is_same_pod, queue_if
from kwhatif.scheduler.framework.status import SUCCESS, Status, unresolvable
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class SchedulingGates:
    """Keeps a pod with `spec.schedulingGates` out of the queue."""

    name: ClassVar[str] = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo, state: State) -> Status:
        """SUCCESS, or the gates that the pod waits for, in the order of the spec."""
        gates = pod.pod.spec.scheduling_gates
        if not gates:
            return SUCCESS
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """The pod's last gate is removed."""
        eliminated = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        return (builtin(EventResource.POD, eliminated, _after_gates_eliminated),)


def _after_gates_eliminated(pod: PodInfo, _old: Pod, new: Pod, _cluster: Cluster) -> QueueingHint:
    return queue_if(is_same_pod(pod, new))
