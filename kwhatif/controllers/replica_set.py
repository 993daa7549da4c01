"""ReplicaSets and ReplicationControllers (`pkg/controller/replicaset/replica_set.go`).

A pod is replaced as soon as it is terminating or finished; from then on it does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwhatif.controllers.contract import NOTHING, BackingOff, Create, DeletePod, How, SyncResult, View
from kwhatif.controllers.deployment import is_of_old_template
from kwhatif.controllers.pods import controllers_of, is_handed_over, keys_of, next_named, standing
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.meta import controller_of, parse_time
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.workload import Deployment, ReplicaSet, ReplicationController
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.owners import reference
from kwhatif.workloads.removal import active, removed_first
from kwhatif.workloads.template import pod_of

#: The maximum number of pods that one sync creates or deletes (`BurstReplicas`).
BURST = 500


class Replicas(BackingOff):
    """The controller of one of the two kinds."""

    def __init__(self, kind: type[ReplicaSet | ReplicationController]) -> None:
        self._kind = kind
        self.name = kind.__name__
        self.watches = (kind, Pod)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`. A pod that becomes ready, or is bound, does not matter."""
        del view
        if isinstance(before or after, Pod):
            keys = list(controllers_of(before, after, self.name))
            if not keys:
                return ()
            was, now = standing(before), standing(after)
            return keys if (was[:2], was[3]) != (now[:2], now[3]) or is_handed_over(before, after) else ()
        return keys_of(after, kind=self._kind)

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller` (`manageReplicas`)."""
        owner = view.state.cluster.get(self._kind, key)
        if owner is None or owner.metadata.deletion_timestamp is not None:
            return NOTHING
        missing = replicas_of(owner) - view.count_active(owner)
        if missing > 0:
            return SyncResult(tuple(map(Create, self._new_pods(owner, key, min(missing, BURST), view))))
        self.synced(key, NOTHING, view)
        if missing < 0:
            return SyncResult(tuple(self._deletions(owner, active(view.pods_of(owner)), min(-missing, BURST), view)))
        return NOTHING

    def _new_pods(self, owner: ReplicaSet | ReplicationController, key: str, count: int, view: View) -> Iterable[Pod]:
        """Upstream creates 1, 2, 4, ... at a time, and stops at the first rejected one; here one at a time."""
        pod = pod_of(owner.spec.template or PodTemplateSpec(), owner.metadata.namespace, reference(owner))
        return next_named(pod, count, view.memory(self.name, key), view)

    def _deletions(
        self, owner: ReplicaSet | ReplicationController, pods: Sequence[Pod], count: int, view: View
    ) -> Iterable[DeletePod]:
        if count < len(pods):
            pods = removed_first(pods, _related(owner, view), parse_time(view.stamp(view.now)))
        how = _reason(owner, view)
        return (DeletePod(key_of(pod), how) for pod in pods[:count])


def _related(owner: ReplicaSet | ReplicationController, view: View) -> Iterable[Pod]:
    """The pods of all ReplicaSets that the same object controls (`getIndirectlyRelatedPods`)."""
    above = controller_of(owner.metadata)
    if above is None or not isinstance(owner, ReplicaSet):
        return ()
    deployment = view.state.cluster.get(Deployment, f"{owner.metadata.namespace}/{above.name}")
    if above.kind != "Deployment" or deployment is None:
        return view.pods_of(owner)
    return [pod for each in view.owned(deployment, ReplicaSet) for pod in view.pods_of(each)]


def _reason(owner: ReplicaSet | ReplicationController, view: View) -> How:
    """Why pods are deleted: a ReplicaSet without its Deployment's template is scaled down by a rollout."""
    return "RolledOut" if isinstance(owner, ReplicaSet) and is_of_old_template(owner, view) else "ScaledDown"


CONTROLLERS = (Replicas(ReplicaSet), Replicas(ReplicationController))
