"""Volumes of pods: the nodes that can use them, and limits per node (`volumetopology.go`, `volumeusage.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kwhatif.autoscaler.karpenter.requirements import IN, Requirements, requirement, selector_requirements
from kwhatif.kube.matching.csi_migration import plugin_named
from kwhatif.kube.matching.volumes import BIND_COMPLETED, ClaimName, claim_names
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import HOSTNAME
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass

#: Claims by CSI driver.
Volumes = Mapping[str, frozenset[str]]

_EBS_DRIVER = "ebs.csi.aws.com"
_IMMEDIATE = "Immediate"


def _claim(cluster: Cluster, pod: Pod, name: ClaimName) -> PersistentVolumeClaim | None:
    return cluster.get(PersistentVolumeClaim, f"{pod.metadata.namespace}/{name.name}")


def _not_found(plural: str, name: str) -> str:
    return f'{plural} "{name}" not found'


def claims_objection(cluster: Cluster, pod: Pod) -> str:
    """Why the pod is ignored because of its claims; "" if it is not (`ValidatePersistentVolumeClaims`)."""
    return next((wrong for name in claim_names(pod) if (wrong := _claim_objection(cluster, pod, name))), "")


def _claim_objection(cluster: Cluster, pod: Pod, name: ClaimName) -> str:
    claim = _claim(cluster, pod, name)
    if claim is None:
        missing = _not_found("persistentvolumeclaims", name.name)
        return f"getting persistent volume claim, {missing} (PersistentVolumeClaim={name.name})"
    key, volume, class_ = f"{claim.metadata.namespace}/{name.name}", claim.spec.volume_name, _class(claim)
    if claim.metadata.deletion_timestamp is not None:
        return f"persistentvolumeclaim is being deleted (PersistentVolumeClaim={key})"
    if claim.status.phase == "Lost":
        lost = "persistentvolumeclaim bound to non-existent persistentvolume"
        return f"{lost} (PersistentVolume={volume}, PersistentVolumeClaim={key})"
    if volume:
        return _bound_objection(cluster, claim, key)
    if not class_:
        return f"unbound pvc must define a storage class (PersistentVolumeClaim={key}, StorageClass=)"
    found = cluster.get(StorageClass, class_)
    where = f"(PersistentVolumeClaim={key}, StorageClass={class_})"
    if found is None:
        missing = _not_found("storageclasses.storage.k8s.io", class_)
        return f"failed to validate pvc, failed to get storage class, {missing} {where}"
    if found.volume_binding_mode == _IMMEDIATE:
        return f"failed to validate pvc, pvc with immediate volume binding mode must be bound {where}"
    return ""


def _bound_objection(cluster: Cluster, claim: PersistentVolumeClaim, key: str) -> str:
    name = claim.spec.volume_name
    volume = cluster.get(PersistentVolume, name)
    if volume is None or volume.metadata.deletion_timestamp is not None:
        wrong = _not_found("persistentvolumes", name) if volume is None else "persistentvolume is being deleted"
        where = f"PersistentVolume={name}, PersistentVolumeClaim={key}, StorageClass={_class(claim)}"
        return f"failed to validate pvc, {wrong} ({where})"
    if BIND_COMPLETED not in claim.metadata.annotations:
        where = f"PersistentVolume={name}, PersistentVolumeClaim={claim.metadata.name}, annotation={BIND_COMPLETED}"
        return f"pvc is considered unbound because it does not contain annotation ({where})"
    return ""


def _class(claim: PersistentVolumeClaim) -> str:
    """The claim's storage class: only the field counts, not the old annotation."""
    return claim.spec.storage_class_name or ""


# --- the nodes that can use them -------------------------------------------------------------------------------------


class VolumeLostError(LookupError):
    """A claim, a volume or a class that does not exist."""


def volume_alternatives(cluster: Cluster, pod: Pod) -> list[Requirements]:
    """Requirements of the pod's volumes: a node must meet one of these; none: any node (`GetRequirements`).

    Raises:
        VolumeLostError: a claim, a volume or a class does not exist.
    """
    found: list[Requirements] = []
    for name in claim_names(pod):
        claim = _claim(cluster, pod, name)
        if claim is None:
            raise VolumeLostError(name.name)
        ways = list(_of_claim(cluster, claim))
        if ways and found:
            both = [(one, other) for one in found for other in ways]
            # If no combination is compatible, all are kept: then no node meets them.
            together = [pair for pair in both if pair[0].conflict(pair[1]) is None]
            found = [one.plus(other) for one, other in together or both]
        elif ways:
            found = ways
    return found


def _of_claim(cluster: Cluster, claim: PersistentVolumeClaim) -> Iterator[Requirements]:
    if claim.spec.volume_name:
        volume = cluster.get(PersistentVolume, claim.spec.volume_name)
        if volume is None:
            raise VolumeLostError(claim.spec.volume_name)
        yield from _of_volume(volume)
    elif _class(claim):
        found = cluster.get(StorageClass, _class(claim))
        if found is None:
            raise VolumeLostError(_class(claim))
        for term in found.allowed_topologies:
            if term.match_label_expressions:
                expressions = term.match_label_expressions
                yield Requirements.of(requirement(each.key, IN, each.values) for each in expressions)


def _of_volume(volume: PersistentVolume) -> Iterator[Requirements]:
    affinity, spec = volume.spec.node_affinity, volume.spec
    required = affinity.required if affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        expressions = term.match_expressions
        if spec.local is not None or spec.host_path is not None:
            # The pod may move, without the data of that node.
            kept = tuple(each for each in expressions if each.key != HOSTNAME)
            if expressions and not kept:
                yield Requirements()
            expressions = kept
        if expressions:
            yield selector_requirements(expressions)


# --- limits per node -------------------------------------------------------------------------------------------------


def attached(cluster: Cluster, pod: Pod) -> Volumes | None:
    """The pod's claims by the CSI driver that attaches them; others do not count (`GetVolumes`).

    None: a volume to which one of them is bound does not exist; then no existing node is tried for the pod.
    """
    found: dict[str, set[str]] = {}
    for name in claim_names(pod):
        claim = _claim(cluster, pod, name)
        if claim is not None and claim.spec.volume_name not in ("", *cluster.all(PersistentVolume)):
            return None
        driver = _driver(cluster, claim) if claim is not None else ""
        if driver:
            found.setdefault(driver, set()).add(f"{pod.metadata.namespace}/{name.name}")
    return {driver: frozenset(claims) for driver, claims in found.items()}


def _driver(cluster: Cluster, claim: PersistentVolumeClaim) -> str:
    """The CSI driver of the claim; "" if it has none (`ResolveDriver`)."""
    if claim.spec.volume_name:
        volume = cluster.get(PersistentVolume, claim.spec.volume_name)
        if volume is None:
            return ""
        if volume.spec.csi is not None:
            return volume.spec.csi.driver
        return _EBS_DRIVER if volume.spec.aws_elastic_block_store is not None else ""
    found = cluster.get(StorageClass, _class(claim)) if _class(claim) else None
    if found is None:
        return ""
    plugin = plugin_named(found.provisioner)
    return plugin.driver if plugin is not None else found.provisioner


def merged_volumes(parts: Iterable[Volumes]) -> Volumes:
    """The union of these volumes."""
    found: dict[str, frozenset[str]] = {}
    for part in parts:
        for driver, claims in part.items():
            found[driver] = found.get(driver, frozenset()) | claims
    return found


def exceeds(used: Volumes, more: Volumes, limits: Mapping[str, int]) -> bool:
    """Whether the node would exceed its maximum number of volumes of a driver with these (`ExceedsLimits`)."""
    both: Sequence[tuple[str, frozenset[str]]] = list(merged_volumes((used, more)).items())
    return any(driver in limits and len(claims) > limits[driver] for driver, claims in both)
