"""`Preempting`: pods whose victims are being deleted (`pkg/scheduler/framework/preemption/executor.go`)."""

from __future__ import annotations

from collections.abc import Callable

from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.status import SUCCESS, Status, unresolvable
from kwhatif.state.pod_info import PodInfo

WAITING = unresolvable("waiting for the preemption for this pod to be finished")


class Preempting:
    """The asynchronous preemptions, for DefaultPreemption's PreEnqueue."""

    def __init__(self, lister: Callable[[str], Pod | None]) -> None:
        self._lister = lister
        #: UID of the preemptor -> key of its last victim, "" until only that one is left.
        self._last_victims: dict[str, str] = {}

    def fork(self, lister: Callable[[str], Pod | None]) -> Preempting:
        """An independent copy."""
        other = Preempting(lister)
        other._last_victims = self._last_victims.copy()
        return other

    def start(self, uid: str) -> None:
        """The pod's preemption has begun: the pod is not tried until it ends."""
        self._last_victims[uid] = ""

    def reach_last(self, uid: str, victim: str) -> None:
        """Only this victim (its key) is left: once its deletion is seen, the preemption is over."""
        self._last_victims[uid] = victim

    def end(self, uid: str) -> None:
        """All API calls were made, or one has failed."""
        self._last_victims.pop(uid, None)

    def is_running(self, uid: str) -> bool:
        """Whether the pod's preemption is under way (`IsPodRunningPreemption`)."""
        victim = self._last_victims.get(uid)
        if not victim:
            return victim is not None
        pod = self._lister(victim)
        return pod is not None and pod.metadata.deletion_timestamp is None

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """SUCCESS, or that the pod waits for its own preemption."""
        return WAITING if self.is_running(pod.uid) else SUCCESS
