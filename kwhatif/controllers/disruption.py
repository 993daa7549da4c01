"""The disruption controller: the status of every PodDisruptionBudget (`pkg/controller/disruption/disruption.go`).

As in the Eviction API, an empty selector selects every pod of the namespace, a missing or invalid one selects none.
The scheduler differs (`kwhatif.scheduler.preemption.budgets`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.admission.disruption import SyncFailed, counted_status
from kwhatif.controllers.contract import NOTHING, Moment, SyncResult, Update, View
from kwhatif.kube.matching.budgets import Names, budget_index
from kwhatif.kube.matching.labels import Labels
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.overlay import KeySets
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus


class BudgetPods:
    """Pods by budget, and budgets by pod: built once for a cluster, and updated when pods change.

    `Cluster.derived` does both.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._budgets = budget_index(cluster)
        members: dict[str, dict[str, bool]] = {}
        before: tuple[str, Labels] | None = None
        selecting: list[dict[str, bool]] = []
        for key, pod in cluster.all(Pod).items() if self._budgets else ():
            meta = pod.metadata
            if before is None or meta.labels != before[1] or meta.namespace != before[0]:  # replicas are adjacent
                before = meta.namespace, meta.labels
                selecting = [members.setdefault(budget, {}) for budget in self.budgets_of(pod)]
            for pods in selecting:
                pods[key] = True
        self._members = KeySets(members)

    def budgets_of(self, pod: Pod) -> Names:
        """The keys of the budgets that select the pod, by name."""
        names = self._budgets.of(pod.metadata.namespace, pod.metadata.labels)
        return names if len(names) < 2 else tuple(sorted(names))

    def pods_of(self, budget: str) -> Iterable[str]:
        """The keys of the pods that the budget selects, in any phase."""
        return self._members.get(budget)

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> BudgetPods | None:
        """See `Index`: itself if the selector of a budget has not changed."""
        if isinstance(before, PodDisruptionBudget) or isinstance(after, PodDisruptionBudget):
            return None if self._budgets.updated(before, after) is None else self
        was, now = (self.budgets_of(obj) if isinstance(obj, Pod) else () for obj in (before, after))
        obj = before or after
        if obj is None or was == now:
            return self
        other = BudgetPods.__new__(BudgetPods)
        other._budgets, other._members = self._budgets, self._members.moved(key_of(obj), was, now)
        return other


def budget_pods(cluster: Cluster) -> BudgetPods:
    """The index of the cluster's budgets and pods."""
    return cluster.derived(BudgetPods, Pod, PodDisruptionBudget)


def pods_selected_by(budget: str, cluster: Cluster) -> list[Pod]:
    """The pods that the budget with this key selects, in any phase."""
    pods = cluster.all(Pod)
    return [pods[key] for key in budget_pods(cluster).pods_of(budget)]


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
    """Budgets whose status differs from the controller's count of the current pods, with the new status.

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
