"""Pods that are of groups (`spec.schedulingGroup`, in 1.35 `spec.workloadRef`): what is said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from kwhatif.kube.gates import COMPOSITE_GROUPS_GATE, GROUP_CLAIMS_GATE
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import GangsNotModelled, GroupFieldsNotModelled
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, Workload
from kwhatif.kube.model.workload import WORKLOADS
from kwhatif.workloads.applied_template import template_of
from kwhatif.workloads.foreign_groups import foreign_group, foreign_groups

#: Versions of before 1.37, and kinds behind gates that are alpha.
_KINDS = ("CompositePodGroup", "PodGroup", "Workload")
_READ = tuple(RESOURCES[kind].api_version for kind in (PodGroup, Workload))


def gangs(cluster: Cluster, skipped: Counter[str]) -> Iterator[Caveat]:
    """That there are groups, or pods of groups: pods say so only where the API server knows groups."""
    groups = sum(count for name, count in skipped.items() if is_gang(name))
    objects = cluster.derived(_Grouped, *WORKLOADS, Pod).names
    if groups or objects:
        yield GangsNotModelled(groups=groups, objects=objects)
    yield from fields_not_modelled(cluster.all(PodGroup).values())
    yield from cluster.derived(_Foreign, Pod).caveats


def fields_not_modelled(groups: Iterable[PodGroup]) -> Iterator[Caveat]:
    """That stored groups have fields of gates that are not modelled: while these are off, the API server drops them."""
    fields: Mapping[tuple[str, str], Callable[[PodGroup], object]] = {
        ("resourceClaims", GROUP_CLAIMS_GATE): lambda group: group.spec.resource_claims,
        ("parentCompositePodGroupName", COMPOSITE_GROUPS_GATE): (
            lambda group: group.spec.parent_composite_pod_group_name
        ),
    }
    all_groups = list(groups)
    for (field, gate), value in fields.items():
        names = tuple(key_of(group) for group in all_groups if value(group))
        if names:
            yield GroupFieldsNotModelled(groups=names, field=field, gate=gate)


class _Grouped:
    """The objects of a cluster that are of groups: of a hundred thousand there are none in most clusters."""

    def __init__(self, cluster: Cluster) -> None:
        kinds = (*WORKLOADS, Pod)
        self.names = tuple(
            f"{kind.__name__} {key}" for kind in kinds for key, one in cluster.all(kind).items() if is_grouped(one)
        )

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _Grouped | None:
        """Itself, if that is about an object of no group."""
        return None if any(one is not None and is_grouped(one) for one in (before, after)) else self


class _Foreign:
    """What is said of pods that are of groups of other schedulers."""

    def __init__(self, cluster: Cluster) -> None:
        pods = list(cluster.all(Pod).values())
        self.caveats = (*foreign_groups(pods, treated=False), *foreign_groups(pods, treated=True))

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _Foreign | None:
        """Itself, if that is about a pod of no such group."""
        pods = [one for one in (before, after) if isinstance(one, Pod)]
        is_touched = any(foreign_group(pod.metadata, pod.spec) is not None for pod in pods)
        return None if is_touched else self


def kind_of(name: str) -> str:
    """The kind of `apiVersion/kind`."""
    return name.rpartition("/")[2]


def is_gang(name: str) -> bool:
    """Whether objects of `apiVersion/kind` are groups of pods, or what groups are made of, that are not modelled."""
    version, _, kind = name.rpartition("/")
    if kind in (PodGroup.__name__, Workload.__name__) and version in _READ:
        return False
    return name.startswith("scheduling.k8s.io/") and kind in _KINDS


def is_grouped(obj: KubernetesObject) -> bool:
    """Whether it is a pod of a group, or makes such pods."""
    template = template_of(obj) if isinstance(obj, WORKLOADS) else None
    spec = obj.spec if isinstance(obj, Pod) else None if template is None else template.spec
    return spec is not None and (spec.scheduling_group is not None or spec.workload_ref is not None)
