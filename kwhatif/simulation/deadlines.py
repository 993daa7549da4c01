"""Deadlines that a simulation waits for: those of Jobs whose end makes room for another pod.

A Job may run until its `activeDeadlineSeconds`; how long its pods run is not known. So a simulation does not wait for
it, unless it makes room for a pod that is pending, or that a quota does not let its controller create.
"""

from __future__ import annotations

from kwhatif.kube.model.pod import Pod
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.reactions import Reactions

#: Seconds from the moment at which nothing else happens: as long as a Deployment may go without progress
#: before it counts as failed (the default of `progressDeadlineSeconds`).
NEAR = 600.0


def is_any_pod_waiting(api_server: ApiServer, reactions: Reactions) -> bool:
    """Whether a pod is pending, or its creation was refused."""
    return bool(api_server.state.pending) or any(isinstance(each.obj, Pod) for each in reactions.refusals.values())


def has_got_room(now: ApiServer, refused: Reactions, later: ApiServer) -> bool:
    """Whether a pod that is pending or refused now is bound or created later."""
    pods = (later.state.pods.get(key) for key in now.state.pending)
    if any(info is not None and info.pod.spec.node_name for info in pods):
        return True
    actors = {each.actor for each in refused.refusals.values() if isinstance(each.obj, Pod)}
    events = later.history.events[len(now.history.events) :] if actors else ()
    return any(event.verb == "created" and event.actor in actors for event in events)
