"""What would help a pod that waits for its claims, or for volumes of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kwhatif.kube.matching.volumes import WAIT_FOR_FIRST_CONSUMER, claim_class, claim_names, is_fully_bound
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.resource import ResourceClaim
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.report.queue import (
    Cause,
    ClaimBound,
    ObjectAdded,
    PodDeleted,
)
from kwhatif.scheduler.plugins.dynamic_resources import DynamicResources
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_VOLUME_PLUGINS = {"VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"}


def claim_causes(pod: PodInfo, state: State, rejectors: Collection[str]) -> Iterator[tuple[Cause, str]]:
    """What would help, with the plugin that waits for it; `rejectors` are the plugins that have rejected the pod."""
    plugin = min(_VOLUME_PLUGINS.intersection(rejectors), default="")
    for claim in claim_names(pod.pod) if plugin else ():
        cause = _cause_of_claim(f"{pod.namespace}/{claim.name}", state.cluster)
        if cause is not None:
            yield cause, plugin
    if "VolumeRestrictions" in rejectors:
        yield from ((cause, "VolumeRestrictions") for cause in _users_of_claims(pod, state))
    if DynamicResources.name in rejectors:
        yield from ((cause, DynamicResources.name) for cause in missing_resource_claims(pod, state.cluster))


def _cause_of_claim(key: str, cluster: Cluster) -> Cause | None:
    claim = cluster.get(PersistentVolumeClaim, key)
    if claim is None:
        return ObjectAdded("PersistentVolumeClaim", key)
    if is_fully_bound(claim):
        volume = claim.spec.volume_name
        return None if cluster.get(PersistentVolume, volume) else ObjectAdded("PersistentVolume", volume)
    class_name = claim_class(claim)
    storage_class = cluster.get(StorageClass, class_name)
    if storage_class is None and class_name:
        return ObjectAdded("StorageClass", class_name)
    if storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return None
    return ClaimBound(key)


def _users_of_claims(pod: PodInfo, state: State) -> Iterator[PodDeleted]:
    own = {name.name for name in claim_names(pod.pod)}
    for node in state.nodes:
        for other in node.pods:
            shared = own.intersection(other.claim_names) if other.namespace == pod.namespace else ()
            if shared:
                holds = f"PersistentVolumeClaim {other.namespace}/{min(shared)}"
                yield PodDeleted(other.key, holds, node.name)


def missing_resource_claims(pod: PodInfo, cluster: Cluster) -> Iterator[ObjectAdded]:
    """ResourceClaims of the pod that are not there, or are on their way out."""
    generated = {status.name: status.resource_claim_name for status in pod.pod.status.resource_claim_statuses}
    for entry in pod.pod.spec.resource_claims:
        name = entry.resource_claim_name or generated.get(entry.name) or f"{pod.name}-{entry.name}"
        claim = cluster.get(ResourceClaim, f"{pod.namespace}/{name}")
        if claim is None or claim.metadata.deletion_timestamp is not None:
            yield ObjectAdded("ResourceClaim", f"{pod.namespace}/{name}")
