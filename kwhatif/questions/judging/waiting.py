"""The cluster's own pending pods: with what they count, and which of them are not tried."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import StatefulSet
from kwhatif.questions.judging.planned import Asked, Planned
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.placing.pending_pods import asleep, in_queue_order
from kwhatif.questions.rows import owner_of
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Outcome
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.owners import pods_of
from kwhatif.workloads.stateful_set import is_ordered


class PendingPods:
    """The pending pods of a state, beside what is asked about."""

    def __init__(
        self, session: Session, state: State, planned: Sequence[Planned], *, wanted: Collection[str], full: bool
    ) -> None:
        """Set up.

        Args:
            session: the cluster as it was read.
            state: the same, with everything that was applied but pods and what makes them.
            planned: what is asked about.
            wanted: the keys of pods that are asked for by themselves.
            full: whether pending pods count with the workloads that are asked about; else with those that begin anew.
        """
        self._session = session
        self._state = state
        #: Those that belong to what is asked about, and stay, with the object that each belongs to.
        self.workloads = _workloads_of(planned, state)
        gone = {key_of(pod) for each in planned for pod in each.leaving}
        #: All that stay, in the order of the queue.
        self.in_order = [
            info
            for info in in_queue_order(state.pending.values(), state.cluster.scheduling_events)
            if info.key not in gone
        ]
        #: Those whose fate is asked for, by key, in the order of the queue.
        self.asked: Mapping[str, Asked] = dict(self._asked(wanted, full=full))

    def _asked(self, wanted: Collection[str], *, full: bool) -> Iterator[tuple[str, Asked]]:
        by_owner: dict[str, list[Outcome]] = {}
        for info in self.in_order:
            workload = self.workloads.get(info.key)
            if workload is not None and (full or workload.applied.anew):
                yield info.key, Asked(workload.explained, workload)
            elif info.key in wanted:
                yield info.key, Asked(by_owner.setdefault(owner_of(info.pod) or info.key, []))

    def holding_up(self, key: str) -> Planned | None:
        """The ordered StatefulSet that changes, and gets no further before this pod of its own runs."""
        workload = self.workloads.get(key)
        if workload is None or workload.update == "unchanged" or not isinstance(workload.object, StatefulSet):
            return None
        return workload if is_ordered(workload.object) else None

    def sleeping(self, applied: Sequence[Applied]) -> Collection[str]:
        """The keys of those that are not tried, in the order of the queue.

        None, where a pending pod is asked for by name: the answer is what becomes of it when it is tried again, and the
        others with it. What belongs to an object of the manifests is judged with that object.
        """
        if any(workload.applied.anew for workload in self.workloads.values()):
            return ()
        state, session = self._state, self._session
        pods = [info for info in self.in_order if info.key not in self.workloads and self.is_ours(info)]
        return tuple(info.key for info in asleep(pods, session.profiles, session.state, state.cluster, applied))

    def is_ours(self, info: PodInfo) -> bool:
        """Whether one of the cluster's schedulers that are known places it."""
        return (info.pod.spec.scheduler_name or DEFAULT_SCHEDULER) in self._session.profiles


def _workloads_of(planned: Sequence[Planned], state: State) -> Mapping[str, Planned]:
    """The pending pods that belong to what is asked about, and stay."""
    found: dict[str, Planned] = {}
    if not state.pending:
        return found
    for workload in planned:
        applied = workload.applied
        gone = {key_of(pod) for pod in workload.leaving}
        if not applied.is_workload:
            continue
        obj = applied.object
        for key in map(key_of, [obj] if isinstance(obj, Pod) else pods_of(obj, state.cluster)):
            if key in state.pending and key not in gone and key not in workload.decisions:
                found.setdefault(key, workload)
    return found
