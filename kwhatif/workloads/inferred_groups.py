"""The pods of one owner that the input lacks, and the template that they were made of.

A template is the pod without what its controller, its node and admission have added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.admission.label_keys import without_label_keys
from kwhatif.admission.plugins import DEFAULT_TOLERATIONS
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import LabelSelector, OwnerReference, controller_of
from kwhatif.kube.model.node import REGION, ZONE, Node
from kwhatif.kube.model.pod import Pod, PodMeta, PodSpec, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Affinity, Toleration
from kwhatif.workloads.deployment import HASH_LABEL
from kwhatif.workloads.removal import active, is_available
from kwhatif.workloads.stateful_set import INDEX_LABEL, NAME_LABEL, REVISION_LABEL
from kwhatif.workloads.survey import survey_of
from kwhatif.workloads.template_fields import ADDED_LABELS

#: Of DaemonSets and StatefulSets, of Jobs; and of the node, which the API server copies when a pod is bound.
_NOT_OF_TEMPLATE = frozenset(
    {
        *ADDED_LABELS,
        REVISION_LABEL,
        "pod-template-generation",
        NAME_LABEL,
        INDEX_LABEL,
        "batch.kubernetes.io/job-completion-index",
        REGION,
        ZONE,
    }
)
#: What the admission of service accounts adds: a volume with the token, under a name that ends differently each time.
_TOKEN = "kube-api-access-"  # noqa: S105 - a volume's name
_ADDED = frozenset(DEFAULT_TOLERATIONS)


def template_from(pod: Pod, others: Iterable[Pod], added: Iterable[Toleration] = ()) -> PodTemplateSpec:
    """The template.

    Args:
        pod: one that was made of it.
        others: all others that were: a label that one of them lacks was added to the others by hand.
        added: tolerations of the controller.
    """
    notes = replace(
        pod.metadata.annotations,
        deletion_cost="",
        completion_index="",
        index_failures="",
        index_ignored_failures="",
    )
    meta = PodMeta(labels=common_labels([pod, *others]), annotations=notes)
    spec = without_label_keys(pod.spec, pod.metadata.labels)
    return PodTemplateSpec(metadata=meta, spec=_spec(spec, frozenset(added) | _ADDED))


def common_labels(pods: Iterable[Pod]) -> dict[str, str]:
    """The labels that all of these have, but for those that are not of their template."""
    found: dict[str, str] | None = None
    for pod in pods:
        labels = pod.metadata.labels
        if found is None:
            found = {key: value for key, value in labels.items() if key not in _NOT_OF_TEMPLATE}
        elif not found.items() <= labels.items():
            found = {key: value for key, value in found.items() if labels.get(key) == value}
    return found or {}


def _spec(spec: PodSpec, added: frozenset[Toleration]) -> PodSpec:
    """A number beside the name of a class is what admission has made of the class, and so is an overhead."""
    return replace(
        spec,
        node_name="",
        priority=None,
        preemption_policy="" if spec.priority_class_name else spec.preemption_policy,
        overhead=None,
        tolerations=tuple(each for each in spec.tolerations if each not in added),
        volumes=tuple(volume for volume in spec.volumes if not volume.name.startswith(_TOKEN)),
    )


def without_pinning(spec: PodSpec) -> PodSpec:
    """The spec of a DaemonSet's pod without the name of its node, which stands in place of the template's affinity."""
    affinity = spec.affinity or Affinity()
    node = affinity.node_affinity
    if node is None:
        return spec
    node = replace(node, required=None) if node.preferred is not None else None
    affinity = replace(affinity, node_affinity=node)
    return replace(spec, affinity=None if affinity == Affinity() else affinity)


class OwnedPods(msgspec.Struct, frozen=True):
    """All pods that name the same owner, by kind, name and UID, in the order of the cluster."""

    namespace: str
    owner: OwnerReference
    pods: Sequence[Pod]
    #: Pods that are neither terminating nor finished: their number is that of the replicas.
    active: Sequence[Pod]
    #: A pod of its newest template, as far as is known.
    newest: Pod
    #: The labels of pods of the namespace without an owner.
    orphans: Sequence[Mapping[str, str]]

    @property
    def created(self) -> str | None:
        """When the first of them was created, which is the latest time for the owner; None: not known."""
        return min(filter(None, (pod.metadata.creation_timestamp for pod in self.pods)), default=None)

    @property
    def selector(self) -> LabelSelector | None:
        """Labels that select all of them; None where they select others, too, that the owner would have adopted.

        Then its own selector asks for more than shows. Without one it adopts nothing.
        """
        labels = common_labels(self.pods)
        hashes = {pod.metadata.labels.get(HASH_LABEL, "") for pod in self.pods}
        if len(hashes) == 1 and (mark := hashes.pop()):
            labels = {**labels, HASH_LABEL: mark}
        selects_others = any(labels.items() <= others.items() for others in self.orphans)
        return None if selects_others else LabelSelector(match_labels=labels)

    @property
    def is_at_rest(self) -> bool:
        """Whether no pod is being replaced: then pods of two templates are both meant to stay."""
        return all(map(is_available, self.active)) and not any(pod.metadata.deletion_timestamp for pod in self.pods)

    def of_revision(self, pod: Pod) -> list[Pod]:
        """The pods of the same revision as this one."""
        revision = pod.metadata.labels.get(REVISION_LABEL)
        return [each for each in self.pods if each.metadata.labels.get(REVISION_LABEL) == revision]

    @property
    def revisions(self) -> Mapping[str, int]:
        """Revision label -> its number of active pods; "" for pods without the label."""
        found: dict[str, int] = {}
        for pod in self.active:
            label = pod.metadata.labels.get(REVISION_LABEL, "")
            found[label] = found.get(label, 0) + 1
        return found


def pods_by_owner(kind: type, cluster: Cluster) -> Iterator[OwnedPods]:
    """The pods of each owner of that kind of Kubernetes; one of the same name in another API group is not of it."""
    group = RESOURCES[kind].group
    orphans = cluster.derived(_orphans, Pod, Node)
    for (namespace, name_of_kind, _), controlled in survey_of(cluster).groups():
        if name_of_kind != kind.__name__:
            continue
        by_uid: dict[str, list[Pod]] = {}
        keys = controlled.in_order
        for pod, uid in zip(cluster.select(Pod, keys), keys.values(), strict=True):
            by_uid.setdefault(uid, []).append(pod)
        ours = {uid: pods for uid, pods in by_uid.items() if _is_of_group(pods[0], group)}
        if ours:
            yield _of_last(namespace, ours, orphans.get(namespace, ()))


def _orphans(cluster: Cluster) -> Mapping[str, Sequence[Mapping[str, str]]]:
    """By namespace the labels of pods that name no controller; none twice."""
    found: dict[str, dict[frozenset[tuple[str, str]], Mapping[str, str]]] = {}
    for (namespace, kind, _), controlled in survey_of(cluster).groups():
        for pod in active(cluster.select(Pod, controlled.in_order)) if not kind else ():
            labels = pod.metadata.labels
            found.setdefault(namespace, {})[frozenset(labels.items())] = labels
    return {namespace: list(labels.values()) for namespace, labels in found.items()}


def _is_of_group(pod: Pod, group: str) -> bool:
    owner = controller_of(pod.metadata)
    return owner is not None and (not owner.api_version or owner.api_version.rpartition("/")[0] in (group, _OLD[group]))


#: Where kinds of a group were before it.
_OLD: Mapping[str, str] = {"": "", "apps": "extensions", "batch": "batch"}


def _of_last(namespace: str, by_uid: Mapping[str, Sequence[Pod]], orphans: Sequence[Mapping[str, str]]) -> OwnedPods:
    """The last of several owners that had the same name one after the other: pods of the others are orphans.

    Pods without the UID of an owner, such as hand-written ones, belong to any.
    """
    last = max(by_uid, key=lambda uid: (bool(uid), *_age(by_uid[uid]), uid))
    pods = by_uid[last]
    if last and "" in by_uid:
        pods = [*pods, *by_uid[""]]
    running = active(pods)
    newest = max(running or pods, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.metadata.name))
    return OwnedPods(
        namespace, controller_of(by_uid[last][0].metadata) or OwnerReference(), pods, running, newest, orphans
    )


def _age(pods: Sequence[Pod]) -> tuple[str, int]:
    """Sort key for owners of one name: the last one has the newest active pod, else the most pods."""
    running = active(pods)
    return max((pod.metadata.creation_timestamp or "" for pod in running), default=""), len(running)
