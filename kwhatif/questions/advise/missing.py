"""What a pod lacks before it can be scheduled: claims and their volumes, room in a quota, its namespace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from kwhatif.admission.outcome import ObjectNotFound, QuotaExceeded, Refusal
from kwhatif.edits import made as edits
from kwhatif.edits.edit import Apply, Assignment, Patch
from kwhatif.kube.matching.field_errors import nearest
from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, to_text, units
from kwhatif.kube.matching.volumes import BIND_COMPLETED, claim_class, is_fully_bound, volume_class
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import AnnotatedMeta, Model, controller_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.policy import ResourceQuota
from kwhatif.kube.model.quantity import amounts, ceil_to_milli, parse_quantity
from kwhatif.kube.model.storage import (
    CSIPersistentVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    StorageClass,
    StorageRequirements,
)
from kwhatif.kube.model.workload import Job, Namespace, NamespaceMeta
from kwhatif.questions.advise.blocking import Resizable, delete_pods, job_done, owner_of_pod, pods_of_job, scale_down
from kwhatif.questions.advise.change import AdvisedChange, Amount, Revise, Spec, in_cluster, in_spec
from kwhatif.scheduler.plugins.volume_binding.provisioning import why_unbound
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.names import has_made_up_uid

# --- claims ----------------------------------------------------------------------------------------------------------

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
    old = edits.object_of(PersistentVolumeClaim, key_of(claim))
    apply = Apply(text=f"apply {old.text}", objects=(volume, written))
    data = {"apiVersion": "v1"} | msgspec.to_builtins(written)
    is_new = has_made_up_uid(claim)
    yield in_cluster(
        "claim-class",
        key_of(claim),
        edits.delete([old], ignore_not_found=True),
        apply,
        by_manifest=is_new,
        about=f"PersistentVolume {unbound.volume}",
        before=unbound.storage_class or '""',
        after=name or '""',
        data=({"apply": [data]},) if is_new else ({"delete": [old.text]}, {"apply": [data]}),
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
    return edits.patch(edits.object_of(PersistentVolumeClaim, key_of(claim)), merge)


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


# --- refused pods ----------------------------------------------------------------------------------------------------

_MI = 1 << 20


def request_less(resource: str, requested: int, cut: int) -> AdvisedChange:
    """Request `cut` less of a resource of which the whole pod requests `requested` (milli-cpu, bytes, units)."""
    left = requested - cut
    step = _MI if resource in (MEMORY, EPHEMERAL_STORAGE) and requested > 64 * _MI else 1
    return in_spec(
        "request-less",
        _limited_to(resource, left),
        # A small cut costs little, a large one a lot.
        extra=60 * cut // max(requested, 1),
        about=resource,
        before=to_text(resource, requested),
        after=to_text(resource, left),
        amount=Amount(cut, requested - 1, step, lambda more: request_less(resource, requested, more)),
    )


def units_of(resource: str, text: Any) -> int:
    """A quantity in the scheduler's units, as `kwhatif.kube.matching.requests` counts them."""
    return units(resource, ceil_to_milli(parse_quantity(text)))


def _limited_to(resource: str, most: int) -> Revise:
    """Limit the pod's total request: the container with the largest request is reduced first."""

    def revise(spec: Spec) -> None:
        overhead = units_of(resource, (spec.get("overhead") or {}).get(resource, 0))
        room = max(most - overhead, 0)
        whole = spec.get("resources")
        if whole and resource in (whole.get("requests") or {}):
            _set(whole, resource, min(_asked(whole, resource), room))
        sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
        _share([*(spec.get("containers") or ()), *sidecars], resource, room)
        beside = 0
        for container in spec.get("initContainers") or ():
            if container.get("restartPolicy") == "Always":
                beside += _of(container, resource)
            elif _of(container, resource) + beside > room:
                _set(container.setdefault("resources", {}), resource, max(room - beside, 0))

    return revise


def _share(containers: list[dict[str, Any]], resource: str, room: int) -> None:
    """Reduce the largest in turn until all fit into the room together."""
    over = sum(_of(each, resource) for each in containers) - room
    for each in sorted(containers, key=lambda each: _of(each, resource), reverse=True):
        if over <= 0:
            return
        asked = _of(each, resource)
        _set(each.setdefault("resources", {}), resource, max(asked - over, 0))
        over -= asked


def _of(container: dict[str, Any], resource: str) -> int:
    return _asked(container.get("resources") or {}, resource)


def _asked(resources: dict[str, Any], resource: str) -> int:
    """The request; without one, the limit."""
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    return units_of(resource, requests.get(resource, limits.get(resource, 0)))


def _set(resources: dict[str, Any], resource: str, amount: int) -> None:
    text = to_text(resource, amount)
    resources.setdefault("requests", {})[resource] = text
    limits = resources.get("limits") or {}
    # Extended resources and huge pages cannot be overcommitted: request and limit are equal.
    if resource in limits and ("/" in resource or resource.startswith(HUGEPAGES_PREFIX)):
        limits[resource] = text


#: The most workloads, and bare pods, that use up a quota to try.
_MOST_TRIED = 4


def refused(
    refusal: Refusal | None, namespace: str, pod: Pod | None, own: tuple[str, str], state: State
) -> Iterator[AdvisedChange]:
    """Changes for a pod that is not even created.

    Args:
        refusal: why the API server does not create it.
        namespace: that of the pod.
        pod: as its workload's template has it, if that is known.
        own: kind and name of that workload, which is not scaled down.
        state: the cluster.
    """
    if isinstance(refusal, QuotaExceeded):
        quota = state.cluster.get(ResourceQuota, f"{namespace}/{refusal.quota}")
        if quota is not None:
            amounts = PodInfo(pod).resources.requested if pod is not None else None
            requested = {name: amounts.of(name) for name in amounts.asked} if amounts is not None else {}
            yield from _of_quota(quota, refusal, requested)
        yield from _fewer_in(namespace, pod or Pod(), own, state)
    elif isinstance(refusal, ObjectNotFound) and refusal.kind == "Namespace":
        yield created("create-namespace", Namespace(metadata=NamespaceMeta(name=namespace)), namespace, "v1")


def _fewer_in(namespace: str, pod: Pod, own: tuple[str, str], state: State) -> Iterator[AdvisedChange]:
    """Free the quota: scale down workloads, wait for Jobs, delete bare pods."""
    workloads: dict[tuple[str, str], Resizable] = {}
    alone: list[PodInfo] = []
    for info in sorted(state.pods.values(), key=lambda each: (each.priority, each.key)):
        if info.namespace != namespace or is_terminal(info.pod):
            continue
        owner = owner_of_pod(info.pod, state.cluster)
        if owner is not None:
            workloads.setdefault((type(owner).__name__, owner.metadata.name), owner)
        elif controller_of(info.pod.metadata) is None:
            alone.append(info)
    others = [owner for key, owner in workloads.items() if key != own]
    for owner in others[:_MOST_TRIED]:
        yield scale_down(owner)
        if isinstance(owner, Job):
            yield job_done(owner, [each.pod for each in pods_of_job(owner, state)])
    preemptor = PodInfo(pod)
    yield from (delete_pods([each.pod], preemptor) for each in alone[:_MOST_TRIED])
    if len(alone) > 1:
        yield delete_pods([each.pod for each in alone[:_MOST_TRIED]], preemptor)


def _of_quota(quota: ResourceQuota, exceeded: QuotaExceeded, requested: dict[str, int]) -> Iterator[AdvisedChange]:
    key = key_of(quota)
    asked, used, limited = map(amounts, (exceeded.requested, exceeded.used, exceeded.limited))
    hard = {name: used[name] + asked[name] for name in asked if used.get(name, 0) + asked[name] > limited.get(name, 0)}
    values = {name: _quantity(name, nanos) for name, nanos in hard.items()}
    target = edits.object_of(ResourceQuota, key)
    yield in_cluster(
        "raise-quota",
        key,
        edits.set_fields(target, *(Assignment(("spec", "hard", name), value) for name, value in values.items())),
        about=", ".join(hard),
        before=", ".join(f"{name}={quota.spec.hard.get(name, '')}" for name in hard),
        after=", ".join(f"{name}={value}" for name, value in values.items()),
    )
    for name, needed in hard.items():
        resource = name.removeprefix("requests.")
        unit = 1_000_000 if resource == CPU else 1_000_000_000
        whole = requested.get(resource, 0)
        cut = -(-(needed - limited[name]) // unit)
        if name != "pods" and 0 < cut < whole:
            yield request_less(resource, whole, cut)


def _quantity(name: str, nanos: int) -> str:
    if nanos % 1_000_000_000:
        return f"{-(-nanos // 1_000_000)}m"
    whole = nanos // 1_000_000_000
    is_bytes = name.rpartition(".")[2] in ("memory", "storage", "ephemeral-storage")
    for suffix, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)) if is_bytes and whole else ():
        if whole % size == 0:
            return f"{whole // size}{suffix}"
    return str(whole)
