"""Scenarios: simulations that begin where the cluster has settled, and in which something happens to nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from kwhatif.controllers.catalog import all_controllers
from kwhatif.controllers.disruption import recounted
from kwhatif.edits.selection import Lookup
from kwhatif.errors import InputError, Problem
from kwhatif.framework.reference import is_reference
from kwhatif.matching.labels import Selector
from kwhatif.model.caveat import Caveat
from kwhatif.model.caveat.scheduling import BudgetRecounted
from kwhatif.model.cluster import SYSTEM_PRIORITY_CLASSES, key_of
from kwhatif.model.node import Node
from kwhatif.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from kwhatif.report.maintenance import VerdictRow, WorstRow
from kwhatif.simulation.chance import Chance
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.parameters import Parameters
from kwhatif.simulation.view import SimulatedView
from kwhatif.state.change import Upsert
from kwhatif.whatif.loaded.session import Session
from kwhatif.whatif.story.caveats import caveats_of_story
from kwhatif.whatif.story.failed import failed
from kwhatif.workloads.many import EVICTING


class SettledCluster:
    """The cluster once nothing happens in it any more: what scenarios start from, each on a fork of its own.

    What waited for a node then is nobody's fault later.
    """

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
            prepare: what is done before scenarios start, once the cluster has settled.
            start: when the simulation starts, nanoseconds since the epoch; None: at the moment that the cluster shows.
        """
        self.session = session.with_owners()
        self.parameters = parameters
        self._prepare = prepare
        self._start = start
        self.engine, self._caveats = self._begin()
        self.pending = frozenset(self.engine.world.state.pending)
        self.was_endless = self.engine.cycle is not None
        #: Seconds since the start of the simulation.
        self.start = self.engine.clock.now

    def _begin(self) -> tuple[Engine, tuple[Caveat, ...]]:
        engine, caveats = begin(self.session, self.parameters, start=self._start)
        if self._prepare is not None:
            self._prepare(engine)
            engine.settle()
        return engine, caveats

    def fork(self) -> Engine:
        """A simulation that goes on from here."""
        if is_reference():
            return self._begin()[0]
        self.engine.world.state.prepare()
        return self.engine.fork()

    def caveats(self, engine: Engine) -> tuple[Caveat, ...]:
        """What a simulation leaves out that began here, and has come to its end."""
        session = self.session
        return (*session.caveats, *session.remarks(), *self._caveats, *caveats_of_story(engine, session.cluster))


def begin(
    session: Session, parameters: Parameters, chance: Chance | None = None, start: int | None = None
) -> tuple[Engine, tuple[Caveat, ...]]:
    """A simulation of the cluster as it is, come to rest; and what was assumed for that.

    `start`: the moment at which it starts, nanoseconds since the epoch; None: what the cluster shows.
    """
    session = session.with_owners()
    state = session.snapshot.fork()
    controllers = all_controllers(parameters.node_monitor_grace_period)
    clock = Clock(start_of(state.cluster) if start is None else start)
    # The disruption controller runs all the time: it has counted by the time that anybody does anything.
    budgets = list(recounted(SimulatedView(state, clock)))
    state.apply(*map(Upsert, budgets))
    caveats = (*session.inferred, *_recounted(budgets, session))
    engine = Engine(state, session.profiles, controllers, clock, parameters, chance)
    engine.world.limits.evicting = EVICTING
    engine.begin()
    return engine, caveats


def _recounted(budgets: Iterable[PodDisruptionBudget], session: Session) -> Iterator[BudgetRecounted]:
    """The budgets that allow more or fewer disruptions than their statuses say."""
    for budget in budgets:
        key, status = key_of(budget), budget.status or PodDisruptionBudgetStatus()
        before = session.cluster.get(PodDisruptionBudget, key)
        stated = before.status.disruptions_allowed if before is not None and before.status is not None else 0
        if stated != status.disruptions_allowed:
            yield BudgetRecounted(
                budget=key,
                stated=stated,
                allowed=status.disruptions_allowed,
                healthy=status.current_healthy,
                desired=status.desired_healthy,
            )


class Played:
    """A simulation in which something happens to nodes, and what is worse at its end than before."""

    def __init__(self, base: SettledCluster) -> None:
        self.base = base
        self.engine = base.fork()

    def caveats(self) -> tuple[Caveat, ...]:
        """What the simulation leaves out, once it has come to its end."""
        return self.base.caveats(self.engine)

    @property
    def pending(self) -> tuple[str, ...]:
        """Pods without a node at the end that had one before, or were not there."""
        pending, before = self.engine.world.state.pending, self.base.pending
        left = (key for key, info in pending.items() if info.pod.metadata.deletion_timestamp is None)
        return tuple(sorted(key for key in left if key not in before))

    @property
    def broken(self) -> tuple[str, ...]:
        """The budgets that fell below what they demand."""
        before, after = self.base.engine.tally.budgets, self.engine.tally.budgets
        return tuple(
            sorted(key for key, each in after.items() if each.overrun > (before[key].overrun if key in before else 0))
        )

    @property
    def preempted(self) -> int:
        """How many pods were evicted in turn."""
        gone = self.engine.world.history.gone.values()
        return sum(each.how == "Preempted" and each.at >= self.base.start for each in gone)

    @property
    def is_endless(self) -> bool:
        """Whether it comes to no end, and did before."""
        return (self.engine.cycle is not None or self.engine.is_over_horizon) and not self.base.was_endless

    @property
    def seconds(self) -> float:
        """How long it took to settle."""
        events = self.engine.world.history.events
        end = round(events[-1].at, 3) if events else 0.0
        return round(max(end - self.base.start, 0.0), 3)

    def verdict_row(
        self, of: Literal["drain", "outage"], nodes: tuple[str, ...], worst: WorstRow | None, *, moved: int
    ) -> VerdictRow:
        """What it comes to; `worst`: the worst harm, None without any; `moved`: how many pods leave the nodes."""
        pending = self.pending
        priorities = [self.engine.world.state.pending[key].priority for key in pending]
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
    """How many of them are those of pods without which the cluster does not work."""
    return sum(priority >= SYSTEM_PRIORITY_CLASSES["system-cluster-critical"] for priority in priorities)


def harm_of(engine: Engine, since: Engine) -> tuple[float, ...]:
    """How much is worse than it was: critical pods that wait, pods that wait, broken budgets, evictions in turn."""
    before = since.world.state.pending
    waiting = [info.priority for key, info in engine.world.state.pending.items() if key not in before]
    overruns = sum(each.overrun for each in engine.tally.budgets.values())
    overruns -= sum(each.overrun for each in since.tally.budgets.values())
    gone = list(engine.world.history.gone.values())[len(since.world.history.gone) :]
    return _critical(waiting), len(waiting), overruns, sum(each.how == "Preempted" for each in gone)


def named_nodes(session: Session, words: Sequence[str], selector: Selector | None = None) -> tuple[str, ...]:
    """The names of the nodes that are meant: by name, glob or label selector; else all that the selector selects.

    Raises:
        InputError: a word, or the selector, means none.
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


def worst_failed(engine: Engine) -> WorstRow | None:
    """Jobs that fail, as harm."""
    rows = failed(engine)
    if not rows:
        return None
    return WorstRow(what="failed", subject=rows[0].workload, messages=(rows[0].message,), count=len(rows))
