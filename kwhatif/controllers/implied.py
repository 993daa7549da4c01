"""ReplicaSets that a dump lacks, though its pods name them: without them, a Deployment would make all its pods anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.controllers.pods import reference
from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import LabelSelector, OwnerReference, controller_of, parse_time
from kwhatif.model.pod import Pod, PodMeta, PodTemplateSpec
from kwhatif.model.workload import Deployment, ReplicaSet, ReplicaSetMeta, ReplicaSetSpec, RolloutAnnotations
from kwhatif.workloads.controllers.deployment import bounds_for
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.owners import owned_by, pods_of
from kwhatif.workloads.removal import active
from kwhatif.workloads.replicas import HASH_LABEL
from kwhatif.workloads.template import same_template


def implied_replica_sets(cluster: Cluster) -> Iterator[ReplicaSet]:
    """One for each that is named by pods which can only belong to a Deployment, with as many replicas.

    The one whose pods were made last has the Deployment's template, unless a ReplicaSet that is there has; if it has
    all pods, also the Deployment's number of replicas. Of older ones the template is that of a pod.
    """
    for deployment in cluster.all(Deployment).values():
        missing: dict[str, list[Pod]] = defaultdict(list)
        owners: dict[str, OwnerReference] = {}
        for pod in pods_of(deployment, cluster):
            owner = controller_of(pod.metadata)
            if owner is not None and cluster.get(ReplicaSet, f"{pod.metadata.namespace}/{owner.name}") is None:
                missing[owner.name].append(pod)
                owners[owner.name] = owner
        if not missing:
            continue
        present = list(owned_by(deployment, deployment.metadata, ReplicaSet, cluster))
        is_known = any(same_template(each.spec.template, deployment.spec.template) for each in present)
        in_order = sorted(missing, key=lambda name: (_last_made(missing[name]), name))
        bounds = bounds_for(deployment, replicas_of(deployment))
        for revision, name in enumerate(in_order, 1):
            is_new = not is_known and name == in_order[-1]
            is_alone = is_new and not present and len(missing) == 1
            size = bounds.wanted if is_alone else len(active(missing[name]))
            notes = RolloutAnnotations(
                desired_replicas=str(bounds.wanted), max_replicas=str(bounds.most), revision=str(revision)
            )
            made = _implied(deployment, owners[name], missing[name], size, is_new=is_new)
            yield replace(made, metadata=replace(made.metadata, annotations=notes))


def _last_made(pods: Sequence[Pod]) -> int:
    created = (pod.metadata.creation_timestamp for pod in pods)
    return max((parse_time(time) for time in created if time), default=0)


def _implied(
    deployment: Deployment, owner: OwnerReference, pods: Sequence[Pod], size: int, *, is_new: bool
) -> ReplicaSet:
    pod = pods[0]
    hash_ = pod.metadata.labels.get(HASH_LABEL) or owner.name.rpartition("-")[2]
    template = deployment.spec.template if is_new else _template_of(pod)
    template = template or PodTemplateSpec()
    labels = {**template.metadata.labels, HASH_LABEL: hash_}
    selector = deployment.spec.selector or LabelSelector()
    return ReplicaSet(
        api_version="apps/v1",
        metadata=ReplicaSetMeta(
            name=owner.name,
            namespace=deployment.metadata.namespace,
            uid=owner.uid,
            labels=labels,
            creation_timestamp=min((time for each in pods if (time := each.metadata.creation_timestamp)), default=None),
            owner_references=(reference("Deployment", "apps/v1", deployment),),
        ),
        spec=ReplicaSetSpec(
            replicas=size,
            selector=replace(selector, match_labels={**selector.match_labels, HASH_LABEL: hash_}),
            template=replace(template, metadata=replace(template.metadata, labels=labels)),
            min_ready_seconds=deployment.spec.min_ready_seconds,
        ),
    )


def _template_of(pod: Pod) -> PodTemplateSpec:
    """As far as a pod shows it."""
    meta = PodMeta(labels=pod.metadata.labels, annotations=pod.metadata.annotations)
    return PodTemplateSpec(metadata=meta, spec=replace(pod.spec, node_name=""))
