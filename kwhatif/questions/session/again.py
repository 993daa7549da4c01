"""When a question about a cluster that goes on changing is worth asking again.

For pods that fit nowhere, kube-scheduler's plugins know that: their queueing hints say whether an event can make a
rejected pod schedulable. Where it is not known, the question is asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.device_taint_rule import DeviceTaintRule
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.report import Report
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.events import PLAIN, cluster_events
from kwhatif.scheduler.framework.guard import GuardedPlugin
from kwhatif.scheduler.framework.hints import QUEUE, Registration, registrations
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.state.history import ChangedObject
from kwhatif.state.pod_info import PodInfo

#: Commands whose answers do not depend on when pods were last tried, which is all that Events are read for.
_WITHOUT_EVENTS = ("drain", "outage")
#: Kinds of which the scheduler hears. Budgets only decide whom a pod evicts that finds somebody to evict.
_HEARD_OF = (Pod, Node, DeviceTaintRule, PodDisruptionBudget, *PLAIN)


class Tried:
    """The attempts of one question, as far as they say when to ask it again."""

    def __init__(self) -> None:
        self._results: list[tuple[PodInfo, frozenset[str]]] | None = []

    def note(self, result: ScheduleResult) -> None:
        """A pod was tried, whether or not it was asked for."""
        if result.outcome != "Unschedulable" or result.failed or not result.rejectors:
            self._results = None
        elif self._results is not None:
            self._results.append((result.pod, frozenset(result.rejectors)))

    def note_more(self) -> None:
        """More was done than to try pods once."""
        self._results = None

    @property
    def unschedulable(self) -> Sequence[tuple[PodInfo, frozenset[str]]] | None:
        """All pods that were tried, and the plugins that rejected each; None: not all of them fit nowhere."""
        return self._results


class Concern:
    """Whether changes can make the answer to a question another one; for pods that fit nowhere, their fates."""

    def __init__(self, report: Report, tried: Tried, profiles: Mapping[str, Profile]) -> None:
        """`report` is the answer, and `tried` what was noted meanwhile."""
        self._reads_events = report.command not in _WITHOUT_EVENTS
        self._waiting: list[tuple[PodInfo, list[Registration]]] | None = None
        found = tried.unschedulable
        decided = {each.pod for each in report.decisions if each.outcome == "Unschedulable"}
        if not found or report.changes or decided != {each.pod for each in report.decisions}:
            return
        if not decided <= {pod.key for pod, _ in found}:
            return
        waiting = []
        for pod, plugins in found:
            profile = profiles.get(pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
            if profile is None or any(isinstance(plugin, GuardedPlugin) for plugin in profile.plugins):
                return
            waiting.append((pod, [each for each in registrations(profile) if each.plugin in plugins]))
        self._waiting = waiting

    def is_of(self, changes: Iterable[ChangedObject], cluster: Cluster, *, news: bool) -> bool:
        """Whether any of these changes may matter.

        Args:
            changes: each once, from the moment of the last question or call on.
            cluster: the cluster as it is after them.
            news: whether Events have said something about pods as well.
        """
        if news and self._reads_events:
            return True
        waiting = self._waiting
        if waiting is None:
            return any(True for _ in changes)
        return any(self._may_help(change, waiting, cluster) for change in changes)

    def _may_help(
        self, change: ChangedObject, waiting: Sequence[tuple[PodInfo, Sequence[Registration]]], cluster: Cluster
    ) -> bool:
        before, after = change
        if not isinstance(after if before is None else before, _HEARD_OF):
            return True
        if any(isinstance(obj, Pod) and not obj.spec.node_name and not is_terminal(obj) for obj in change):
            return True  # it is tried before those that are asked for, or no longer
        return any(
            each.hint is None or each.hint(pod, before, after, cluster) is QUEUE
            for event in cluster_events(before, after, cluster)
            for pod, registered in waiting
            for each in registered
            if each.event.matches(event)
        )
