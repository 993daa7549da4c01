"""ResourceQuota: the usage of pods and claims, and the resulting status of quotas.

Follows `apiserver/pkg/admission/plugin/resourcequota/controller.go` (`CheckRequest`), and for the usage
`pkg/quota/v1/evaluator/core/pods.go` and `persistent_volume_claims.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, Forbidden, QuotaExceeded, forbidden
from kwhatif.admission.quota_scopes import in_scope
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
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.pod_spec import ResourceList
from kwhatif.kube.model.policy import ResourceQuota, ResourceQuotaStatus
from kwhatif.kube.model.quantity import NANO, Quantity, QuantityText, amounts, value
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.scheduler.framework.reference import is_reference

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
        # In whole bytes, rounded up.
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


class QuotaAdmission:
    """The admission plugin ResourceQuota. It returns the quotas to store, and changes nothing itself."""

    def __init__(self) -> None:
        #: The last known quotas, by key.
        self._known: dict[str, _Quota] = {}
        #: The last object, the limits of its quotas, and its charges: replicas differ only in metadata, and share them.
        self._last: tuple[Counted, Sequence[Usage], _Charges] | None = None

    def charge(self, obj: Counted, cluster: Cluster) -> Sequence[ResourceQuota] | Denied:
        """The quotas that count the object, with its usage added; or its rejection."""
        quotas = self._quotas_of(obj, cluster)
        charges = self._charges(obj, quotas)
        if charges.refusal:
            return forbidden(obj, charges.refusal, _BY_QUOTA)
        for index, usage in charges.usages:
            if exceeded := quotas[index].exceeded_by(usage):
                return _denied(obj, exceeded)
        return self._stored(quotas[index].plus(usage) for index, usage in charges.usages)

    def refuse_update(self, new: Counted, old: Counted, cluster: Cluster) -> Denied | None:
        """The rejection of an update: a required resource is not set, or the added usage exceeds a quota."""
        before, quotas = usage_of(old), self._quotas_of(new, cluster)
        charges = _charges_of(new, quotas) if quotas else _NO_CHARGES
        if charges.refusal:
            return forbidden(new, charges.refusal, _BY_QUOTA)
        for index, usage in charges.usages:
            more = {name: amount - before.get(name, 0) for name, amount in usage.items()}
            growth = {name: Quantity(amount, usage[name].notation) for name, amount in more.items() if amount > 0}
            if exceeded := quotas[index].exceeded_by(growth):
                return _denied(new, exceeded)
        return None

    def release(self, obj: Counted, cluster: Cluster) -> Sequence[ResourceQuota]:
        """The quotas that count the object, with its usage subtracted."""
        quotas = self._quotas_of(obj, cluster)
        return self._stored(quotas[index].minus(usage) for index, usage in self._charges(obj, quotas).usages)

    def recount(self, cluster: Cluster, gone: Iterable[Counted], new: Iterable[Counted]) -> Iterator[ResourceQuota]:
        """The quotas with an up-to-date status, after `gone` and `new` are counted, even beyond the limits."""
        quotas = {key: _read(quota, cluster) for key, quota in cluster.all(ResourceQuota).items() if is_counted(quota)}
        for objects, change in ((gone, _Quota.minus), (new, _Quota.plus)):
            for obj in objects:
                of_it = self._quotas_of(obj, cluster)
                for index, usage in self._charges(obj, of_it).usages:
                    key = key_of(of_it[index].stored)
                    if key in quotas:
                        quotas[key] = change(quotas[key], usage)
        return (quota.written().stored for quota in quotas.values())

    def _quotas_of(self, obj: Counted, cluster: Cluster) -> Sequence[_Quota]:
        """The quotas of its namespace."""
        keys = cluster.derived(_keys_by_namespace, ResourceQuota).keys.get(obj.metadata.namespace)
        return [self._quota(key, cluster) for key in keys] if keys else ()

    def _quota(self, key: str, cluster: Cluster) -> _Quota:
        stored, known = cluster.all(ResourceQuota)[key], self._known.get(key)
        if known is None or known.stored is not stored:
            known = self._known[key] = _read(stored, cluster)
        return known

    def _charges(self, obj: Counted, quotas: Sequence[_Quota]) -> _Charges:
        if not quotas:
            return _NO_CHARGES
        limits = [quota.hard for quota in quotas]
        last = self._last
        if last is None or is_reference() or not (_is_like(last[0], obj) and _are_same(last[1], limits)):
            last = self._last = obj, limits, _charges_of(obj, quotas)
        return last[2]

    def _stored(self, quotas: Iterable[_Quota]) -> Sequence[ResourceQuota]:
        changed = [quota.written() for quota in quotas]
        self._known.update((key_of(quota.stored), quota) for quota in changed)
        return [quota.stored for quota in changed]


def is_counted(quota: ResourceQuota) -> bool:
    """Whether the status is up to date with the spec; if not, the quota controller is about to update it."""
    if quota.status is None or not quota.status.hard:
        return False
    return not quota.spec.hard or amounts(quota.status.hard) == amounts(quota.spec.hard)


def counted(quota: ResourceQuota, cluster: Cluster) -> ResourceQuota:
    """The quota with a status as the quota controller would count it (`CalculateUsage`)."""
    return _count(quota, cluster).written().stored


class _KeysByNamespace(NamedTuple):
    """The keys of quotas; kept by `Cluster.derived`."""

    keys: Mapping[str, Sequence[str]]

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _KeysByNamespace | None:
        return None if before is None or after is None else self


def _keys_by_namespace(cluster: Cluster) -> _KeysByNamespace:
    keys: dict[str, list[str]] = {}
    for key, quota in cluster.all(ResourceQuota).items():
        keys.setdefault(quota.metadata.namespace, []).append(key)
    return _KeysByNamespace(keys)


def _is_like(obj: Counted, other: Counted) -> bool:
    same_namespace = obj.metadata.namespace == other.metadata.namespace
    return same_namespace and obj.spec is other.spec and obj.status is other.status


def _are_same(some: Sequence[object], others: Sequence[object]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


class _Quota(NamedTuple):
    """One quota: its limits and its usage."""

    stored: ResourceQuota
    hard: Usage
    used: Usage
    #: `hard`, as written in the quota.
    limits: dict[str, QuantityText]

    def counts(self, obj: Counted) -> list[str]:
        """The resources of the quota that count objects of this kind, sorted."""
        counts = counted_of_pods if isinstance(obj, Pod) else counted_of_claims
        return sorted(filter(counts, self.hard))

    def exceeded_by(self, usage: Usage) -> QuotaExceeded | None:
        """How the additional usage exceeds the quota; None if it does not."""
        exceeded = sorted(name for name in usage if self.used.get(name, 0) + usage[name] > self.hard[name])
        if not exceeded:
            return None
        listed = (_masked(given, exceeded) for given in (usage, self.used, self.hard))
        texts = ({name: str(amount) for name, amount in each.items()} for each in listed)
        return QuotaExceeded(self.stored.metadata.name, *texts)

    def plus(self, usage: Usage) -> _Quota:
        """The quota with this usage added; its status changes with `written`."""
        more = {name: self.used[name] + amount if name in self.used else amount for name, amount in usage.items()}
        return self._replace(used=self.used | more)

    def minus(self, usage: Usage) -> _Quota:
        """The quota with this usage subtracted; its status changes with `written`."""
        less = {
            name: Quantity(max(self.used[name] - usage[name], 0), self.used[name].notation)
            for name in usage.keys() & self.used.keys()
        }
        return self._replace(used=self.used | less)

    def written(self) -> _Quota:
        """The quota with its usage in its status."""
        status = ResourceQuotaStatus(hard=self.limits, used={name: str(amount) for name, amount in self.used.items()})
        return self._replace(stored=replace(self.stored, status=status))


def _read(quota: ResourceQuota, cluster: Cluster) -> _Quota:
    """The quota with the usage from its status; if that is not up to date, from the objects of its namespace."""
    status = quota.status
    if status is not None and is_counted(quota):
        return _Quota(quota, amounts(status.hard), amounts(status.used), status.hard)
    return _count(quota, cluster)


def _count(quota: ResourceQuota, cluster: Cluster) -> _Quota:
    hard = amounts(quota.spec.hard)
    used = {name: Quantity(0) for name in hard if counted_of_pods(name) or counted_of_claims(name)}
    found = _Quota(quota, hard, used, quota.spec.hard)
    for obj in _objects_in(quota.metadata.namespace, cluster) if used else ():
        if in_scope(quota.spec, obj):
            found = found.plus(_masked(usage_of(obj), used))
    return found


def _objects_in(namespace: str, cluster: Cluster) -> Iterator[Counted]:
    kinds: tuple[type[Pod | PersistentVolumeClaim], ...] = (Pod, PersistentVolumeClaim)
    for kind in kinds:
        yield from (obj for obj in cluster.all(kind).values() if obj.metadata.namespace == namespace)


class _Charges(NamedTuple):
    """The usage of an object for each quota that counts it, or why it is rejected in any case."""

    refusal: str
    #: Index of the quota in the list of the namespace's quotas, and the usage.
    usages: Sequence[tuple[int, Usage]]


_NO_CHARGES = _Charges("", ())


def _charges_of(obj: Counted, quotas: Sequence[_Quota]) -> _Charges:
    refusal, usages, usage = "", [], usage_of(obj)
    for index, quota in enumerate(quotas):
        counts = quota.counts(obj)
        if not counts or not in_scope(quota.stored.spec, obj):
            continue
        refusal = refusal or _objection(quota, counts, obj)
        usages.append((index, {name: amount for name, amount in _masked(usage, quota.hard).items() if amount}))
    negative = sorted(name for name, amount in usage.items() if amount < 0)
    if negative and not refusal:
        refusal = f"quota usage is negative for resource(s): {','.join(negative)}"
    return _Charges(refusal, usages)


def usage_of(obj: Counted) -> Usage:
    """The usage of a pod or a claim, for all resources that quotas can limit."""
    return pod_usage(obj) if isinstance(obj, Pod) else claim_usage(obj)


def _objection(quota: _Quota, counts: Sequence[str], obj: Counted) -> str:
    name = quota.stored.metadata.name
    if isinstance(obj, Pod) and (missing := _missing(MUST_BE_GIVEN.intersection(counts), obj)):
        return f"failed quota: {name}: must specify {missing}"
    if not quota.used.keys() >= set(counts):
        return f"status unknown for quota: {name}, resources: {','.join(counts)}"
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


_BY_QUOTA = Forbidden("ResourceQuota")


def _denied(obj: Counted, exceeded: QuotaExceeded) -> Denied:
    listed = (exceeded.requested, exceeded.used, exceeded.limited)
    requested, used, limited = (",".join(map("=".join, amounts.items())) for amounts in listed)
    reason = f"exceeded quota: {exceeded.quota}, requested: {requested}, used: {used}, limited: {limited}"
    return forbidden(obj, reason, exceeded)
