"""StatefulSets: pods with an identity and claims of their own (`pkg/controller/statefulset/stateful_set_utils.go`).

Unless its pod management is `Parallel`, a set gets its pods one by one: the next one when those before it run and are
ready (`processReplica` in `stateful_set_control.go`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.kube.gates import Gates
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import AnnotatedMeta
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.storage import ClaimTemplate, ClaimVolumeSource, PersistentVolumeClaim, Volume
from kwhatif.kube.model.workload import StatefulSet
from kwhatif.workloads.names import hash_of, resolved
from kwhatif.workloads.owners import reference_to
from kwhatif.workloads.template import Expansion, ReplicaGroup, content_of, pod_of

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


class Replica(NamedTuple):
    """A pod of the set, as its controller sees it."""

    #: Whether it is of the new revision.
    updated: bool
    #: Whether it is available: running, and ready for long enough.
    ready: bool
    #: It is terminating: it exists until its containers have stopped and the object is gone.
    terminating: bool = False
    #: Its phase is final.
    ended: bool = False

    @property
    def is_healthy(self) -> bool:
        """Whether others need not wait for it."""
        return self.ready and not self.terminating and not self.ended

    @property
    def is_outdated(self) -> bool:
        """Whether it is to be replaced by one of the new revision, and is not deleted yet."""
        return not self.updated and not self.terminating


#: A pod that is missing is made in the same step.
_JUST_MADE = Replica(updated=True, ready=False)


#: The most pods to create in one step; larger sets take several.
_AT_ONCE = 1_000


class Moves(NamedTuple):
    """Numbers of the pods that are made and deleted; what it is held up by, if the controller waits."""

    create: tuple[int, ...] = ()
    delete: tuple[int, ...] = ()
    waits_for: int | None = None


def sync(
    replicas: Mapping[int, Replica], ordinals: range, *, ordered: bool, lowest: int | None, most: int | None = None
) -> Moves:
    """One step of the controller (`updateStatefulSet`).

    Args:
        replicas: the pods that there are, by number.
        ordinals: the numbers that there should be.
        ordered: pods are made and deleted one by one (`podManagementPolicy: OrderedReady`).
        lowest: the lowest number that is updated; None if pods are only updated when they are deleted.
        most: how many may be unavailable while others are updated; None: each waits for those above it.

    QUIRK: an ordered set stops at the first pod that is not ready, also where the new revision would repair it.
    """
    condemned = sorted((ordinal for ordinal in replicas if ordinal not in ordinals), reverse=True)
    if not ordered:
        missing = islice((ordinal for ordinal in ordinals if ordinal not in replicas), _AT_ONCE)
        gone = sorted(ordinal for ordinal in replicas if ordinal in ordinals and replicas[ordinal].ended)
        gone = [ordinal for ordinal in (*gone, *condemned) if not replicas[ordinal].terminating]
        updated = _update(replicas, ordinals, lowest, most, ordered=False)
        gone += [ordinal for ordinal in updated.delete if ordinal not in gone]
        return Moves(tuple(missing), tuple(gone), updated.waits_for)
    held_up = first_in_order(replicas.get, ordinals)
    if held_up is not None:
        return held_up
    if condemned:
        return _condemn(replicas, condemned)
    return _update(replicas, ordinals, lowest, most, ordered=True)


def first_in_order(replica_of: Callable[[int], Replica | None], ordinals: range) -> Moves | None:
    """The step that the first of these pods asks for, where one lacks or is not healthy (`processReplica`)."""
    for ordinal in ordinals:
        replica = replica_of(ordinal)
        if replica is None:
            return Moves(create=(ordinal,))
        if replica.ended and not replica.terminating:
            return Moves(delete=(ordinal,))
        if not replica.is_healthy:
            return Moves(waits_for=ordinal)
    return None


def _condemn(replicas: Mapping[int, Replica], condemned: list[int]) -> Moves:
    """The highest goes when the one before is gone, unless it is not ready, and not the set's first that is not."""
    highest = condemned[0]
    if replicas[highest].terminating:
        return Moves(waits_for=highest)
    first = next((ordinal for ordinal in reversed(condemned) if not replicas[ordinal].is_healthy), None)
    if not replicas[highest].ready and first != highest:
        return Moves(waits_for=first)
    return Moves(delete=(highest,))


def _update(
    replicas: Mapping[int, Replica], ordinals: range, lowest: int | None, most: int | None, *, ordered: bool
) -> Moves:
    """From the highest down: the first outdated pod goes, unless one above it is not ready."""
    if lowest is None:
        return Moves()
    if most is not None:
        return _update_several(replicas, ordinals, lowest, most, ordered=ordered)
    for ordinal in reversed(ordinals):
        if ordinal < lowest:
            break
        replica = replicas.get(ordinal, _JUST_MADE)
        if replica.is_outdated:
            return Moves(delete=(ordinal,))
        if not replica.is_healthy:
            return Moves(waits_for=ordinal)
    return Moves()


def _update_several(
    replicas: Mapping[int, Replica], ordinals: range, lowest: int, most: int, *, ordered: bool
) -> Moves:
    """As many outdated pods go as may be unavailable (`updateStatefulSetAfterInvariantEstablished`, as of 1.37).

    Those of a parallel set that are not ready go in any case: that makes nothing worse.
    """
    there = sorted((ordinal for ordinal in replicas if ordinal in ordinals), reverse=True)
    unavailable = len(ordinals) - sum(replicas[ordinal].is_healthy for ordinal in there)
    outdated = [ordinal for ordinal in there if ordinal >= lowest and replicas[ordinal].is_outdated]
    broken = [] if ordered else [ordinal for ordinal in outdated if not replicas[ordinal].is_healthy]
    others = [ordinal for ordinal in outdated if ordinal not in broken]
    delete = (*broken, *others[: max(0, most - unavailable)])
    if delete:
        return Moves(delete=delete)
    last = ordinals.start if outdated else max(lowest, ordinals.start)
    late = (
        number for number in range(ordinals.stop - 1, last - 1, -1) if not replicas.get(number, _JUST_MADE).is_healthy
    )
    return Moves(waits_for=next(late, None))


def made_of_old(ordinal: int, start: int, partition: int | None, current: int) -> bool:
    """Whether a missing pod is made of the old revision (`newVersionedStatefulSetPod`).

    Args:
        ordinal: the number of the pod.
        start: the lowest number of the set.
        partition: that of the strategy; None where it has no `rollingUpdate` block.
        current: how many pods of the old revision there are.

    QUIRK: without the block, which is only filled in where the type is left out, the count decides.
    """
    return ordinal < start + (current if partition is None else partition)
