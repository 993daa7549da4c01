"""All controllers, in the order in which they run at one moment."""

from __future__ import annotations

from kwhatif.controllers import daemon_set, deployment, job, replica_set, stateful_set
from kwhatif.controllers.claims import FOR_CLAIMS
from kwhatif.controllers.contract import Controller

_WORKLOADS: tuple[Controller, ...] = (
    *deployment.CONTROLLERS,
    *replica_set.CONTROLLERS,
    *stateful_set.CONTROLLERS,
    *daemon_set.CONTROLLERS,
    *job.CONTROLLERS,
)
#: The controllers that create pods and claims for pods, and bind claims. Owner references do not change.
MAKING_PODS: tuple[Controller, ...] = (*_WORKLOADS, *FOR_CLAIMS)


def reacting_controllers() -> tuple[Controller, ...]:
    """The controllers that adopt, scale, create and collect: only changes of objects drive them, not time."""
    from kwhatif.controllers import controller_refs, garbage, horizontal_pod_autoscaler  # not for `schedule`

    owners = (*controller_refs.CONTROLLERS, *horizontal_pod_autoscaler.CONTROLLERS)
    return (*owners, *_WORKLOADS, *garbage.CONTROLLERS, *FOR_CLAIMS)


def all_controllers(node_monitor_grace_period: float = 50.0) -> tuple[Controller, ...]:
    """Controllers driven by time, then the disruption controller, then the reacting controllers.

    Args:
        node_monitor_grace_period: kube-controller-manager's flag, in seconds.
    """
    from kwhatif.controllers.device_taint_eviction import DeviceTaintEviction  # no time passes in `schedule`
    from kwhatif.controllers.disruption import Disruption
    from kwhatif.controllers.node_lifecycle import NodeLifecycle
    from kwhatif.controllers.pod_gc import PodGC
    from kwhatif.controllers.taint_eviction import TaintEviction

    clocks = (NodeLifecycle(node_monitor_grace_period), TaintEviction(), DeviceTaintEviction(), PodGC())
    return (*clocks, Disruption(), *reacting_controllers())
