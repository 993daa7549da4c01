"""Pods that are of groups (`spec.schedulingGroup`, in 1.35 `spec.workloadRef`): what is said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from kwhatif.model.caveat import Caveat
from kwhatif.model.caveat.scheduling import GangsNotModelled
from kwhatif.model.cluster import Cluster, KubernetesObject
from kwhatif.model.pod import Pod
from kwhatif.model.workload import WORKLOADS
from kwhatif.workloads.applied_template import template_of


def groups_not_read(skipped: Counter[str]) -> Iterator[Caveat]:
    """That there are groups of pods."""
    count = sum(count for name, count in skipped.items() if is_gang(*name.rpartition("/")[::2]))
    if count:
        yield GangsNotModelled(groups=count)


def with_gangs(caveats: Iterable[Caveat], cluster: Cluster) -> Iterator[Caveat]:
    """The caveats, and one about groups: pods say that they are of one only where the API server knows groups."""
    groups = 0
    for caveat in caveats:
        if isinstance(caveat, GangsNotModelled):
            groups += caveat.groups
        else:
            yield caveat
    pods = (f"Pod {key}" for key, pod in cluster.all(Pod).items() if is_grouped(pod))
    made = (f"{kind.__name__} {key}" for kind in WORKLOADS for key, one in cluster.all(kind).items() if is_grouped(one))
    objects = (*made, *pods)
    if groups or objects:
        yield GangsNotModelled(groups=groups, objects=objects)


def is_gang(api_version: str, kind: str) -> bool:
    """Whether objects of that kind are groups of pods, or what groups are made of."""
    return api_version.startswith("scheduling.k8s.io/") and kind in ("CompositePodGroup", "PodGroup", "Workload")


def is_grouped(obj: KubernetesObject) -> bool:
    """Whether it is a pod of a group, or makes such pods."""
    template = template_of(obj) if isinstance(obj, WORKLOADS) else None
    spec = obj.spec if isinstance(obj, Pod) else None if template is None else template.spec
    return spec is not None and (spec.scheduling_group is not None or spec.workload_ref is not None)
