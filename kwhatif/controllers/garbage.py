"""Garbage collection of dependents, in the background (`pkg/controller/garbagecollector/garbagecollector.go`).

Only owners that are deleted during the simulation count: an owner that is missing from the input may exist. An object
with another owner is kept; orphaning (`--cascade=orphan`) is not modelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, DeletePod, Remove, SyncResult, Update, View, Write
from kwhatif.kube.matching.volumes import claim_names
from kwhatif.kube.model.cluster import KubernetesObject, ObjectRef, key_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.resource import ResourceClaim
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

#: The kinds that objects of a kind may own.
_DEPENDENTS: dict[type, tuple[type, ...]] = {
    CronJob: (Job,),
    DaemonSet: (Pod,),
    Deployment: (ReplicaSet,),
    Job: (Pod,),
    Pod: (PersistentVolumeClaim, ResourceClaim),
    ReplicaSet: (Pod,),
    ReplicationController: (Pod,),
    StatefulSet: (Pod, PersistentVolumeClaim),
}
_GONE = "gone"


class GarbageCollector:
    """The controller; its keys are deleted objects, such as `ReplicaSet shop/web-6d4`."""

    name = "GarbageCollector"
    watches = tuple(_DEPENDENTS)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`."""
        if before is None or after is not None:
            return
        if any(view.owned(before, kind) for kind in _DEPENDENTS.get(type(before), ())):
            key = str(ObjectRef.of(before))
            memory = view.memory(self.name, key)
            memory[_GONE] = (*memory.get(_GONE, ()), before)
            yield key

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller`."""
        gone: tuple[KubernetesObject, ...] = view.memory(self.name, key).pop(_GONE, ())
        if not gone:
            return NOTHING
        writes: list[Write] = []
        for owner in gone:
            for kind in _DEPENDENTS[type(owner)]:
                dependents: Sequence[Any] = view.owned(owner, kind)
                for obj in dependents:
                    writes += _collected(obj, view) if len(obj.metadata.owner_references) < 2 else ()
        return SyncResult(tuple(writes))


def _collected(obj: Any, view: View) -> Iterator[Write]:
    if obj.metadata.deletion_timestamp is not None:
        return
    if isinstance(obj, Pod):
        yield DeletePod(key_of(obj), "Garbage")
    elif isinstance(obj, PersistentVolumeClaim) and is_used(obj, view):
        marked = replace(obj.metadata, deletion_timestamp=view.stamp(view.now))
        yield Update(replace(obj, metadata=marked))
    else:
        yield Remove(type(obj), key_of(obj))


def is_used(claim: PersistentVolumeClaim, view: View) -> bool:
    """Whether an unfinished pod on a node uses the claim, so that it must be kept (`pvc_protection_controller.go`)."""
    key = key_of(claim)
    if view.state.users_of(key):
        return True
    owner = next((owner for owner in claim.metadata.owner_references if owner.kind == "Pod"), None)
    pod = view.state.cluster.get(Pod, f"{claim.metadata.namespace}/{owner.name}") if owner else None
    if pod is None or not pod.spec.node_name or is_terminal(pod):
        return False
    return any(name.name == claim.metadata.name for name in claim_names(pod))


class ClaimProtection:
    """Removes deleted claims when no pod uses them any more (`pkg/controller/volume/pvcprotection`)."""

    name = "PersistentVolumeClaimProtection"
    watches = (Pod,)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`."""
        if not isinstance(before, Pod) or (isinstance(after, Pod) and not is_terminal(after)):
            return
        for claim in claim_names(before):
            key = f"{before.metadata.namespace}/{claim.name}"
            found = view.state.cluster.get(PersistentVolumeClaim, key)
            if found is not None and found.metadata.deletion_timestamp is not None:
                yield key

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller`."""
        claim = view.state.cluster.get(PersistentVolumeClaim, key)
        if claim is None or claim.metadata.deletion_timestamp is None or is_used(claim, view):
            return NOTHING
        return SyncResult((Remove(PersistentVolumeClaim, key),))


CONTROLLERS = (GarbageCollector(), ClaimProtection())
