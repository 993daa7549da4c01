"""Claims that are missing, or have no volume yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from kwhatif.edits.edit import Apply, DeleteObjects, Patch
from kwhatif.edits.words import reference
from kwhatif.kube.matching.field_errors import nearest
from kwhatif.kube.matching.volumes import BIND_COMPLETED, claim_class, is_fully_bound, volume_class
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import AnnotatedMeta, Model
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.quantity import parse_quantity
from kwhatif.kube.model.storage import (
    CSIPersistentVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    StorageClass,
    StorageRequirements,
)
from kwhatif.questions.advise.change import AdvisedChange, in_cluster, in_spec
from kwhatif.scheduler.plugins.volume_binding.provisioning import why_unbound
from kwhatif.state.state import State
from kwhatif.workloads.generated import has_made_up_uid

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def missing_claims(pod: Pod, state: State) -> Iterator[AdvisedChange]:
    """For a missing claim that the pod names: another name, or the claim."""
    claims, namespace = state.cluster.all(PersistentVolumeClaim), pod.metadata.namespace
    for volume in pod.spec.volumes:
        name = volume.persistent_volume_claim.claim_name if volume.persistent_volume_claim else ""
        claim = claims.get(f"{namespace}/{name}") if name else None
        if claim is not None and not is_fully_bound(claim):
            yield from _of_other_class(claim, state)
            if not claim.spec.volume_name:  # else it gets that volume, or none
                yield from _bound(claim, state)
            return
        if not name or claim is not None:
            continue
        known = [claim.metadata.name for claim in claims.values() if claim.metadata.namespace == namespace]
        for near in nearest(name, known)[:1]:
            yield _other_claim(name, near)
        yield _new_claim(namespace, name, state)
        return


def _of_other_class(claim: PersistentVolumeClaim, state: State) -> Iterator[AdvisedChange]:
    """The claim recreated with the class of the volume that it names or nearly matches: only the class differs.

    The class of a claim cannot be changed: an existing claim must be deleted first.
    """
    unbound = why_unbound(claim, state.cluster)
    volume = state.cluster.get(PersistentVolume, unbound.volume)
    if volume is None or [each.field for each in unbound.mismatches] != ["storageClassName"]:
        return
    name = volume_class(volume)
    written = replace(
        claim,
        metadata=replace(claim.metadata, uid="", creation_timestamp=None),
        spec=replace(claim.spec, storage_class_name=name),
    )
    old = f"persistentvolumeclaim/{key_of(claim)}"
    delete = DeleteObjects(text=f"delete {old}", objects=(reference(old),), ignore_not_found=True)
    apply = Apply(text=f"apply {old}", objects=(volume, written))
    data = {"apiVersion": "v1"} | msgspec.to_builtins(written)
    is_new = has_made_up_uid(claim)
    yield in_cluster(
        "claim-class",
        key_of(claim),
        delete,
        apply,
        by_manifest=is_new,
        about=f"PersistentVolume {unbound.volume}",
        before=unbound.storage_class or '""',
        after=name or '""',
        data=({"apply": [data]},) if is_new else ({"delete": [old]}, {"apply": [data]}),
    )


def _bound(claim: PersistentVolumeClaim, state: State) -> Iterator[AdvisedChange]:
    """Bind the claim to the smallest free volume of its class that is large enough.

    Its controller does that by itself if it works: its events say why it has not.
    """
    needed = parse_quantity(claim.spec.resources.requests.get("storage", 0))
    free = [
        volume
        for volume in state.cluster.all(PersistentVolume).values()
        if volume.spec.claim_ref is None
        and (volume.spec.storage_class_name or "") == (claim.spec.storage_class_name or "")
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
        and parse_quantity(volume.spec.capacity.get("storage", 0)) >= needed
    ]
    for volume in sorted(free, key=lambda each: (parse_quantity(each.spec.capacity["storage"]), each.metadata.name))[
        :1
    ]:
        name = volume.metadata.name
        yield in_cluster("bind-claim", key_of(claim), _binding(claim, name), after=name)
    storage_class = state.cluster.get(StorageClass, claim_class(claim))
    if storage_class is not None and storage_class.provisioner not in ("", _NO_PROVISIONER):
        yield _provisioned(claim, storage_class)


def _binding(claim: PersistentVolumeClaim, volume: str) -> Patch:
    merge = {
        "metadata": {"annotations": {BIND_COMPLETED: "yes"}},
        "spec": {"volumeName": volume},
        "status": {"phase": "Bound"},
    }
    name = f"persistentvolumeclaim/{key_of(claim)}"
    text = f"patch {name} '{json.dumps(merge, separators=(',', ':'))}'"
    return Patch(text=text, object=reference(name), merge=merge)


def _provisioned(claim: PersistentVolumeClaim, storage_class: StorageClass) -> AdvisedChange:
    """Once its class has provisioned a volume; here one that every node can reach."""
    name = f"pvc-{claim.metadata.namespace}-{claim.metadata.name}"
    volume = PersistentVolume(
        metadata=AnnotatedMeta(name=name),
        spec=PersistentVolumeSpec(
            capacity={"storage": claim.spec.resources.requests.get("storage", "1Gi")},
            access_modes=claim.spec.access_modes,
            storage_class_name=storage_class.metadata.name,
            csi=CSIPersistentVolumeSource(driver=storage_class.provisioner, volume_handle=name),
        ),
    )
    patch = _binding(claim, name)
    data = {"apiVersion": "v1"} | msgspec.to_builtins(volume)
    return in_cluster(
        "claim-bound",
        key_of(claim),
        Apply(text=f"apply PersistentVolume/{name}", objects=(volume,)),
        patch,
        about=storage_class.provisioner,
        data=({"apply": [data]}, {"patch": {"object": patch.object.text, "merge": dict(patch.merge)}}),
    )


def _other_claim(before: str, after: str) -> AdvisedChange:
    def revise(spec: dict[str, object]) -> None:
        volumes = spec.get("volumes")
        for volume in volumes if isinstance(volumes, list) else ():
            source = volume.get("persistentVolumeClaim")
            if source and source.get("claimName") == before:
                source["claimName"] = after

    return in_spec("other-name", revise, about="PersistentVolumeClaim", before=before, after=after)


def _new_claim(namespace: str, name: str, state: State) -> AdvisedChange:
    """Use the default class, else the first one that binds when a pod comes; the size is for the user to say."""
    classes = sorted(
        state.cluster.all(StorageClass).values(),
        key=lambda each: (
            each.metadata.annotations.get(_DEFAULT_CLASS) != "true",
            each.volume_binding_mode != "WaitForFirstConsumer",
            each.metadata.name,
        ),
    )
    claim = PersistentVolumeClaim(
        metadata=AnnotatedMeta(name=name, namespace=namespace),
        spec=PersistentVolumeClaimSpec(
            access_modes=("ReadWriteOnce",),
            storage_class_name=classes[0].metadata.name if classes else None,
            resources=StorageRequirements(requests={"storage": "1Gi"}),
        ),
    )
    return created("create-claim", claim, f"{namespace}/{name}", "v1")


def created(kind: Literal["create-claim", "create-namespace"], obj: Model, target: str, version: str) -> AdvisedChange:
    """A new object."""
    data = {"apiVersion": version} | msgspec.to_builtins(obj)
    name = type(obj).__name__
    edit = Apply(text=f"apply {name}/{target}", objects=(obj,))
    return in_cluster(kind, target, edit, about=name, data=({"apply": [data]},))
