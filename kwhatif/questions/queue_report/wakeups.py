"""What would wake a waiting pod: by the evidence of its attempt, its own objects, and the plugins' hints."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kwhatif.kube.matching.nodes import UNSCHEDULABLE_TAINT, RequiredNodeAffinity, named
from kwhatif.kube.matching.requests import CPU, pod_requests, to_resources
from kwhatif.kube.matching.volumes import WAIT_FOR_FIRST_CONSUMER, claim_class, claim_names, is_fully_bound
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.meta import AnnotatedMeta, Requirement
from kwhatif.kube.model.node import Node, NodeStatus
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.resource import ResourceClaim
from kwhatif.kube.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.questions.decisions.decide import objections_of
from kwhatif.questions.queue_report.causes import (
    OnNode,
    WakingChange,
    affinity,
    cordons,
    devices,
    growth,
    labels,
    ports,
    room,
    spread,
    taints,
    volumes,
)
from kwhatif.report import causes
from kwhatif.report.causes import Cause, ClaimBound, ObjectAdded, PodDeleted
from kwhatif.report.queue import WakeUpRow
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.scheduler.framework.events import ActionType, ClusterEvent, EventResource, cluster_events
from kwhatif.scheduler.framework.evidence import CordonedNode, PodAffinityUnmatched, UntoleratedTaint, WrongNode
from kwhatif.scheduler.framework.hints import QUEUE, Registration, registrations
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.plugins.dynamic_resources import DynamicResources
from kwhatif.scheduler.plugins.scheduling_gates import SchedulingGates
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_VOLUME_PLUGINS = {"VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"}


def claim_causes(pod: PodInfo, state: State, rejectors: Collection[str]) -> Iterator[tuple[Cause, str]]:
    """What would help a pod that waits for claims or their volumes, with the plugin that waits for it.

    `rejectors` are the plugins that have rejected the pod.
    """
    plugin = min(_VOLUME_PLUGINS.intersection(rejectors), default="")
    for claim in claim_names(pod.pod) if plugin else ():
        cause = _cause_of_claim(f"{pod.namespace}/{claim.name}", state.cluster)
        if cause is not None:
            yield cause, plugin
    if "VolumeRestrictions" in rejectors:
        yield from ((cause, "VolumeRestrictions") for cause in _users_of_claims(pod, state))
    if DynamicResources.name in rejectors:
        yield from ((cause, DynamicResources.name) for cause in missing_resource_claims(pod, state.cluster))


def _cause_of_claim(key: str, cluster: Cluster) -> Cause | None:
    claim = cluster.get(PersistentVolumeClaim, key)
    if claim is None:
        return ObjectAdded("PersistentVolumeClaim", key)
    if is_fully_bound(claim):
        volume = claim.spec.volume_name
        return None if cluster.get(PersistentVolume, volume) else ObjectAdded("PersistentVolume", volume)
    class_name = claim_class(claim)
    storage_class = cluster.get(StorageClass, class_name)
    if storage_class is None and class_name:
        return ObjectAdded("StorageClass", class_name)
    if storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return None
    return ClaimBound(key)


def _users_of_claims(pod: PodInfo, state: State) -> Iterator[PodDeleted]:
    own = {name.name for name in claim_names(pod.pod)}
    for node in state.nodes:
        for other in node.pods:
            shared = own.intersection(other.claim_names) if other.namespace == pod.namespace else ()
            if shared:
                holds = f"PersistentVolumeClaim {other.namespace}/{min(shared)}"
                yield PodDeleted(other.key, holds, node.name)


def missing_resource_claims(pod: PodInfo, cluster: Cluster) -> Iterator[ObjectAdded]:
    """ResourceClaims of the pod that do not exist, or are being deleted."""
    generated = {status.name: status.resource_claim_name for status in pod.pod.status.resource_claim_statuses}
    for entry in pod.pod.spec.resource_claims:
        name = entry.resource_claim_name or generated.get(entry.name) or f"{pod.name}-{entry.name}"
        claim = cluster.get(ResourceClaim, f"{pod.namespace}/{name}")
        if claim is None or claim.metadata.deletion_timestamp is not None:
            yield ObjectAdded("ResourceClaim", f"{pod.namespace}/{name}")


#: The value of labels for which only the key matters.
_ANY = "new"


def requested(pod: Pod) -> dict[str, int]:
    """The requests of the pod, by resource: milli-cpu, bytes, units."""
    amounts = to_resources(pod_requests(pod))
    return {name: amounts.of(name) for name in amounts.asked}


def ideal_node(pod: Pod, name: str = "") -> Node:
    """The node that a pod waits for, to ask hints about it: empty, with room, the labels it asks for, and no taints."""
    amounts = {what: f"{amount}m" if what == CPU else str(amount) for what, amount in requested(pod).items()}
    labels = dict.fromkeys(_topology_keys(pod), _ANY) | dict(_wanted_labels(pod))
    return Node(
        metadata=AnnotatedMeta(name=name, labels=labels), status=NodeStatus(allocatable={"pods": "110", **amounts})
    )


def _topology_keys(pod: Pod) -> Iterator[str]:
    yield from (constraint.topology_key for constraint in pod.spec.topology_spread_constraints)
    affinity = pod.spec.affinity
    for part in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        yield from (term.topology_key for term in part.required) if part else ()


def _wanted_labels(pod: Pod) -> Iterator[tuple[str, str]]:
    """Of several terms, one is enough: the first."""
    affinity = pod.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    if required is not None and required.node_selector_terms:
        yield from _satisfying(required.node_selector_terms[0].match_expressions)
    yield from (pod.spec.node_selector or {}).items()


def _satisfying(requirements: Iterable[Requirement]) -> Iterator[tuple[str, str]]:
    """A label for each requirement that needs one; it is not checked whether two requirements of one key agree."""
    for requirement in requirements:
        match requirement.operator:
            case "In":
                yield requirement.key, requirement.values[0] if requirement.values else _ANY
            case "Exists":
                yield requirement.key, _ANY
            case "Gt":
                yield requirement.key, _beyond(requirement, 1)
            case "Lt":
                yield requirement.key, _beyond(requirement, -1)


def _beyond(requirement: Requirement, step: int) -> str:
    text = requirement.values[0] if requirement.values else ""
    return str(int(text) + step) if text.removeprefix("-").isdecimal() else _ANY


def changes(result: Attempt, objections: Mapping[str, tuple[Verdict, ...]]) -> Iterator[WakingChange]:
    """The changes that would help on the nodes that were rejected; only of plugins that count as rejectors.

    If a change is enough for some nodes, nodes that need more are left out.
    """
    nodes = result.cycle.state.by_name
    rejectors = result.cycle.unschedulable_plugins
    found = [
        OnNode(nodes[name], verdict.plugin, verdict.status.evidence, _is_alone(verdict, verdicts))
        for name, verdicts in sorted(objections.items())
        for verdict in verdicts
        if verdict.plugin in rejectors
    ]
    pod = result.cycle.pod
    yield from room(found)
    yield from growth(found)
    yield from taints(pod, found)
    yield from cordons(found)
    yield from labels(found)
    yield from ports(found)
    yield from spread(pod, found)
    yield from affinity(found)
    yield from volumes(found)
    yield from devices(found)


def _is_alone(verdict: Verdict, verdicts: Sequence[Verdict]) -> bool:
    """Whether only one plugin objects to the node; the taint of a cordoned node goes with the cordon."""
    return all(other.plugin == verdict.plugin or _is_cordon(other) for other in verdicts)


def _is_cordon(verdict: Verdict) -> bool:
    return any(
        isinstance(item, CordonedNode) or (isinstance(item, UntoleratedTaint) and item.key == UNSCHEDULABLE_TAINT.key)
        for item in verdict.status.evidence
    )


#: How likely causes of each kind are, as a rule: what is under way already; what the pod's owner does; what pods do all
#: day; what people do to nodes; what hardly happens.
_LIKELIHOOD: tuple[type, ...] = (
    causes.VictimsEnd,
    causes.BackoffEnds,
    causes.GateRemoved,
    causes.ObjectAdded,
    causes.ClaimBound,
    causes.RoomFreed,
    causes.MatchingPodComes,
    causes.PodDeleted,
    causes.MatchingPodsDeleted,
    causes.Uncordoned,
    causes.NodeAdded,
    causes.TaintRemoved,
    causes.DevicesFreed,
    causes.VolumeDetached,
    causes.VolumeUsable,
    causes.NodeLabelled,
    causes.NodeGrows,
    causes.FeaturesDeclared,
    causes.AnyEvent,
    causes.Flush,
)
#: Plugins whose objections a new node solves.
_CURED_BY_NODES = {
    "NodeResourcesFit",
    "NodeAffinity",
    "TaintToleration",
    "NodeUnschedulable",
    "NodePorts",
    "NodeName",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
}
_NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)


def wake_ups(result: Attempt) -> tuple[WakeUpRow, ...]:
    """What would wake the pod of a failed attempt, the most likely first; nothing for one that was placed.

    Call it before the state changes.
    """
    if result.scores is not None:
        return ()
    if result.gated is not None:
        return tuple(_ungating(result.cycle.pod, result.gated, result.cycle.state.cluster, result.cycle.profile))
    if not result.cycle.unschedulable_plugins:
        return (WakeUpRow(cause=causes.BackoffEnds(), enough=False),)
    found: list[WakeUpRow] = []
    for wake_up in (*_Finder(result).find(), WakeUpRow(cause=causes.Flush(), enough=False)):
        if wake_up not in found:
            found.append(wake_up)
    return tuple(sorted(found, key=_rank))


def _rank(wake_up: WakeUpRow) -> tuple[bool, bool, bool, int]:
    kind = type(wake_up.cause)
    return kind is causes.Flush, not wake_up.wakes, not wake_up.enough, _LIKELIHOOD.index(kind)


def _ungating(pod: PodInfo, gated: Verdict, cluster: Cluster, profile: Profile) -> Iterator[WakeUpRow]:
    if gated.plugin == SchedulingGates.name:
        gates = pod.pod.spec.scheduling_gates
        yield from (
            WakeUpRow(cause=causes.GateRemoved(gate.name), plugin=gated.plugin, enough=len(gates) == 1)
            for gate in gates
        )
    elif gated.plugin == DynamicResources.name:
        yield from (WakeUpRow(cause=cause, plugin=gated.plugin) for cause in missing_resource_claims(pod, cluster))
    else:
        yield _any_event(gated.plugin, registrations(profile))


def _any_event(plugin: str, registered: Sequence[Registration]) -> WakeUpRow:
    events = dict.fromkeys(label for each in registered if each.plugin == plugin for label in each.event.labels)
    return WakeUpRow(cause=causes.AnyEvent(plugin, tuple(events)), plugin=plugin, enough=False)


class _Finder:
    """Finds what would wake the pod of one attempt."""

    def __init__(self, result: Attempt) -> None:
        self._result = result
        self._pod = result.cycle.pod
        self._cluster = result.cycle.state.cluster
        self._rejectors = result.cycle.unschedulable_plugins
        self._registered = [each for each in registrations(result.cycle.profile) if each.plugin in self._rejectors]
        self._objections = objections_of(result)

    def find(self) -> Iterator[WakeUpRow]:
        """All changes that are known to help; and for plugins about which nothing is known, their events."""
        spoken_for: set[str] = set()
        for wake_up in (*self._of_preemption(), *self._of_evidence(), *self._of_claims(), *self._of_new_nodes()):
            spoken_for.add(wake_up.plugin)
            yield wake_up
        for plugin in sorted(self._rejectors - spoken_for):
            yield _any_event(plugin, self._registered)

    def _of_preemption(self) -> Iterator[WakeUpRow]:
        found = self._result.post_filter.outcome if self._result.post_filter else None
        if isinstance(found, Preemption) and found.node is not None and found.candidates:
            pods = found.candidates[0].pods
            wakes = any(self._is_woken(pod.pod, None) for pod in pods)
            cause = causes.VictimsEnd(found.node, tuple(pod.key for pod in pods))
            yield WakeUpRow(cause=cause, plugin="DefaultPreemption", wakes=wakes)

    def _of_evidence(self) -> Iterator[WakeUpRow]:
        for change in changes(self._result, self._objections):
            yield WakeUpRow(cause=change.cause, plugin=change.plugin, enough=change.enough, wakes=self._wakes(change))

    def _wakes(self, change: WakingChange) -> bool:
        """Whether a hint says that such an event wakes the pod; without an object to ask about, it does."""
        match change.cause:
            case causes.MatchingPodsDeleted(topology_key=key, domain=domain):
                nodes = (node for node in self._result.cycle.state.nodes if node.labels.get(key) == domain)
                return any(self._is_woken(pod.pod, None) for node in nodes for pod in node.pods)
            case causes.MatchingPodComes(least=False):
                # QUIRK: (isSchedulableAfterPodChange) a pod has to match all of the terms.
                return len(self._pod.affinity_terms.required) == 1
            case _:
                return True

    def _is_woken(self, old: KubernetesObject | None, new: KubernetesObject | None) -> bool:
        return any(
            each.event.matches(event) and (each.hint is None or each.hint(self._pod, old, new, self._cluster) is QUEUE)
            for event in cluster_events(old, new, self._cluster)
            for each in self._registered
        )

    def _of_claims(self) -> Iterator[WakeUpRow]:
        found = claim_causes(self._pod, self._result.cycle.state, self._rejectors)
        return (WakeUpRow(cause=cause, plugin=plugin) for cause, plugin in found)

    # --- new nodes -----------------------------------------------------------------------------------

    def _of_new_nodes(self) -> Iterator[WakeUpRow]:
        """An ideal node for the pod: if the hints ignore even that one, new nodes do not wake it."""
        node = ideal_node(self._pod.pod, self._named_node())
        if not self._is_woken(None, node):
            return
        needs_pods = any(
            isinstance(item, PodAffinityUnmatched)
            for verdicts in self._objections.values()
            for verdict in verdicts
            for item in verdict.status.evidence
        )
        asked = requested(self._pod.pod)
        wanted = RequiredNodeAffinity(self._pod.pod.spec).mismatch(named(Node()))
        cause = causes.NodeAdded(asked, wanted.terms, self._named_node())
        listening = (each.plugin for each in self._registered if each.event.matches(_NODE_ADD))
        enough = self._rejectors <= _CURED_BY_NODES and not needs_pods
        yield WakeUpRow(cause=cause, plugin=next(listening, ""), enough=enough)

    def _named_node(self) -> str:
        verdicts = (verdict for verdicts in self._objections.values() for verdict in verdicts)
        items = (item for verdict in verdicts for item in verdict.status.evidence)
        return next((item.wanted for item in items if isinstance(item, WrongNode)), "")
