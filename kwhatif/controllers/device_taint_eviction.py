"""Device taint eviction: evicts pods from devices with NoExecute taints (`pkg/controller/devicetainteviction`).

Budgets are ignored. `tolerationSeconds` count from the taint's `timeAdded`, not from when the taint is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from kwhatif.controllers.claims import claims_of
from kwhatif.controllers.contract import NOTHING, DeletePod, SyncResult, View, earliest
from kwhatif.dra.devices import DeviceId, selects, taint_rules
from kwhatif.kube.matching.nodes import NO_EXECUTE, tolerates
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod, PodCondition
from kwhatif.kube.model.resource import (
    DeviceRequestAllocationResult,
    DeviceTaint,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceSlice,
)

#: The condition that the eviction sets in the pod's status.
_TAINTED = PodCondition(type="DisruptionTarget", status="True", reason="DeletionByDeviceTaintManager")


class DeviceTaintEviction:
    """Deletes pods whose devices have a NoExecute taint that their claims do not tolerate, or no longer tolerate.

    Its keys are pods. The status of DeviceTaintRules is left out: no rule reads it.
    """

    name = "DeviceTaintEviction"
    watches = (Pod, ResourceClaim, ResourceSlice, DeviceTaintRule)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """Pods that were bound or got claims; users of a claim, of a slice's devices, or of a rule's devices."""
        if "DRADeviceTaints" not in view.state.cluster.facts.gates:
            return ()
        changed = after or before
        if isinstance(changed, Pod):
            return self._concerned(before, changed, view)
        if isinstance(changed, ResourceClaim):
            found = (users_of(obj) for obj in (before, after) if isinstance(obj, ResourceClaim))
            return [key for keys in found for key in keys if self._may_be_due(key, view)]
        if _evicts(before) or _evicts(after):
            claims = view.state.cluster.all(ResourceClaim).values()
            return [key for claim in claims if claim.status.allocation is not None for key in users_of(claim)]
        return ()

    def _concerned(self, before: KubernetesObject | None, pod: Pod, view: View) -> Iterable[str]:
        known = before if isinstance(before, Pod) else None
        same = known is not None and (
            known.spec.node_name == pod.spec.node_name
            and known.status.resource_claim_statuses == pod.status.resource_claim_statuses
            and known.status.extended_resource_claim_status == pod.status.extended_resource_claim_status
        )
        key = key_of(pod)
        uses_claims = pod.spec.resource_claims or pod.status.extended_resource_claim_status
        is_gone = view.state.cluster.get(Pod, key) is None
        return (key,) if (not same or is_gone) and uses_claims and self._may_be_due(key, view) else ()

    def _may_be_due(self, key: str, view: View) -> bool:
        """Whether the pod must be checked: usually no device has such a taint."""
        return bool(_tainted(view.state.cluster)) or bool(view.memory(self.name, key))

    def sync(self, key: str, view: View) -> SyncResult:
        """Delete the pod, or wait until it is due; a pod is evicted only once."""
        memory = view.memory(self.name, key)
        pod = view.state.cluster.get(Pod, key)
        if pod is None or memory.get("uid", pod.metadata.uid) != pod.metadata.uid:
            memory.clear()
        due = None if pod is None or memory.get("evicted") else evicted_at(pod, view)
        if pod is None or due is None:
            return NOTHING
        memory["uid"] = pod.metadata.uid
        if due > view.now:
            return SyncResult(again=due)
        memory["evicted"] = True
        if pod.metadata.deletion_timestamp is not None:
            return NOTHING
        return SyncResult((DeletePod(key, "DeviceTaintEviction", condition=_TAINTED),))


def users_of(claim: ResourceClaim) -> Iterator[str]:
    """The keys of the pods that the claim is reserved for."""
    for user in claim.status.reserved_for:
        if user.resource == "pods":
            yield f"{claim.metadata.namespace}/{user.name}"


def evicted_at(pod: Pod, view: View) -> float | None:
    """When the taints of its devices evict the pod, in seconds since the start; None: never (`podEvictionTime`)."""
    if not pod.spec.node_name:
        return None
    cluster = view.state.cluster
    tainted = _tainted(cluster)
    claims = (cluster.get(ResourceClaim, key) for key in claims_of(pod)) if tainted else ()
    return earliest(
        *(
            _due(taint, result, view)
            for claim in claims
            if claim is not None and claim.status.allocation is not None and _is_reserved(claim, pod)
            for result in claim.status.allocation.devices.results
            for taint in tainted.of(result)
        )
    )


def _due(taint: DeviceTaint, result: DeviceRequestAllocationResult, view: View) -> float | None:
    """When the taint of a device evicts; None: it is tolerated forever. The shortest toleration counts.

    QUIRK: (claimEvictionTime) a toleration counts only if it names the effect NoExecute: one for all effects lets the
    scheduler choose the device, but the pod is evicted.
    """
    seconds = [
        toleration.toleration_seconds
        for toleration in result.tolerations
        if toleration.effect == NO_EXECUTE and tolerates(toleration, taint)
    ]
    if None in seconds:
        return None
    # Without a time the taint counts as added at the start; the API server always stores a time.
    since = 0.0 if taint.time_added is None else view.at(taint.time_added)
    return since + min((max(each, 0) for each in seconds if each is not None), default=0)


def _is_reserved(claim: ResourceClaim, pod: Pod) -> bool:
    return any(_is_for(user, pod) for user in claim.status.reserved_for)


def _is_for(user: ResourceClaimConsumerReference, pod: Pod) -> bool:
    meta = pod.metadata
    return user.resource == "pods" and user.name == meta.name and (not user.uid or user.uid == (meta.uid or user.uid))


def _evicts(obj: KubernetesObject | None) -> bool:
    """Whether a slice has such taints, or a rule sets one."""
    if isinstance(obj, DeviceTaintRule):
        return obj.spec.taint.effect == NO_EXECUTE
    return isinstance(obj, ResourceSlice) and any(map(_no_execute, (device.taints for device in obj.spec.devices)))


def _no_execute(taints: Sequence[DeviceTaint]) -> tuple[DeviceTaint, ...]:
    return tuple(taint for taint in taints if taint.effect == NO_EXECUTE)


class _Tainted(NamedTuple):
    """The NoExecute taints of devices, by slices and by rules, even for devices that are in no slice."""

    devices: Mapping[DeviceId, Sequence[DeviceTaint]]
    rules: Sequence[DeviceTaintRule]

    def __bool__(self) -> bool:
        return bool(self.devices or self.rules)

    def of(self, result: DeviceRequestAllocationResult) -> Iterator[DeviceTaint]:
        """The taints of an allocated device."""
        device = DeviceId(result.driver, result.pool, result.device)
        yield from self.devices.get(device, ())
        yield from (rule.spec.taint for rule in self.rules if selects(rule, *device))


def _tainted(cluster: Cluster) -> _Tainted:
    return cluster.derived(
        _tainted_under(frozenset(cluster.facts.gates), cluster.facts.minor), ResourceSlice, DeviceTaintRule
    )


@cache
def _tainted_under(gates: frozenset[str], minor: int) -> Callable[[Cluster], _Tainted]:
    def build(cluster: Cluster) -> _Tainted:
        rules = [rule for rule in taint_rules(cluster, gates) if rule.spec.taint.effect == NO_EXECUTE]
        return _Tainted(dict(_of_slices(cluster)), rules)

    del minor  # part of the cache key only: the cluster has the same value
    return build


def _of_slices(cluster: Cluster) -> Iterator[tuple[DeviceId, tuple[DeviceTaint, ...]]]:
    """The taints in slices; only the newest generation of every pool counts."""
    slices = cluster.all(ResourceSlice).values()
    newest: dict[tuple[str, str], int] = {}
    for each in slices:
        pool = each.spec.driver, each.spec.pool.name
        newest[pool] = max(newest.get(pool, each.spec.pool.generation), each.spec.pool.generation)
    for each in slices:
        driver, pool_name = each.spec.driver, each.spec.pool.name
        for device in each.spec.devices if each.spec.pool.generation == newest[driver, pool_name] else ():
            if taints := _no_execute(device.taints):
                yield DeviceId(driver, pool_name, device.name), taints
