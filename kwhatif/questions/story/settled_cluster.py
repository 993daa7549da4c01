"""Scenarios: simulations of a settled cluster in which something happens to nodes."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, TypeVar

from kwhatif.edits.edit import Edit, SourcedEdit
from kwhatif.edits.selection import Lookup
from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.labels import Selector
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import SYSTEM_PRIORITY_CLASSES
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.caveats import caveats_of_story, in_one
from kwhatif.questions.story.outcome import Ending, Without
from kwhatif.questions.story.rows import QuestionStart
from kwhatif.questions.story.simulate import StepPlayer, begin
from kwhatif.report.story import BlockedRow, VerdictRow, WorstRow
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.simulation.engine import Engine, is_always_awaited
from kwhatif.simulation.parameters import Parameters


class SettledCluster:
    """The settled cluster, where scenarios start, each on its own fork."""

    def __init__(
        self,
        session: Session,
        parameters: Parameters,
        prepare: Callable[[Engine], None] | None = None,
        start: int | None = None,
    ) -> None:
        """Let the cluster settle.

        Args:
            session: the cluster.
            parameters: how long things take.
            prepare: actions before scenarios start, once the cluster has settled.
            start: when the simulation starts, nanoseconds since the epoch; None: at the moment that the cluster shows.
        """
        self.session = session.with_owners()
        self.parameters = parameters
        self._prepare = prepare
        self._start = start
        self.engine, self._caveats = self._begin()
        self.was_endless = self.engine.cycle is not None
        #: The cluster at any later second, without any action.
        self.without = Without(self.engine, lambda: self._begin()[0])
        #: Whether the answer is still waited for: see `Engine`.
        self.is_awaited: Callable[[], bool] = is_always_awaited
        #: Seconds since the start of the simulation.
        self.start = self.engine.clock.now
        self.asked = QuestionStart(self.start, len(self.engine.api_server.history.events))

    def _begin(self) -> tuple[Engine, tuple[Caveat, ...]]:
        engine, caveats = begin(self.session, self.parameters, start=self._start)
        if self._prepare is not None:
            self._prepare(engine)
            engine.settle()
        return engine, caveats

    def fork(self) -> Engine:
        """A simulation that continues from here, with the whole horizon again."""
        self.engine.api_server.state.prepare()
        engine = (self._begin()[0] if is_reference() else self.engine).fork(self.is_awaited)
        engine.ask()
        return engine

    def caveats(self, engine: Engine) -> tuple[Caveat, ...]:
        """The caveats of a finished simulation that began here."""
        session = self.session
        return (*session.caveats, *session.remarks(), *self._caveats, *caveats_of_story(engine, session.cluster))


class Simulation:
    """A simulation in which something happens to nodes, and its harm."""

    #: The pods that do not go, or are lost without a replacement, and why.
    blocked: tuple[BlockedRow, ...] = ()

    def __init__(self, base: SettledCluster) -> None:
        self.base = base
        self.engine = base.fork()
        self._ended: tuple[object, Ending] | None = None

    def caveats(self) -> tuple[Caveat, ...]:
        """The caveats of the finished simulation."""
        return self.base.caveats(self.engine)

    @property
    def ending(self) -> Ending:
        """The cluster now, compared with the cluster at this second without any action."""
        moment = self.engine.api_server.state.generation, self.engine.clock.now
        if self._ended is None or self._ended[0] != moment:
            self._ended = moment, Ending(self.engine, self.base.without.at(self.engine.clock.now))
        return self._ended[1]

    @property
    def pending(self) -> tuple[str, ...]:
        """Pods without a node, except as many of each workload as there are anyway."""
        there = self.engine.api_server.state.pending
        return tuple(row.pod for row in self.ending.pending if not row.anyway and row.pod in there)

    @property
    def broken(self) -> tuple[str, ...]:
        """The budgets that were broken."""
        return tuple(sorted(self.ending.overruns))

    @property
    def preempted(self) -> int:
        """How many pods were preempted as a result."""
        gone = self.engine.api_server.history.gone.items()
        since = [(uid, each) for uid, each in gone if each.how == "Preempted" and each.at >= self.base.start]
        return sum(not self.ending.is_gone_anyway(uid, each) for uid, each in since)

    @property
    def seconds(self) -> float:
        """How long it took to settle."""
        events = self.engine.api_server.history.events
        end = round(events[-1].at, 3) if events else 0.0
        return round(max(end - self.base.start, 0.0), 3)

    def worst_of_all(self) -> WorstRow | None:
        """The worst outcome of any workload, for any action on nodes."""
        return self._worst_refused() or self._worst_failed() or self._worst_late()

    def worst_unsettled(self) -> WorstRow | None:
        """Workloads that replace each other endlessly."""
        ending = self.ending
        if not ending.is_endless or self.engine.is_over_horizon:
            return None
        return WorstRow(what="unsettled", messages=tuple(sorted(ending.participants)))

    @property
    def is_cut(self) -> bool:
        """Whether it is not over at the horizon, and would be without the question."""
        return self.ending.is_endless and self.engine.is_over_horizon

    def _worst_late(self) -> WorstRow | None:
        if self.is_cut:
            return WorstRow(what="horizon", subject=self.engine.under_way)
        return None

    def _worst_refused(self) -> WorstRow | None:
        """The first workload that has fewer pods, as the API server refuses new ones."""
        for row in self.ending.refused:
            count = self.ending.lacks(row.workload)
            if count and not row.anyway:
                return WorstRow(what="refused", subject=row.workload, messages=(row.message,), count=count)
        return None

    def _worst_failed(self) -> WorstRow | None:
        rows = [row for row in self.ending.failed if not row.anyway]
        if not rows:
            return None
        return WorstRow(what="failed", subject=rows[0].workload, messages=(rows[0].message,), count=len(rows))

    def verdict_row(
        self, of: Literal["drain", "outage"], nodes: tuple[str, ...], worst: WorstRow | None, *, moved: int
    ) -> VerdictRow:
        """The verdict; `worst`: the worst harm, None without any; `moved`: how many pods leave the nodes."""
        pending = self.pending
        priorities = [self.engine.api_server.state.pending[key].priority for key in pending]
        return VerdictRow(
            of=of,
            ok=worst is None,
            nodes=nodes,
            worst=worst,
            moved=moved,
            waves=0,
            preempted=self.preempted,
            pending=pending,
            seconds=self.seconds,
            priority=max(priorities, default=None),
            critical=_critical(priorities),
            broken=self.broken,
        )


def _critical(priorities: Iterable[int]) -> int:
    """How many of them are priorities of system-critical pods."""
    return sum(priority >= SYSTEM_PRIORITY_CLASSES["system-cluster-critical"] for priority in priorities)


def harm_of(engine: Engine, since: Engine) -> tuple[float, ...]:
    """The harm, as numbers to compare: more pending critical pods, pending pods, broken budgets, preempted pods."""
    before = since.api_server.state.pending
    waiting = [info.priority for key, info in engine.api_server.state.pending.items() if key not in before]
    overruns = sum(each.overrun for each in engine.tally.budgets.values())
    overruns -= sum(each.overrun for each in since.tally.budgets.values())
    gone = list(engine.api_server.history.gone.values())[len(since.api_server.history.gone) :]
    return _critical(waiting), len(waiting), overruns, sum(each.how == "Preempted" for each in gone)


def named_nodes(session: Session, words: Sequence[str], selector: Selector | None = None) -> tuple[str, ...]:
    """The names of the nodes: by name, glob or label selector; or all that `selector` selects.

    Raises:
        InputError: a word, or the selector, matches none.
    """
    if selector is not None and not words:
        nodes_by_name = session.cluster.all(Node).items()
        found = sorted(name for name, node in nodes_by_name if selector.matches(node.metadata.labels))
        if not found:
            raise InputError([Problem("--selector", "no node has these labels")])
        return tuple(found)
    lookup = Lookup(session.cluster, session.namespace)
    nodes = lookup.nodes(words)
    if lookup.mistakes:
        raise InputError([Problem("NODE", wrong.message, hint=wrong.hint) for wrong in lookup.mistakes])
    return tuple(node.metadata.name for node in nodes)


class Named(Protocol):
    """Something with a unique name."""

    @property
    def name(self) -> str:
        """The unique name."""


class AboutNodes(Named, Protocol):
    """Asks about nodes."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Their names."""


S = TypeVar("S", bound=Named)
OfNodes = TypeVar("OfNodes", bound=AboutNodes)
Outcome = TypeVar("Outcome", bound=Named)


class ScenarioPlayer(ABC, Generic[S, Outcome]):
    """Plays scenarios of one cluster, one at a time. In another process it lets the cluster settle again."""

    #: The parts of the question that make a difference to outcomes.
    question: object

    def __init__(self, session: Session, parameters: Parameters, edits: Sequence[Edit] = ()) -> None:
        """`edits` are made before all scenarios, and the cluster settles."""
        self.session = session.with_owners()
        self.parameters = parameters
        self.edits = tuple(edits)
        #: Whether outcomes are still waited for; it does not reach other computers, or processes without `fork`.
        self.is_awaited: Callable[[], bool] = is_always_awaited
        self._lock = threading.Lock()

    @cached_property
    def base(self) -> SettledCluster:
        """The start of all scenarios; it is always played to its end."""
        base = SettledCluster(self.session, self.parameters, self._prepare if self.edits else None)
        base.is_awaited = self._is_still_awaited
        return base

    def _is_still_awaited(self) -> bool:
        """Whether outcomes are still waited for; `is_awaited` may be set after the start was played."""
        return self.is_awaited()

    def _prepare(self, engine: Engine) -> None:
        player = StepPlayer(engine, self.session.namespace)
        for edit in self.edits:
            player.perform(SourcedEdit(edit.text, edit))
            engine.settle()

    def play(self, scenario: S) -> Outcome:
        """The outcome of the scenario.

        Raises:
            OutOfTime: it is not waited for any longer.
        """
        with self._lock:
            return self._outcome(scenario)

    @abstractmethod
    def _outcome(self, scenario: S) -> Outcome:
        """The outcome, if no other process plays."""

    def caveats(self, of_scenarios: Iterable[Caveat]) -> Iterator[Caveat]:
        """Caveats about all answers together."""
        scaling = self.session.scaling
        grown = () if scaling is None else (*scaling.caveats, *scaling.of_new_nodes)
        return in_one((*self.base.caveats(self.base.engine), *of_scenarios, *grown))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the arguments: the rest is computed again in the other process."""
        return type(self), (self.session, self.parameters, self.edits)


def together(session: Session, scenarios: Iterable[OfNodes]) -> list[OfNodes]:
    """The scenarios, with those of the same workloads next to each other.

    Results for a workload's pods are reused by the next scenario, and dropped later.
    """

    def workloads(scenario: OfNodes) -> list[tuple[str, str]]:
        state = session.state
        found: dict[tuple[str, str], None] = {}
        for name in scenario.nodes:
            node = state.node(name)
            for pod in node.pods if node is not None else ():
                owner = controller_of(pod.pod.metadata)
                if owner is not None and owner.kind != "DaemonSet":
                    found[pod.namespace, owner.name] = None
        return sorted(found)

    return sorted(scenarios, key=lambda scenario: (workloads(scenario), scenario.name))
