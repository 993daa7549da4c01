"""What the queue needs of a configuration: the hints and PreEnqueue plugins of its profiles, and its times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from kwhatif.kube.model.meta import SECOND
from kwhatif.scheduler.framework.guard import unguarded
from kwhatif.scheduler.framework.hints import Registration, registrations
from kwhatif.scheduler.framework.plugin import PreemptsBesideTheLoop, PreEnqueuePlugin
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import Status
from kwhatif.scheduler.queue.preempting import Preempting
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

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
