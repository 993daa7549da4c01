"""Caveats about the webhooks and admission policies that would be called for the objects of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kwhatif.admission.webhooks import NewObject, calls_for
from kwhatif.kube.model.caveat.manifests import AdmissionNotAsked
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import ADMISSION_HOOKS


class HookSubject(NamedTuple):
    """An object that would be created or changed: its kind and group, and the pods that it would create."""

    #: Such as `Deployment shop/web`.
    name: str
    obj: NewObject
    pods: tuple[str, ...] = ()


def new_object(obj: KubernetesObject, operation: str = "CREATE") -> NewObject:
    """The request for an object of a kind that is known."""
    known, meta = RESOURCES[type(obj)], obj.metadata
    return NewObject(known.kind, known.group, known.plural, meta.namespace, meta.name, meta.labels, operation)


def new_pods(pods: Iterable[Pod]) -> Iterator[HookSubject]:
    """Pods that controllers would create, one for each controller."""
    seen: set[str] = set()
    for pod in pods:
        owner = controller_of(pod.metadata)
        name = f"{owner.kind} {pod.metadata.namespace}/{owner.name}" if owner else f"Pod {key_of(pod)}"
        if name not in seen:
            seen.add(name)
            yield HookSubject(name, new_object(pod))


def has_admission_hooks(cluster: Cluster) -> bool:
    """Whether any of them would be called."""
    return any(cluster.all(kind) for kind in ADMISSION_HOOKS)


def admission_not_asked(subjects: Iterable[HookSubject], cluster: Cluster) -> Iterator[AdmissionNotAsked]:
    """A caveat for each group of webhooks and policies that would be asked about the same objects."""
    if not has_admission_hooks(cluster):
        return
    by_name: dict[str, tuple[dict[str, bool], dict[str, None]]] = {}
    for subject in subjects:
        asked, pods = by_name.setdefault(subject.name, ({}, {}))
        for each in calls_for(subject.obj, cluster):
            asked[each.name] = asked.get(each.name, True) and each.is_unsure
        pods.update(dict.fromkeys(subject.pods))
    groups: dict[tuple[tuple[str, bool], ...], list[str]] = {}
    for name, (asked, _) in by_name.items():
        if asked:
            groups.setdefault(tuple(asked.items()), []).append(name)
    for found, names in groups.items():
        yield AdmissionNotAsked(
            asked=tuple(name for name, _ in found),
            unsure=tuple(name for name, is_unsure in found if is_unsure),
            objects=tuple(names),
            pods=tuple(pod for name in names for pod in by_name[name][1]),
        )
