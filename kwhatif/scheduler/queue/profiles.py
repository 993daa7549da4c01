"""What the queue needs of a configuration: the hints and PreEnqueue plugins of its profiles, and its times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from kwhatif.kube.model.meta import SECOND
from kwhatif.kube.model.pod import Pod
from kwhatif.scheduler.framework.guard import unguarded
from kwhatif.scheduler.framework.hints import Registration, registrations
from kwhatif.scheduler.framework.plugin import PreemptsBesideTheLoop, PreEnqueuePlugin
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import SUCCESS, Status, unresolvable
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

WAITING = unresolvable("waiting for the preemption for this pod to be finished")


class Preempting:
    """The asynchronous preemptions (`preemption/executor.go`), for DefaultPreemption's PreEnqueue."""

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


#: A PreEnqueue plugin: its name, and its check of a pod.
PreEnqueue = tuple[str, Callable[[PodInfo], Status]]


class QueueProfile(NamedTuple):
    """What the queue needs of one profile."""

    registrations: Sequence[Registration] = ()
    pre_enqueue: Sequence[PreEnqueue] = ()


class QueueOptions(NamedTuple):
    """`podInitialBackoffSeconds`, `podMaxBackoffSeconds` and `--pod-max-in-unschedulable-pods-duration`."""

    initial_backoff: int = 1 * SECOND
    max_backoff: int = 10 * SECOND
    max_in_unschedulable_pods: int = 300 * SECOND


def queue_profile(profile: Profile, state: State, preempting: Preempting) -> QueueProfile:
    """The profile for the queue; PreEnqueue reads the state's cluster."""
    checks = tuple((plugin.name, _check(plugin, state, preempting)) for plugin in profile.pre_enqueue)
    return QueueProfile(registrations(profile), checks)


def _check(plugin: PreEnqueuePlugin, state: State, preempting: Preempting) -> Callable[[PodInfo], Status]:
    if isinstance(unguarded(plugin), PreemptsBesideTheLoop):
        return preempting.pre_enqueue
    return partial(_ask, plugin, state)


def _ask(plugin: PreEnqueuePlugin, state: State, pod: PodInfo) -> Status:
    return plugin.pre_enqueue(pod, state)
