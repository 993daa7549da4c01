"""Fields that an applied object keeps from the cluster: its status, and the claim that a volume is bound to."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.storage import PersistentVolume


def updated(obj: Any, cluster: Cluster) -> Any:
    """The object with its status from the cluster, and a volume with its claim.

    A budget whose spec has changed has no status until it is computed again.
    """
    known = cluster.get(type(obj), key_of(obj))
    if known is None:
        return obj
    if isinstance(obj, PodDisruptionBudget):
        return replace(obj, status=known.status if known.spec == obj.spec else None)
    if isinstance(obj, PersistentVolume):
        return replace(obj, spec=replace(obj.spec, claim_ref=known.spec.claim_ref), status=known.status)
    return replace(obj, status=known.status) if hasattr(obj, "status") else obj
