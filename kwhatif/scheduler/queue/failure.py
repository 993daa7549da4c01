"""Handles a failed attempt (`handleSchedulingFailure` in `pkg/scheduler/schedule_one.go`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.queue.nominator import PodLister
from kwhatif.scheduler.queue.queued_pod import QueuedPodInfo
from kwhatif.scheduler.queue.scheduling_queue import SchedulingQueue
from kwhatif.state.pod_info import PodInfo


class FailedAttempt(NamedTuple):
    """How an attempt failed."""

    #: Plugins that rejected the pod; none after an error, or when there are no nodes.
    unschedulable_plugins: Collection[str] = ()
    pending_plugins: Collection[str] = ()
    #: The node that it is nominated to now, "" for none; None: that of its status.
    nominated_node_name: str | None = ""


def handle_failure(queue: SchedulingQueue, info: QueuedPodInfo, failed: FailedAttempt, lister: PodLister) -> Pod | None:
    """Put the pod back into the queue, and record its nomination.

    Returns:
        The current pod, whose status is to be updated with the failure; None if another pod has its name.
    """
    info.clear_rejectors()
    info.unschedulable_plugins = set(failed.unschedulable_plugins)
    info.pending_plugins = set(failed.pending_plugins)
    listed = lister(info.key)
    if listed is None or listed.spec.node_name:
        queue.done(info.uid)
    else:
        if listed is not info.pod_info.pod:
            latest = PodInfo(listed)
            if latest.uid != info.uid:
                queue.done(info.uid)
                return None
            info.update(latest)
        queue.add_unschedulable_if_not_present(info)
    queue.nominator.add(info.pod_info, failed.nominated_node_name)
    return info.pod_info.pod
