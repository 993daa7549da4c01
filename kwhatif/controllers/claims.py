"""Claims that are created for pods, from ephemeral volumes and resource claim templates; and their deallocation.

(`pkg/controller/volume/ephemeral/controller.go`, `pkg/controller/resourceclaim/controller.go`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kwhatif.controllers.backoff import BackingOff
from kwhatif.controllers.contract import NOTHING, Create, Remove, SyncResult, Update, View, Write
from kwhatif.controllers.pods import controllers_of
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.resource import ResourceClaim, ResourceClaimTemplate
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.workloads.pod_claims import ephemeral_claims, with_resource_claims


class EphemeralVolumes(BackingOff):
    """A claim for every ephemeral volume; the claim of an earlier pod with that name must be gone first."""

    name = "EphemeralVolume"
    watches = (Pod, PersistentVolumeClaim)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`."""
        del view
        if isinstance(after, Pod) and before is None and any(volume.ephemeral for volume in after.spec.volumes):
            return (key_of(after),)
        return controllers_of(before, None, "Pod") if isinstance(before, PersistentVolumeClaim) and not after else ()

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller`."""
        pod = view.state.cluster.get(Pod, key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return NOTHING
        claims = tuple(ephemeral_claims(pod, view.state.cluster))
        return self.synced(key, SyncResult(tuple(map(Create, claims))), view)


class PodResourceClaims(BackingOff):
    """The claims of a pod that names templates; the pod's status has their names."""

    name = "PodResourceClaim"
    watches = (Pod, ResourceClaimTemplate)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`."""
        if isinstance(after, Pod) and before is None and after.spec.resource_claims:
            yield key_of(after)
        elif isinstance(after, ResourceClaimTemplate) and before is None:
            for key, pod in view.state.pending.items():
                entries = pod.pod.spec.resource_claims
                if any(entry.resource_claim_template_name == after.metadata.name for entry in entries):
                    yield key

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller` (`syncPod`)."""
        pod = view.state.cluster.get(Pod, key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return NOTHING
        named, claims = with_resource_claims(pod, view.state.cluster)
        writes: tuple[Write, ...] = (*map(Create, claims), Update(named)) if claims else ()
        return self.synced(key, SyncResult(writes), view)


class ResourceClaims:
    """Deallocates claims that no pod uses any more; claims that were created for a pod are deleted with it."""

    name = "ResourceClaim"
    watches = (Pod,)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`."""
        del view
        if isinstance(before, Pod) and not (isinstance(after, Pod) and not _is_done(after)):
            yield from claims_of(before)

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller` (`syncClaim`)."""
        claim = view.state.cluster.get(ResourceClaim, key)
        if claim is None:
            return NOTHING
        users = claim.status.reserved_for
        left = tuple(user for user in users if user.resource != "pods" or _may_run(user.name, user.uid, claim, view))
        owner = controller_of(claim.metadata)
        if not left and owner is not None and owner.kind == "Pod" and not _may_run(owner.name, owner.uid, claim, view):
            return SyncResult((Remove(ResourceClaim, key),))
        if left == users:
            return NOTHING
        allocation = claim.status.allocation if left else None
        return SyncResult(
            (Update(replace(claim, status=replace(claim.status, reserved_for=left, allocation=allocation))),)
        )


def claims_of(pod: Pod) -> Iterator[str]:
    """The keys of the pod's resource claims."""
    made = {status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses}
    extended = pod.status.extended_resource_claim_status
    names = [entry.resource_claim_name or made.get(entry.name) for entry in pod.spec.resource_claims]
    for name in (*names, extended.resource_claim_name if extended else None):
        if name:
            yield f"{pod.metadata.namespace}/{name}"


def _is_done(pod: Pod) -> bool:
    return is_terminal(pod) or (pod.metadata.deletion_timestamp is not None and not pod.spec.node_name)


def _may_run(name: str, uid: str, claim: ResourceClaim, view: View) -> bool:
    pod = view.state.cluster.get(Pod, f"{claim.metadata.namespace}/{name}")
    return pod is not None and not _is_done(pod) and (not uid or not pod.metadata.uid or pod.metadata.uid == uid)


CONTROLLERS = (EphemeralVolumes(), PodResourceClaims(), ResourceClaims())
