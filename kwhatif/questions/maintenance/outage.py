"""`outage`: what is lost when these nodes fail, what comes back where and when, and what does not?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kwhatif.controllers.contract import Remove
from kwhatif.controllers.pod_gc import OUT_OF_SERVICE
from kwhatif.controllers.pods import pods_assigned_to
from kwhatif.controllers.taint_eviction import is_evicting, says_for_how_long
from kwhatif.edits.edit import Edit, SourcedEdit
from kwhatif.edits.made import recover, taint
from kwhatif.kube.model.cluster import Cluster, ObjectRef, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node, Taint
from kwhatif.kube.model.pod import Pod, is_node_bound, is_static, is_terminal
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.rows import story_of
from kwhatif.questions.story.settled_cluster import SettledCluster, Simulation
from kwhatif.questions.story.simulate import StepPlayer
from kwhatif.report import Report
from kwhatif.report.story import BlockedCause, BlockedRow, Story, VerdictRow, WorstRow
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.parameters import Parameters

#: Marks a node as down, so that its pods are replaced.
_SHUT_DOWN = Taint(key=OUT_OF_SERVICE, value="nodeshutdown", effect="NoExecute")


def outage(session: Session, nodes: tuple[str, ...], parameters: Parameters, *, deleted: bool = False) -> Report:
    """Let the nodes fail, all at once, and simulate until nothing happens any more.

    Args:
        session: the cluster; it is not changed.
        nodes: their names.
        parameters: how long things take.
        deleted: whether the Node objects go; else their kubelets fall silent.
    """
    played = OutageSimulation(SettledCluster(session, parameters), nodes, deleted=deleted)
    report = replace(session.report("outage", (), played.caveats()), story=played.story())
    return session.with_growth(report, played.engine.api_server)


class OutageSimulation(Simulation):
    """One simulation of an outage, played to its end."""

    def __init__(self, base: SettledCluster, nodes: tuple[str, ...], *, deleted: bool) -> None:
        super().__init__(base)
        self.nodes = nodes
        state = self.engine.api_server.state
        pods = state.cluster.all(Pod)
        #: The pods that are lost.
        self.pods = [pod for name in nodes for key in pods_assigned_to(name, state) if _counts(pod := pods[key])]
        if deleted:
            self.engine.perform(self._delete)
        else:
            for name in nodes:
                self.engine.silence(name)
        self.engine.settle()
        self.blocked = tuple(self._left_behind())

    def _delete(self, api_server: ApiServer) -> None:
        for name in self.nodes:
            api_server.write(Remove(Node, name), "user", None)

    def story(self) -> Story:
        """The story, with what only an outage has."""
        story = story_of(self.ending, asked=self.base.asked)
        return replace(story, blocked=self._with_remedies(), verdict=self.verdict())

    def verdict(self) -> VerdictRow:
        """The verdict."""
        return self.verdict_row("outage", self.nodes, self._worst(), moved=len(self.pods))

    def _worst(self) -> WorstRow | None:
        unsettled = self.worst_unsettled()
        if unsettled is not None:
            return unsettled
        if self.pending:
            return WorstRow(what="pending")
        if self.blocked:
            return WorstRow(what="blocked", blocked=self.blocked[0], count=len(self.blocked))
        return self.worst_of_all() or self._worst_unready()

    def _worst_unready(self) -> WorstRow | None:
        """The first workload that has fewer pods ready."""
        cluster = self.base.session.cluster
        unready = {name: each for name, each in self.ending.unready.items() if not goes_with_its_node(name, cluster)}
        name = min(unready, default="")
        if not name:
            return None
        count, of = unready[name]
        return WorstRow(what="unready", subject=name, count=count, of=of)

    def _left_behind(self) -> Iterator[BlockedRow]:
        """Lost pods without replacement, and why."""
        api_server, pods = self.engine.api_server, self.engine.api_server.state.cluster.all(Pod)
        for lost in self.pods:
            key, owner = key_of(lost), controller_of(lost.metadata)
            pod = pods.get(key)
            is_there = pod is not None and pod.metadata.uid == lost.metadata.uid and not is_terminal(pod)
            if owner is None:
                yield BlockedRow(pod=key, class_="no-successor", cause="bare")
            elif pod is not None and is_there and pod.metadata.deletion_timestamp is None:
                yield BlockedRow(pod=key, class_="stays", cause=_why_it_stays(pod, api_server))
            elif is_there and owner.kind == "StatefulSet":
                is_silent = lost.spec.node_name in api_server.state.cluster.all(Node)
                cause: BlockedCause = "node-silent" if is_silent else "node-deleted"
                yield BlockedRow(pod=key, class_="waits-for-node", cause=cause)

    def _with_remedies(self) -> tuple[BlockedRow, ...]:
        """Pods that wait for silent nodes, with remedies: that the nodes are marked as down, or come back.

        Each remedy was tried, for all of these nodes together.
        """
        rows = self.blocked
        waiting = {row.pod for row in rows if row.class_ == "waits-for-node"}
        there = self.engine.api_server.state.cluster.all(Node)  # those that were deleted cannot be tainted
        nodes = dict.fromkeys(pod.spec.node_name for pod in self.pods if key_of(pod) in waiting)
        names = [name for name in nodes if name in there]
        if not names:
            return rows
        found: dict[str, BlockedRow] = {}
        for remedy in (taint(names, _SHUT_DOWN), recover(names)):
            news = self._again_with(remedy)
            for row in rows:
                pod = news.get(row.pod)
                if row.pod not in waiting or pod is None or found.get(row.pod, row).remedy:
                    continue
                nowhere = found.get(row.pod, row).nowhere or not pod.spec.node_name
                found[row.pod] = replace(row, nowhere=nowhere, remedy=remedy.text if pod.spec.node_name else "")
        return tuple(found.get(row.pod, row) for row in rows)

    def _again_with(self, remedy: Edit) -> Mapping[str, Pod]:
        """The replacements of lost pods, by their names, if the remedy is applied as well."""
        self.engine.api_server.state.prepare()
        engine = self.engine.fork()
        engine.ask()
        player = StepPlayer(engine, self.base.session.namespace)
        player.perform(SourcedEdit(remedy.text, remedy))
        engine.settle()
        pods = engine.api_server.state.cluster.all(Pod)
        return {key: pods[key] for pod in self.pods if _is_new(pod, pods.get(key := key_of(pod)))}


def goes_with_its_node(workload: str, cluster: Cluster) -> bool:
    """Whether its pods need no replacement elsewhere: those of a DaemonSet, and static ones."""
    kind, key = ObjectRef.parse(workload)
    pod = cluster.get(Pod, key) if kind == "Pod" else None
    return kind in ("DaemonSet", "Node") or (pod is not None and is_static(pod))


def _is_new(lost: Pod, now: Pod | None) -> bool:
    return now is not None and now.metadata.uid != lost.metadata.uid


def _counts(pod: Pod) -> bool:
    """Whether its loss matters: not that of pods that belong to their node, or have ended."""
    return not (is_terminal(pod) or is_node_bound(pod))


def _why_it_stays(pod: Pod, api_server: ApiServer) -> BlockedCause:
    node = api_server.state.cluster.get(Node, pod.spec.node_name)
    if node is not None and not is_evicting(node):
        return "zone-lost"
    return "tolerates" if node is None or says_for_how_long(pod, node) else "toleration-unknown"
