"""Objects that no scheduling rule reads, though they decide whether pods are created, and how many."""

from __future__ import annotations

from kwhatif.model.meta import Int32, Model, ObjectMeta


class ServiceAccount(Model):
    """`v1 ServiceAccount`."""

    metadata: ObjectMeta = ObjectMeta()


class CrossVersionObjectReference(Model):
    """`scaleTargetRef`, in the same namespace."""

    kind: str = ""
    name: str = ""


class HorizontalPodAutoscalerSpec(Model):
    """`spec` of an autoscaler."""

    scale_target_ref: CrossVersionObjectReference = CrossVersionObjectReference()
    min_replicas: Int32 | None = None
    max_replicas: Int32 | None = None


class HorizontalPodAutoscaler(Model):
    """`HorizontalPodAutoscaler`, the same in every version of `autoscaling`."""

    metadata: ObjectMeta = ObjectMeta()
    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()

    @property
    def target(self) -> str:
        """What it scales, such as `Deployment shop/web`."""
        target = self.spec.scale_target_ref
        return f"{target.kind} {self.metadata.namespace}/{target.name}"
