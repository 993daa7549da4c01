"""DefaultPreemption (`pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.events import ActionType, EventResource
from kwhatif.scheduler.framework.hints import QUEUE_SKIP, ClusterEventWithHint, QueueingHint, builtin
from kwhatif.scheduler.framework.plugin import PostFilterKind, PostFilterResult
from kwhatif.scheduler.framework.status import SUCCESS, Code, Status
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.scheduler.preemption.evaluator import Evaluator
from kwhatif.scheduler.preemption.policy import EvictsByPolicy, Policy, PolicySince137
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


class DefaultPreemptionArgs(Model):
    """How many candidates kube-scheduler tries. kwhatif tries all, so the arguments affect only a caveat."""

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


class DefaultPreemption(EvictsByPolicy):
    """Evicts pods of lower priority to make room for a pod.

    A plugin with other rules is a subclass with another `name` and `policy`.
    """

    name: ClassVar[str] = "DefaultPreemption"
    policy: Policy = Policy()
    preempts_beside_the_loop: ClassVar[bool] = True
    post_filter_kind: ClassVar[PostFilterKind] = PostFilterKind.EVALUATES

    def __init__(self, args: DefaultPreemptionArgs | None = None) -> None:
        self.args = args or DefaultPreemptionArgs()

    def sufficient_candidates(self, tried: int) -> int:
        """A percentage of the nodes tried, but at least a fixed number (`calculateNumCandidates`)."""
        args = self.args
        return max(tried * args.min_candidate_nodes_percentage // 100, args.min_candidate_nodes_absolute)

    def pre_enqueue(self, pod: PodInfo, state: State) -> Status:
        """Always SUCCESS: the queue itself tracks preemptions in progress (`queue.preempting`)."""
        return SUCCESS

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """A pod is deleted."""
        return (builtin(EventResource.POD, ActionType.DELETE, _after_pod_deleted),)

    def post_filter(self, cycle: Cycle) -> PostFilterResult:
        """Nominate the pod to the node where preemption costs least."""
        result = Evaluator(self.policy).preempt(cycle)
        message, outcome = result.status.message, result.outcome
        if result.status.code is Code.SUCCESS and isinstance(outcome, Preemption):
            victims = next(len(found.pods) for found in outcome.candidates if found.node == outcome.node)
            message = self.policy.said_of(outcome.node or "", victims)
        if not message:
            return result
        return msgspec.structs.replace(result, status=Status(result.status.code, (f"preemption: {message}",)))


class DefaultPreemptionSince137(DefaultPreemption):
    """The plugin from 1.37 on."""

    policy: Policy = PolicySince137()


def _after_pod_deleted(_pod: PodInfo, _old: Pod, _new: None, _cluster: Cluster) -> QueueingHint:
    """Never queues: it is registered so that deletions reach the other plugins of a pod that waits for its victims."""
    return QUEUE_SKIP
