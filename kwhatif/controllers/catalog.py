"""All controllers, in the order in which they run at one moment."""

from __future__ import annotations

from kwhatif.controllers import (
    claims,
    controller_refs,
    daemon_set,
    deployment,
    garbage,
    horizontal_pod_autoscaler,
    job,
    replica_set,
    stateful_set,
    volume_binder,
)
from kwhatif.controllers.contract import Controller
from kwhatif.controllers.device_taint_eviction import DeviceTaintEviction
from kwhatif.controllers.disruption import Disruption
from kwhatif.controllers.node_lifecycle import NodeLifecycle
from kwhatif.controllers.pod_gc import PodGC
from kwhatif.controllers.taint_eviction import TaintEviction

#: Controllers that create pods or their claims, or scale; and the garbage collector.
CONTROLLERS: tuple[Controller, ...] = (
    *controller_refs.CONTROLLERS,
    *horizontal_pod_autoscaler.CONTROLLERS,
    *deployment.CONTROLLERS,
    *replica_set.CONTROLLERS,
    *stateful_set.CONTROLLERS,
    *daemon_set.CONTROLLERS,
    *job.CONTROLLERS,
    *garbage.CONTROLLERS,
    *claims.CONTROLLERS,
    *volume_binder.CONTROLLERS,
)
#: Those that make pods, or claims for them, and bind these; who owns what stays as it is.
MAKING_PODS: tuple[Controller, ...] = (
    *deployment.CONTROLLERS,
    *replica_set.CONTROLLERS,
    *stateful_set.CONTROLLERS,
    *daemon_set.CONTROLLERS,
    *job.CONTROLLERS,
    *claims.CONTROLLERS,
    *volume_binder.CONTROLLERS,
)


def all_controllers(node_monitor_grace_period: float = 50.0) -> tuple[Controller, ...]:
    """Controllers driven by time, then the disruption controller, then those that create pods.

    Args:
        node_monitor_grace_period: kube-controller-manager's flag, in seconds.
    """
    clocks = (NodeLifecycle(node_monitor_grace_period), TaintEviction(), DeviceTaintEviction(), PodGC())
    return (*clocks, Disruption(), *CONTROLLERS)
