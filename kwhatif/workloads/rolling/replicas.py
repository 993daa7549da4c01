"""Deployments, ReplicaSets and ReplicationControllers (`pkg/controller/deployment/rolling.go`, `recreate.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.meta import OwnerReference, controller_of
from kwhatif.model.pod import Pod, PodTemplateSpec
from kwhatif.model.workload import Deployment, ReplicaSet, ReplicationController
from kwhatif.workloads.controllers.deployment import Sized, bounds_of, scale, settle, sync, sync_recreate
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.expansion import Expansion, Group
from kwhatif.workloads.owners import pods_of, reference_to
from kwhatif.workloads.removal import active, as_ready, is_available, removed_first, time_of
from kwhatif.workloads.replicas import (
    HASH_LABEL,
    expand_deployment,
    expand_replicas,
    names_for,
    pod_like,
    replica_set_for,
)
from kwhatif.workloads.rolling.roll import Progress, Step
from kwhatif.workloads.rolling.update import UNCHANGED, Rollout, Update
from kwhatif.workloads.template import pod_of, same_template

Replicated = ReplicaSet | ReplicationController


def update_deployment(
    new: Deployment, known: Deployment | None, pods: Sequence[Pod], cluster: Cluster, rollout: Rollout
) -> Update:
    """A changed template replaces all pods; by and by, unless the strategy is Recreate."""
    before = len(active(pods)) if known is None else replicas_of(known)
    count = before if new.spec.replicas is None else replicas_of(new)
    if known is not None and (new.spec.paused or same_template(known.spec.template, new.spec.template)):
        # A paused Deployment scales what it has.
        template = known if new.spec.paused else new
        added = expand_deployment(template, count - before, cluster)
        return scaled(pods, before, count, added, pods, time_of(cluster))
    if rollout == "end":
        return Update("changed", roll=DeploymentRoll(new, known, pods, count, cluster))
    if rollout == "final" or new.spec.strategy.type == "Recreate":
        return _replaced(new, pods, count, cluster)
    return _rolled(new, known, pods, count, cluster)


def _replaced(new: Deployment, pods: Sequence[Pod], count: int, cluster: Cluster) -> Update:
    """The end: nothing but the new template's pods."""
    owner, _ = replica_set_for(new, cluster)
    current = [pod for pod in pods if _set_of(pod) == owner.name]
    old = [pod for pod in pods if _set_of(pod) != owner.name]
    superfluous = removed_first(current, pods, time_of(cluster))[: max(0, len(current) - count)]
    return Update("changed", (*removed_first(old), *superfluous), expand_deployment(new, count - len(current), cluster))


def _rolled(new: Deployment, known: Deployment | None, pods: Sequence[Pod], count: int, cluster: Cluster) -> Update:
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
    added: list[Group] = []
    for name, size in ((each.name, each.size) for each in sets):
        more = size - len(present[name])
        removed += removed_first(present[name], pods, time_of(cluster))[: max(0, -more)]
        template = new if name == owner.name else known or new
        added += _expanded(template, name, more, cluster).groups
    return Update("changed", tuple(removed), Expansion(tuple(added)))


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


def update_replicas(new: Replicated, known: Replicated | None, pods: Sequence[Pod], cluster: Cluster) -> Update:
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
) -> Update:
    """From `before` pods to `count`: some are added, or the first to go are removed; see `removed_first`."""
    if count == before:
        return UNCHANGED
    removed = removed_first(active(pods), related, now)[: max(0, before - count)]
    return Update("scaled", tuple(removed), added)


def _like(deployment: Deployment, old: Pod, cluster: Cluster) -> Pod:
    """A pod of the ReplicaSet that controls the old one; of the Deployment's template where the input lacks the set."""
    owner = controller_of(old.metadata)
    name = owner.name if owner else ""
    known = cluster.get(ReplicaSet, f"{deployment.metadata.namespace}/{name}")
    if known is not None:
        return pod_of(known.spec.template or PodTemplateSpec(), known.metadata.namespace, reference_to(known, cluster))
    return pod_like(deployment, owner or OwnerReference(), old.metadata.labels.get(HASH_LABEL, ""))


class _Set(msgspec.Struct):
    """A ReplicaSet while its Deployment rolls."""

    #: What a pod of it looks like.
    pod: Pod
    names: Iterator[str]
    size: int
    pods: dict[str, Pod]
    #: Keys of the pods that are available.
    available: set[str]
    #: How many pods the API server has refused.
    refused: int = 0


class DeploymentRoll:
    """A Deployment whose template has changed; see `Roll`."""

    def __init__(
        self, new: Deployment, known: Deployment | None, pods: Sequence[Pod], count: int, cluster: Cluster
    ) -> None:
        """Set up.

        Args:
            new: as it is applied.
            known: as it is in the cluster, if it is.
            pods: those that it has.
            count: how many it is to have.
            cluster: with its ReplicaSets.
        """
        self._recreates = new.spec.strategy.type == "Recreate"
        owner, hash_ = replica_set_for(new, cluster)
        self._new = owner.name
        self._now = time_of(cluster)
        self._sets: dict[str, _Set] = {}
        for name, own in _by_set(owner.name, active(pods), new, cluster).items():
            pod = pod_like(new, owner, hash_) if name == owner.name else _like(known or new, own[0], cluster)
            available = {key_of(pod) for pod in own if is_available(pod)}
            self._sets[name] = _Set(
                pod, names_for(pod, cluster), len(own), {key_of(pod): pod for pod in own}, available
            )
        self._bounds = bounds_of(new.spec.strategy.rolling_update, count)
        self._before = bounds_of(known.spec.strategy.rolling_update, replicas_of(known)) if known else self._bounds

    def pods(self) -> list[Pod]:
        """See `Roll`."""
        return [pod for owned in self._sets.values() for pod in owned.pods.values()]

    def step(self) -> Step:
        """The Deployment's controller resizes its ReplicaSets, and these make and delete pods.

        A set whose pods were evicted may shrink without deleting any: then comes what it does after that.
        """
        while True:
            sizes = [each.size for each in self._sets.values()]
            step = self._sync()
            if not step.is_empty or sizes == [each.size for each in self._sets.values()]:
                return step

    def _sync(self) -> Step:
        before = self._before
        sized = [
            Sized(name, each.size, len(each.available), before.wanted, before.most) for name, each in self._sets.items()
        ]
        new = next(each for each in sized if each.name == self._new)
        if self._recreates:
            sync_recreate(sized, new, self._bounds.wanted)
        elif before.wanted != self._bounds.wanted:
            scale(sized, new, self._bounds)
            self._before = self._bounds
            sync(sized, new, self._bounds)
        else:
            sync(sized, new, self._bounds)
        related = self.pods()
        removed: list[Pod] = []
        added: list[Group] = []
        for each in sized:
            removed += self._resize(self._sets[each.name], each.size, related)
            added += self._missing(each.name).groups
        return Step(tuple(removed), Expansion(tuple(added)))

    def _resize(self, owned: _Set, size: int, related: Sequence[Pod]) -> list[Pod]:
        owned.size = size
        excess = len(owned.pods) - size
        owned.refused = max(0, min(owned.refused, -excess))
        gone = removed_first(list(owned.pods.values()), related, self._now)[:excess] if excess > 0 else []
        for pod in gone:
            del owned.pods[key_of(pod)]
            owned.available.discard(key_of(pod))
        return gone

    def _missing(self, name: str) -> Expansion:
        owned = self._sets[name]
        count = max(0, owned.size - len(owned.pods) - owned.refused)
        return Expansion((Group(owned.pod, tuple(islice(owned.names, count))),) if count else ())

    def made(self, pod: Pod) -> None:
        """See `Roll`."""
        self._sets[_set_of(pod)].pods[key_of(pod)] = pod

    def refused(self, pod: Pod) -> None:
        """See `Roll`."""
        self._sets[_set_of(pod)].refused += 1

    def runs(self, pod: Pod) -> None:
        """See `Roll`."""
        owned = self._sets[_set_of(pod)]
        owned.pods[key_of(pod)] = as_ready(pod)
        owned.available.add(key_of(pod))

    def gone(self, pod: Pod) -> None:
        """See `Roll`."""
        owned = self._sets[_set_of(pod)]
        owned.pods.pop(key_of(pod), None)
        owned.available.discard(key_of(pod))

    def retry(self) -> None:
        """See `Roll`."""
        for owned in self._sets.values():
            owned.refused = 0

    def progress(self) -> Progress:
        """See `Roll`."""
        new = self._sets[self._new]
        old = sum(len(owned.pods) for name, owned in self._sets.items() if name != self._new)
        updated = len(new.available)
        return Progress(
            wanted=self._bounds.wanted,
            updated=updated,
            old=old,
            waits_for=next((key for key in new.pods if key not in new.available), ""),
            limit="" if self._recreates else f"maxUnavailable {self._bounds.unavailable}",
            done=not old and updated == len(new.pods) == self._bounds.wanted,
        )
