"""RemovePodsHavingTooManyRestarts (`framework/plugins/removepodshavingtoomanyrestarts`)."""

from __future__ import annotations

from kwhatif.descheduler.arguments import RemovePodsHavingTooManyRestartsArgs
from kwhatif.descheduler.attempt import Restarts
from kwhatif.descheduler.handle import Handle, chosen
from kwhatif.descheduler.pods import waiting_reasons
from kwhatif.kube.model.go_sort import go_sort
from kwhatif.kube.model.pod import Pod


def run(args: RemovePodsHavingTooManyRestartsArgs, handle: Handle) -> str:
    """Evict pods whose containers have restarted too often, those with the most restarts first."""
    choose = chosen(args.namespaces, args.label_selector)
    states = frozenset(args.states)
    init = args.including_init_containers

    def is_in_state(pod: Pod) -> bool:
        return not states or pod.status.phase in states or not states.isdisjoint(waiting_reasons(pod, init=init))

    for node in handle.nodes:
        found = [
            (pod, Restarts(restarts=count, threshold=args.pod_restart_threshold))
            for pod in handle.world.pods(node.metadata.name)
            if choose(pod)
            and (count := _restarts(pod, init=init)) >= args.pod_restart_threshold
            and is_in_state(pod)
            and handle.is_evictable(pod)
        ]
        go_sort(found, lambda one, other: one[1].restarts > other[1].restarts)
        if not handle.evict_each(found):
            break
    return ""


def _restarts(pod: Pod, *, init: bool) -> int:
    statuses = pod.status.container_statuses + (pod.status.init_container_statuses if init else ())
    return sum(status.restart_count for status in statuses)
