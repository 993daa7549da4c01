"""The strategies of the descheduler, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kwhatif.descheduler.handle import Handle
from kwhatif.descheduler.plugins.low_and_high_node_utilization import high_node_utilization, low_node_utilization
from kwhatif.descheduler.plugins.placement import (
    remove_pods_violating_inter_pod_anti_affinity,
    remove_pods_violating_node_affinity,
    remove_pods_violating_node_taints,
)
from kwhatif.descheduler.plugins.pod_state import (
    pod_life_time,
    remove_failed_pods,
    remove_pods_having_too_many_restarts,
)
from kwhatif.descheduler.plugins.remove_duplicates import remove_duplicates
from kwhatif.descheduler.plugins.remove_pods_violating_topology_spread_constraint import (
    remove_pods_violating_topology_spread_constraint,
)

#: Runs a plugin; returns its error, or "".
Run = Callable[[Any, Handle], str]

PLUGINS: Mapping[str, Run] = {
    "HighNodeUtilization": high_node_utilization,
    "LowNodeUtilization": low_node_utilization,
    "PodLifeTime": pod_life_time,
    "RemoveDuplicates": remove_duplicates,
    "RemoveFailedPods": remove_failed_pods,
    "RemovePodsHavingTooManyRestarts": remove_pods_having_too_many_restarts,
    "RemovePodsViolatingInterPodAntiAffinity": remove_pods_violating_inter_pod_anti_affinity,
    "RemovePodsViolatingNodeAffinity": remove_pods_violating_node_affinity,
    "RemovePodsViolatingNodeTaints": remove_pods_violating_node_taints,
    "RemovePodsViolatingTopologySpreadConstraint": remove_pods_violating_topology_spread_constraint,
}
