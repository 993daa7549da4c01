"""Deployments, ReplicaSets and ReplicationControllers: their pods, and the sizes of sets while a Deployment rolls.

(`pkg/controller/deployment/`, `pkg/controller/replicaset/replica_set.go`.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import LabelSelector, OwnerReference, controller_of
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.workload import (
    Deployment,
    ReplicaSet,
    ReplicaSetMeta,
    ReplicaSetSpec,
    ReplicationController,
    RollingUpdate,
)
from kwhatif.workloads.names import all_names, hash_of, resolved, uid_of
from kwhatif.workloads.owners import owned_by, pods_of, reference_to
from kwhatif.workloads.template import Expansion, ReplicaGroup, content_of, pod_of, same_template

HASH_LABEL = "pod-template-hash"


def expand_deployment(deployment: Deployment, count: int, cluster: Cluster) -> Expansion:
    """`count` pods of the ReplicaSet with the Deployment's template: of an existing one, else of a new one."""
    return equal_pods(pod_like(deployment, *replica_set_for(deployment, cluster)), count, cluster)


def pod_like(deployment: Deployment, owner: OwnerReference, hash_: str) -> Pod:
    """A pod of the Deployment's template, that this ReplicaSet controls."""
    template = deployment.spec.template or PodTemplateSpec()
    return pod_of(template, deployment.metadata.namespace, owner, {HASH_LABEL: hash_})


def expand_replicas(controller: ReplicaSet | ReplicationController, count: int, cluster: Cluster) -> Expansion:
    """`count` pods of the controller."""
    template = controller.spec.template or PodTemplateSpec()
    owner = reference_to(controller, cluster)
    return equal_pods(pod_of(template, controller.metadata.namespace, owner), count, cluster)


def replica_set_for(deployment: Deployment, cluster: Cluster) -> tuple[OwnerReference, str]:
    """The ReplicaSet of the Deployment's template (`FindNewReplicaSet`), and the hash in its pods' labels."""
    found = _present_replica_set(deployment, cluster)
    if found is not None:
        return found
    hash_, meta = hash_of(content_of(deployment.spec.template)), deployment.metadata
    name = f"{meta.name}-{hash_}"
    uid = uid_of("ReplicaSet", meta.namespace, name)
    return OwnerReference(kind="ReplicaSet", name=name, uid=uid, api_version="apps/v1", controller=True), hash_


def _present_replica_set(deployment: Deployment, cluster: Cluster) -> tuple[OwnerReference, str] | None:
    """One of the cluster; else the one that most pods name as their owner, if the template is still the same."""
    template = deployment.spec.template
    for candidate in owned_by("Deployment", deployment.metadata, ReplicaSet, cluster):
        if same_template(candidate.spec.template, template):
            labels = candidate.spec.template.metadata.labels if candidate.spec.template else {}
            return reference_to(candidate, cluster), labels.get(HASH_LABEL) or _end(candidate.metadata.name)
    known = cluster.get(Deployment, key_of(deployment))
    if known is None or not same_template(known.spec.template, template):
        return None
    owners = Counter(owner for pod in pods_of(deployment, cluster) if (owner := controller_of(pod.metadata)))
    if not owners:
        return None
    owner = max(owners, key=lambda owner: (owners[owner], owner.name))
    return owner, _end(owner.name)


def replica_set_of(
    deployment: Deployment, template: PodTemplateSpec, owner: OwnerReference, name: str, hash_: str
) -> ReplicaSet:
    """A ReplicaSet of the Deployment, yet without pods and a UID.

    Args:
        deployment: whose selector and `minReadySeconds` it takes over.
        template: of its pods, without the label of the hash.
        owner: the reference to the Deployment.
        name: of the ReplicaSet.
        hash_: what tells its pods from those of other ReplicaSets; "" if nothing does.
    """
    mark = {HASH_LABEL: hash_} if hash_ else {}
    labels = {**template.metadata.labels, **mark}
    selector = deployment.spec.selector or LabelSelector()
    return ReplicaSet(
        metadata=ReplicaSetMeta(
            name=name, namespace=deployment.metadata.namespace, labels=labels, owner_references=(owner,)
        ),
        spec=ReplicaSetSpec(
            replicas=0,
            selector=replace(selector, match_labels={**selector.match_labels, **mark}),
            template=replace(template, metadata=replace(template.metadata, labels=labels)),
            min_ready_seconds=deployment.spec.min_ready_seconds,
        ),
    )


def _end(name: str) -> str:
    return name.rpartition("-")[2]


def equal_pods(pod: Pod, count: int, cluster: Cluster) -> Expansion:
    """`count` pods that are like this one except for their names."""
    if count <= 0:
        return Expansion()
    return Expansion((ReplicaGroup(pod, free_names(pod, count, cluster)),))


def free_names(pod: Pod, count: int, cluster: Cluster, used: Container[str] = ()) -> tuple[str, ...]:
    """`count` names for pods like this one, none of them in use."""
    return tuple(islice(names_for(pod, cluster, used), count))


def taken_names(pod: Pod, cluster: Cluster, skip: int = 0) -> int:
    """How many of the first names for such a pod are in use without a gap; this many are already known: `skip`."""
    meta, present = pod.metadata, cluster.all(Pod)
    owner = controller_of(meta)
    for name in all_names(meta.generate_name, owner.uid if owner else "", skip):
        if f"{meta.namespace}/{name}" not in present:
            break
        skip += 1
    return skip


def names_for(pod: Pod, cluster: Cluster, used: Container[str] = (), skip: int = 0) -> Iterator[str]:
    """Unused names for pods like this one, in order, without the first `skip` of all names."""
    meta, present = pod.metadata, cluster.all(Pod)
    owner = controller_of(meta)
    names = all_names(meta.generate_name, owner.uid if owner else "", skip)
    return (name for name in names if name not in used and f"{meta.namespace}/{name}" not in present)


_QUARTER = "25%"
RECREATE = "Recreate"


class Bounds(NamedTuple):
    """How many pods a Deployment wants, and how many more and fewer there may be during a rollout."""

    wanted: int
    surge: int
    unavailable: int
    is_rolling: bool = True

    @property
    def most(self) -> int:
        """The most pods there may be."""
        return self.wanted + self.surge


def bounds_for(deployment: Deployment, count: int) -> Bounds:
    """The bounds of the Deployment with `count` replicas; one that recreates its pods has neither surge nor slack."""
    strategy = deployment.spec.strategy
    if strategy.type == RECREATE:
        return Bounds(count, 0, 0, is_rolling=False)
    return bounds_of(strategy.rolling_update, count)


def bounds_of(rolling: RollingUpdate | None, count: int) -> Bounds:
    """`ResolveFenceposts` in `util/deployment_util.go`."""
    rolling = rolling or RollingUpdate()
    surge = resolved(rolling.max_surge, count, default=_QUARTER, round_up=True)
    unavailable = resolved(rolling.max_unavailable, count, default=_QUARTER, round_up=False)
    return Bounds(count, surge, min(unavailable if surge or unavailable else 1, count))


class Sized(msgspec.Struct):
    """A ReplicaSet: how many pods it is to have, and how many of those that it has are available."""

    name: str
    size: int
    available: int = 0
    #: What its annotations say of the Deployment at the time when the set was last resized: its replicas, and with
    #: maxSurge the most pods there may be. None: nothing.
    desired: int | None = None
    most: int | None = None

    def resize(self, size: int) -> None:
        """Pods that are not available are removed first."""
        self.size, self.available = size, min(self.available, size)


def sync(sets: Sequence[Sized], new: Sized, bounds: Bounds) -> bool:
    """One step of a rolling update (`rolloutRolling`): the new ReplicaSet grows, or else the old ones shrink.

    Args:
        sets: all ReplicaSets, the oldest first.
        new: the one of the new template; it is among `sets`.
        bounds: of the Deployment.

    Returns:
        Whether anything changed; if not, the controller waits until pods get available, or is done.
    """
    return _grow(sets, new, bounds) or _shrink([each for each in sets if each is not new], new, bounds)


def is_scaling_event(sets: Iterable[Sized], wanted: int) -> bool:
    """Whether a ReplicaSet that has pods was resized for another number of replicas (`isScalingEvent`)."""
    return any(each.desired not in (None, wanted) for each in sets if each.size)


def scale(sets: Sequence[Sized], new: Sized | None, bounds: Bounds, *, actual: int = 0) -> Sequence[Sized]:
    """Distribute a changed number of pods among the ReplicaSets that have some (`scale` in `sync.go`).

    Args:
        sets: all ReplicaSets, the oldest first.
        new: the one of the Deployment's template, if there is one.
        bounds: of the Deployment. Without a rolling update, several sets that have pods stay as they are.
        actual: how many pods there are, for sets without annotations.

    Returns:
        The sets whose annotations are to be brought up to date, also where their size stays.
    """
    active = [each for each in sets if each.size]
    if len(active) < 2:
        latest = active[0] if active else new or next(reversed(sets), None)
        if latest is None or latest.size == bounds.wanted:
            # QUIRK: the annotation is not changed, so that this stays a scaling event, and nothing is ever rolled out.
            return ()
        latest.resize(bounds.wanted)
        return (latest,)
    if new is not None and new.size == new.desired == new.available == bounds.wanted:
        old = [each for each in active if each is not new]
        for each in old:
            each.resize(0)
        return old
    if bounds.is_rolling:
        _deal(active, bounds, actual)
        return active
    return ()


def _deal(active: Sequence[Sized], bounds: Bounds, actual: int) -> None:
    """In proportion to their sizes."""
    missing = (bounds.most if bounds.wanted else 0) - sum(each.size for each in active)
    limit, in_turn = (min, reversed(active)) if missing > 0 else (max, active)
    # Of equal ones the newest grows first, and the oldest shrinks first: sorting keeps the order.
    active = sorted(in_turn, key=lambda each: -each.size)
    sizes = {each.name: each.size for each in active}
    for each in active:
        share = limit(_share(each.size, each.most or actual, bounds), missing) if missing else 0
        sizes[each.name] += share
        missing -= share
    for each in active[:1]:
        sizes[each.name] = max(0, sizes[each.name] + missing)
    for each in active:
        each.resize(sizes[each.name])


def _share(size: int, most: int, after: Bounds) -> int:
    """By how much a ReplicaSet's size changes in proportion (`getReplicaSetFraction`)."""
    if not after.wanted:
        return -size
    if not most:
        return 0
    return (2 * size * after.most + most) // (2 * most) - size


def _grow(sets: Sequence[Sized], new: Sized, bounds: Bounds) -> bool:
    """`reconcileNewReplicaSet` in `rolling.go`."""
    room = bounds.most - sum(each.size for each in sets)
    size = bounds.wanted if new.size > bounds.wanted else min(bounds.wanted, new.size + max(0, room))
    if size == new.size:
        return False
    new.resize(size)
    return True


def _shrink(old: Sequence[Sized], new: Sized, bounds: Bounds) -> bool:
    """`reconcileOldReplicaSets` in `rolling.go`: pods that are not available first, then as many as may be missed."""
    total = sum(each.size for each in (*old, new))
    wanted = bounds.wanted - bounds.unavailable
    most = total - wanted - (new.size - new.available)
    if most <= 0:
        return False
    spare = sum(each.available for each in (*old, new)) - wanted
    idle = 0
    for each in old:
        gone = min(most - idle, each.size - each.available)
        each.resize(each.size - gone)
        idle += gone
    gone_too = 0
    for each in old:
        gone = max(0, min(each.size, spare - gone_too))
        each.resize(each.size - gone)
        gone_too += gone
    return idle + gone_too > 0
