"""HorizontalPodAutoscalers: the bounds that hold whatever metrics say (`pkg/controller/podautoscaler/horizontal.go`).

Between the bounds metrics decide, which are not known. A workload that asks for 0 pods is not scaled at all, unless its
autoscaler may go down to 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler
from kwhatif.kube.model.cluster import Cluster, ObjectRef, key_of
from kwhatif.kube.model.workload import SCALABLE, Scalable
from kwhatif.workloads.expand import replicas_of

T = TypeVar("T")

#: By kind, as `scaleTargetRef` names them.
SCALE_TARGETS: Mapping[str, type[Scalable]] = {kind.__name__: kind for kind in SCALABLE}


def _by_target(cluster: Cluster) -> Mapping[str, Sequence[HorizontalPodAutoscaler]]:
    found: dict[str, list[HorizontalPodAutoscaler]] = {}
    for each in cluster.all(HorizontalPodAutoscaler).values():
        found.setdefault(each.target, []).append(each)
    return {target: sorted(scalers, key=key_of) for target, scalers in found.items()}


def scalers_of(workload: object, cluster: Cluster) -> Sequence[HorizontalPodAutoscaler]:
    """The autoscalers of the workload, by name."""
    if not isinstance(workload, SCALABLE):
        return ()
    name = str(ObjectRef.of(workload))
    return cluster.derived(_by_target, HorizontalPodAutoscaler).get(name, ())


def target_of(scaler: HorizontalPodAutoscaler, cluster: Cluster) -> Scalable | None:
    """The workload that it scales; None where that is not there, or of a custom kind."""
    reference = scaler.spec.scale_target_ref
    kind = SCALE_TARGETS.get(reference.kind)
    return None if kind is None else cluster.get(kind, f"{scaler.metadata.namespace}/{reference.name}")


def bounded(replicas: int, scaler: HorizontalPodAutoscaler) -> int:
    """The number of replicas within its bounds, before metrics (`reconcileAutoscaler`)."""
    least, most = least_of(scaler), scaler.spec.max_replicas
    if replicas == 0 and least != 0:
        return 0
    if most is not None and replicas > most:
        return most
    return max(replicas, least)


def least_of(scaler: HorizontalPodAutoscaler) -> int:
    """`minReplicas`; 1 where it is left out."""
    return 1 if scaler.spec.min_replicas is None else scaler.spec.min_replicas


def autoscaled(workload: T, cluster: Cluster) -> T:
    """The workload with the number of pods that its autoscalers leave it, or give it.

    One that names no number has that of the cluster's, else 1.
    """
    if not isinstance(workload, SCALABLE):
        return workload
    scalers = scalers_of(workload, cluster)
    known = cluster.get(type(workload), key_of(workload)) if scalers else None
    given: Scalable = known if known is not None and workload.spec.replicas is None else workload
    replicas = before = replicas_of(given)
    for scaler in scalers:
        replicas = bounded(replicas, scaler)
    return workload if replicas == before else replace(workload, spec=replace(workload.spec, replicas=replicas))


def out_of_bounds(scalers: Sequence[HorizontalPodAutoscaler], cluster: Cluster) -> Iterator[Scalable]:
    """The workloads of these autoscalers that they scale at once, with the new number of pods."""
    seen: set[str] = set()
    for scaler in scalers:
        target = target_of(scaler, cluster)
        if target is None or scaler.target in seen:
            continue
        seen.add(scaler.target)
        scaled = autoscaled(target, cluster)
        if scaled is not target:
            yield scaled
