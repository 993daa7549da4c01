"""What becomes of pods when nodes are lost or drained, and when their kubelets run out of memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from kwhatif.controllers.contract import How
from kwhatif.controllers.drain_filters import WITH_FLAGS
from kwhatif.controllers.taint_eviction import evicted_after
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.kinds import find
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, is_node_bound, is_static
from kwhatif.questions.maintenance.drain import DrainSimulation
from kwhatif.questions.maintenance.outage import OutageSimulation
from kwhatif.questions.rows import workload_or_pod
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.caveats import caveats_of_end
from kwhatif.questions.story.settled_cluster import ScenarioPlayer, Simulation
from kwhatif.report.risks import PressureRow, ThreatRow
from kwhatif.simulation.parameters import Parameters
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

# --- nodes that are lost or drained ----------------------------------------------------------------------------------


class NodeEvent(msgspec.Struct, frozen=True):
    """A node is lost, or drained."""

    kind: Literal["outage", "drain"]
    node: str

    @property
    def name(self) -> str:
        """No other event has it."""
        return f"{self.kind} {self.node}"

    @property
    def nodes(self) -> tuple[str, ...]:
        """The node."""
        return (self.node,)


class LostPod(msgspec.Struct, frozen=True):
    """A pod of the subject that goes, seconds after the event; `because`: the workload whose pod evicts it."""

    pod: str
    seconds: float
    how: How
    because: str = ""


class NodeOutcome(msgspec.Struct, frozen=True):
    """The pods of the subject that go in an event."""

    name: str
    lost: tuple[LostPod, ...] = ()
    caveats: tuple[Caveat, ...] = ()


class NodeEvents(ScenarioPlayer[NodeEvent, NodeOutcome]):
    """Plays each event by itself, and looks at the pods of a subject."""

    def __init__(self, session: Session, parameters: Parameters, subject: tuple[str, ...]) -> None:
        """`subject`: the names of the pods."""
        super().__init__(session, parameters)
        self.question = subject
        pods = session.cluster.all(Pod)
        self._uids = {pods[key].metadata.uid or key: key for key in subject}

    def _outcome(self, scenario: NodeEvent) -> NodeOutcome:
        played: Simulation
        if scenario.kind == "outage":
            played = OutageSimulation(self.base, scenario.nodes, deleted=False)
        else:
            played = DrainSimulation(self.base, scenario.nodes, WITH_FLAGS)
        found = NodeOutcome(scenario.name, tuple(self._lost(played)), tuple(caveats_of_end(played.engine)))
        played.engine.end()
        return found

    def _lost(self, played: Simulation) -> Iterator[LostPod]:
        api_server, start = played.engine.api_server, self.base.start
        for uid, key in self._uids.items():
            gone = api_server.history.gone.get(uid)
            if gone is None or gone.at < start or played.ending.is_gone_anyway(uid, gone):
                continue
            preemptor = None if gone.by is None else find(gone.by, api_server.state.cluster)
            because = workload_or_pod(preemptor) if isinstance(preemptor, Pod) else ""
            yield LostPod(key, round(gone.at - start, 3), gone.how, because)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the arguments: the rest is computed again in the other process."""
        return type(self), (self.session, self.parameters, self.question)


def events(state: State, subject: Collection[str], kinds: Sequence[Literal["outage", "drain"]]) -> list[NodeEvent]:
    """The events in which a pod may go: of its own node, and of nodes with pods that may evict it when they move."""
    own = {state.pods[key].pod.spec.node_name for key in subject}
    lowest = min((state.pods[key].priority for key in subject), default=0)
    found = (node for node in state.nodes if node.name in own or any(_may_move(pod, lowest) for pod in node.pods))
    nodes = sorted(node.name for node in found)
    return [NodeEvent(kind, name) for kind in kinds for name in nodes]


def _may_move(info: PodInfo, lowest: int) -> bool:
    """Whether the pod is recreated elsewhere, and may evict pods of that priority there."""
    comes_back = controller_of(info.pod.metadata) is not None and not is_node_bound(info.pod)
    return info.priority > lowest and info.pod.spec.preemption_policy != "Never" and comes_back


def threats_of_nodes(outcomes: Mapping[str, NodeOutcome], asked: Iterable[NodeEvent]) -> Iterator[ThreatRow]:
    """One for each event and reason for which pods of the subject go."""
    for event in asked:
        lost = outcomes[event.name].lost if event.name in outcomes else ()
        flags = " --ignore-daemonsets --delete-emptydir-data --force" if event.kind == "drain" else ""
        for because in dict.fromkeys(each.because for each in lost):
            some = [each for each in lost if each.because == because]
            yield ThreatRow(
                kind=event.kind,
                by=f"Node {event.node}",
                pods=tuple(each.pod for each in some),
                because=because,
                seconds=min(each.seconds for each in some),
                command=f"kwhatif {event.kind} {event.node}{flags}",
            )


# --- taints that are there -------------------------------------------------------------------------------------------


def threats_of_taints(state: State, subject: Collection[str]) -> Iterator[ThreatRow]:
    """NoExecute taints of nodes that evict pods of the subject, not counting those of its health."""
    due: dict[str, dict[str, float]] = {}
    for key in subject:
        pod = state.pods[key].pod
        seconds = evicted_after(pod, state.by_name[pod.spec.node_name].node)
        if seconds is not None:
            due.setdefault(pod.spec.node_name, {})[key] = seconds
    for node, pods in sorted(due.items()):
        yield ThreatRow(
            kind="taint", by=f"Node {node}", pods=tuple(pods), seconds=min(pods.values()), command="kwhatif simulate"
        )


# --- a kubelet that runs out of memory -------------------------------------------------------------------------------

#: Pods of this priority and more are critical (`scheduling.SystemCriticalPriority`).
_CRITICAL = 2_000_000_000


def is_critical(info: PodInfo) -> bool:
    """Whether the kubelet evicts other pods only (`IsCriticalPod` in `pkg/kubelet/types/pod_update.go`)."""
    return info.priority >= _CRITICAL or is_static(info.pod)


def under_pressure(state: State, subject: Collection[str]) -> Iterator[PressureRow]:
    """The places of the pods in the order of `rankMemoryPressure` (`pkg/kubelet/eviction/helpers.go`)."""
    for key in subject:
        info = state.pods[key]
        if is_critical(info):
            continue
        node = state.by_name[info.pod.spec.node_name]
        others = [each.priority for each in node.pods if each.key != key and not is_critical(each)]
        lower = sum(priority < info.priority for priority in others)
        equal = sum(priority == info.priority for priority in others)
        yield PressureRow(pod=key, node=node.name, first=lower + 1, last=lower + equal + 1, of=len(others) + 1)
