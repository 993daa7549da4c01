"""An update is not an addition: how a workload that is applied differs from the one that is there.

A workload that the cluster has under the same name is compared with it. With an equal template only the number of
pods can change; with another one its controller replaces them, in its own way. Which pods that are, controllers say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from kwhatif.admission.outcome import Denied, InvalidObject
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import (
    FieldsNotCompared,
    ImagesNotCompared,
    OrderedPodPending,
    ReplicasKept,
    WorkloadNotInDump,
)
from kwhatif.kube.model.cluster import Cluster, ObjectRef, key_of
from kwhatif.kube.model.pod import Pod, PodStatus, is_terminal
from kwhatif.kube.model.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodSource,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from kwhatif.workloads.applied_object import Merged, merged, updated_pod
from kwhatif.workloads.applied_template import TemplateDifference, template_of
from kwhatif.workloads.daemon_set import eligible_nodes, node_of
from kwhatif.workloads.expand import expand, replicas_of
from kwhatif.workloads.job import is_finished, wanted_pods
from kwhatif.workloads.names import ordinal_of
from kwhatif.workloads.owners import pods_of
from kwhatif.workloads.removal import active
from kwhatif.workloads.stateful_set import first_to_roll, is_ordered, ordinals_of
from kwhatif.workloads.template import Expansion, ReplicaGroup, has_images, same_template

#: `end`: step by step until it is done, or hangs. `final`: the end state. `surge`: the moment with the most pods,
#: while old ones are still there.
Rollout = Literal["end", "final", "surge"]
Kind = Literal["new", "unchanged", "scaled", "changed", "restarted"]


class WorkloadUpdate(msgspec.Struct, frozen=True):
    """The difference that applying a workload makes."""

    kind: Kind
    #: The pods that are removed in any case: old ones, for those of the end state.
    removed: tuple[Pod, ...] = ()
    #: The pods of a workload that is new, or that is restarted.
    added: Expansion = Expansion()
    #: Where only the number of pods changes: how many are added; negative if pods are removed.
    more: int = 0
    #: The number of further pods, beyond those that are created one by one.
    left_out: int = 0
    #: A bare pod of the cluster, in its new form.
    pod: Pod | None = None
    #: The API server would reject the change.
    denied: Denied | None = None
    #: What had to be assumed.
    caveat: Caveat | None = None
    #: Whether pods are replaced step by step, which takes time.
    rolls: bool = False


UNCHANGED, ROLLS = WorkloadUpdate("unchanged"), WorkloadUpdate("changed", rolls=True)


def plan_update(workload: PodSource, cluster: Cluster, rollout: Rollout = "final") -> WorkloadUpdate:
    """What applying the workload changes.

    It is taken as it was written, not yet defaulted: what it leaves out stays what it is, unless it was applied before.
    """
    known = cluster.get(type(workload), key_of(workload)) if workload.metadata.name else None
    if known is not None and not isinstance(workload, Pod):
        return plan_merged(merged(workload, known), cluster, rollout)
    if isinstance(workload, Pod):
        if not isinstance(known, Pod):
            return WorkloadUpdate("new", added=expand(workload, cluster))
        return _without_images(_update_pod(workload, known), known)
    pods = pods_of(workload, cluster)
    if not pods:
        return WorkloadUpdate("new", added=expand(workload, cluster))
    caveat = WorkloadNotInDump(workload=str(ObjectRef.of(workload)), count=len(pods))
    return replace(_update(workload, None, pods, cluster, rollout), caveat=caveat)


def plan_merged(new: Merged, cluster: Cluster, rollout: Rollout = "final") -> WorkloadUpdate:
    """What changes when the cluster's workload becomes this one."""
    workload, difference = new.object, new.difference
    known: Any = cluster.get(type(workload), key_of(workload))
    update = _update(workload, known, pods_of(workload, cluster), cluster, rollout)
    update = _without_images(update, known) if difference is None else update
    caveat = update.caveat
    if caveat is None and new.keeps_number and known.spec.replicas not in (None, 1):
        # An autoscaler may own the number; but if the manifest that was applied before had one, one pod is left.
        caveat = ReplicasKept(workload=str(ObjectRef.of(workload)), replicas=known.spec.replicas)
    if caveat is None and update.kind in ("unchanged", "scaled"):
        caveat = _not_compared(workload, difference)
    return replace(update, caveat=caveat)


def restart(workload: PodSource, cluster: Cluster) -> WorkloadUpdate:
    """What a restart of the cluster's workload changes: every pod is deleted and created again.

    Nothing, for a pod that has not started yet.
    """
    if not isinstance(workload, Pod):
        return WorkloadUpdate("restarted", tuple(pods_of(workload, cluster)), expand(workload, cluster))
    if is_waiting(workload):
        return UNCHANGED
    again = ReplicaGroup(unstarted(workload), (workload.metadata.name,))
    return WorkloadUpdate("restarted", (workload,), Expansion((again,)))


def is_waiting(pod: Pod) -> bool:
    """Whether the pod is there, and has no node yet."""
    return not pod.spec.node_name and pod.metadata.deletion_timestamp is None and not is_terminal(pod)


def unstarted(pod: Pod) -> Pod:
    """The pod as it was before it was scheduled; the claims that were made for it are there still."""
    status = PodStatus(resource_claim_statuses=pod.status.resource_claim_statuses)
    return replace(
        pod,
        metadata=replace(pod.metadata, deletion_timestamp=None, deletion_grace_period_seconds=None),
        spec=replace(pod.spec, node_name=""),
        status=status,
    )


def _not_compared(workload: PodSource, difference: TemplateDifference | None) -> FieldsNotCompared | None:
    """The caveat where it cannot be said whether the template changes."""
    if difference is None:
        return FieldsNotCompared()
    if difference.kind != "unsure":
        return None
    return FieldsNotCompared(workload=str(ObjectRef.of(workload)), field=difference.field)


def _without_images(update: WorkloadUpdate, known: object) -> WorkloadUpdate:
    """With a caveat where nothing but the image may have changed, and that cannot be seen."""
    like = known if isinstance(known, Pod) else template_of(known)
    if update.kind == "changed" or like is None or has_images(like.spec):
        return update
    return replace(update, caveat=ImagesNotCompared())


# --- by kind ---------------------------------------------------------------------------------------------


def _update(new: PodSource, known: Any, pods: list[Pod], cluster: Cluster, rollout: Rollout) -> WorkloadUpdate:
    """`known`: the cluster's object of that kind and name; None where the input only has its pods."""
    match new:
        case Deployment():
            return _update_deployment(new, known, pods, rollout)
        case ReplicaSet() | ReplicationController():
            return _scaled(*_numbers(new, known, pods))  # a changed template is for pods to come
        case StatefulSet():
            return _update_stateful_set(new, known, pods, rollout)
        case DaemonSet():
            return _update_daemon_set(new, known, pods, cluster, rollout)
        case Job():
            return _update_job(new, known)
        case CronJob():
            return _update_cron_job(new, known, pods, cluster, rollout)
    raise TypeError(type(new).__name__)


def _update_pod(pod: Pod, known: Pod) -> WorkloadUpdate:
    """A pod is changed where it is, or not at all: it keeps its node."""
    found = updated_pod(pod, known)
    if isinstance(found, Denied):
        return WorkloadUpdate("changed", denied=found)
    return UNCHANGED if found is known else WorkloadUpdate("changed", pod=found)


def _numbers(new: Any, known: Any, pods: Sequence[Pod]) -> tuple[int, int]:
    """The desired number of pods, before and after."""
    before = len(active(pods)) if known is None else replicas_of(known)
    return before, before if new.spec.replicas is None else replicas_of(new)


def _scaled(before: int, after: int) -> WorkloadUpdate:
    return UNCHANGED if before == after else WorkloadUpdate("scaled", more=after - before)


def _update_deployment(
    new: Deployment, known: Deployment | None, pods: Sequence[Pod], rollout: Rollout
) -> WorkloadUpdate:
    """A changed template replaces all pods: step by step, unless the strategy is Recreate."""
    if known is not None and (new.spec.paused or same_template(known.spec.template, new.spec.template)):
        return _scaled(*_numbers(new, known, pods))  # a paused Deployment scales what it has
    return ROLLS if rollout == "end" else WorkloadUpdate("changed")


def _update_stateful_set(
    new: StatefulSet, known: StatefulSet | None, pods: Sequence[Pod], rollout: Rollout
) -> WorkloadUpdate:
    """Missing pods are made; old ones are replaced under their names, from the highest number to the partition."""
    numbered = ((ordinal_of(pod.metadata, new.metadata.name), pod) for pod in active(pods))
    by_ordinal = {ordinal: pod for ordinal, pod in numbered if ordinal is not None}
    before = set(by_ordinal) if known is None else set(ordinals_of(known, replicas_of(known)))
    count = len(before) if new.spec.replicas is None else replicas_of(new)
    after = ordinals_of(new, count)
    changed = known is None or not same_template(known.spec.template, new.spec.template)
    lowest = first_to_roll(new)
    outdated = sorted(before.intersection(after), reverse=True) if changed and lowest is not None else []
    replaced = [ordinal for ordinal in outdated if ordinal >= (lowest or 0)]
    if rollout == "end" and replaced:
        return ROLLS
    more = len([ordinal for ordinal in after if ordinal not in before])
    fewer = len(before.difference(after))
    if not more and not fewer and not replaced:
        return UNCHANGED
    return WorkloadUpdate(
        "changed" if replaced else "scaled",
        tuple(by_ordinal[ordinal] for ordinal in replaced if ordinal in by_ordinal) if rollout == "final" else (),
        more=more or -fewer,
        caveat=_stuck(new, by_ordinal),
    )


def _stuck(new: StatefulSet, by_ordinal: Mapping[int, Pod]) -> OrderedPodPending | None:
    """A pod that is pending in the cluster blocks the others; whether it will run is another question."""
    waiting = [pod.metadata.name for _, pod in sorted(by_ordinal.items()) if not pod.spec.node_name]
    if not waiting or not is_ordered(new):
        return None
    return OrderedPodPending(workload=f"StatefulSet {key_of(new)}", pod=waiting[0])


def _update_daemon_set(
    new: DaemonSet, known: DaemonSet | None, pods: Sequence[Pod], cluster: Cluster, rollout: Rollout
) -> WorkloadUpdate:
    """Pods are replaced node by node; nodes that the new template leaves lose theirs, new ones get one at once."""
    if known is not None and same_template(known.spec.template, new.spec.template):
        return UNCHANGED
    on_delete = new.spec.update_strategy.type == "OnDelete"
    if rollout == "end" and not on_delete:
        return ROLLS
    if rollout != "final" or on_delete:
        return WorkloadUpdate("changed")
    wanted = set(eligible_nodes(new, cluster))
    return WorkloadUpdate("changed", tuple(pod for pod in pods if node_of(pod) in wanted))


def _update_job(new: Job, known: Job | None) -> WorkloadUpdate:
    """The template of a Job cannot be changed; how many pods it runs at once can, until it has finished."""
    if known is None:
        return UNCHANGED
    if not same_template(known.spec.template, new.spec.template) and not known.spec.suspend:
        # Where `{…}` stands, the API server prints the whole new template as JSON: with commands and environment, which
        # the model does not have, and which is not worth reading.
        message = f'Job.batch "{new.metadata.name}" is invalid: spec.template: Invalid value: {{…}}: field is immutable'
        return WorkloadUpdate("changed", denied=Denied(message, InvalidObject()))
    done = known.status.succeeded
    # Once a pod of a Job without `completions` has succeeded, the Job creates no more pods.
    is_over = is_finished(known) or (done > 0 and new.spec.completions is None and not new.spec.suspend)
    return UNCHANGED if is_over else _scaled(wanted_pods(known.spec, done), wanted_pods(new.spec, done))


def _update_cron_job(
    new: CronJob, known: CronJob | None, pods: Sequence[Pod], cluster: Cluster, rollout: Rollout
) -> WorkloadUpdate:
    """A changed template counts from the next run on; the current run continues to its end."""
    if known is not None:
        before, after = known.spec.job_template.spec, new.spec.job_template.spec
        same = same_template(before.template, after.template) and wanted_pods(before) == wanted_pods(after)
        if new.spec.suspend or (same and not known.spec.suspend):
            return UNCHANGED
    return WorkloadUpdate("changed", tuple(pods) if rollout == "final" else (), expand(new, cluster))
