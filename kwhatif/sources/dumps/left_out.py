"""What a dump shows besides the objects that are read: its age, and kinds that would have a say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from kwhatif.dra.devices import gate_of_rules, rules_count
from kwhatif.kube.model.admission_hooks import ADMISSION_HOOKS
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import AutoscalerObjectsNotModelled
from kwhatif.kube.model.caveat.manifests import AdmissionNotAsked
from kwhatif.kube.model.caveat.reading import NoDates
from kwhatif.kube.model.caveat.scheduling import DevicesNotModelled, TaintRulesIgnored
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.resource import DeviceTaintRule, ResourceSlice
from kwhatif.kube.model.saved import SavedSnapshot
from kwhatif.sources.dumps.gangs import is_gang, kind_of
from kwhatif.sources.dumps.unread import AUTOSCALING

#: These have a say in what is stored when a pod is created (`k8s.io/apiserver/pkg/admission/plugin`).
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
    """Without webhooks and policies that could be read: of these, it is known what they are asked about."""
    left = skipped.copy()
    for kind in ADMISSION_HOOKS:
        for name in [name for name in left if kind_of(name) == kind.__name__]:
            left[name] -= len(cluster.all(kind))
    return +left


def asked_about(skipped: Counter[str]) -> dict[str, int]:
    """Of the objects that were left out those that a caveat is about, by `apiVersion/kind`."""
    known = (*_ADMISSION, *AUTOSCALING)
    return {name: count for name, count in sorted(skipped.items()) if kind_of(name) in known or is_gang(name)}


def devices_not_modelled(cluster: Cluster, *, live: bool) -> Iterator[Caveat]:
    """What devices have that Kubernetes turns off by default, and that the allocator here does not know."""
    features = sorted({name for obj in cluster.all(ResourceSlice).values() for name in _unknown_features(obj)})
    features += unknown_rules(cluster, cluster.all(DeviceTaintRule).values())
    if live and cluster.minor < _SERVED and rules_count(cluster.gates, cluster.minor):
        features.append("DeviceTaintRules of an alpha or beta API (which is not asked for)")
    if features:
        yield DevicesNotModelled(features=tuple(features))
    yield from rules_ignored(cluster, cluster.all(DeviceTaintRule).values())


def unknown_rules(cluster: Cluster, rules: Iterable[DeviceTaintRule]) -> Iterator[str]:
    """What rules up to 1.34 may select by, and is not looked at here."""
    selectors = (rule.spec.device_selector for rule in rules if rules_count(cluster.gates, cluster.minor))
    old = cluster.minor < _WITHOUT_CLASSES
    if old and any(each is not None and (each.selectors or each.device_class_name) for each in selectors):
        yield "DeviceTaintRules that select by class or expression"


def rules_ignored(cluster: Cluster, rules: Iterable[DeviceTaintRule]) -> Iterator[Caveat]:
    """That there are rules, and the release looks at none unless a gate is on."""
    names = tuple(rule.metadata.name for rule in rules)
    if names and not rules_count(cluster.gates, cluster.minor):
        yield TaintRulesIgnored(names=names, version=f"1.{cluster.minor}", gate=gate_of_rules(cluster.minor))


def _unknown_features(obj: ResourceSlice) -> Iterator[str]:
    """The fields of a slice's devices that no rule here reads (`DRAListTypeAttributes`, `DRANodeAllocatable...`)."""
    for device in obj.spec.devices:
        if device.node_allocatable_resource_mappings:
            yield "nodeAllocatableResourceMappings"
        if any(attribute.is_list for attribute in device.attributes.values()):
            yield "attributes with lists"
