"""The pods that fill a cluster: more of a workload, and those of the cluster that are already pending."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.left_out import with_pod_images
from kwhatif.admission.new_objects import check_workload
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import PendingAsleep
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import PodSource
from kwhatif.questions.decisions.decide import stand_in
from kwhatif.questions.judging.pending_pods import in_queue_order, unschedulable_pods
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.new_pods import NewPod, NewPods, Planner
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.framework.profile import scheduler_of
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.comparison import unstarted
from kwhatif.workloads.expand import named
from kwhatif.workloads.more import copies, more_pods
from kwhatif.workloads.owners import pods_of


def pods_without_end(applied: Applied, new_pods: NewPods, planner: Planner) -> Iterator[NewPod]:
    """More pods of the workload, each created and admitted on demand."""
    obj, api_server = applied.object, new_pods.api_server
    cluster = api_server.state.cluster
    if isinstance(obj, CustomResource):
        pod = next((group.pod for group in planner.pods_of_custom(obj).added.groups), None)
        more = iter(()) if pod is None else copies(pod, cluster)
    else:
        workload = named(cast("PodSource", obj), cluster)
        if isinstance(workload, Pod):
            workload = _as_asked(workload) if applied.restarted else workload
        elif not applied.restarted:
            wrong = check_workload(workload, cluster)
            if wrong is not None:
                yield NewPod(stand_in(applied), refusal=wrong.message)
                return
            api_server.put(default_object(workload), None)
        more = more_pods(workload, cluster)
    for group in more:
        yield from new_pods.create_all(group, obj)


def _as_asked(pod: Pod) -> Pod:
    """A pod of the cluster as a user would create it again: admission computes its fields again.

    It has images, whether or not the input has them.
    """
    new = with_pod_images(unstarted(pod), pod)
    return replace(new, spec=replace(new.spec, priority=None, preemption_policy=""))


class PendingToTry(NamedTuple):
    """The cluster's pending pods that are tried, the next one last; a caveat names unschedulable ones."""

    pods: list[PodInfo]
    caveat: Caveat | None


def waiting(session: Session, state: State, applied: Sequence[Applied], counted: Sequence[Applied]) -> PendingToTry:
    """Unschedulable pods that nothing requeues are left out.

    None is, if a workload with pending pods is asked for by name, as in `judge`.

    Args:
        session: the cluster as it was.
        state: the cluster with what is `applied`.
        applied: everything that was given.
        counted: the workloads of it that are counted.
    """
    events = state.cluster.scheduling_events
    ours = [info for info in state.pending.values() if scheduler_of(info.pod) in session.profiles]
    by_name = any(each.restarted and _has_pending(each, state) for each in counted)
    unschedulable = (
        [] if by_name else list(unschedulable_pods(ours, session.profiles, session.state, state.cluster, applied))
    )
    keys = {info.key for info in unschedulable}
    tried = in_queue_order([info for info in ours if info.key not in keys], events)[::-1]
    if not unschedulable:
        return PendingToTry(tried, None)
    return PendingToTry(tried, PendingAsleep(pods=tuple(info.key for info in in_queue_order(unschedulable, events))))


def _has_pending(applied: Applied, state: State) -> bool:
    """Whether pods of the workload are already pending."""
    obj = cast("PodSource", applied.object)
    if not state.pending or isinstance(obj, Pod):
        return isinstance(obj, Pod) and key_of(obj) in state.pending
    return any(key_of(pod) in state.pending for pod in pods_of(obj, state.cluster))
