"""Deployments, ReplicaSets and ReplicationControllers (`pkg/controller/deployment/rolling.go`, `recreate.go`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import controller_of
from kwhatif.model.pod import Pod
from kwhatif.model.workload import Deployment, ReplicaSet, ReplicationController, RollingUpdate
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.expansion import Expansion
from kwhatif.workloads.replicas import expand_deployment, expand_replicas, replica_set_for
from kwhatif.workloads.rolling.removal import active, removed_first
from kwhatif.workloads.rolling.update import UNCHANGED, Rollout, Update, resolved
from kwhatif.workloads.template import same_template

_QUARTER = "25%"

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
        return scaled(pods, before, count, expand_deployment(template, count - before, cluster))
    owner, _ = replica_set_for(new, cluster)
    current = [pod for pod in pods if (found := controller_of(pod.metadata)) and found.name == owner.name]
    old = [pod for pod in pods if pod not in current]
    if rollout == "final" or new.spec.strategy.type == "Recreate":
        kept, most = 0, count
    else:
        surge, unavailable = _fenceposts(new.spec.strategy.rolling_update, count)
        kept = min(len(old), max(0, count - unavailable - len(current)))
        most = min(count, count + surge - kept)
    added = expand_deployment(new, most - len(current), cluster)
    superfluous = removed_first(current)[: max(0, len(current) - count)]
    return Update("changed", (*removed_first(old)[: len(old) - kept], *superfluous), added)


def _fenceposts(bounds: RollingUpdate | None, count: int) -> tuple[int, int]:
    """How many more, and how many fewer, pods there may be than asked for (`ResolveFenceposts`)."""
    bounds = bounds or RollingUpdate()
    surge = resolved(bounds.max_surge, count, default=_QUARTER, round_up=True)
    unavailable = resolved(bounds.max_unavailable, count, default=_QUARTER, round_up=False)
    return surge, unavailable if surge or unavailable else 1


def update_replicas(new: Replicated, known: Replicated | None, pods: Sequence[Pod], cluster: Cluster) -> Update:
    """Only the number of pods changes: a changed template is for pods to come."""
    before = len(active(pods)) if known is None else replicas_of(known)
    count = before if new.spec.replicas is None else replicas_of(new)
    return scaled(pods, before, count, expand_replicas(new, count - before, cluster))


def scaled(pods: Sequence[Pod], before: int, count: int, added: Expansion) -> Update:
    """From `before` pods to `count`: some are added, or the first to go are removed."""
    if count == before:
        return UNCHANGED
    removed = removed_first(active(pods))[: max(0, before - count)]
    return Update("scaled", tuple(removed), added)
