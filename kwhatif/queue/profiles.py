"""What the queue has to know of a profile: its plugins' hints and PreEnqueue checks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kwhatif.framework.guard import unguarded
from kwhatif.framework.hints import registrations
from kwhatif.framework.plugin import PreEnqueuePlugin
from kwhatif.framework.profile import Profile
from kwhatif.framework.status import Status
from kwhatif.plugins.default_preemption import DefaultPreemption
from kwhatif.queue.preempting import Preempting
from kwhatif.queue.scheduling_queue import QueueProfile
from kwhatif.snapshot.pod_info import PodInfo
from kwhatif.snapshot.snapshot import Snapshot


def queue_profile(profile: Profile, snapshot: Snapshot, preempting: Preempting) -> QueueProfile:
    """The profile for the queue; PreEnqueue looks things up in the snapshot's cluster."""
    checks = tuple((plugin.name, _check(plugin, snapshot, preempting)) for plugin in profile.pre_enqueue)
    return QueueProfile(registrations(profile), checks)


def _check(plugin: PreEnqueuePlugin, snapshot: Snapshot, preempting: Preempting) -> Callable[[PodInfo], Status]:
    if isinstance(unguarded(plugin), DefaultPreemption):
        return preempting.pre_enqueue
    return partial(_ask, plugin, snapshot)


def _ask(plugin: PreEnqueuePlugin, snapshot: Snapshot, pod: PodInfo) -> Status:
    return plugin.pre_enqueue(pod, snapshot)
