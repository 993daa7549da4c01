"""`Preempting`: pods whose victims are just being deleted (`pkg/scheduler/framework/preemption/executor.go`)."""

from __future__ import annotations

from collections.abc import Callable

from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.status import SUCCESS, Status, unresolvable
from kwhatif.state.pod_info import PodInfo

WAITING = unresolvable("waiting for the preemption for this pod to be finished")


class Preempting:
    """What the queue hears of the preemption beside the scheduler's loop: DefaultPreemption's PreEnqueue."""

    def __init__(self, lister: Callable[[str], Pod | None]) -> None:
        self._lister = lister
        #: UID of the preemptor -> key of its last victim, "" until that one's turn has come.
        self._last_victims: dict[str, str] = {}

    def fork(self, lister: Callable[[str], Pod | None]) -> Preempting:
        """An independent one that knows the same."""
        other = Preempting(lister)
        other._last_victims = self._last_victims.copy()
        return other

    def start(self, uid: str) -> None:
        """The pod's preemption has begun: from now on it is not tried."""
        self._last_victims[uid] = ""

    def reach_last(self, uid: str, victim: str) -> None:
        """Only this victim (its key) is left: as soon as it is seen to be deleted, the preemption counts as over."""
        self._last_victims[uid] = victim

    def end(self, uid: str) -> None:
        """All calls are made, or one has failed."""
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
