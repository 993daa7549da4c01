"""The Eviction API: whether an eviction is granted, and its writes (`pkg/registry/core/pod/storage/eviction.go`)."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from kwhatif.admission.disruption import SyncFailed, counted_status
from kwhatif.controllers.contract import DeletePod, Moment, Update, Write
from kwhatif.controllers.disruption import budget_pods, pods_selected_by
from kwhatif.kube.model.pod import Pod, PodCondition, is_ready
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus

#: The condition that a granted eviction sets in the pod's status.
EVICTED = PodCondition(type="DisruptionTarget", status="True", reason="EvictionByEvictionAPI")

NOT_FOUND, TOO_MANY_REQUESTS, FORBIDDEN, SERVER_ERROR = 404, 429, 403, 500
MANY_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
#: `MaxDisruptedPodSize`: with more unconfirmed evictions than this, no eviction is granted.
_MOST_DISRUPTED = 2000


class EvictionGranted(msgspec.Struct, frozen=True):
    """The pod is being deleted."""

    writes: tuple[Write, ...]


class EvictionRefused(msgspec.Struct, frozen=True):
    """The API server's answer to a refused eviction."""

    code: int
    message: str
    #: The cause in the answer's details, which kubectl does not print.
    cause: str = ""
    #: The keys of the budgets that do not allow it.
    budgets: tuple[str, ...] = ()


class EvictionApi:
    """Evictions at one moment: each sees the disruptions that the previous ones have left in the budgets.

    These are the API server's own decrements. The disruption controller recounts the budgets later.
    """

    def __init__(self, view: Moment) -> None:
        self._view = view
        self._cluster = view.state.cluster
        self._statuses: dict[str, PodDisruptionBudgetStatus] = {}

    def evict(self, key: str, grace: float | None = None) -> EvictionGranted | EvictionRefused:
        """Request the eviction of a pod.

        Args:
            key: `namespace/name`.
            grace: `deleteOptions.gracePeriodSeconds`; None: the pod's own grace period.
        """
        pod = self._cluster.get(Pod, key)
        if pod is None:
            return EvictionRefused(NOT_FOUND, f'pods "{key.partition("/")[2]}" not found')
        budgets = () if _budgets_do_not_matter(pod) else budget_pods(self._cluster).budgets_of(pod)
        if not budgets:
            return self._granted(pod, key, grace)
        if len(budgets) > 1:
            return EvictionRefused(SERVER_ERROR, MANY_BUDGETS, budgets=budgets)
        budget = self._cluster.all(PodDisruptionBudget)[budgets[0]]
        status = self._statuses.get(budgets[0]) or budget.status or PodDisruptionBudgetStatus()
        if not is_ready(pod) and _lets_unready_pods_go(budget, status):
            return self._granted(pod, key, grace)
        refused = self._refused(budget, budgets[0], status)
        if refused is not None:
            return refused
        disrupted = {**status.disrupted_pods, pod.metadata.name: self._view.stamp(self._view.now)}
        status = replace(status, disruptions_allowed=status.disruptions_allowed - 1, disrupted_pods=disrupted)
        self._statuses[budgets[0]] = status
        return self._granted(pod, key, grace, Update(replace(budget, status=status)))

    def _granted(self, pod: Pod, key: str, grace: float | None, *writes: Write) -> EvictionGranted:
        if pod.metadata.deletion_timestamp is not None and grace is None:
            return EvictionGranted(())  # a second deletion with the same grace changes nothing
        return EvictionGranted((*writes, DeletePod(key, "Evicted", grace, EVICTED)))

    def _refused(
        self, budget: PodDisruptionBudget, key: str, status: PodDisruptionBudgetStatus
    ) -> EvictionRefused | None:
        """The refusal by `checkAndDecrement`, if any."""
        if status.observed_generation < budget.metadata.generation:
            still = f"The disruption budget {budget.metadata.name} is still being processed by the server."
            return EvictionRefused(TOO_MANY_REQUESTS, WOULD_VIOLATE, still, (key,))
        forbidden = f'poddisruptionbudget.policy "{budget.metadata.name}" is forbidden: '
        if status.disruptions_allowed < 0:
            return EvictionRefused(FORBIDDEN, f"{forbidden}pdb disruptions allowed is negative", budgets=(key,))
        if len(status.disrupted_pods) > _MOST_DISRUPTED:
            many = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
            return EvictionRefused(FORBIDDEN, forbidden + many, budgets=(key,))
        if status.disruptions_allowed == 0:
            return EvictionRefused(TOO_MANY_REQUESTS, WOULD_VIOLATE, self._cause(budget, key, status), (key,))
        return None

    def _cause(self, budget: PodDisruptionBudget, key: str, status: PodDisruptionBudgetStatus) -> str:
        name = budget.metadata.name
        failed = sync_failure(key, self._view)
        if failed is not None:
            why = f"because it failed sync: {failed.reason}"
            return f"The disruption budget {name} does not allow evicting pods currently {why}"
        if status.current_healthy <= status.desired_healthy:
            needed, there = status.desired_healthy, status.current_healthy
            return f"The disruption budget {name} needs {needed} healthy pods and has {there} currently"
        return f"The disruption budget {name} does not allow evicting pods currently"


def sync_failure(key: str, view: Moment) -> SyncFailed | None:
    """Why the disruption controller cannot count the budget; None if it can."""
    cluster = view.state.cluster
    budget = cluster.all(PodDisruptionBudget)[key]
    status = counted_status(budget, pods_selected_by(key, cluster), cluster)
    return status if isinstance(status, SyncFailed) else None


def _budgets_do_not_matter(pod: Pod) -> bool:
    """Whether budgets are ignored for the pod (`canIgnorePDB`)."""
    return pod.metadata.deletion_timestamp is not None or pod.status.phase in ("Succeeded", "Failed", "Pending")


def _lets_unready_pods_go(budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus) -> bool:
    """Whether the eviction of a pod that is not ready is granted without a decrement.

    QUIRK: with `desiredHealthy` 0 the last condition is false, although the budget requires nothing.
    """
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    return status.current_healthy >= status.desired_healthy > 0
