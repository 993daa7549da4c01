"""Owners of pods that the input lacks, because it has nothing of their kind: made up of what their pods show.

Where the kind is in the input and an owner is not, that one is gone; and an owner of a custom kind is not made up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.kube.matching.nodes import NAME_FIELD
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of, lacks
from kwhatif.kube.model.meta import AnnotatedMeta, LabelSelector, ObjectMeta, Requirement
from kwhatif.kube.model.node import HOSTNAME, Node
from kwhatif.kube.model.pod import JOB_TRACKING, Pod, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm
from kwhatif.kube.model.storage import ClaimTemplate, PersistentVolumeClaim, Volume
from kwhatif.kube.model.workload import (
    DaemonSet,
    DaemonSetSpec,
    Deployment,
    Job,
    JobSpec,
    JobStatus,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    StatefulSetOrdinals,
    StatefulSetSpec,
    StatefulSetStatus,
    UpdateStrategy,
)
from kwhatif.workloads.daemon_set import eligible_nodes, node_of, own_tolerations
from kwhatif.workloads.inferred_groups import OwnedPods, pods_by_owner, template_from, without_pinning
from kwhatif.workloads.inferred_replica_sets import (
    missing_deployments,
    missing_replica_sets,
    missing_replication_controllers,
    sets_of_deployments,
)
from kwhatif.workloads.names import natural_number, ordinal_of
from kwhatif.workloads.stateful_set import CLAIM_NAME, REVISION_LABEL


def missing_stateful_sets(cluster: Cluster) -> Iterator[StatefulSet]:
    """A StatefulSet for every owner of that kind."""
    return (_made_of_stateful_sets(pods, cluster) for pods in pods_by_owner(StatefulSet, cluster))


def _made_of_stateful_sets(pods: OwnedPods, cluster: Cluster) -> StatefulSet:
    """Its pods have the ordinals from the lowest to the highest: a missing one in between is about to be created."""
    pod = pods.newest
    template = template_from(pod, pods.of_revision(pod))
    claimed = [volume for volume in pod.spec.volumes if _is_claimed(volume, pod)]
    others = tuple(volume for volume in template.spec.volumes if volume not in claimed)
    template = replace(template, spec=replace(template.spec, hostname="", subdomain="", volumes=others))
    found = (ordinal_of(each.metadata, pods.owner.name) for each in pods.active)
    numbers = sorted(number for number in found if number is not None)
    first = numbers[0] if numbers else 0
    stays = "" in pods.revisions or (len(pods.revisions) > 1 and pods.is_at_rest)
    return StatefulSet(
        api_version="apps/v1",
        metadata=ObjectMeta(
            namespace=pods.namespace, name=pods.owner.name, uid=pods.owner.uid, creation_timestamp=pods.created
        ),
        spec=StatefulSetSpec(
            replicas=numbers[-1] - first + 1 if numbers else 0,
            ordinals=StatefulSetOrdinals(start=first) if first else None,
            selector=pods.selector,
            template=template,
            service_name=pod.spec.subdomain,
            volume_claim_templates=tuple(_claim_template(volume, pod, pods.pods, cluster) for volume in claimed),
            update_strategy=UpdateStrategy(type="OnDelete") if stays else UpdateStrategy(),
        ),
        status=_status(pods),
    )


def _status(pods: OwnedPods) -> StatefulSetStatus:
    """The revisions: that of the newest pod, and the one before it where there are pods of it."""
    newest = pods.newest.metadata.labels.get(REVISION_LABEL, "")
    before = next((name for name in pods.revisions if name not in ("", newest)), newest)
    return StatefulSetStatus(
        update_revision=newest, current_revision=before, current_replicas=pods.revisions.get(before, 0)
    )


def _is_claimed(volume: Volume, pod: Pod) -> bool:
    """Whether the claim is one that the controller has made for this very pod: it has the pod's name in its own."""
    claim = volume.persistent_volume_claim
    return claim is not None and pod.metadata.name in claim.claim_name


def _claim_template(volume: Volume, newest: Pod, pods: Sequence[Pod], cluster: Cluster) -> ClaimTemplate:
    """Made of the first of its claims that the input has, without the volume."""
    claimed = volume.persistent_volume_claim
    pattern = "" if claimed is None else claimed.claim_name.replace(newest.metadata.name, "{pod}")
    notes = {} if pattern == f"{volume.name}-{{pod}}" else {CLAIM_NAME: pattern}
    for pod in pods:
        name = pattern.replace("{pod}", pod.metadata.name)
        claim = cluster.get(PersistentVolumeClaim, f"{pod.metadata.namespace}/{name}")
        if claim is not None:
            return ClaimTemplate(
                metadata=AnnotatedMeta(name=volume.name, labels=claim.metadata.labels, annotations=notes),
                spec=replace(claim.spec, volume_name=""),
            )
    return ClaimTemplate(metadata=AnnotatedMeta(name=volume.name, annotations=notes))


def missing_daemon_sets(cluster: Cluster) -> Iterator[DaemonSet]:
    """A DaemonSet for every owner of that kind."""
    return (_made_of_daemon_sets(pods, cluster) for pods in pods_by_owner(DaemonSet, cluster))


def _made_of_daemon_sets(pods: OwnedPods, cluster: Cluster) -> DaemonSet:
    """It wants a pod on each node where it has one, even a terminating or finished one: that is replaced.

    What the template's affinity demands of nodes is not known: the controller puts the name of the node in its place.
    """
    pod = pods.newest
    template = template_from(pod, pods.of_revision(pod), own_tolerations(pod.spec))
    template = replace(template, spec=without_pinning(template.spec))
    strategy = UpdateStrategy(type="OnDelete") if _stays(pods) else UpdateStrategy()
    made = DaemonSet(
        api_version="apps/v1",
        metadata=ObjectMeta(
            namespace=pods.namespace, name=pods.owner.name, uid=pods.owner.uid, creation_timestamp=pods.created
        ),
        # Without a selector the controller would do nothing.
        spec=DaemonSetSpec(
            selector=pods.selector or LabelSelector(match_labels=template.metadata.labels),
            template=template,
            update_strategy=strategy,
        ),
    )
    wanted = {node_of(each) for each in pods.pods}
    return _only_on(made, template, wanted, cluster)


def _stays(pods: OwnedPods) -> bool:
    """Whether pods of several templates are there to stay: nothing is being replaced, or none says of which it is."""
    return "" in pods.revisions or (len(pods.revisions) > 1 and pods.is_at_rest)


def _only_on(daemon_set: DaemonSet, template: PodTemplateSpec, wanted: Collection[str], cluster: Cluster) -> DaemonSet:
    """The DaemonSet with an affinity that excludes eligible nodes without one of its pods."""
    eligible = eligible_nodes(daemon_set, cluster)
    without = [name for name in eligible if name not in wanted]
    if not without:
        return daemon_set
    nodes = cluster.all(Node)
    inside = {name: nodes[name] for name in eligible if name in wanted}
    outside = {name: nodes[name] for name in without}
    terms = _by_label(inside, outside) or _by_name(inside, outside)
    spec = replace(template.spec, affinity=_with_terms(template.spec, terms))
    return replace(daemon_set, spec=replace(daemon_set.spec, template=replace(template, spec=spec)))


def _with_terms(spec: PodSpec, terms: tuple[NodeSelectorTerm, ...]) -> Affinity:
    affinity = spec.affinity or Affinity()
    node = replace(affinity.node_affinity or NodeAffinity(), required=NodeSelector(node_selector_terms=terms))
    return replace(affinity, node_affinity=node)


def _by_label(inside: Mapping[str, Node], outside: Mapping[str, Node]) -> tuple[NodeSelectorTerm, ...]:
    """A term with one label that separates the nodes as the pods do; so the labels of new nodes decide, too.

    Of several the one with the fewest values is taken; none that has a value for nearly every node.
    """
    found: list[tuple[int, str, Requirement]] = []
    keys = {key for node in (*inside.values(), *outside.values()) for key in node.metadata.labels} - {HOSTNAME}
    for key in sorted(keys):
        ours = {node.metadata.labels.get(key) for node in inside.values()}
        theirs = {node.metadata.labels.get(key) for node in outside.values()}
        if not ours.isdisjoint(theirs):
            continue
        if None not in ours:
            values = _sorted(ours)
            found.append((len(values), key, Requirement(key=key, operator="In", values=values)))
        elif None not in theirs:
            values = _sorted(theirs)
            found.append((len(values), key, Requirement(key=key, operator="NotIn", values=values)))
    few = [each for each in found if 2 * each[0] <= max(2, len(inside) if each[2].operator == "In" else len(outside))]
    return (NodeSelectorTerm(match_expressions=(min(few)[2],)),) if few else ()


def _sorted(values: Collection[str | None]) -> tuple[str, ...]:
    return tuple(sorted(value for value in values if value is not None))


def _by_name(inside: Mapping[str, Node], outside: Mapping[str, Node]) -> tuple[NodeSelectorTerm, ...]:
    """Terms with the names of these nodes, or without those of the others, whichever are fewer."""
    if len(outside) <= len(inside):
        fields = (Requirement(key=NAME_FIELD, operator="NotIn", values=(name,)) for name in sorted(outside))
        return (NodeSelectorTerm(match_fields=tuple(fields)),)
    return tuple(
        NodeSelectorTerm(match_fields=(Requirement(key=NAME_FIELD, operator="In", values=(name,)),))
        for name in sorted(inside)
    )


_UID = "batch.kubernetes.io/controller-uid"
_INDEX = "batch.kubernetes.io/job-completion-index"


def missing_jobs(cluster: Cluster) -> Iterator[Job]:
    """Jobs that the input lacks, as their pods show them; a Job whose pods have all ended has nothing left to do."""
    return (_made(pods) for pods in pods_by_owner(Job, cluster) if pods.active)


def _made(pods: OwnedPods) -> Job:
    """`parallelism` is the number of active pods, `completions` that of pods that have succeeded or still can."""
    pod = pods.newest
    template = template_from(pod, pods.pods)
    done = [each for each in pods.pods if each.status.phase == "Succeeded"]
    failed = [each for each in pods.pods if each.status.phase == "Failed"]
    indexes = {index for each in (*done, *pods.active) if (index := _index_of(each)) is not None}
    return Job(
        api_version="batch/v1",
        metadata=ObjectMeta(
            namespace=pods.namespace, name=pods.owner.name, uid=pods.owner.uid, creation_timestamp=pods.created
        ),
        spec=JobSpec(
            parallelism=len(pods.active),
            completions=max(indexes) + 1 if indexes else len(done) + len(pods.active),
            completion_mode="Indexed" if indexes else None,
            selector=_selector(pods),
            template=replace(template, spec=replace(template.spec, hostname="") if indexes else template.spec),
        ),
        status=JobStatus(
            succeeded=sum(map(_is_counted, done)),
            failed=sum(map(_is_counted, failed)),
            completed_indexes=_runs(
                {index for each in done if _is_counted(each) if (index := _index_of(each)) is not None}
            ),
            start_time=pods.created,
        ),
    )


def _selector(pods: OwnedPods) -> LabelSelector | None:
    """The label that the API server gives to the pods of a Job; hand-written ones may lack it."""
    own = {_UID: pods.owner.uid}
    has_own = all(own.items() <= pod.metadata.labels.items() for pod in pods.pods)
    return LabelSelector(match_labels=own) if has_own else pods.selector


def _is_counted(pod: Pod) -> bool:
    """Whether the controller has counted the finished pod: then it has removed its finalizer."""
    return JOB_TRACKING not in pod.metadata.finalizers


def _index_of(pod: Pod) -> int | None:
    return natural_number(pod.metadata.annotations.completion_index or pod.metadata.labels.get(_INDEX, ""))


def _runs(indexes: set[int]) -> str:
    return ",".join(map(str, sorted(indexes)))


_OF_PODS: Mapping[type, Callable[[Cluster], Iterable[KubernetesObject]]] = {
    ReplicationController: missing_replication_controllers,
    DaemonSet: missing_daemon_sets,
    StatefulSet: missing_stateful_sets,
    Job: missing_jobs,
}


class Inferred(NamedTuple):
    """What was made up."""

    #: ReplicaSets between pods and Deployments of the input.
    sets: Sequence[ReplicaSet]
    #: All else, by kind.
    owners: Mapping[type, Sequence[KubernetesObject]]

    @property
    def objects(self) -> list[KubernetesObject]:
        """All of them."""
        return [*self.sets, *(each for found in self.owners.values() for each in found)]


def inferred_owners(cluster: Cluster) -> Inferred:
    """The owners that the cluster lacks; where it has all kinds, only ReplicaSets of its Deployments are looked for."""
    sets = list(sets_of_deployments(cluster)) if cluster.all(Deployment) else []
    found: dict[type, Sequence[KubernetesObject]] = {}
    replica_sets: list[ReplicaSet] = list(cluster.all(ReplicaSet).values())
    if lacks(ReplicaSet, cluster):
        replica_sets = list(missing_replica_sets(cluster, frozenset(map(key_of, sets))))
        found[ReplicaSet] = replica_sets
    if lacks(Deployment, cluster):
        found[Deployment] = list(missing_deployments(replica_sets, cluster))
    for kind, made in _OF_PODS.items():
        if lacks(kind, cluster):
            found[kind] = list(made(cluster))
    # What stands for a custom resource is there, although the input has nothing of its kind.
    lacking = {kind: [each for each in some if key_of(each) not in cluster.all(kind)] for kind, some in found.items()}
    return Inferred(sets, {kind: objects for kind, objects in lacking.items() if objects})
