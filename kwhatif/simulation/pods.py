"""Changes of a pod object, as the API server, the scheduler and the kubelet write them."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.kube.model.pod import Pod, PodCondition, pod_condition

#: Conditions of a pod whose containers run.
_STARTED = ("Initialized", "ContainersReady", "Ready")


def with_condition(pod: Pod, condition: PodCondition) -> Pod:
    """The pod with that condition instead of one of its type; the same pod if it already has it."""
    there = pod_condition(pod, condition.type)
    if there is not None and (there.status, there.reason) == (condition.status, condition.reason):
        return pod
    if there is not None and there.status == condition.status and there.last_transition_time:
        condition = replace(condition, last_transition_time=there.last_transition_time)
    conditions = tuple(each for each in pod.status.conditions if each.type != condition.type)
    return replace(pod, status=replace(pod.status, conditions=(*conditions, condition)))


def marked(pod: Pod, end: str, grace: float) -> Pod:
    """The terminating pod; `end`: when its grace period of `grace` seconds is over."""
    meta = replace(pod.metadata, deletion_timestamp=end, deletion_grace_period_seconds=int(grace))
    return replace(pod, metadata=meta)


def begins_to_go(before: Pod, after: Pod) -> bool:
    """Whether this change is its deletion."""
    return before.metadata.deletion_timestamp is None and after.metadata.deletion_timestamp is not None


def unbound(pod: Pod) -> Pod:
    """The pod without a node."""
    return replace(pod, spec=replace(pod.spec, node_name="")) if pod.spec.node_name else pod


def bound(pod: Pod, node: str, time: str) -> Pod:
    """The pod with a node, and as its kubelet has seen it."""
    status = replace(pod.status, nominated_node_name="", start_time=time)
    pod = replace(pod, spec=replace(pod.spec, node_name=node), status=status)
    return with_condition(pod, PodCondition(type="PodScheduled", status="True", last_transition_time=time))


def running(pod: Pod, time: str, *, ready: bool) -> Pod:
    """The pod with running containers."""
    pod = replace(pod, status=replace(pod.status, phase="Running"))
    for name in _STARTED if ready else _STARTED[:1]:
        pod = with_condition(pod, PodCondition(type=name, status="True", last_transition_time=time))
    if not ready:
        pod = with_condition(pod, PodCondition(type="Ready", status="False", last_transition_time=time))
    return pod


def ended(pod: Pod, phase: str, time: str) -> Pod:
    """The pod with all containers terminated."""
    status = replace(pod.status, phase=phase)
    reason = "PodFailed" if phase == "Failed" else "PodCompleted"
    pod = replace(pod, status=status)
    for name in ("ContainersReady", "Ready"):
        condition = PodCondition(type=name, status="False", reason=reason, last_transition_time=time)
        pod = with_condition(pod, condition)
    return pod


def restarting(pod: Pod, time: str) -> Pod:
    """The pod while containers restart: it is not ready until they run again."""
    for name in ("ContainersReady", "Ready"):
        pod = with_condition(pod, PodCondition(type=name, status="False", last_transition_time=time))
    return pod
