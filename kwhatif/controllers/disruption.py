"""The disruption controller: the status of every PodDisruptionBudget (`pkg/controller/disruption/disruption.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.admission.disruption import SyncFailed, counted_status
from kwhatif.controllers.budget_pods import budget_pods, pods_selected_by
from kwhatif.controllers.contract import NOTHING, Moment, SyncResult, Update, View
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus

#: Seconds for which a pod counts as gone after a granted eviction, even if it was not deleted (`DeletionTimeout`).
DELETION_TIMEOUT = 120.0


class Disruption:
    """Recounts a budget when a pod that it selects is added, deleted or changes."""

    name = "PodDisruptionBudget"
    watches = (Pod, PodDisruptionBudget)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """The budget itself, or one that selects the pod.

        QUIRK: (getPdbForPod) if several budgets select a pod, only one is recounted. Upstream takes any; here it is the
        first by name. The others are stale until something else happens to their pods.
        """
        if isinstance(after, PodDisruptionBudget):
            return (key_of(after),)
        pod = before if after is None else after
        if isinstance(pod, Pod):
            return budget_pods(view.state.cluster).budgets_of(pod)[:1]
        return ()

    def sync(self, key: str, view: View) -> SyncResult:
        """Count again; if that fails, the budget allows nothing, and keeps its other numbers (`failSafe`)."""
        cluster = view.state.cluster
        budget = cluster.get(PodDisruptionBudget, key)
        if budget is None:
            return NOTHING
        before = budget.status or PodDisruptionBudgetStatus()
        pods = pods_selected_by(key, cluster)
        disrupted = _still_disrupted(before.disrupted_pods, pods, view)
        status = counted_status(budget, pods, cluster, disrupted)
        if isinstance(status, SyncFailed):
            status = replace(before, disruptions_allowed=0)
        recheck = min((view.at(time) + DELETION_TIMEOUT for time in status.disrupted_pods.values()), default=None)
        writes = () if status == budget.status else (Update(replace(budget, status=status)),)
        return SyncResult(writes, recheck if recheck is not None and recheck > view.now else None)


def recounted(view: Moment) -> Iterator[PodDisruptionBudget]:
    """Budgets whose status differs from what the controller would count of the current pods, with the new status.

    A status may be older than the pods. It does not change if the controller could not count it, because the input
    lacks the controllers of the pods.
    """
    cluster = view.state.cluster
    for key, budget in cluster.all(PodDisruptionBudget).items():
        before = budget.status
        if before is None:
            continue
        pods = pods_selected_by(key, cluster)
        status = counted_status(budget, pods, cluster, _still_disrupted(before.disrupted_pods, pods, view))
        if isinstance(status, SyncFailed):
            continue
        status = replace(status, observed_generation=before.observed_generation)
        if status != before:
            yield replace(budget, status=status)


def _still_disrupted(disrupted: Mapping[str, str], pods: Sequence[Pod], view: Moment) -> Mapping[str, str]:
    """Pods whose eviction was granted, but which are not being deleted yet (`buildDisruptedPodMap`)."""
    return {
        pod.metadata.name: disrupted[pod.metadata.name]
        for pod in (pods if disrupted else ())
        if pod.metadata.deletion_timestamp is None
        and pod.metadata.name in disrupted
        and view.at(disrupted[pod.metadata.name]) + DELETION_TIMEOUT > view.now
    }
