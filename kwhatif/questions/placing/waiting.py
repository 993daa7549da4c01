"""The cluster's own pending pods: with what they count, and which of them are not tried."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.placing.queue import Planned, Queue, in_queue_order
from kwhatif.questions.placing.sleeping import asleep
from kwhatif.questions.rows import owner_of
from kwhatif.questions.session.session import Session
from kwhatif.report.decision import Outcome
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.owners import pods_of


class Waiting:
    """The pending pods of a state, beside what is asked about."""

    def __init__(self, session: Session, state: State, planned: Sequence[Planned], *, full: bool) -> None:
        """`full`: whether they count with the workloads that are asked about; else with those that begin anew."""
        self._session = session
        self._state = state
        self._workloads = _workloads_of(planned, state)
        #: Those that count with a workload, by key.
        self.counting = {key: each for key, each in self._workloads.items() if full or each.applied.anew}

    def sleeping(self, applied: Sequence[Applied]) -> Collection[str]:
        """The keys of those that are not tried, in the order of the queue.

        None, where a pending pod is asked for by name: the answer is what becomes of it when it is tried again, and the
        others with it. What belongs to an object of the manifests is judged with that object.
        """
        if any(workload.applied.anew for workload in self._workloads.values()):
            return ()
        state, session = self._state, self._session
        pods = [info for key, info in state.pending.items() if key not in self._workloads and self._is_ours(info)]
        found = asleep(pods, session.profiles, session.state, state.cluster, applied)
        return tuple(info.key for info in in_queue_order(found, state.cluster.scheduling_events))

    def enqueue(self, queue: Queue, wanted: Collection[str], sleeping: Collection[str]) -> dict[str, Planned | None]:
        """Put them into the queue.

        Args:
            queue: with the pods of what is asked about.
            wanted: the keys of those that are asked for.
            sleeping: the keys of those that are not tried.

        Returns:
            Those that are asked for, with their workloads.
        """
        by_owner: dict[str, list[Outcome]] = {}
        asked: dict[str, Planned | None] = {}
        for info in in_queue_order(self._state.pending.values(), self._state.cluster.scheduling_events):
            workload = self.counting.get(info.key)
            if workload is not None:
                asked[info.key] = workload
                queue.wait(info, workload.explained)
            elif info.key in wanted:
                asked[info.key] = None
                queue.wait(info, by_owner.setdefault(owner_of(info.pod) or info.key, []))
            elif info.key not in sleeping and self._is_ours(info):
                queue.wait(info)
        return asked

    def _is_ours(self, info: PodInfo) -> bool:
        return (info.pod.spec.scheduler_name or DEFAULT_SCHEDULER) in self._session.profiles


def _workloads_of(planned: Sequence[Planned], state: State) -> Mapping[str, Planned]:
    """The pending pods that belong to what is asked about, and stay."""
    found: dict[str, Planned] = {}
    if not state.pending:
        return found
    for workload in planned:
        applied = workload.applied
        if not applied.is_workload:
            continue
        obj = applied.object
        for key in map(key_of, [obj] if isinstance(obj, Pod) else pods_of(obj, state.cluster)):
            if key in state.pending and key not in workload.decisions:
                found.setdefault(key, workload)
    return found
