"""Pods that have no node when nothing happens any more."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.questions.decisions.workload_rows import room_for_pods
from kwhatif.report.story import PendingRow
from kwhatif.simulation.engine import Engine
from kwhatif.workloads.many import wanted
from kwhatif.workloads.removal import active


def pending_pods(engine: Engine) -> Iterator[PendingRow]:
    """The existing ones."""
    for key, info in sorted(engine.world.state.pending.items()):
        pod = info.pod
        if pod.metadata.deletion_timestamp is not None:
            continue
        owner = engine.tally.root(pod)
        yield PendingRow(
            pod=key,
            owner=None if controller_of(pod.metadata) is None else owner,
            message=engine.scheduler.messages.get(info.uid, ""),
            nominated_node=pod.status.nominated_node_name or None,
            priority=info.priority,
            initial=engine.world.was_there(pod),
        )


def not_made(engine: Engine) -> Iterator[PendingRow]:
    """The pods beyond those that are created that are certainly pending.

    They are if a pod like them is pending; otherwise those for which all nodes together have no room.
    """
    world = engine.world
    room = room_for_pods(engine.scheduler.profiles, world.state.cluster) if world.limits.short else None
    for short in world.limits.short.values():
        known = world.state.cluster.get(type(short), key_of(short))
        pods = [] if known is None else active(world.pods_of(known))
        if known is None or not pods:
            continue
        waiting = [pod for pod in pods if not pod.spec.node_name]
        count, message = wanted(known) - len(pods), "all nodes together cannot take this number of pods"
        if waiting:
            message = engine.scheduler.messages.get(waiting[-1].metadata.uid, "")
        else:
            count -= count if room is None else max(0, room - len(pods))
        if count > 0:
            yield PendingRow(
                pod=f"{key_of(known)}-",
                owner=engine.tally.root(pods[-1]),
                message=message,
                nominated_node=None,
                priority=pods[-1].spec.priority or 0,
                count=count,
            )
