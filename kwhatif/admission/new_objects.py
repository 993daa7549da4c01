"""Admission of objects other than pods: workloads, claims, volumes and devices.

A workload is only checked here: its pods are admitted later, one at a time.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.load import with_template_images
from kwhatif.admission.outcome import AdmissionStep, Admitted, Denied, run_steps
from kwhatif.admission.plugins import check_claim_limits, check_namespace
from kwhatif.admission.same import each, with_parts
from kwhatif.admission.validation.workload import validate_workload, validate_workload_update
from kwhatif.kube.matching.volumes import default_class, has_class
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.resource import Device, DeviceTaint, DeviceTaintRule, ResourceSlice
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.kube.model.workload import Workload


def check_workload(workload: Workload, cluster: Cluster) -> Denied | None:
    """The rejection of a workload, which may already exist; None if it is accepted.

    A workload that stands for a custom resource is not validated: the API server never sees it.
    """
    if workload.metadata.stands_for is not None:
        return check_namespace(workload, cluster)
    workload = default_object(workload)
    known = cluster.get(type(workload), key_of(workload))
    workload = with_template_images(workload, known)
    if known is not None:
        return validate_workload_update(workload, known)
    return check_namespace(workload, cluster) or validate_workload(workload)


def updated(obj: Any, cluster: Cluster) -> Any:
    """The object as an update stores it: with its status from the cluster, and a volume with its claim.

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


def with_times(obj: KubernetesObject, before: KubernetesObject | None, now: str) -> KubernetesObject:
    """The object with a time in every device taint (`SetDefaults_DeviceTaint`, `devicetaintrule/strategy.go`).

    If a rule's effect changes, but not its time, the time is set to now.
    """
    if isinstance(obj, DeviceTaintRule):
        taint = obj.spec.taint
        if isinstance(before, DeviceTaintRule):
            was = before.spec.taint
            kept = replace(taint, time_added=taint.time_added or was.time_added)
            is_new = kept.time_added == was.time_added and kept.effect != was.effect
            taint = replace(kept, time_added=now) if is_new else kept
        return with_parts(obj, spec=with_parts(obj.spec, taint=_timed(taint, now)))
    if isinstance(obj, ResourceSlice):
        return with_parts(obj, spec=with_parts(obj.spec, devices=each(lambda one: _device(one, now), obj.spec.devices)))
    return obj


def _device(device: Device, now: str) -> Device:
    return with_parts(device, taints=each(lambda taint: _timed(taint, now), device.taints))


def _timed(taint: DeviceTaint, now: str) -> DeviceTaint:
    return taint if taint.time_added is not None else replace(taint, time_added=now)


def admit_claim(claim: PersistentVolumeClaim, cluster: Cluster) -> Admitted[PersistentVolumeClaim] | Denied:
    """The claim as the API server would store it, or its rejection. Quotas are not checked here."""
    admitted = run_steps(_STEPS, claim, cluster)
    if isinstance(admitted, Denied):
        return admitted
    return check_claim_limits(admitted.object, cluster) or admitted


def complete_claim(claim: PersistentVolumeClaim, cluster: Cluster) -> PersistentVolumeClaim:
    """The claim with all that admission adds, whether or not it would be admitted."""
    return _classify(default_object(claim), cluster)


def _classify(claim: PersistentVolumeClaim, cluster: Cluster) -> PersistentVolumeClaim:
    """A claim that sets no class gets the default class (`plugin/pkg/admission/storage/storageclass/setdefault`)."""
    name = None if has_class(claim) else default_class(cluster)
    return claim if name is None else replace(claim, spec=replace(claim.spec, storage_class_name=name))


_STEPS: tuple[AdmissionStep[PersistentVolumeClaim], ...] = (
    AdmissionStep("Defaults", lambda claim, _: default_object(claim)),
    AdmissionStep("NamespaceLifecycle", lambda claim, cluster: check_namespace(claim, cluster) or claim),
    AdmissionStep("DefaultStorageClass", _classify),
)
