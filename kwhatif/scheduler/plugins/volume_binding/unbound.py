"""Why an immediate claim is not bound: what its own volume, or the closest one, lacks."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.kube.matching.labels import SelectorError, compile_selector, selector_text
from kwhatif.kube.matching.volumes import (
    STORAGE,
    capacity_of,
    claim_class,
    default_class,
    is_bound_to,
    requested_storage,
    volume_class,
)
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.scheduler.framework.evidence import Mismatch, UnboundClaim
from kwhatif.scheduler.plugins.volume_binding.provisioning import NO_PROVISIONER

_FILESYSTEM = "Filesystem"


def mismatches(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Iterator[Mismatch]:
    """Why the claim cannot be bound to the volume, even though no other claim has it.

    For a claim that names its volume, only this counts (`checkVolumeSatisfyClaim` in `pv_controller.go`).
    """
    offered, wanted = volume.spec, claim.spec
    if capacity_of(volume) < requested_storage(claim):
        requests = claim.spec.resources.requests
        yield Mismatch("capacity", str(requests.get(STORAGE, 0)), str(offered.capacity.get(STORAGE, 0)))
    if volume_class(volume) != claim_class(claim):
        yield Mismatch("storageClassName", claim_class(claim), volume_class(volume))
    if (offered.volume_mode or _FILESYSTEM) != (wanted.volume_mode or _FILESYSTEM):
        yield Mismatch("volumeMode", wanted.volume_mode or _FILESYSTEM, offered.volume_mode or _FILESYSTEM)
    if (offered.volume_attributes_class_name or "") != (wanted.volume_attributes_class_name or ""):
        yield Mismatch(
            "volumeAttributesClassName",
            wanted.volume_attributes_class_name or "",
            offered.volume_attributes_class_name or "",
        )
    if not set(wanted.access_modes) <= set(offered.access_modes):
        yield Mismatch("accessModes", ", ".join(wanted.access_modes), ", ".join(offered.access_modes))


def _in_the_way(volume: PersistentVolume, claim: PersistentVolumeClaim) -> Iterator[Mismatch]:
    """The conditions for a volume that the claim does not name (`FindMatchingVolume`), and its current claim."""
    ref = volume.spec.claim_ref
    if ref is not None and not is_bound_to(volume, claim):
        yield Mismatch("claimRef", key_of(claim), f"{ref.namespace}/{ref.name}")
    elif ref is None and not claim.spec.volume_name and volume.status.phase != "Available":
        yield Mismatch("phase", "Available", volume.status.phase)
    if volume.metadata.deletion_timestamp is not None:
        yield Mismatch("deletionTimestamp", "", volume.metadata.deletion_timestamp)
    if claim.spec.selector is not None and not claim.spec.volume_name:
        try:
            selects = compile_selector(claim.spec.selector).matches(volume.metadata.labels)
        except SelectorError:
            selects = False
        if not selects:
            yield Mismatch("selector", selector_text(claim.spec.selector), "")


def why_unbound(claim: PersistentVolumeClaim, cluster: Cluster) -> UnboundClaim:
    """The claim, its class, and the closest volume."""
    name = claim_class(claim)
    storage_class = cluster.get(StorageClass, name)
    volumes = cluster.all(PersistentVolume)
    named = claim.spec.volume_name
    volume = volumes.get(named) if named else _nearest(claim, cluster)
    provisioner = "" if storage_class is None or named else storage_class.provisioner
    return UnboundClaim(
        claim=key_of(claim),
        storage_class=name,
        is_default=bool(name) and name == default_class(cluster),
        is_known=not name or storage_class is not None,
        provisioner="" if provisioner in NO_PROVISIONER else provisioner,
        volume=named or (volume.metadata.name if volume is not None else ""),
        is_named=bool(named),
        is_there=volume is not None,
        mismatches=() if volume is None else _all(volume, claim),
    )


def _all(volume: PersistentVolume, claim: PersistentVolumeClaim) -> tuple[Mismatch, ...]:
    return (*_in_the_way(volume, claim), *mismatches(volume, claim))


def _nearest(claim: PersistentVolumeClaim, cluster: Cluster) -> PersistentVolume | None:
    """The volume with the fewest mismatches; then one of the claim's class, then the smallest that is large enough."""
    wanted = requested_storage(claim)

    def distance(volume: PersistentVolume) -> tuple[int, bool, bool, int, str]:
        size = capacity_of(volume)
        lacks = len(_all(volume, claim))
        return (
            lacks,
            volume_class(volume) != claim_class(claim),
            size < wanted,
            abs(size - wanted),
            volume.metadata.name,
        )

    free = (each for each in cluster.all(PersistentVolume).values() if each.spec.claim_ref is None)
    return min(free, key=distance, default=None)
