"""Which pods may evict which (`pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kwhatif.kube.model.pod import pod_condition
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.status import Code
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."


def lower_priority(pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
    """The pods on the node that `pod` may evict, in the node's order: of any namespace, even if being deleted."""
    priority = pod.priority
    return [other for other in node.pods if other.priority < priority]


def why_not_eligible(cycle: Cycle, potential_victims: Callable[[PodInfo, NodeInfo], Sequence[PodInfo]]) -> str:
    """Why the pod may not evict others; "" if it may (`PodEligibleToPreemptOthers`)."""
    pod = cycle.pod
    if pod.pod.spec.preemption_policy == "Never":
        return NEVER
    node = cycle.state.node(pod.pod.status.nominated_node_name)
    if node is None:
        return ""
    verdict = cycle.verdict_of(node.name)
    # A node without a recorded status counts as unresolvable.
    if verdict is None or verdict.status.code is Code.UNRESOLVABLE:
        return ""
    if any(map(terminating_by_preemption, potential_victims(pod, node))):
        return TERMINATING
    return ""


def terminating_by_preemption(pod: PodInfo) -> bool:
    """Whether the scheduler has evicted the pod, and it is still terminating."""
    if not pod.terminating:
        return False
    condition = pod_condition(pod.pod, "DisruptionTarget")
    return condition is not None and condition.status == "True" and condition.reason == "PreemptionByScheduler"
