"""`QuotaUsage`: the usage of quotas while pods and claims are created.

Follows `CheckRequest` in `apiserver/pkg/admission/plugin/resourcequota/controller.go`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, forbidden
from kwhatif.admission.quota.scopes import in_scope
from kwhatif.admission.validation.containers import is_native_resource
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
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.container import ResourceList
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.policy import ResourceQuota
from kwhatif.kube.model.quantity import NANO, Quantity, amounts, parse_quantity, value
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.scheduler.framework.reference import is_reference

_EXCEEDED = re.compile(
    r"exceeded quota: (?P<quota>\S+), requested: (?P<requested>.*), used: (?P<used>.*), limited: (?P<limited>.*)"
)


class Exceeded(NamedTuple):
    """A quota that is used up, and the amounts by resource, in nano-units."""

    quota: str
    requested: Mapping[str, int]
    used: Mapping[str, int]
    limited: Mapping[str, int]


def exceeded_in(message: str) -> Exceeded | None:
    """What a refusal says of a quota: the only source of what is lacking."""
    found = _EXCEEDED.search(message)
    if found is None:
        return None
    pairs = {name: [pair.partition("=") for pair in found[name].split(",")] for name in Exceeded._fields[1:]}
    amounts = {name: {key: parse_quantity(text) for key, _, text in listed} for name, listed in pairs.items()}
    return Exceeded(found["quota"], **amounts)


# The usage of a pod or a claim of the resources that quotas limit.
#
# (`pkg/quota/v1/evaluator/core/pods.go`, `persistent_volume_claims.go`.)

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


Counted = Pod | PersistentVolumeClaim


class QuotaUsage:
    """The quotas of a cluster and their current usage, which `charge` and `release` change."""

    def __init__(self, cluster: Cluster) -> None:
        """Start with the usage in the status of each quota, or count the objects if it has none."""
        self._quotas: dict[str, list[_Quota]] = {}
        quotas = cluster.all(ResourceQuota).values()
        uncounted = _by_namespace(cluster, {quota.metadata.namespace for quota in quotas if not _is_counted(quota)})
        for quota in quotas:
            namespace = quota.metadata.namespace
            self._quotas.setdefault(namespace, []).append(_Quota(quota, uncounted.get(namespace, ())))
        #: The last object and its charges: replicas differ only in metadata, and so share them.
        self._last: tuple[Counted, _Charges] | None = None

    def fork(self) -> QuotaUsage:
        """An independent copy."""
        other = copy(self)
        other._quotas = {namespace: [quota.fork() for quota in quotas] for namespace, quotas in self._quotas.items()}
        other._last = None
        return other

    def charge(self, obj: Counted) -> Denied | None:
        """Charge the object to every quota that counts it; or reject it, and charge nothing."""
        quotas = self._quotas.get(obj.metadata.namespace)
        if not quotas:
            return None
        charges = self._charges(obj, quotas)
        if charges.refusal:
            return forbidden(obj, charges.refusal)
        for quota, usage in charges.usages:
            if refusal := quota.exceeded_by(usage):
                return forbidden(obj, refusal)
        for quota, usage in charges.usages:
            quota.add(usage)
        return None

    def refuse_update(self, new: Counted, old: Counted) -> Denied | None:
        """Why what the object has more than before exceeds a quota: only the difference is charged; nothing changes."""
        before, quotas = usage_of(old), self._quotas.get(new.metadata.namespace)
        for quota, usage in _Charges(new, quotas).usages if quotas else ():
            more = {name: amount - before.get(name, 0) for name, amount in usage.items()}
            growth = {name: Quantity(amount, usage[name].notation) for name, amount in more.items() if amount > 0}
            if refusal := quota.exceeded_by(growth):
                return forbidden(new, refusal)
        return None

    def release(self, obj: Counted) -> None:
        """Release the usage of a removed object."""
        for quota, usage in self._usages(obj):
            quota.subtract(usage)

    def count_again(self, namespace: str, cluster: Cluster) -> None:
        """Count all objects of the namespace again, because one of its quotas was added, changed or deleted."""
        objects = _by_namespace(cluster, {namespace})[namespace]
        quotas = (quota for quota in cluster.all(ResourceQuota).values() if quota.metadata.namespace == namespace)
        self._quotas[namespace] = [_Quota(replace(quota, status=None), objects) for quota in quotas]
        self._last = None

    def recounted(self, gone: Iterable[Counted], new: Iterable[Counted]) -> Iterator[ResourceQuota]:
        """The quotas whose status changes if `gone` are removed and `new` are added, even beyond the limits."""
        for obj in gone:
            self.release(obj)
        for obj in new:
            for quota, usage in self._usages(obj):
                quota.add(usage)
        for quota in chain.from_iterable(self._quotas.values()):
            stored, used = quota.stored, {name: str(amount) for name, amount in quota.used.items()}
            if stored.status is not None and _is_counted(stored) and amounts(stored.status.used) != amounts(used):
                yield replace(stored, status=replace(stored.status, used=used))

    def _usages(self, obj: Counted) -> Sequence[tuple[_Quota, Usage]]:
        """The usage of the object for each quota that counts it."""
        quotas = self._quotas.get(obj.metadata.namespace)
        return self._charges(obj, quotas).usages if quotas else ()

    def _charges(self, obj: Counted, quotas: Sequence[_Quota]) -> _Charges:
        if is_reference() or self._last is None or not _alike(self._last[0], obj):
            self._last = (obj, _Charges(obj, quotas))
        return self._last[1]


def _is_counted(quota: ResourceQuota) -> bool:
    """Whether the status is up to date with the spec; if not, the quota controller is about to update it."""
    if quota.status is None or not quota.status.hard:
        return False
    return not quota.spec.hard or amounts(quota.status.hard) == amounts(quota.spec.hard)


def _by_namespace(cluster: Cluster, namespaces: Collection[str]) -> Mapping[str, Sequence[Counted]]:
    """The pods and claims of these namespaces."""
    found: dict[str, list[Counted]] = {namespace: [] for namespace in namespaces}
    kinds: tuple[type[Pod | PersistentVolumeClaim], ...] = (Pod, PersistentVolumeClaim) if namespaces else ()
    for kind in kinds:
        for obj in cluster.all(kind).values():
            if obj.metadata.namespace in found:
                found[obj.metadata.namespace].append(obj)
    return found


def _alike(obj: Counted, other: Counted) -> bool:
    same_namespace = obj.metadata.namespace == other.metadata.namespace
    return same_namespace and obj.spec is other.spec and obj.status is other.status


class _Quota:
    """One quota: its limits and its usage.

    The usage is that of the quota's status or, if that is not up to date, of the objects of its namespace.
    """

    def __init__(self, quota: ResourceQuota, objects: Iterable[Counted]) -> None:
        self.stored = quota
        self.name = quota.metadata.name
        self.spec = quota.spec
        status = quota.status
        if status is not None and _is_counted(quota):
            self.hard, self.used = amounts(status.hard), amounts(status.used)
        else:
            self.hard, self.used = amounts(quota.spec.hard), {}
            self._count(objects)

    def _count(self, objects: Iterable[Counted]) -> None:
        """Compute the usage as the quota controller would (`CalculateUsage`)."""
        self.used = {name: Quantity(0) for name in self.hard if counted_of_pods(name) or counted_of_claims(name)}
        for obj in objects:
            if in_scope(self.spec, obj):
                self.add(_masked(usage_of(obj), self.used))

    def fork(self) -> _Quota:
        """An independent copy."""
        other = copy(self)
        other.used = self.used.copy()
        return other

    def counted(self, obj: Counted) -> list[str]:
        """The resources of the quota that count objects of this kind, sorted."""
        counts = counted_of_pods if isinstance(obj, Pod) else counted_of_claims
        return sorted(filter(counts, self.hard))

    def exceeded_by(self, usage: Usage) -> str:
        """Why the additional usage exceeds the quota; "" if it does not."""
        exceeded = [name for name in usage if self.used.get(name, 0) + usage[name] > self.hard[name]]
        if not exceeded:
            return ""
        requested, used, limited = (_listed(_masked(given, exceeded)) for given in (usage, self.used, self.hard))
        return f"exceeded quota: {self.name}, requested: {requested}, used: {used}, limited: {limited}"

    def add(self, usage: Usage) -> None:
        for name, amount in usage.items():
            self.used[name] = self.used[name] + amount if name in self.used else amount

    def subtract(self, usage: Usage) -> None:
        for name in usage.keys() & self.used.keys():
            used = self.used[name]
            self.used[name] = Quantity(max(used - usage[name], 0), used.notation)


class _Charges:
    """The usage of an object for each quota that counts it, or why it is rejected in any case."""

    def __init__(self, obj: Counted, quotas: Sequence[_Quota]) -> None:
        self.refusal = ""
        usage = usage_of(obj)
        self.usages: list[tuple[_Quota, Usage]] = []
        for quota in quotas:
            counted = quota.counted(obj)
            if not counted or not in_scope(quota.spec, obj):
                continue
            self.refusal = self.refusal or _objection(quota, counted, obj)
            needed = {name: amount for name, amount in _masked(usage, quota.hard).items() if amount}
            self.usages.append((quota, needed))
        negative = sorted(name for name, amount in usage.items() if amount < 0)
        if negative and not self.refusal:
            self.refusal = f"quota usage is negative for resource(s): {','.join(negative)}"


def usage_of(obj: Counted) -> Usage:
    """The usage of a pod or a claim, for all resources that quotas can limit."""
    return pod_usage(obj) if isinstance(obj, Pod) else claim_usage(obj)


def _objection(quota: _Quota, counted: Sequence[str], obj: Counted) -> str:
    if isinstance(obj, Pod) and (missing := _missing(MUST_BE_GIVEN.intersection(counted), obj)):
        return f"failed quota: {quota.name}: must specify {missing}"
    if not quota.used.keys() >= set(counted):
        return f"status unknown for quota: {quota.name}, resources: {','.join(counted)}"
    return ""


def _missing(required: Iterable[str], pod: Pod) -> str:
    """The resources that must be set, and the containers that do not set them (`podEvaluator.Constraints`)."""
    spec = pod.spec
    if spec.resources is not None and any(
        map(is_pod_level_resource, {**spec.resources.requests, **spec.resources.limits})
    ):
        return ""
    containers = (*spec.containers, *spec.init_containers)
    given = {
        container.name: compute_usage(amounts(container.resources.requests), amounts(container.resources.limits))
        for container in containers
    }
    lacking = {name: sorted(who for who, usage in given.items() if name not in usage) for name in sorted(required)}
    return "; ".join(f"{name} for: {','.join(names)}" for name, names in lacking.items() if names)


def _masked(usage: Mapping[str, Quantity], names: Iterable[str]) -> Usage:
    return {name: usage[name] for name in names if name in usage}


def _listed(usage: Usage) -> str:
    return ",".join(f"{name}={usage[name]}" for name in sorted(usage))
