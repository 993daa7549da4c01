"""The pods of one owner that the input lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import LabelSelector, OwnerReference, controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.workloads.inferred.templates import common_labels
from kwhatif.workloads.removal import active, is_available
from kwhatif.workloads.replicas import HASH_LABEL
from kwhatif.workloads.stateful_set import REVISION_LABEL
from kwhatif.workloads.survey import survey_of


class OwnedPods(msgspec.Struct, frozen=True):
    """All pods that name the same owner, by kind, name and UID, in the order of the cluster."""

    namespace: str
    owner: OwnerReference
    pods: Sequence[Pod]
    #: Those that are neither terminating nor finished: the number of replicas.
    active: Sequence[Pod]
    #: Of its newest template, as far as that shows.
    newest: Pod
    #: The labels of pods of the namespace without an owner.
    orphans: Sequence[Mapping[str, str]]

    @property
    def created(self) -> str | None:
        """When the first of them was made, and so at the latest the owner; None: they do not say."""
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
        """Whether nothing is being replaced: of two templates that are there then, both are meant to stay."""
        return all(map(is_available, self.active)) and not any(pod.metadata.deletion_timestamp for pod in self.pods)

    def of_revision(self, pod: Pod) -> list[Pod]:
        """The pods of the same revision as this one."""
        revision = pod.metadata.labels.get(REVISION_LABEL)
        return [each for each in self.pods if each.metadata.labels.get(REVISION_LABEL) == revision]

    @property
    def revisions(self) -> Mapping[str, int]:
        """By the label of a revision, how many active pods are of it; "" for those without one."""
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
    """The last of several successive owners with one name: the pods of the others are orphans.

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
    """Sorts owners of one name: the last one has the newest active pod, else the most pods."""
    running = active(pods)
    return max((pod.metadata.creation_timestamp or "" for pod in running), default=""), len(running)
