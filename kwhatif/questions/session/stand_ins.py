"""The objects of a cluster that stand for custom resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from kwhatif.kube.model.caveat.manifests import CustomKindPlayed
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, ObjectRef
from kwhatif.report.inputs import StandInRow
from kwhatif.workloads.custom_kinds import LIKE


class _StandIns:
    """By their names those that stand for one; an `Index`."""

    def __init__(self, cluster: Cluster) -> None:
        found: Iterable[Any] = (obj for kind in LIKE.values() for obj in cluster.all(kind).values())
        self.named = {name_of(obj): obj for obj in found if obj.metadata.stands_for is not None}

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> Self | None:
        """See `Index`."""
        stand = (obj is not None and obj.metadata.stands_for is not None for obj in (before, after))
        return None if any(stand) else self


def stand_in_rows(*clusters: Cluster) -> tuple[StandInRow, ...]:
    """What stands for what in any of these, by name; a custom resource may have several parts."""
    found = {name: own_name(obj) for cluster in clusters for name, obj in _named(cluster).items()}
    return tuple(StandInRow(object=found[name], judged_as=name) for name in sorted(found))


def played_as(cluster: Cluster, names: Iterable[str]) -> Iterator[CustomKindPlayed]:
    """That objects of these names, such as `Deployment shop/web`, stand for custom resources."""
    known = _named(cluster)
    return played([known[name] for name in dict.fromkeys(names) if name in known] if known else ())


def played(objects: Iterable[Any]) -> Iterator[CustomKindPlayed]:
    """That these objects stand for custom resources, as far as they do."""
    found: dict[tuple[str, str, str], dict[str, bool]] = {}
    for obj in objects:
        if (of := obj.metadata.stands_for) is not None:
            found.setdefault((of.kind, of.group, type(obj).__name__), {})[_custom(obj)] = of.inferred
    for (kind, group, like), names in sorted(found.items()):
        made_up = tuple(sorted(name for name, inferred in names.items() if inferred))
        names_ = tuple(sorted(names))
        yield CustomKindPlayed(kind=kind, group=group, like=like, objects=names_, inferred=made_up)


def _named(cluster: Cluster) -> Mapping[str, Any]:
    return cluster.derived(_StandIns, *LIKE.values()).named


def name_of(obj: KubernetesObject) -> str:
    """Such as `Deployment shop/web`."""
    return str(ObjectRef.of(obj))


def _custom(obj: Any) -> str:
    of = obj.metadata.stands_for
    return f"{of.kind} {obj.metadata.namespace}/{of.name}"


def own_name(obj: Any) -> str:
    """The name of the custom resource, and which of its parts it is: `RayCluster ml/ray (cpu)`."""
    of = obj.metadata.stands_for
    name = obj.metadata.name.removeprefix(f"{of.kind.lower()}-")  # `prometheus-k8s-shard-1`
    part = name.removeprefix(f"{of.name}-")
    return _custom(obj) if part in (name, of.kind.lower()) else f"{_custom(obj)} ({part})"
