"""What a dump shows besides the objects that are read: its age, groups of pods, and kinds that were not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from kwhatif.dra.devices import gate_of_rules, rules_count
from kwhatif.kube.gates import COMPOSITE_GROUPS_GATE, GROUP_CLAIMS_GATE
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import AutoscalerObjectsNotModelled
from kwhatif.kube.model.caveat.manifests import AdmissionNotAsked
from kwhatif.kube.model.caveat.reading import (
    NoAdmission,
    NoAutoscalers,
    NoBudgets,
    NoCustomResources,
    NoDates,
    NoDevices,
    NoEvents,
    NoGroups,
    NoLimits,
    NoNamespaces,
    NoPriorityClasses,
    NoServices,
    NoStorage,
    NoWorkloads,
)
from kwhatif.kube.model.caveat.scheduling import (
    DevicesNotModelled,
    GangsNotModelled,
    GroupFieldsNotModelled,
    TaintRulesIgnored,
)
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.kinds import RESOURCES
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, Workload
from kwhatif.kube.model.policy import ADMISSION_HOOKS
from kwhatif.kube.model.resource import DeviceTaintRule, ResourceSlice
from kwhatif.kube.model.saved import SavedSnapshot
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
        """The same index, if the changed object is of no group."""
        return None if any(one is not None and is_grouped(one) for one in (before, after)) else self


class _Foreign:
    """The caveats about pods of other schedulers' groups."""

    def __init__(self, cluster: Cluster) -> None:
        pods = list(cluster.all(Pod).values())
        self.caveats = (*foreign_groups(pods, treated=False), *foreign_groups(pods, treated=True))

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _Foreign | None:
        """The same caveats, if the changed pod is of no such group."""
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


#: Why a kind is unread (`ClusterFacts.unread`): the user may not list it.
FORBIDDEN = "no permission to list"
#: Or the server could not: an API whose conversion webhook is down, say.
FAILED = "the server failed to list"
#: Or there are more than are read.
CUT = "there are too many to read all"

#: Kinds that change which nodes an autoscaler adds or removes, of Karpenter and of the Cluster Autoscaler: none is
#: modelled.
AUTOSCALING = ("NodeOverlay", "CapacityBuffer", "CapacityQuota", "ProvisioningRequest")

#: The caveat about a subject -> the kinds that are read for it.
_SUBJECTS: Mapping[Callable[..., Caveat], tuple[str, ...]] = {
    NoBudgets: ("PodDisruptionBudget",),
    NoPriorityClasses: ("PriorityClass",),
    NoNamespaces: ("Namespace",),
    NoServices: ("Service", "ReplicationController", "ReplicaSet", "StatefulSet"),
    NoWorkloads: ("Deployment", "DaemonSet", "Job", "CronJob"),
    NoLimits: ("LimitRange", "ResourceQuota", "RuntimeClass"),
    NoStorage: (
        "PersistentVolumeClaim",
        "PersistentVolume",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "VolumeAttachment",
    ),
    NoDevices: ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice", "DeviceTaintRule"),
    NoAdmission: (
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ServiceAccount",
    ),
    NoAutoscalers: ("HorizontalPodAutoscaler", "VerticalPodAutoscaler", "NodePool", "NodeClaim", *AUTOSCALING),
    NoEvents: ("Event",),
    NoGroups: ("Workload", "PodGroup", "CompositePodGroup"),
}


def unread_caveats(unread: Mapping[str, str]) -> Iterator[Caveat]:
    """Caveats about `ClusterFacts.unread`: one per subject, not per kind.

    A user who may list only nodes and pods has two dozen unread kinds.
    """
    custom = tuple(sorted(name for name in unread if "." in name))  # `Asked.subject`
    for lacking, kinds in (*_SUBJECTS.items(), (NoCustomResources, custom)):
        reasons: dict[str, list[str]] = {}
        for kind in kinds:
            if kind in unread:
                reasons.setdefault(unread[kind], []).append(kind)
        for reason, missing in reasons.items():
            yield lacking(kinds=tuple(missing), reason=reason)


#: These may change or refuse a pod when it is created (`k8s.io/apiserver/pkg/admission/plugin`).
_ADMISSION = (
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
    "ValidatingAdmissionPolicy",
)
#: The first release that serves rules in v1; and the first in which they cannot select by classes or expressions.
_SERVED, _WITHOUT_CLASSES = 37, 35
#: There are a hundred thousand pods.
_MADE = attrgetter("metadata.creation_timestamp")


def taken_at(cluster: Cluster, caveats: list[Caveat], last_seen: str = "") -> str | None:
    """When the dump was taken: as it says itself, or else the newest time in it.

    Nodes report every few minutes, so the newest time is near. Without such a report the newest lease, event
    (`last_seen`) or condition of a pod counts. Where there is none (files written by hand) it is not known; nor where
    times are relative.
    """
    if any(isinstance(caveat, NoDates) for caveat in caveats):
        return None
    saved = [snapshot.taken_at for snapshot in cluster.all(SavedSnapshot).values()]
    if saved:
        return min(saved) if all(map(_is_time, saved)) else None  # of several the oldest
    nodes, pods = cluster.all(Node).values(), cluster.all(Pod).values()
    reports = [condition.last_heartbeat_time for node in nodes for condition in node.status.conditions]
    if not any(reports):
        changed = [condition.last_transition_time for pod in pods for condition in pod.status.conditions]
        return _newest([last_seen, *changed])
    return _newest([*reports, *map(_MADE, nodes), *map(_MADE, pods)])


def _newest(texts: Sequence[str | None]) -> str | None:
    """The newest of the texts that are times; there may be a hundred thousand, so as few as possible are parsed."""
    newest = max(filter(None, texts), default="")
    return newest if _is_time(newest) else next(filter(_is_time, sorted(filter(None, texts), reverse=True)), None)


def _is_time(text: str) -> bool:
    """Whether it is a time as the API server writes it; such texts sort as their times do."""
    try:
        return len(text) == len("2026-01-31T12:00:00Z") and parse_time(text) > 0
    except ValueError:
        return False


def not_read(skipped: Counter[str]) -> Iterator[Caveat]:
    """About objects that were left out, `apiVersion/kind` -> how many."""
    kinds: Counter[str] = Counter()
    for name, count in skipped.items():
        kinds[kind_of(name)] += count
    admission = tuple((kind, kinds[kind]) for kind in _ADMISSION if kinds[kind])
    if admission:
        yield AdmissionNotAsked(kinds=admission)
    scaling = tuple((kind, kinds[kind]) for kind in AUTOSCALING if kinds[kind])
    if scaling:
        yield AutoscalerObjectsNotModelled(kinds=scaling)


def without_understood(skipped: Counter[str], cluster: Cluster) -> Counter[str]:
    """The counts without webhooks and policies that were read: it is known which objects these are about."""
    left = skipped.copy()
    for kind in ADMISSION_HOOKS:
        for name in [name for name in left if kind_of(name) == kind.__name__]:
            left[name] -= len(cluster.all(kind))
    return +left


def asked_about(skipped: Counter[str]) -> dict[str, int]:
    """The left-out objects that a caveat is about, by `apiVersion/kind`."""
    known = (*_ADMISSION, *AUTOSCALING)
    return {name: count for name, count in sorted(skipped.items()) if kind_of(name) in known or is_gang(name)}


def devices_not_modelled(cluster: Cluster, *, live: bool) -> Iterator[Caveat]:
    """What devices have that Kubernetes turns off by default, and that the allocator here does not know."""
    features = sorted({name for obj in cluster.all(ResourceSlice).values() for name in _unknown_features(obj)})
    features += unknown_rules(cluster, cluster.all(DeviceTaintRule).values())
    if live and cluster.facts.minor < _SERVED and rules_count(cluster.facts.gates, cluster.facts.minor):
        features.append("DeviceTaintRules of an alpha or beta API (which is not asked for)")
    if features:
        yield DevicesNotModelled(features=tuple(features))
    yield from rules_ignored(cluster, cluster.all(DeviceTaintRule).values())


def unknown_rules(cluster: Cluster, rules: Iterable[DeviceTaintRule]) -> Iterator[str]:
    """What rules up to 1.34 may select by, and is not looked at here."""
    selectors = (rule.spec.device_selector for rule in rules if rules_count(cluster.facts.gates, cluster.facts.minor))
    old = cluster.facts.minor < _WITHOUT_CLASSES
    if old and any(each is not None and (each.selectors or each.device_class_name) for each in selectors):
        yield "DeviceTaintRules that select by class or expression"


def rules_ignored(cluster: Cluster, rules: Iterable[DeviceTaintRule]) -> Iterator[Caveat]:
    """That there are rules, and the release looks at none unless a gate is on."""
    names = tuple(rule.metadata.name for rule in rules)
    if names and not rules_count(cluster.facts.gates, cluster.facts.minor):
        yield TaintRulesIgnored(
            names=names, version=f"1.{cluster.facts.minor}", gate=gate_of_rules(cluster.facts.minor)
        )


def _unknown_features(obj: ResourceSlice) -> Iterator[str]:
    """The fields of a slice's devices that no rule here reads (`DRAListTypeAttributes`, `DRANodeAllocatable...`)."""
    for device in obj.spec.devices:
        if device.node_allocatable_resource_mappings:
            yield "nodeAllocatableResourceMappings"
        if any(attribute.is_list for attribute in device.attributes.values()):
            yield "attributes with lists"
