"""HorizontalPodAutoscalers, only their bounds (`pkg/controller/podautoscaler/horizontal.go`).

Metrics are not known: within the bounds, a workload keeps its number of replicas.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, SyncResult, Update, View
from kwhatif.controllers.pods import keys_of
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.workload import SCALABLE
from kwhatif.workloads.counts import bounded, scalers_of, target_of
from kwhatif.workloads.expand import replicas_of

#: Seconds between two syncs of an autoscaler (`--horizontal-pod-autoscaler-sync-period`); also assumed until the
#: first one.
PERIOD = 15.0
_DUE = "due"


class HorizontalPodAutoscalers:
    """The controller."""

    name = "HorizontalPodAutoscaler"
    watches = (HorizontalPodAutoscaler, *SCALABLE)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`. Upstream syncs every autoscaler periodically; here only after its workload has changed."""
        if isinstance(after, HorizontalPodAutoscaler):
            return keys_of(after, kind=HorizontalPodAutoscaler)
        if not isinstance(after, SCALABLE):
            return ()
        if isinstance(before, SCALABLE) and before.spec.replicas == after.spec.replicas:
            return ()
        return [key_of(each) for each in scalers_of(after, view.state.cluster)]

    def sync(self, key: str, view: View) -> SyncResult:
        """Scale the workload into the bounds, at the next periodic sync."""
        scaler = view.state.cluster.get(HorizontalPodAutoscaler, key)
        target = None if scaler is None else target_of(scaler, view.state.cluster)
        memory = view.memory(self.name, key)
        if scaler is None or target is None or scaler.metadata.deletion_timestamp is not None:
            return NOTHING
        replicas = bounded(replicas_of(target), scaler)
        if replicas == replicas_of(target):
            memory.pop(_DUE, None)
            return NOTHING
        due: float = memory.setdefault(_DUE, view.now + PERIOD)
        if view.now < due:
            return SyncResult(again=due)
        del memory[_DUE]
        return SyncResult((Update(replace(target, spec=replace(target.spec, replicas=replicas))),))


CONTROLLERS = (HorizontalPodAutoscalers(),)
