"""Admission of a new PersistentVolumeClaim: defaults, the default storage class, limits and quotas.

(`plugin/pkg/admission/storage/storageclass/setdefault/admission.go`, and the plugins that judge pods, too.)
"""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.limit_ranger import check_claim_limits
from kwhatif.admission.namespaces import check_namespace
from kwhatif.admission.outcome import AdmissionStep, Admitted, Denied, run_steps
from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.matching.volumes import has_class
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import parse_time
from kwhatif.model.storage import PersistentVolumeClaim, StorageClass

_IS_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def admit_claim(
    claim: PersistentVolumeClaim, cluster: Cluster, usage: QuotaUsage
) -> Admitted[PersistentVolumeClaim] | Denied:
    """What the API server makes of a new claim, or why it refuses it; the claim is charged to `usage`."""
    admitted = run_steps(_STEPS, claim, cluster)
    if isinstance(admitted, Denied):
        return admitted
    refusal = check_claim_limits(admitted.object, cluster) or usage.charge(admitted.object)
    return admitted if refusal is None else refusal


def complete_claim(claim: PersistentVolumeClaim, cluster: Cluster) -> PersistentVolumeClaim:
    """The claim with all that admission adds, whether or not it would be let in."""
    return _classify(default_object(claim), cluster)


def _classify(claim: PersistentVolumeClaim, cluster: Cluster) -> PersistentVolumeClaim:
    """A claim that says nothing of its class is of the default one."""
    name = None if has_class(claim) else cluster.derived(_default_class, StorageClass)
    return claim if name is None else replace(claim, spec=replace(claim.spec, storage_class_name=name))


def _default_class(cluster: Cluster) -> str | None:
    """The newest of the classes that call themselves default; of several as new, the first by name."""
    defaults = [
        storage_class.metadata
        for storage_class in cluster.all(StorageClass).values()
        if any(storage_class.metadata.annotations.get(annotation) == "true" for annotation in _IS_DEFAULT)
    ]
    created = {meta.name: parse_time(meta.creation_timestamp) if meta.creation_timestamp else 0 for meta in defaults}
    return min(created, key=lambda name: (-created[name], name), default=None)


_STEPS: tuple[AdmissionStep[PersistentVolumeClaim], ...] = (
    AdmissionStep("Defaults", lambda claim, _: default_object(claim)),
    AdmissionStep("NamespaceLifecycle", lambda claim, cluster: check_namespace(claim, cluster) or claim),
    AdmissionStep("DefaultStorageClass", _classify),
)
