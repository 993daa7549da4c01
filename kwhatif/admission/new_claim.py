"""Admission of a new PersistentVolumeClaim: defaults, the default storage class, limits and quotas.

(`plugin/pkg/admission/storage/storageclass/setdefault/admission.go`, and plugins that also apply to pods.)
"""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.limit_ranger import check_claim_limits
from kwhatif.admission.namespaces import check_namespace
from kwhatif.admission.outcome import AdmissionStep, Admitted, Denied, run_steps
from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.kube.matching.volumes import default_class, has_class
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.storage import PersistentVolumeClaim


def admit_claim(
    claim: PersistentVolumeClaim, cluster: Cluster, usage: QuotaUsage
) -> Admitted[PersistentVolumeClaim] | Denied:
    """The claim as the API server would store it, or why it is rejected; the claim is charged to `usage`."""
    admitted = run_steps(_STEPS, claim, cluster)
    if isinstance(admitted, Denied):
        return admitted
    refusal = check_claim_limits(admitted.object, cluster) or usage.charge(admitted.object)
    return admitted if refusal is None else refusal


def complete_claim(claim: PersistentVolumeClaim, cluster: Cluster) -> PersistentVolumeClaim:
    """The claim with all that admission adds, whether or not it would be admitted."""
    return _classify(default_object(claim), cluster)


def _classify(claim: PersistentVolumeClaim, cluster: Cluster) -> PersistentVolumeClaim:
    """A claim that sets no class gets the default class."""
    name = None if has_class(claim) else default_class(cluster)
    return claim if name is None else replace(claim, spec=replace(claim.spec, storage_class_name=name))


_STEPS: tuple[AdmissionStep[PersistentVolumeClaim], ...] = (
    AdmissionStep("Defaults", lambda claim, _: default_object(claim)),
    AdmissionStep("NamespaceLifecycle", lambda claim, cluster: check_namespace(claim, cluster) or claim),
    AdmissionStep("DefaultStorageClass", _classify),
)
