"""What would wake a pod that waits: from the evidence of its attempt, its own objects, and the plugins' hints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.kube.matching.node_affinity import RequiredNodeAffinity
from kwhatif.kube.matching.node_selector import named
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.questions.decisions.decide import objections_of
from kwhatif.questions.queue_report.causes import changes
from kwhatif.questions.queue_report.claim_causes import claim_causes, missing_resource_claims
from kwhatif.questions.queue_report.ideal_node import ideal_node, requested
from kwhatif.questions.queue_report.objected import WakingChange
from kwhatif.report import queue as rows
from kwhatif.report.queue import WakeUpRow
from kwhatif.scheduler.framework.attempt import Attempt
from kwhatif.scheduler.framework.events import ActionType, ClusterEvent, EventResource, cluster_events
from kwhatif.scheduler.framework.evidence import PodAffinityUnmatched, WrongNode
from kwhatif.scheduler.framework.hints import QUEUE, Registration, registrations
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.plugins.dynamic_resources import DynamicResources
from kwhatif.scheduler.plugins.scheduling_gates import SchedulingGates
from kwhatif.scheduler.preemption.candidate import Preemption
from kwhatif.state.pod_info import PodInfo

#: How likely causes of each kind are, as a rule: what is under way already; what the pod's owner does; what pods do all
#: day; what people do to nodes; what hardly happens.
_LIKELIHOOD: tuple[type, ...] = (
    rows.VictimsEnd,
    rows.BackoffEnds,
    rows.GateRemoved,
    rows.ObjectAdded,
    rows.ClaimBound,
    rows.RoomFreed,
    rows.MatchingPodComes,
    rows.PodDeleted,
    rows.MatchingPodsDeleted,
    rows.Uncordoned,
    rows.NodeAdded,
    rows.TaintRemoved,
    rows.DevicesFreed,
    rows.VolumeDetached,
    rows.VolumeUsable,
    rows.NodeLabelled,
    rows.NodeGrows,
    rows.FeaturesDeclared,
    rows.AnyEvent,
    rows.Flush,
)
#: Plugins whose objections a new node does away with.
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

    To be asked before the snapshot changes.
    """
    if result.scores is not None:
        return ()
    if result.gated is not None:
        return tuple(_ungating(result.cycle.pod, result.gated, result.cycle.state.cluster, result.cycle.profile))
    if not result.cycle.unschedulable_plugins:
        return (WakeUpRow(cause=rows.BackoffEnds(), enough=False),)
    found: list[WakeUpRow] = []
    for wake_up in (*_Finder(result).find(), WakeUpRow(cause=rows.Flush(), enough=False)):
        if wake_up not in found:
            found.append(wake_up)
    return tuple(sorted(found, key=_rank))


def _rank(wake_up: WakeUpRow) -> tuple[bool, bool, bool, int]:
    kind = type(wake_up.cause)
    return kind is rows.Flush, not wake_up.wakes, not wake_up.enough, _LIKELIHOOD.index(kind)


def _ungating(pod: PodInfo, gated: Verdict, cluster: Cluster, profile: Profile) -> Iterator[WakeUpRow]:
    if gated.plugin == SchedulingGates.name:
        gates = pod.pod.spec.scheduling_gates
        yield from (
            WakeUpRow(cause=rows.GateRemoved(gate.name), plugin=gated.plugin, enough=len(gates) == 1) for gate in gates
        )
    elif gated.plugin == DynamicResources.name:
        yield from (WakeUpRow(cause=cause, plugin=gated.plugin) for cause in missing_resource_claims(pod, cluster))
    else:
        yield _any_event(gated.plugin, registrations(profile))


def _any_event(plugin: str, registered: Sequence[Registration]) -> WakeUpRow:
    events = dict.fromkeys(each.event.label for each in registered if each.plugin == plugin)
    return WakeUpRow(cause=rows.AnyEvent(plugin, tuple(events)), plugin=plugin, enough=False)


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
        """Everything that is known to help, and for plugins of which nothing is known their events."""
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
            cause = rows.VictimsEnd(found.node, tuple(pod.key for pod in pods))
            yield WakeUpRow(cause=cause, plugin="DefaultPreemption", wakes=wakes)

    def _of_evidence(self) -> Iterator[WakeUpRow]:
        for change in changes(self._result, self._objections):
            yield WakeUpRow(cause=change.cause, plugin=change.plugin, enough=change.enough, wakes=self._wakes(change))

    def _wakes(self, change: WakingChange) -> bool:
        """Whether a hint says so of such an event; where no object stands for it, the plugin waits for it."""
        match change.cause:
            case rows.MatchingPodsDeleted(topology_key=key, domain=domain):
                nodes = (node for node in self._result.cycle.state.nodes if node.labels.get(key) == domain)
                return any(self._is_woken(pod.pod, None) for node in nodes for pod in node.pods)
            case rows.MatchingPodComes(least=False):
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
        """A node that is made for the pod: one that stays out of reach of its hints is not worth waiting for."""
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
        cause = rows.NodeAdded(asked, wanted.terms, self._named_node())
        listening = (each.plugin for each in self._registered if each.event.matches(_NODE_ADD))
        enough = self._rejectors <= _CURED_BY_NODES and not needs_pods
        yield WakeUpRow(cause=cause, plugin=next(listening, ""), enough=enough)

    def _named_node(self) -> str:
        verdicts = (verdict for verdicts in self._objections.values() for verdict in verdicts)
        items = (item for verdict in verdicts for item in verdict.status.evidence)
        return next((item.wanted for item in items if isinstance(item, WrongNode)), "")
