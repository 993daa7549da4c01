"""Deployments, ReplicaSets and ReplicationControllers (`pkg/controller/deployment/rolling.go`, `recreate.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Deployment, ReplicaSet, ReplicationController
from kwhatif.workloads.controllers.deployment import Sized, bounds_of, settle
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.expansion import Expansion, ReplicaGroup
from kwhatif.workloads.owners import pods_of
from kwhatif.workloads.removal import active, is_available, removed_first, time_of
from kwhatif.workloads.replicas import expand_deployment, expand_replicas, replica_set_for
from kwhatif.workloads.rolling.update import ROLLS, UNCHANGED, Rollout, WorkloadUpdate
from kwhatif.workloads.template import same_template

Replicated = ReplicaSet | ReplicationController


def update_deployment(
    new: Deployment, known: Deployment | None, pods: Sequence[Pod], cluster: Cluster, rollout: Rollout
) -> WorkloadUpdate:
    """A changed template replaces all pods; by and by, unless the strategy is Recreate."""
    before = len(active(pods)) if known is None else replicas_of(known)
    count = before if new.spec.replicas is None else replicas_of(new)
    if known is not None and (new.spec.paused or same_template(known.spec.template, new.spec.template)):
        # A paused Deployment scales what it has.
        template = known if new.spec.paused else new
        added = expand_deployment(template, count - before, cluster)
        return scaled(pods, before, count, added, pods, time_of(cluster))
    if rollout == "end":
        return ROLLS
    if rollout == "final" or new.spec.strategy.type == "Recreate":
        return _replaced(new, pods, count, cluster)
    return _rolled(new, known, pods, count, cluster)


def _replaced(new: Deployment, pods: Sequence[Pod], count: int, cluster: Cluster) -> WorkloadUpdate:
    """The end: nothing but the new template's pods."""
    owner, _ = replica_set_for(new, cluster)
    current = [pod for pod in pods if _set_of(pod) == owner.name]
    old = [pod for pod in pods if _set_of(pod) != owner.name]
    superfluous = removed_first(current, pods, time_of(cluster))[: max(0, len(current) - count)]
    return WorkloadUpdate(
        "changed", (*removed_first(old), *superfluous), expand_deployment(new, count - len(current), cluster)
    )


def _rolled(
    new: Deployment, known: Deployment | None, pods: Sequence[Pod], count: int, cluster: Cluster
) -> WorkloadUpdate:
    """The moment at which the controller has done what it can before any new pod is ready."""
    owner, _ = replica_set_for(new, cluster)
    present = _by_set(owner.name, active(pods), new, cluster)
    after = bounds_of(new.spec.strategy.rolling_update, count)
    before = bounds_of(known.spec.strategy.rolling_update, replicas_of(known)) if known else after
    sets = [
        Sized(name, len(own), sum(map(is_available, own)), before.wanted, before.most) for name, own in present.items()
    ]
    settle(sets, next(each for each in sets if each.name == owner.name), after)
    removed: list[Pod] = []
    added: list[ReplicaGroup] = []
    for name, size in ((each.name, each.size) for each in sets):
        more = size - len(present[name])
        removed += removed_first(present[name], pods, time_of(cluster))[: max(0, -more)]
        template = new if name == owner.name else known or new
        added += _expanded(template, name, more, cluster).groups
    return WorkloadUpdate("changed", tuple(removed), Expansion(tuple(added)))


def _by_set(new: str, pods: Iterable[Pod], deployment: Deployment, cluster: Cluster) -> dict[str, list[Pod]]:
    """The pods of each ReplicaSet, the oldest one's first; one that has yet to be made has none."""
    present: dict[str, list[Pod]] = {new: []}
    for pod in pods:
        present.setdefault(_set_of(pod), []).append(pod)
    in_order = sorted(present, key=lambda name: (*_age(name, deployment, cluster), name))
    return {name: present[name] for name in in_order}


def _set_of(pod: Pod) -> str:
    owner = controller_of(pod.metadata)
    return owner.name if owner else ""


def _age(name: str, deployment: Deployment, cluster: Cluster) -> tuple[bool, str]:
    """Sorts ReplicaSets, the oldest first; what is not in the input is yet to be made."""
    known = cluster.get(ReplicaSet, f"{deployment.metadata.namespace}/{name}")
    return (True, "") if known is None else (False, known.metadata.creation_timestamp or "")


def _expanded(deployment: Deployment, name: str, count: int, cluster: Cluster) -> Expansion:
    """More pods of a ReplicaSet of the Deployment; the template is the Deployment's where the input lacks the set."""
    known = cluster.get(ReplicaSet, f"{deployment.metadata.namespace}/{name}")
    return expand_deployment(deployment, count, cluster) if known is None else expand_replicas(known, count, cluster)


def update_replicas(new: Replicated, known: Replicated | None, pods: Sequence[Pod], cluster: Cluster) -> WorkloadUpdate:
    """Only the number of pods changes: a changed template is for pods to come."""
    before = len(active(pods)) if known is None else replicas_of(known)
    count = before if new.spec.replicas is None else replicas_of(new)
    added = expand_replicas(new, count - before, cluster)
    return scaled(pods, before, count, added, _related(new, pods, cluster), time_of(cluster))


def _related(controller: Replicated, pods: Sequence[Pod], cluster: Cluster) -> Sequence[Pod]:
    """The pods of all ReplicaSets of the Deployment that controls this one (`getIndirectlyRelatedPods`)."""
    known = cluster.get(type(controller), key_of(controller)) or controller
    owner = controller_of(known.metadata)
    if owner is None:
        return ()
    deployment = cluster.get(Deployment, f"{known.metadata.namespace}/{owner.name}")
    return pods_of(deployment, cluster) if deployment is not None and owner.kind == "Deployment" else pods


def scaled(
    pods: Sequence[Pod], before: int, count: int, added: Expansion, related: Sequence[Pod], now: int | None
) -> WorkloadUpdate:
    """From `before` pods to `count`: some are added, or the first to go are removed; see `removed_first`."""
    if count == before:
        return UNCHANGED
    removed = removed_first(active(pods), related, now)[: max(0, before - count)]
    return WorkloadUpdate("scaled", tuple(removed), added)
