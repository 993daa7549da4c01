"""Everything in a cluster whose pods can be restarted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.workload import WORKLOADS
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.rows import owner_and_workload
from kwhatif.report.inputs import SourceRow

#: Owners whose pods no controller restarts: mirror pods of static ones.
_NODE = "Node"


class Restarted(NamedTuple):
    """A workload whose pods are restarted; pods represent a controller that is not in the input."""

    name: str
    applied: Applied
    #: Its other pods, where it is a pod that stands for them.
    others: Sequence[Pod] = ()


def restarted_workloads(cluster: Cluster) -> Iterator[Restarted]:
    """Every workload that makes pods by itself, by kind and name; then pods whose controller is not in the input."""
    covered: set[tuple[str, str]] = set()
    for kind in WORKLOADS:
        for key in sorted(cluster.all(kind)):
            obj = cluster.all(kind)[key]
            covered.add((kind.__name__, key))
            if not _has_known_controller(obj, cluster):
                yield Restarted(f"{kind.__name__} {key}", _applied(obj))
    groups: dict[str, list[Pod]] = {}
    for pod in cluster.all(Pod).values():
        owner = controller_of(pod.metadata)
        if is_terminal(pod) or not pod.spec.node_name or (owner is not None and owner.kind == _NODE):
            continue
        if owner is None or (owner.kind, f"{pod.metadata.namespace}/{owner.name}") not in covered:
            groups.setdefault(owner_and_workload(pod)[1] or f"Pod {key_of(pod)}", []).append(pod)
    for name in sorted(groups):
        first, *others = sorted(groups[name], key=key_of)
        yield Restarted(name, _applied(first), tuple(others))


def _has_known_controller(obj: KubernetesObject, cluster: Cluster) -> bool:
    """Whether another workload makes it: a Deployment's ReplicaSet, a CronJob's Job."""
    owner = controller_of(obj.metadata)
    kinds = {kind.__name__: kind for kind in WORKLOADS}
    if owner is None or owner.kind not in kinds:
        return False
    return f"{obj.metadata.namespace}/{owner.name}" in cluster.all(kinds[owner.kind])


def _applied(obj: KubernetesObject) -> Applied:
    name = f"{type(obj).__name__} {key_of(obj)}"
    return Applied(obj, SourceRow(file=name, object=name), restarted=True)
