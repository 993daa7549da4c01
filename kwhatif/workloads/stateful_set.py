"""StatefulSets: pods with an identity and claims of their own (`pkg/controller/statefulset/stateful_set_utils.go`).

Unless its pod management is `Parallel`, a set gets its pods one by one: the next one when those before it run and are
ready (`processReplica` in `stateful_set_control.go`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.kube.gates import Gates
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import AnnotatedMeta
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.storage import ClaimTemplate, ClaimVolumeSource, PersistentVolumeClaim, Volume
from kwhatif.kube.model.workload import StatefulSet
from kwhatif.workloads.expansion import Expansion, ReplicaGroup
from kwhatif.workloads.generated import hash_of
from kwhatif.workloads.numbers import resolved
from kwhatif.workloads.owners import reference_to
from kwhatif.workloads.template import content_of, pod_of

NAME_LABEL, INDEX_LABEL = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"
REVISION_LABEL = "controller-revision-hash"
PARALLEL = "Parallel"
#: On a claim template, how its claims are called where that is not `TEMPLATE-POD`: controllers of custom resources have
#: ways of their own.
CLAIM_NAME = "kwhatif.dev/claim-name"


def ordinals_of(stateful_set: StatefulSet, replicas: int) -> range:
    """The ordinals of `replicas` pods."""
    start = stateful_set.spec.ordinals.start if stateful_set.spec.ordinals else 0
    return range(start, start + replicas)


def first_to_roll(stateful_set: StatefulSet) -> int | None:
    """The number of the first pod that a rollout replaces: those below the partition stay; None: it replaces none."""
    strategy = stateful_set.spec.update_strategy
    if strategy.type == "OnDelete":
        return None
    partition = strategy.rolling_update.partition if strategy.rolling_update is not None else None
    return ordinals_of(stateful_set, 0).start + (partition or 0)


def most_unavailable(stateful_set: StatefulSet, replicas: int, gates: Gates) -> int | None:
    """How many of `replicas` pods may be unavailable while they are updated (`getStatefulSetMaxUnavailable`).

    None without the gate: then each waits for those above it.
    """
    if "MaxUnavailableStatefulSet" not in gates:
        return None
    rolling = stateful_set.spec.update_strategy.rolling_update
    bound = rolling.max_unavailable if rolling is not None else None
    return max(1, resolved(bound, replicas, default=1, round_up=False))


def expand_stateful_set(stateful_set: StatefulSet, ordinals: Iterable[int], cluster: Cluster) -> Expansion:
    """The pods with these numbers, in this order, and those of their claims that are not there yet."""
    template = stateful_set.spec.template or PodTemplateSpec()
    plain = pod_of(template, stateful_set.metadata.namespace, reference_to(stateful_set, cluster))
    revision = revision_of(stateful_set)
    pods = (numbered_pod(stateful_set, plain, ordinal, revision) for ordinal in ordinals)
    return Expansion(tuple(_group(stateful_set, pod, cluster) for pod in pods))


def revision_of(stateful_set: StatefulSet) -> str:
    """A stand-in for the revision of its template."""
    content = content_of(stateful_set.spec.template or PodTemplateSpec())
    return f"{stateful_set.metadata.name}-{hash_of(content)}"


def is_ordered(stateful_set: StatefulSet) -> bool:
    """Whether its pods are made one by one."""
    return stateful_set.spec.pod_management_policy != PARALLEL


def _group(stateful_set: StatefulSet, pod: Pod, cluster: Cluster) -> ReplicaGroup:
    claims = claims_of(stateful_set, pod.metadata.name)
    missing = tuple(claim for claim in claims if cluster.get(PersistentVolumeClaim, key_of(claim)) is None)
    return ReplicaGroup(pod, (pod.metadata.name,), missing)


def numbered_pod(stateful_set: StatefulSet, plain: Pod, ordinal: int, revision: str) -> Pod:
    """The pod with that number, made of one without."""
    name = f"{stateful_set.metadata.name}-{ordinal}"
    identity = {NAME_LABEL: name, INDEX_LABEL: str(ordinal), REVISION_LABEL: revision}
    meta = replace(plain.metadata, name=name, labels={**plain.metadata.labels, **identity})
    templates = stateful_set.spec.volume_claim_templates
    claimed = {template.metadata.name: _claim_volume(template, name) for template in templates}
    others = (volume for volume in plain.spec.volumes if volume.name not in claimed)
    spec = replace(
        plain.spec,
        hostname=name,
        subdomain=stateful_set.spec.service_name,
        volumes=(*claimed.values(), *others),
    )
    return replace(plain, metadata=meta, spec=spec)


def _claim_volume(template: ClaimTemplate, pod: str) -> Volume:
    source = ClaimVolumeSource(claim_name=_claim_name(template, pod))
    return Volume(name=template.metadata.name, persistent_volume_claim=source)


def _claim_name(template: ClaimTemplate, pod: str) -> str:
    """The name of the claim of that pod."""
    pattern = template.metadata.annotations.get(CLAIM_NAME, f"{template.metadata.name}-{{pod}}")
    return pattern.replace("{pod}", pod)


def claims_of(stateful_set: StatefulSet, pod: str) -> Iterator[PersistentVolumeClaim]:
    """The claims of the pod of that name, as they are made."""
    selector = stateful_set.spec.selector
    for template in stateful_set.spec.volume_claim_templates:
        meta = AnnotatedMeta(
            name=_claim_name(template, pod),
            namespace=stateful_set.metadata.namespace,
            labels={**template.metadata.labels, **(selector.match_labels if selector else {})},
            annotations=template.metadata.annotations,
        )
        yield default_object(PersistentVolumeClaim(metadata=meta, spec=template.spec))
