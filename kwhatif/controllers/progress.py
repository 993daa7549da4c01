"""The progress of a workload's rollout, and what its controller is waiting for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kwhatif.controllers.contract import View
from kwhatif.controllers.daemon_set import newest_revision as newest_of_daemon_set
from kwhatif.controllers.daemon_set import nodes_of
from kwhatif.controllers.deployment import is_of_old_template
from kwhatif.controllers.pods import is_available, revision_label
from kwhatif.controllers.stateful_set import moves_of, newest_revision
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kwhatif.workloads.daemon_set import bounds_of
from kwhatif.workloads.deployment import bounds_for
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.removal import active
from kwhatif.workloads.stateful_set import first_to_roll, most_unavailable, ordinals_of

Rolling = Deployment | StatefulSet | DaemonSet


class RolloutProgress(NamedTuple):
    """The progress of a rollout."""

    #: The desired number of pods of the new template, and how many of them are available.
    wanted: int
    updated: int
    #: The number of pods of the old template that are left.
    old: int
    #: `namespace/name` of the pod that the controller is waiting for; "" if there is none.
    waits_for: str
    #: The setting because of which it waits, such as `maxUnavailable 0`; "" if it is a default.
    limit: str
    done: bool


def progress_of(workload: Rolling, view: View) -> RolloutProgress:
    """The current progress; terminating pods do not count."""
    match workload:
        case Deployment():
            return _of_deployment(workload, view)
        case StatefulSet():
            return _of_stateful_set(workload, view)
        case DaemonSet():
            return _of_daemon_set(workload, view)


def _of_deployment(deployment: Deployment, view: View) -> RolloutProgress:
    sets = view.owned(deployment, ReplicaSet)
    outdated = [is_of_old_template(each, view) for each in sets]
    new = [pod for each, is_old in zip(sets, outdated, strict=True) if not is_old for pod in active(view.pods_of(each))]
    old = sum(len(active(view.pods_of(each))) for each, is_old in zip(sets, outdated, strict=True) if is_old)
    late = _late(new, deployment.spec.min_ready_seconds, view)
    bounds = bounds_for(deployment, replicas_of(deployment))
    return RolloutProgress(
        wanted=bounds.wanted,
        updated=len(new) - len(late),
        old=old,
        waits_for=late[0] if late else "",
        limit=f"maxUnavailable {bounds.unavailable}" if bounds.is_rolling else "",
        done=not old and not late and len(new) == bounds.wanted,
    )


def _late(pods: Iterable[Pod], min_ready_seconds: int, view: View) -> list[str]:
    """The keys of the pods that are not available."""
    return [key_of(pod) for pod in pods if not is_available(pod, min_ready_seconds, view)]


def _of_stateful_set(stateful_set: StatefulSet, view: View) -> RolloutProgress:
    lowest = first_to_roll(stateful_set) or 0
    ordinals = ordinals_of(stateful_set, replicas_of(stateful_set))
    updating = {f"{stateful_set.metadata.name}-{number}" for number in ordinals if number >= lowest}
    pods = [pod for pod in active(view.pods_of(stateful_set)) if pod.metadata.name in updating]
    newest = newest_revision(stateful_set, view)
    new = [pod for pod in pods if revision_label(pod) == newest]
    late = _late(new, stateful_set.spec.min_ready_seconds, view)
    waits_for = moves_of(stateful_set, view).waits_for
    most = most_unavailable(stateful_set, len(ordinals), view.state.cluster.gates)
    return RolloutProgress(
        wanted=len(updating),
        updated=len(new) - len(late),
        old=len(pods) - len(new),
        waits_for="" if waits_for is None else f"{key_of(stateful_set)}-{waits_for}",
        limit="one pod at a time" if most in (None, 1) else f"maxUnavailable {most}",
        done=waits_for is None and len(new) == len(updating) and not late,
    )


def _of_daemon_set(daemon_set: DaemonSet, view: View) -> RolloutProgress:
    wanted = sum(nodes_of(daemon_set, view).values())
    newest = newest_of_daemon_set(daemon_set, view)
    pods = active(view.pods_of(daemon_set))
    new = [pod for pod in pods if revision_label(pod) == newest]
    late = _late(new, daemon_set.spec.min_ready_seconds, view)
    _, unavailable, surge = bounds_of(daemon_set.spec.update_strategy, wanted)
    return RolloutProgress(
        wanted=wanted,
        updated=len(new) - len(late),
        old=len(pods) - len(new),
        waits_for=late[0] if late else "",
        limit=f"maxSurge {surge}" if surge else f"maxUnavailable {unavailable}",
        done=len(new) == wanted and not late and len(new) == len(pods),
    )
