"""`drain`: can these nodes be drained, in which waves, what blocks it, and where do the pods land?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import groupby
from math import ceil

from msgspec.structs import replace

from kwhatif.controllers.drain import KubectlDrain
from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.errors import InputError
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.questions.maintenance.blocked import blocked_pods
from kwhatif.questions.maintenance.order import least_harmful_order
from kwhatif.questions.maintenance.remedies import Remedy, remedies
from kwhatif.questions.manifests.edited import Given, edit_session
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.played import Played, SettledCluster
from kwhatif.questions.story.rows import command_row, story_of
from kwhatif.report import Report
from kwhatif.report.maintenance import BlockedRow, VerdictRow, WaveRow, WorstRow
from kwhatif.report.story import CommandRow, Story
from kwhatif.simulation.parameters import Parameters

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
    played = Drained(base, nodes, options)
    blocked = tuple(with_remedies(played))
    return replace(session.report("drain", (), played.caveats()), story=played.story(blocked))


class Drained(Played):
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
            engine.world.state.prepare()
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
        pods = self.base.engine.world.state.cluster.all(Pod)
        bare = [key for key in self._evicted if key in pods and controller_of(pods[key].metadata) is None]
        ending = self.ending
        lost = [key for name in ending.fallen_short for key in self._of(name)[: ending.lacks(name)]]
        return (*bare, *lost)

    def _of(self, workload: str) -> list[str]:
        """The evicted pods of the workload, the last one first."""
        owners = {gone.pod: gone.owner for gone in self.engine.world.history.gone.values()}
        return [key for key in reversed(self._evicted) if owners.get(key) == workload]

    @cached_property
    def _evicted(self) -> list[str]:
        """The evicted pods in order, without those that had already ended."""
        pods = self.base.engine.world.state.cluster.all(Pod)
        return [key for _, key in self.drain.log.granted if key not in pods or not is_terminal(pods[key])]


# --- remedies ----------------------------------------------------------------------------------------


def with_remedies(played: Drained) -> Iterator[BlockedRow]:
    """The blocked pods, each with the first remedy that helps."""
    found: dict[BlockedRow, str] = {}
    for row in played.blocked:
        kind = replace(row, pod="")
        if kind not in found:
            found[kind] = "" if len(found) >= _MOST_PROVEN else _remedy(row, played)
        yield replace(row, remedy=found[kind])


def _remedy(row: BlockedRow, played: Drained) -> str:
    if row.class_ == "late" and played.options.timeout > 0:
        patient = Drained(played.base, played.drain.nodes, replace(played.options, timeout=0.0))
        needed = patient.command.seconds
        return "" if any(other.pod == row.pod for other in patient.blocked) else f"--timeout={ceil(needed + 1)}s"
    for remedy in remedies(row, played.options, played.engine, played.drain.nodes):
        if _helps(remedy, row, played):
            return remedy.text
    return ""


def _helps(remedy: Remedy, row: BlockedRow, played: Drained) -> bool:
    """Whether the pod is gone if the drain is simulated with the remedy."""
    base, options = played.base, remedy.with_flag(played.options)
    if not remedy.is_flag:
        try:
            edited = edit_session(base.session, (Given(remedy.text, remedy.edit),))
        except InputError:
            return False
        base = SettledCluster(edited, base.parameters)
    again = Drained(base, played.drain.nodes, options)
    return not any(other.pod == row.pod and _is_same(other, row, remedy) for other in again.blocked)


def _is_same(now: BlockedRow, before: BlockedRow, remedy: Remedy) -> bool:
    """Whether it is still blocked for the same cause; a timeout, or another missing flag, is a different one."""
    if now.class_ == "late":
        return before.class_ == "late"
    return not remedy.is_flag or (now.cause, now.about) == (before.cause, before.about)
