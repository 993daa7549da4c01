"""`drain`: can these nodes be drained, in which waves, what blocks it, and where do the pods land?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from math import ceil
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.admission.disruption import counted_status
from kwhatif.controllers.contract import Update
from kwhatif.controllers.disruption import pods_selected_by
from kwhatif.controllers.drain import KubectlDrain
from kwhatif.controllers.drain_filters import FLAGS, DrainOptions, list_pods
from kwhatif.controllers.eviction import MANY_BUDGETS, EvictionRefused, sync_failure
from kwhatif.edits.edit import SourcedEdit
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_ready, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from kwhatif.kube.model.quantity import go_duration
from kwhatif.questions.maintenance.remedies import DrainFlag, Remedy, remedies
from kwhatif.questions.manifests.edited import edit_session
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.rows import command_row, story_of
from kwhatif.questions.story.settled_cluster import SettledCluster, Simulation, harm_of
from kwhatif.report import Report
from kwhatif.report.story import BlockedCause, BlockedRow, CommandRow, Story, VerdictRow, WaveRow, WorstRow
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.parameters import Parameters


def blocked_pods(drain: KubectlDrain, engine: Engine, before: Cluster) -> Iterator[BlockedRow]:
    """The pods that are left on the drain's nodes once everything has settled, and why.

    They come by class, in the order in which the classes are checked. `before`: the cluster as it was.
    """
    found: set[str] = set()
    for row in _still_there(drain, engine, before):
        found.add(row.pod)
        yield row
    for key in drain.log.given_up:
        if key not in found:
            timeout = go_duration(round(drain.options.timeout * 10**9))
            yield BlockedRow(pod=key, class_="late", cause="timeout", about=timeout)


def _still_there(drain: KubectlDrain, engine: Engine, before: Cluster) -> Iterator[BlockedRow]:
    for node in drain.nodes:
        listed = list_pods(node, drain.options, engine.api_server)
        for pod, verdict in listed.pods:
            key = key_of(pod)
            if verdict.error:
                yield BlockedRow(pod=key, class_="refused", cause="refused-by-kubectl", about=_refused(verdict.error))
            elif verdict.goes and not listed.errors:
                yield _blocked(pod, drain, engine, before)


def _refused(error: str) -> str:
    """Kubectl's message without the flag, which is the remedy."""
    flag = FLAGS.get(error)
    return error if flag is None else error.partition(" (use ")[0]


def _blocked(pod: Pod, drain: KubectlDrain, engine: Engine, before: Cluster) -> BlockedRow:
    key = key_of(pod)
    refused = drain.log.refusals.get(key)
    if pod.metadata.deletion_timestamp is not None:
        silent = pod.spec.node_name in engine.api_server.silent
        cause: BlockedCause = "kubelet-silent" if silent else "finalizer" if pod.metadata.finalizers else "slow"
        return BlockedRow(pod=key, class_="never-ends", cause=cause)
    if refused is None or not refused.budgets:
        return _never_asked(pod, drain)
    if refused.message == MANY_BUDGETS:
        return BlockedRow(pod=key, class_="many-budgets", cause="many-budgets", budgets=refused.budgets)
    return _by_budget(pod, refused, engine, before)


def _never_asked(pod: Pod, drain: KubectlDrain) -> BlockedRow:
    key, node = key_of(pod), pod.spec.node_name
    first = next((name for name in drain.nodes if name not in drain.failures), node)
    if not drain.done and first != node:
        return BlockedRow(pod=key, class_="late", cause="endless-drain", about=first)
    return BlockedRow(pod=key, class_="late", cause="came-late")


def _by_budget(pod: Pod, refused: EvictionRefused, engine: Engine, before: Cluster) -> BlockedRow:
    key = refused.budgets[0]
    failed = sync_failure(key, engine.api_server)
    if failed is not None:
        return BlockedRow(
            pod=key_of(pod), class_="sync-failed", cause="sync-failed", about=failed.reason, budgets=(key,)
        )
    budget = engine.api_server.state.cluster.all(PodDisruptionBudget)[key]
    status = budget.status or PodDisruptionBudgetStatus()
    members = [
        each
        for each in pods_selected_by(key, engine.api_server.state.cluster)
        if each.metadata.deletion_timestamp is None and not is_terminal(each)
    ]

    def row(class_: str, cause: BlockedCause, about: str = "") -> BlockedRow:
        return BlockedRow(
            pod=key_of(pod),
            class_=class_,
            cause=cause,
            about=about,
            budgets=(key,),
            needed=status.desired_healthy,
            healthy=status.current_healthy,
        )

    if not is_ready(pod):
        return row("unhealthy-lock", "unready-itself")
    if _demands_all(key, before):
        return row("demands-all", "demands-all")
    waiting = [each for each in members if not each.spec.node_name]
    if waiting:
        return row("no-room", "pending-member", key_of(waiting[0]))
    unready = [each for each in members if not is_ready(each)]
    if unready:
        return row("unhealthy", "unready-member", key_of(unready[0]))
    if status.disruptions_allowed > 0:
        return row("late", "allowed-late")
    if any(controller_of(each.metadata) is None for each in members):
        return row("no-successor", "bare-members")
    return row("no-successor", "no-maker")


def _demands_all(key: str, cluster: Cluster) -> bool:
    """Whether it would allow no disruption even with all desired pods ready."""
    budget = cluster.get(PodDisruptionBudget, key)
    if budget is None:
        return False
    pods = [pod for pod in pods_selected_by(key, cluster) if pod.metadata.deletion_timestamp is None]
    status = counted_status(budget, pods, cluster)
    if not isinstance(status, PodDisruptionBudgetStatus):
        return False
    return status.desired_healthy >= status.expected_pods or status.expected_pods <= 0


#: The most nodes with pods to order: 5,050 drains, seconds on a small cluster, minutes on a big one.
MOST = 100


def least_harmful_order(base: SettledCluster, nodes: Sequence[str], options: DrainOptions) -> tuple[str, ...]:
    """An order of drains that does little harm: next is always the node whose drain does the least harm now.

    All nodes are cordoned first, as kubectl does; then each step tries every node that is left, and takes one.

    A good order, not the optimum: for n nodes with pods to evict it simulates n(n+1)/2 drains. Of equal ones those come
    first that have nothing to evict, then the first by name. While nothing changes, what was tried still holds.

    Raises:
        InputError: too many nodes have pods to evict.
    """
    engine = base.fork()
    engine.perform(lambda api_server: _cordon(api_server, nodes))
    engine.settle()
    order: list[str] = []
    left = sorted(nodes)
    tried: dict[str, _DrainedNext] = {}
    while left:
        tried |= {name: _drained(engine, name, options) for name in left if name not in tried}
        name = min(left, key=lambda name: tried[name].harm)
        taken = tried.pop(name)
        if taken.changes:
            if len(left) > MOST:
                raise InputError([_too_many(len(left))])
            tried.clear()
        order.append(name)
        left.remove(name)
        engine = taken.after
    return tuple(order)


def _moment(engine: Engine) -> tuple[int, float]:
    return engine.api_server.state.generation, engine.clock.now


def _too_many(left: int) -> Problem:
    message = f"{left:,} nodes have pods to evict: every one of them would be tried in each step"
    return Problem("--order", message, hint=f"at most {MOST:,} nodes can be put in order at a time")


def _cordon(api_server: ApiServer, nodes: Sequence[str]) -> None:
    for name in nodes:
        node = api_server.state.cluster.all(Node)[name]
        if not node.spec.unschedulable:
            api_server.write(Update(replace(node, spec=replace(node.spec, unschedulable=True))), "user", None)


class _DrainedNext(NamedTuple):
    """The result if a node is drained next: the harm, and the simulation afterwards."""

    harm: tuple[float, ...]
    after: Engine
    #: Whether it changes anything.
    changes: bool


def _drained(engine: Engine, name: str, options: DrainOptions) -> _DrainedNext:
    after = engine.fork()
    drain = KubectlDrain((name,), options)
    start = after.clock.now
    after.evict(drain)
    after.settle()
    is_drained = drain.done and drain.ok
    changes = _moment(after) != _moment(engine)
    harm = float(not is_drained), *harm_of(after, engine), after.clock.now - start, float(changes)
    return _DrainedNext(harm, after, changes)


#: The most nodes to judge after one whose drain does not end; the others are not reached.
_MOST_BEYOND = 16
#: The most kinds of blocked pods to find a remedy for: each takes one or a few simulations.
_MOST_PROVEN = 8


def drain(
    session: Session, nodes: tuple[str, ...], options: DrainOptions, parameters: Parameters, *, order: bool = False
) -> Report:
    """Drain the nodes in order, and simulate until nothing happens any more.

    Args:
        session: the cluster; it is not changed.
        nodes: their names.
        options: the flags of the command.
        parameters: how long things take.
        order: whether the nodes are drained in an order that does little harm, instead of the given one.
    """
    base = SettledCluster(session, parameters)
    if order:
        nodes = least_harmful_order(base, nodes, replace(options, parallel=1))
    played = DrainSimulation(base, nodes, options)
    blocked = tuple(with_remedies(played))
    report = replace(session.report("drain", (), played.caveats()), story=played.story(blocked))
    return session.with_growth(report, played.engine.api_server)


class DrainSimulation(Simulation):
    """One simulation of a drain, played to its end."""

    def __init__(self, base: SettledCluster, nodes: tuple[str, ...], options: DrainOptions) -> None:
        super().__init__(base)
        self.options = options
        self.drain = KubectlDrain(nodes, options)
        self.engine.evict(self.drain)
        self.engine.settle()
        self.blocked = self._blocked()

    def _blocked(self) -> tuple[BlockedRow, ...]:
        """The blocked pods; those on nodes after one whose drain does not end are judged as if it had ended."""
        before = self.base.session.cluster
        rows = {row.pod: row for row in blocked_pods(self.drain, self.engine, before)}
        drain, engine = self.drain, self.engine
        for _ in range(_MOST_BEYOND):
            if drain.done or not drain.not_reached:
                break
            engine.api_server.state.prepare()
            engine = engine.fork()
            drain = KubectlDrain(drain.not_reached, self.options)
            engine.evict(drain)
            engine.settle()
            rows |= {row.pod: row for row in blocked_pods(drain, engine, before) if row.cause != "endless-drain"}
        return tuple(sorted(rows.values(), key=lambda row: row.cause == "endless-drain"))

    def story(self, blocked: tuple[BlockedRow, ...]) -> Story:
        """The story, with what only a drain has."""
        story = story_of(self.ending, (self.command,), self.base.asked)
        return replace(story, waves=self._waves(), blocked=blocked, verdict=self.verdict())

    def _waves(self) -> tuple[WaveRow, ...]:
        return tuple(
            WaveRow(at=round(at - self.base.start, 3), pods=tuple(pod for _, pod in granted))
            for at, granted in groupby(self.drain.log.granted, key=lambda each: each[0])
        )

    def verdict(self) -> VerdictRow:
        """The verdict."""
        row = self.verdict_row("drain", self.drain.nodes, self._worst(), moved=len(self._evicted))
        return replace(row, waves=len(self._waves()), gone=self.gone)

    @property
    def command(self) -> CommandRow:
        """The command, and what it prints."""
        return command_row(self.drain, self.engine, self.base.start)

    def _worst(self) -> WorstRow | None:
        drain = self.drain
        if not (drain.done and drain.ok):
            refused = [error for errors in drain.failures.values() for error in errors if not drain.log.given_up]
            if refused:
                return WorstRow(what="refused-by-kubectl", messages=tuple(refused))
            if self.blocked:
                count = sum(row.cause != "endless-drain" for row in self.blocked)
                return WorstRow(what="blocked", blocked=self.blocked[0], count=max(count, 1))
            return WorstRow(what="endless")
        unsettled = self.worst_unsettled()
        if unsettled is not None:
            return unsettled
        return WorstRow(what="pending") if self.pending else self.worst_of_all()

    @property
    def gone(self) -> tuple[str, ...]:
        """The evicted pods without replacement: bare ones, those of failed Jobs, and if the replacement is refused."""
        pods = self.base.engine.api_server.state.cluster.all(Pod)
        bare = [key for key in self._evicted if key in pods and controller_of(pods[key].metadata) is None]
        ending = self.ending
        lost = [key for name in ending.fallen_short for key in self._of(name)[: ending.lacks(name)]]
        return (*bare, *lost)

    def _of(self, workload: str) -> list[str]:
        """The evicted pods of the workload, the last one first."""
        owners = {gone.pod: gone.owner for gone in self.engine.api_server.history.gone.values()}
        return [key for key in reversed(self._evicted) if owners.get(key) == workload]

    @cached_property
    def _evicted(self) -> list[str]:
        """The evicted pods in order, without those that had already ended."""
        pods = self.base.engine.api_server.state.cluster.all(Pod)
        return [key for _, key in self.drain.log.granted if key not in pods or not is_terminal(pods[key])]


# --- remedies ----------------------------------------------------------------------------------------


def with_remedies(played: DrainSimulation) -> Iterator[BlockedRow]:
    """The blocked pods, each with the first remedy that helps."""
    found: dict[BlockedRow, str] = {}
    for row in played.blocked:
        kind = replace(row, pod="")
        if kind not in found:
            remedy = None if len(found) >= _MOST_PROVEN else remedy_of(row, played)
            found[kind] = "" if remedy is None else remedy.text
        yield replace(row, remedy=found[kind])


def remedy_of(row: BlockedRow, played: DrainSimulation) -> Remedy | None:
    """The first remedy that helps with this pod, if there is one."""
    if row.class_ == "late" and played.options.timeout > 0:
        patient = DrainSimulation(played.base, played.drain.nodes, replace(played.options, timeout=0.0))
        is_left = any(other.pod == row.pod for other in patient.blocked)
        return None if is_left else DrainFlag("timeout", ceil(patient.command.seconds + 1))
    found = remedies(row, played.options, played.engine, played.drain.nodes)
    return next((each for each in found if _helps(each, row, played)), None)


def _helps(remedy: Remedy, row: BlockedRow, played: DrainSimulation) -> bool:
    """Whether the pod is gone if the drain is simulated with the remedy."""
    base, options = played.base, played.options
    if isinstance(remedy, DrainFlag):
        options = remedy.on(options)
    else:
        try:
            edited = edit_session(base.session, (SourcedEdit(remedy.text, remedy),))
        except InputError:
            return False
        base = SettledCluster(edited, base.parameters)
    again = DrainSimulation(base, played.drain.nodes, options)
    return not any(other.pod == row.pod and _is_same(other, row, remedy) for other in again.blocked)


def _is_same(now: BlockedRow, before: BlockedRow, remedy: Remedy) -> bool:
    """Whether it is still blocked for the same cause; a timeout, or another missing flag, is a different one."""
    if now.class_ == "late":
        return before.class_ == "late"
    return not isinstance(remedy, DrainFlag) or (now.cause, now.about) == (before.cause, before.about)
