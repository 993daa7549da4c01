"""Deployments (`pkg/controller/deployment/`: `deployment_controller.go`, `sync.go`, `rolling.go`, `recreate.go`).

Every sync makes one kind of step. The new sizes of ReplicaSets are computed in `workloads.deployment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.controllers.contract import NOTHING, BackingOff, Create, Remove, SyncResult, Update, View, Write, earliest
from kwhatif.controllers.pods import (
    controllers_of,
    is_available,
    keys_of,
    next_available,
    owners_of_changed,
)
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.meta import LabelSelector, controller_of, created_at
from kwhatif.kube.model.pod import Pod, PodTemplateSpec, is_terminal
from kwhatif.kube.model.workload import Deployment, ReplicaSet
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.workloads.deployment import Bounds, Sized, bounds_for, is_scaling_event, replica_set_of, scale, sync
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.names import hash_of, natural_number, uid_of
from kwhatif.workloads.owners import reference
from kwhatif.workloads.removal import active
from kwhatif.workloads.template import content_of, same_template


def is_of_old_template(owner: ReplicaSet, view: View) -> bool:
    """Whether the ReplicaSet's Deployment now has another template."""
    above = controller_of(owner.metadata)
    if above is None or above.kind != "Deployment":
        return False
    deployment = view.state.cluster.get(Deployment, f"{owner.metadata.namespace}/{above.name}")
    return deployment is not None and not has_template_of(owner, deployment, view)


def has_template_of(owned: ReplicaSet, deployment: Deployment, view: View) -> bool:
    """Whether it has the Deployment's template; the result for two objects is cached."""
    memory = view.memory("Deployment", key_of(deployment))
    templates, name = (owned.spec.template, deployment.spec.template), owned.metadata.name
    known: tuple[object, object, bool] | None = memory.get(name)
    if known is not None and known[0] is templates[0] and known[1] is templates[1]:
        return known[2]
    same = same_template(*templates)
    memory[name] = (*templates, same)
    return same


def age_of(owned: ReplicaSet) -> tuple[int, str]:
    """Sort key: the oldest ReplicaSet first (`ReplicaSetsByCreationTimestamp`)."""
    return created_at(owned.metadata), owned.metadata.name


def revision_of(owned: ReplicaSet) -> int:
    """The Deployment's revision in its annotation; 0 if it has none."""
    return natural_number(owned.metadata.annotations.revision) or 0


def resized(owned: ReplicaSet, size: int, bounds: Bounds) -> ReplicaSet:
    """The ReplicaSet with another size, and annotations with the Deployment's numbers (`SetReplicasAnnotations`)."""
    meta = owned.metadata
    noted = replace(meta.annotations, desired_replicas=str(bounds.wanted), max_replicas=str(bounds.most))
    return replace(owned, metadata=replace(meta, annotations=noted), spec=replace(owned.spec, replicas=size))


def new_replica_set(deployment: Deployment, view: View) -> ReplicaSet:
    """A ReplicaSet of the Deployment's template, without pods, and with an unused name."""
    template, meta = deployment.spec.template or PodTemplateSpec(), deployment.metadata
    content = content_of(template)
    hash_ = hash_of(content)
    collisions = 0
    while view.state.cluster.get(ReplicaSet, f"{meta.namespace}/{meta.name}-{hash_}") is not None:
        collisions += 1
        hash_ = hash_of((content, collisions))
    made = replica_set_of(deployment, template, reference(deployment), f"{meta.name}-{hash_}", hash_)
    uid = uid_of("ReplicaSet", meta.namespace, made.metadata.name)
    return replace(made, metadata=replace(made.metadata, uid=uid))


#: The default of `revisionHistoryLimit`.
_HISTORY = 10


class _Set(msgspec.Struct):
    """A ReplicaSet of the Deployment during a sync."""

    obj: ReplicaSet
    #: All its pods, including finished ones.
    pods: Sequence[Pod]
    sized: Sized
    active: int
    is_made: bool = True


class Deployments(BackingOff):
    """The controller."""

    name = "Deployment"
    watches = (Deployment, ReplicaSet, Pod)

    def concerns(self, before: KubernetesObject | None, after: KubernetesObject | None, view: View) -> Iterable[str]:
        """See `Controller`."""
        match before or after:
            case Deployment():
                return keys_of(after, kind=Deployment)
            case ReplicaSet():
                return controllers_of(before, after, self.name)
            case Pod():
                sets = owners_of_changed(before, after, "ReplicaSet")
                found = (view.state.cluster.get(ReplicaSet, key) for key in sets)
                return [key for each in found for key in controllers_of(each, None, self.name)]
        return ()

    def sync(self, key: str, view: View) -> SyncResult:
        """See `Controller` (`syncDeployment`)."""
        deployment = view.state.cluster.get(Deployment, key)
        if deployment is None or deployment.metadata.deletion_timestamp is not None or _is_left_alone(deployment):
            return NOTHING
        is_known = not is_reference() and _is_steady(deployment, view)
        outcome = NOTHING if is_known else _Sync(deployment, view).outcome()
        return self.synced(key, outcome, view)


def _is_steady(deployment: Deployment, view: View) -> bool:
    """Whether a sync would write nothing and wait for nothing, which is usually the case."""
    owned, wanted = view.owned(deployment, ReplicaSet), replicas_of(deployment)
    new = next(
        (each for each in owned if replicas_of(each) == wanted and has_template_of(each, deployment, view)), None
    )
    if new is None or deployment.spec.paused or deployment.spec.min_ready_seconds:
        return False
    old, limit = [each for each in owned if each is not new], deployment.spec.revision_history_limit
    return (
        (not wanted or natural_number(new.metadata.annotations.desired_replicas) in (None, wanted))
        and revision_of(new) > max(map(revision_of, old), default=0)
        and len(old) <= (_HISTORY if limit is None else limit)
        and not any(replicas_of(each) or has_template_of(each, deployment, view) for each in old)
        and not any(each.spec.min_ready_seconds for each in owned)
    )


class _Sync:
    """One sync of one Deployment."""

    def __init__(self, deployment: Deployment, view: View) -> None:
        self._deployment = deployment
        self._view = view
        self._bounds = bounds_for(deployment, replicas_of(deployment))
        owned = sorted(view.owned(deployment, ReplicaSet), key=age_of)
        self._sets = [self._seen(each) for each in owned]
        self._new = next((each for each in self._sets if has_template_of(each.obj, deployment, view)), None)

    def _seen(self, obj: ReplicaSet) -> _Set:
        pods = self._view.pods_of(obj)
        running = active(pods)
        available = sum(is_available(pod, obj.spec.min_ready_seconds, self._view) for pod in running)
        size, noted = replicas_of(obj), obj.metadata.annotations
        sized = Sized(
            obj.metadata.name,
            size,
            min(available, size),
            natural_number(noted.desired_replicas),
            natural_number(noted.max_replicas),
        )
        return _Set(obj, pods, sized, len(running))

    def outcome(self) -> SyncResult:
        """The writes of the sync, and when the next pod becomes available."""
        waiting = (
            next_available(active(each.pods), each.obj.spec.min_ready_seconds, self._view) for each in self._sets
        )
        again = earliest(*waiting)
        return SyncResult(tuple(self._writes()), again)

    def _writes(self) -> Iterator[Write]:
        deployment, bounds = self._deployment, self._bounds
        sized = [each.sized for each in self._sets]
        if deployment.spec.paused or is_scaling_event(sized, bounds.wanted):
            new = self._new.sized if self._new else None
            touched = scale(sized, new, bounds, actual=sum(each.active for each in self._sets))
            yield from self._updates({each.name for each in touched})
            if deployment.spec.paused:
                yield from self._cleanup()
            return
        yield from self._rolled() if bounds.is_rolling else self._recreated()
        if self._is_complete():
            yield from self._cleanup()

    def _rolled(self) -> Iterator[Write]:
        """`rolloutRolling`."""
        new = self._with_new()
        sync([each.sized for each in self._sets], new.sized, self._bounds)
        yield from self._updates()

    def _recreated(self) -> Iterator[Write]:
        """`rolloutRecreate`: new pods are created when every old one has finished, before it is gone."""
        old = [each for each in self._sets if each is not self._new]
        if any(each.sized.size for each in old):
            for each in old:
                each.sized.resize(0)
        elif not any(not is_terminal(pod) for each in old for pod in each.pods):
            self._with_new().sized.resize(self._bounds.wanted)
        yield from self._updates()

    def _with_new(self) -> _Set:
        """The ReplicaSet with the Deployment's template, created if necessary (`getNewReplicaSet`)."""
        if self._new is None:
            obj = new_replica_set(self._deployment, self._view)
            self._new = _Set(obj, (), Sized(obj.metadata.name, 0), 0, is_made=False)
            self._sets.append(self._new)
        return self._new

    def _updates(self, touched: Iterable[str] = ()) -> Iterator[Write]:
        """Updates of ReplicaSets; those that are scaled, or in `touched`, store the Deployment's numbers."""
        for each in self._sets:
            obj = self._revised(each) if each is self._new else each.obj
            if each.sized.size != replicas_of(obj) or each.obj.metadata.name in touched or not each.is_made:
                obj = resized(obj, each.sized.size, self._bounds)
            if not each.is_made:
                yield Create(obj)
            elif obj != each.obj:
                yield Update(obj)

    def _revised(self, new: _Set) -> ReplicaSet:
        """The new ReplicaSet with the highest revision, and the Deployment's `minReadySeconds`."""
        last = max((revision_of(each.obj) for each in self._sets if each is not new), default=0)
        obj, meta = new.obj, new.obj.metadata
        if revision_of(obj) <= last:
            meta = replace(meta, annotations=replace(meta.annotations, revision=str(last + 1)))
        spec = replace(obj.spec, min_ready_seconds=self._deployment.spec.min_ready_seconds)
        return replace(obj, metadata=meta, spec=spec)

    def _is_complete(self) -> bool:
        """`DeploymentComplete`, by the state before this sync."""
        new = self._new
        if new is None or not new.is_made:
            return False
        everything = sum(each.active for each in self._sets)
        available = sum(each.sized.available for each in self._sets)
        return new.active == everything == available == self._bounds.wanted

    def _cleanup(self) -> Iterator[Write]:
        """Delete empty old ReplicaSets beyond the history limit, the lowest revisions first (`cleanupDeployment`)."""
        old = sorted((each for each in self._sets if each is not self._new), key=lambda each: revision_of(each.obj))
        limit = self._deployment.spec.revision_history_limit
        beyond = max(0, len(old) - (_HISTORY if limit is None else limit))
        for each in old[:beyond]:
            if not each.active and not each.sized.size:
                yield Remove(ReplicaSet, key_of(each.obj))


def _is_left_alone(deployment: Deployment) -> bool:
    """Whether it is skipped: upstream skips one that selects all pods, and every stored one has a template."""
    return deployment.spec.template is None or deployment.spec.selector in (None, LabelSelector())


CONTROLLERS = (Deployments(),)
