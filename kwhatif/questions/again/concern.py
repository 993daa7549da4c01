"""`Concern`: when the question of a report is worth asking again.

What an answer was not made of cannot change it (`sight.py`). For pods that fit nowhere, kube-scheduler's plugins know
more: their queueing hints say whether an event can make a rejected pod schedulable. Where it is not known, the question
is asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, SchedulingEvents, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget, ResourceQuota
from kwhatif.kube.model.resource import DeviceTaintRule
from kwhatif.questions.again.sight import EVERYTHING, sight_of
from kwhatif.questions.placing.pending_pods import in_queue_order
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.scheduler.framework.events import PLAIN, cluster_events
from kwhatif.scheduler.framework.guard import GuardedPlugin
from kwhatif.scheduler.framework.hints import QUEUE, Registration, registrations
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.state.history import ChangedObject
from kwhatif.state.pod_info import PodInfo

#: Commands that play the cluster, in which pods that wait are tried from the beginning: no Events are read.
_PLAYED = ("drain", "outage")
#: Kinds of which the scheduler hears. Budgets only decide whom a pod evicts that finds somebody to evict.
_HEARD_OF = (Pod, Node, DeviceTaintRule, PodDisruptionBudget, *PLAIN)


class Concern:
    """Whether changes can make the answer to a question another one; for pods that fit nowhere, their fates."""

    def __init__(self, report: Report, session: Session) -> None:
        """`report` is the answer; `session` is the cluster that was asked, with what was tried in it noted."""
        guarded = {name for name, profile in session.profiles.items() if any(map(_is_guarded, profile.plugins))}
        self._sight = EVERYTHING if guarded else sight_of(report)
        self._command = report.command
        self._pending = list(session.state.pending.values())
        self._events = self._read_events(session.cluster.scheduling_events)
        self._waiting = None if guarded else _waiting(report, session)

    def _read_events(self, events: Mapping[str, SchedulingEvents]) -> object:
        """What is read of Events: all that `queue` shows of pods that wait; of the others their order."""
        if self._command in _PLAYED:
            return None
        if self._command == "queue" or self._sight is EVERYTHING:
            return {info.key: events.get(info.key) for info in self._pending}
        return [info.key for info in in_queue_order(self._pending, events)]

    def is_of(
        self, changes: Iterable[ChangedObject], cluster: Cluster, events: Mapping[str, SchedulingEvents] | None = None
    ) -> bool:
        """Whether any of these changes may matter.

        Args:
            changes: each once, from the moment of the last question or call on.
            cluster: the cluster as it is after them.
            events: what Events say about pods now; None: the same as at the last call.
        """
        if events is not None and self._read_events(events) != self._events:
            return True
        seen = filter(self._sight.differs, changes)
        waiting = self._waiting
        if waiting is None:
            return any(True for _ in seen)
        return any(self._may_help(change, waiting, cluster) for change in seen)

    def _may_help(
        self, change: ChangedObject, waiting: Sequence[tuple[PodInfo, Sequence[Registration]]], cluster: Cluster
    ) -> bool:
        before, after = change
        if not isinstance(after if before is None else before, _HEARD_OF):
            return True
        if any(isinstance(obj, Pod) and not obj.spec.node_name and not is_terminal(obj) for obj in change):
            return True  # it is tried before those that are asked for, or no longer
        if isinstance(before, Node) and after is None:
            return True  # its pods count no longer, before they are deleted: hints wait for that
        if isinstance(after, Node) and before is None and _is_lived_on(after, cluster):
            return True
        if any(isinstance(obj, Pod) and _is_counted(obj, waiting, cluster) for obj in change):
            return True
        return any(
            each.hint is None or each.hint(pod, before, after, cluster) is QUEUE
            for event in cluster_events(before, after, cluster)
            for pod, registered in waiting
            for each in registered
            if each.event.matches(event)
        )


def _is_guarded(plugin: object) -> bool:
    """Whether it is a plugin of the user's own, which reads what it likes."""
    return isinstance(plugin, GuardedPlugin)


def _is_lived_on(node: Node, cluster: Cluster) -> bool:
    """Whether pods were there before the node."""
    return any(pod.spec.node_name == node.metadata.name for pod in cluster.all(Pod).values())


def _is_counted(pod: Pod, waiting: Sequence[tuple[PodInfo, Sequence[Registration]]], cluster: Cluster) -> bool:
    """Whether a quota counts the pod together with one that waits: that may be refused now, or no longer."""
    place = pod.metadata.namespace
    if all(info.namespace != place for info, _ in waiting):
        return False
    return any(quota.metadata.namespace == place for quota in cluster.all(ResourceQuota).values())


def _waiting(report: Report, session: Session) -> list[tuple[PodInfo, list[Registration]]] | None:
    """The pods that were tried, where all of them fit nowhere, and what the plugins that rejected each listen to."""
    found = None if session.tried is None else session.tried.unschedulable
    decided = {each.pod for each in report.decisions if each.outcome == "Unschedulable"}
    if not found or report.changes or decided != {each.pod for each in report.decisions}:
        return None
    if not decided <= {pod.key for pod, _ in found}:
        return None
    profiles: Mapping[str, Profile] = session.profiles
    waiting = []
    for pod, plugins in found:
        profile = profiles.get(pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
        if profile is None:
            return None
        waiting.append((pod, [each for each in registrations(profile) if each.plugin in plugins]))
    return waiting
