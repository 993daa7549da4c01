"""The usage of a pod or a claim of the resources that quotas limit.

(`pkg/quota/v1/evaluator/core/pods.go`, `persistent_volume_claims.go`.)
"""

from __future__ import annotations

from kwhatif.admission.validation.resources import is_native_resource
from kwhatif.kube.gates import BASE_RESIZES
from kwhatif.kube.matching.requests import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGEPAGES_PREFIX,
    MEMORY,
    PODS,
    is_extended_resource,
    is_pod_level_resource,
    limited,
    pod_requests,
    requested,
)
from kwhatif.kube.matching.volumes import claim_class
from kwhatif.kube.model.container import ResourceList
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.quantity import NANO, Quantity, amounts, value
from kwhatif.kube.model.storage import PersistentVolumeClaim

Usage = dict[str, Quantity]

CLAIMS, STORAGE = "persistentvolumeclaims", "requests.storage"
_POD_COUNT, _CLAIM_COUNT = "count/pods", "count/persistentvolumeclaims"
_REQUESTS, _LIMITS = "requests.", "limits."
_COMPUTE = (CPU, MEMORY, EPHEMERAL_STORAGE)
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_OF_CLASS = ".storageclass.storage.k8s.io/"
#: QUIRK: if a quota limits one of these, every container must set it.
MUST_BE_GIVEN = frozenset({CPU, MEMORY, *(prefix + name for prefix in (_REQUESTS, _LIMITS) for name in (CPU, MEMORY))})
_OF_PODS = frozenset(
    {_POD_COUNT, PODS, *_COMPUTE, *(f"{kind}{name}" for kind in (_REQUESTS, _LIMITS) for name in _COMPUTE)}
)
_ONE = Quantity(NANO)


def counted_of_pods(name: str) -> bool:
    """Whether a quota of this resource counts pods (`MatchingResources`)."""
    if name in _OF_PODS or name.startswith((HUGEPAGES_PREFIX, _REQUESTS + HUGEPAGES_PREFIX)):
        return True
    return name.startswith(_REQUESTS) and (not is_native_resource(name) or name.startswith(_REQUESTS + _DEVICE_CLASS))


def counted_of_claims(name: str) -> bool:
    """Whether a quota of this resource counts claims."""
    return name in (_CLAIM_COUNT, CLAIMS, STORAGE) or name.endswith((_OF_CLASS + CLAIMS, _OF_CLASS + STORAGE))


def pod_usage(pod: Pod) -> Usage:
    """The usage of a pod; a finished one counts only as an object."""
    usage = {_POD_COUNT: _ONE}
    return usage if is_terminal(pod) else usage | compute_usage(_requests(pod), _limits(pod))


def compute_usage(requests: Usage, limits: Usage) -> Usage:
    """Requests and limits of a pod or a container, under the resource names of quotas."""
    usage = {PODS: _ONE}
    for name in _COMPUTE:
        if name in requests:
            usage[name] = usage[_REQUESTS + name] = requests[name]
        if name in limits:
            usage[_LIMITS + name] = limits[name]
    for name, request in requests.items():
        if name.startswith(HUGEPAGES_PREFIX):
            usage[name] = usage[_REQUESTS + name] = request
        elif is_extended_resource(name) or name.startswith(_DEVICE_CLASS):
            usage[_REQUESTS + name] = request
    return usage


def claim_usage(claim: PersistentVolumeClaim) -> Usage:
    """The usage of a claim, in total and for its storage class."""
    usage = {CLAIMS: _ONE, _CLAIM_COUNT: _ONE}
    requested = amounts(claim.spec.resources.requests).get("storage")
    if requested is not None:
        # Whole bytes, rounded up.
        usage[STORAGE] = Quantity(value(requested) * NANO, requested.notation) if requested % NANO else requested
    if name := claim_class(claim):
        usage |= {f"{name}{_OF_CLASS}{kind}": usage[kind] for kind in (CLAIMS, STORAGE) if kind in usage}
    return usage


def _requests(pod: Pod) -> Usage:
    """The requests of a pod with overhead: by its containers or as a whole; if it runs, those granted by a resize."""
    requests = requested(pod.spec)
    if pod.spec.resources is not None:
        requests |= _pod_level(pod.spec.resources.requests)
    for name, amount in amounts(pod.spec.overhead).items():
        requests[name] = requests[name] + amount if name in requests else amount
    if not (pod.status.container_statuses or pod.status.init_container_statuses):
        return requests
    granted = pod_requests(pod, resizes=BASE_RESIZES)
    return {name: Quantity(nanos, requests[name].notation) for name, nanos in granted.items() if name in requests}


def _limits(pod: Pod) -> Usage:
    """The limits of a pod; overhead counts for resources with a limit."""
    limits = limited(pod.spec)
    if pod.spec.resources is not None:
        limits |= _pod_level(pod.spec.resources.limits)
    for name, amount in amounts(pod.spec.overhead).items():
        if limits.get(name):
            limits[name] += amount
    return limits


def _pod_level(resources: ResourceList) -> Usage:
    return {name: amount for name, amount in amounts(resources).items() if is_pod_level_resource(name)}
