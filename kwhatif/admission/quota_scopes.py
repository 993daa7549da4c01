"""Which pods and claims are in the scopes of a quota (`podMatchesScopeFunc`, `pvcMatchesScopeFunc`)."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.kube.matching.requests import CPU, MEMORY
from kwhatif.kube.model.pod import Pod, pod_affinity_terms
from kwhatif.kube.model.pod_spec import ResourceRequirements
from kwhatif.kube.model.policy import ResourceQuotaSpec, ScopedSelectorRequirement
from kwhatif.kube.model.quantity import amounts
from kwhatif.kube.model.storage import PersistentVolumeClaim

#: Quotas with other scopes count nothing here, with a caveat.
KNOWN_SCOPES = frozenset(
    {
        "BestEffort",
        "CrossNamespacePodAffinity",
        "NotBestEffort",
        "NotTerminating",
        "PriorityClass",
        "Terminating",
        "VolumeAttributesClass",
    }
)


def in_scope(spec: ResourceQuotaSpec, obj: Pod | PersistentVolumeClaim) -> bool:
    """Whether the object is in every scope of the quota."""
    matches = _pod_matches if isinstance(obj, Pod) else _claim_matches
    return all(matches(requirement, obj) for requirement in _requirements(spec))  # type: ignore[arg-type]


def _requirements(spec: ResourceQuotaSpec) -> Iterator[ScopedSelectorRequirement]:
    for scope in spec.scopes:
        yield ScopedSelectorRequirement(scope_name=scope, operator="Exists")
    if spec.scope_selector is not None:
        yield from spec.scope_selector.match_expressions


def _pod_matches(requirement: ScopedSelectorRequirement, pod: Pod) -> bool:
    match requirement.scope_name:
        case "Terminating":
            return _is_terminating(pod)
        case "NotTerminating":
            return not _is_terminating(pod)
        case "BestEffort":
            return _is_best_effort(pod)
        case "NotBestEffort":
            return not _is_best_effort(pod)
        case "PriorityClass":
            return _selects(requirement, pod.spec.priority_class_name)
        case "CrossNamespacePodAffinity":
            return any(term.namespaces or term.namespace_selector is not None for term in pod_affinity_terms(pod.spec))
    return False


def _claim_matches(requirement: ScopedSelectorRequirement, claim: PersistentVolumeClaim) -> bool:
    if requirement.scope_name != "VolumeAttributesClass":
        return False
    return _selects(requirement, claim.spec.volume_attributes_class_name or "")


def _selects(requirement: ScopedSelectorRequirement, name: str) -> bool:
    """Match a name as the value of a label; without a name the label is absent."""
    match requirement.operator:
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
        case "In":
            return bool(name) and name in requirement.values
        case "NotIn":
            return not name or name not in requirement.values
    return False


def _is_terminating(pod: Pod) -> bool:
    """Whether the pod has a deadline (`activeDeadlineSeconds`)."""
    return pod.spec.active_deadline_seconds is not None and pod.spec.active_deadline_seconds >= 0


def _is_best_effort(pod: Pod) -> bool:
    """Whether neither cpu nor memory is requested or limited (`ComputePodQOS`)."""
    spec = pod.spec
    if spec.resources is not None:
        return not _says_something(spec.resources)
    return not any(_says_something(container.resources) for container in (*spec.containers, *spec.init_containers))


def _says_something(resources: ResourceRequirements) -> bool:
    given = (amounts(resources.requests), amounts(resources.limits))
    return any(amount > 0 for each in given for name, amount in each.items() if name in (CPU, MEMORY))
