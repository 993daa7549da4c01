"""Groups of pods of other schedulers and controllers, and as what kube-scheduler 1.37 would know them.

What marks their pods is as Volcano, KAI, the coscheduling plugin, Kueue, LeaderWorkerSet, JobSet, KubeRay and the
Training Operator publish it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from kwhatif.kube.model.bystanders import CoschedulingPodGroup, VolcanoPodGroup
from kwhatif.kube.model.caveat.scheduling import ForeignGroups
from kwhatif.kube.model.cluster import Cluster, ObjectRef, key_of
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import Pod, PodMeta, PodSchedulingGroup, PodSpec, is_terminal
from kwhatif.kube.model.pod_group import GangPolicy, PodGroup, PodGroupSpec, SchedulingPolicy
from kwhatif.kube.model.workload import WORKLOADS
from kwhatif.state.change import Upsert
from kwhatif.state.state import State
from kwhatif.workloads.applied_template import template_of, with_template
from kwhatif.workloads.counts import wanted

#: A label that names the group -> whose it is, and whether its own scheduler places the pods together.
_LABELS: Mapping[str, tuple[str, bool]] = {
    "scheduling.x-k8s.io/pod-group": ("coscheduling", True),
    "pod-group.scheduling.sigs.k8s.io": ("coscheduling", True),
    "pod-group.scheduling.sigs.k8s.io/name": ("coscheduling", True),
    "kueue.x-k8s.io/pod-group-name": ("Kueue", True),
    "volcano.sh/job-name": ("Volcano", True),
    "jobset.sigs.k8s.io/jobset-name": ("JobSet", False),
    "ray.io/cluster": ("RayCluster", False),
    "training.kubeflow.org/job-name": ("PyTorchJob", False),
}
_LWS_NAME, _LWS_INDEX = "leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index"
_MIN_AVAILABLE = "pod-group.scheduling.sigs.k8s.io/min-available"
_DEFAULT = "default-scheduler"
#: Whose groups are objects that say how many pods they need.
_KINDS: Mapping[str, type[VolcanoPodGroup | CoschedulingPodGroup]] = {
    "Volcano": VolcanoPodGroup,
    "coscheduling": CoschedulingPodGroup,
}


class ForeignGroup(NamedTuple):
    """The group that a pod is of."""

    system: str
    name: str
    #: How many pods it needs; 0: all that there are.
    least: int = 0
    #: Whether its own scheduler places its pods together; else kube-scheduler places them one by one.
    is_placed_together: bool = True

    @property
    def as_name(self) -> str:
        """The name of the PodGroup that stands for it."""
        return f"{self.system}-{self.name}".lower()


def foreign_group(meta: PodMeta, spec: PodSpec) -> ForeignGroup | None:
    """The group of a pod, or of pods of a template; None: it is of none."""
    labels, annotations = meta.labels, meta.annotations
    if annotations.kai_group and spec.scheduler_name != _DEFAULT:
        return ForeignGroup("KAI", annotations.kai_group)
    if annotations.volcano_group:
        return ForeignGroup("Volcano", annotations.volcano_group)
    if labels.get(_LWS_NAME) and labels.get(_LWS_INDEX):
        name = f"{labels[_LWS_NAME]}-{labels[_LWS_INDEX]}"
        return ForeignGroup("LeaderWorkerSet", name, _number(annotations.lws_size), is_placed_together=False)
    for label, (system, together) in _LABELS.items():
        if labels.get(label):
            least = labels.get(_MIN_AVAILABLE, "") if system == "coscheduling" else annotations.kueue_count
            return ForeignGroup(system, labels[label], _number(least), together)
    return None


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


class GroupedObjects(NamedTuple):
    """Objects whose pods are of PodGroups now, and these."""

    objects: list[Any]
    groups: list[PodGroup]


def as_gangs(objects: list[Any], cluster: Cluster) -> GroupedObjects:
    """Pods and workloads whose pods are of foreign groups, as members of PodGroups; others as they are."""
    made: list[Any] = []
    counts: dict[str, int] = {}
    least: dict[str, int] = {}
    like: dict[str, PodSpec] = {}
    of: dict[str, ForeignGroup] = {}
    for obj in objects:
        found = _grouped(obj)
        if found is None:
            made.append(obj)
            continue
        group, spec, count = found
        key = f"{obj.metadata.namespace}/{group.as_name}"
        counts[key] = counts.get(key, 0) + count
        least[key] = max(least.get(key, 0), group.least)
        like.setdefault(key, spec)
        of.setdefault(key, group)
        made.append(_member(obj, group.as_name))
    known = cluster.all(PodGroup)
    said = {str(ObjectRef.of(each)): each.spec.min_member for each in objects if _is_foreign(each)}
    for key, group in of.items():
        least[key] = _least(group, key.partition("/")[0], cluster, said) or least[key]
    groups = [_group(key, least[key] or counts[key], like[key]) for key in counts if key not in known]
    return GroupedObjects(made, groups)


def _is_foreign(obj: Any) -> bool:
    return isinstance(obj, VolcanoPodGroup | CoschedulingPodGroup)


def _least(group: ForeignGroup, namespace: str, cluster: Cluster, said: Mapping[str, int]) -> int:
    """How many pods its PodGroup says that it needs; 0: there is none."""
    kind = _KINDS.get(group.system)
    if kind is None:
        return 0
    key = f"{namespace}/{group.name}"
    found = cluster.get(kind, key)
    return said.get(f"{kind.__name__} {key}", 0 if found is None else found.spec.min_member)


def _grouped(obj: Any) -> tuple[ForeignGroup, PodSpec, int] | None:
    """The group, the spec of its pods, and how many of them the object makes."""
    template = obj if isinstance(obj, Pod) else template_of(obj) if isinstance(obj, WORKLOADS) else None
    if template is None or template.spec.scheduling_group is not None:
        return None
    if isinstance(obj, Pod) and is_terminal(obj):
        return None
    group = foreign_group(template.metadata, template.spec)
    return None if group is None else (group, template.spec, 1 if isinstance(obj, Pod) else wanted(obj))


def _member(obj: Any, name: str) -> Any:
    if isinstance(obj, Pod):
        return replace(obj, spec=_in_group(obj.spec, name))
    template = template_of(obj)
    assert template is not None, "it has a group"
    return with_template(obj, replace(template, spec=_in_group(template.spec, name)))


def _in_group(spec: PodSpec, name: str) -> PodSpec:
    return replace(spec, scheduler_name=_DEFAULT, scheduling_group=PodSchedulingGroup(pod_group_name=name))


def _group(key: str, least: int, spec: PodSpec) -> PodGroup:
    namespace, _, name = key.partition("/")
    policy = SchedulingPolicy(gang=GangPolicy(min_count=max(least, 1)))
    spec_of = PodGroupSpec(
        scheduling_policy=policy, priority=spec.priority, priority_class_name=spec.priority_class_name
    )
    return PodGroup(metadata=ObjectMeta(namespace=namespace, name=name), spec=spec_of)


def treat_as_gangs(cluster: Cluster) -> None:
    """Make PodGroups of the foreign groups of a cluster's pods, and members of these of the pods."""
    for obj in _treated(cluster):
        cluster.add(obj)


def with_gangs_of(state: State) -> State:
    """A fork of the state in which that is so."""
    fork = state.fork()
    fork.apply(*map(Upsert, _treated(fork.cluster)))
    return fork


def _treated(cluster: Cluster) -> list[Any]:
    found = as_gangs(list(cluster.all(Pod).values()), cluster)
    return [obj for obj in (*found.groups, *found.objects) if cluster.get(type(obj), key_of(obj)) is not obj]


def _treated_system(obj: Any) -> str:
    """Whose group it is that a pod, or a workload's pods, are a gang for; "" if it is none."""
    template = obj if isinstance(obj, Pod) else template_of(obj) if isinstance(obj, WORKLOADS) else None
    named = None if template is None else template.spec.scheduling_group
    if template is None or named is None:
        return ""
    group = foreign_group(template.metadata, replace(template.spec, scheduler_name=""))
    return group.system if group is not None and group.as_name == named.pod_group_name else ""


def foreign_groups(objects: list[Any], *, treated: bool) -> Iterator[ForeignGroups]:
    """That pods are of groups that other schedulers place together; `treated`: as kube-scheduler's gangs, here."""
    named: dict[str, list[str]] = {}
    for obj in objects:
        if treated:
            system = _treated_system(obj)
        else:
            found = _grouped(obj)
            system = found[0].system if found is not None and found[0].is_placed_together else ""
        if system:
            named.setdefault(system, []).append(str(ObjectRef.of(obj)))
    for system, names in sorted(named.items()):
        yield ForeignGroups(system=system, objects=tuple(sorted(names)), treated=treated)
