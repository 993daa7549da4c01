"""Cycles of a descheduler, each with the replacements of the pods that it evicts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kwhatif.descheduler.attempt import DeschedulingCycle
from kwhatif.descheduler.cycle import run_cycle
from kwhatif.descheduler.policy import RunnablePolicy
from kwhatif.descheduler.world import DeschedulerWorld
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.deschedule.replacements import Replacements
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.played import SettledCluster
from kwhatif.report.deschedule import ReplacementRow, RoundRow
from kwhatif.simulation.parameters import HOUR, Parameters
from kwhatif.state.state import State

#: The time between cycles, as in the descheduler's manifests.
INTERVAL = 5 * 60


class Round(msgspec.Struct, frozen=True):
    """One cycle, with the pods that it evicted and what came in their places."""

    cycle: DeschedulingCycle
    evicted: Sequence[Pod]
    landed: Sequence[ReplacementRow]
    #: When all have landed.
    state: State
    #: Other pods without a node then, which had one or did not exist.
    displaced: Sequence[str]
    caveats: Sequence[Caveat]

    def row(self, number: int) -> RoundRow:
        """Its numbers; it is the `number`th."""
        landings = [row.landing for row in self.landed]
        return RoundRow(
            round=number,
            evicted=len(self.evicted),
            refused=len(self.cycle.attempts) - len(self.evicted),
            same_node=landings.count("SameNode"),
            elsewhere=landings.count("Elsewhere"),
            preempting=landings.count("Preempts"),
            pending=landings.count("Pending"),
            not_replaced=landings.count("None"),
        )


class Rounds:
    """A limited number of cycles, and the simulation of what follows; there is none while nothing is evicted."""

    def __init__(self, session: Session, policy: RunnablePolicy, most: int) -> None:
        self._session = session
        self._policy = policy
        self._most = most
        self._played: Replacements | None = None

    def play(self, state: State, moment: int) -> Round:
        """Run one cycle on a state, at a moment, and simulate what follows."""
        cycle = run_cycle(self._policy, DeschedulerWorld(state, moment))
        pods = state.cluster.all(Pod)
        evicted = [pods[attempt.pod] for attempt in cycle.attempts if attempt.by is None]
        if not evicted:
            return Round(cycle, (), (), state, (), ())
        if self._played is None:
            parameters = Parameters(horizon=(self._most + 1) * HOUR)
            self._played = Replacements(SettledCluster(self._session, parameters, start=moment))
        played = self._played
        landed = played.land(evicted)
        own = {row.pod for row in landed}
        displaced = tuple(key for key in played.pending if key not in own)
        return Round(cycle, evicted, landed, played.state, displaced, played.caveats())

    def go_on(self) -> tuple[State, int]:
        """The state and the moment at which the next cycle begins."""
        assert self._played is not None, "nothing was evicted"
        self._played.wait(INTERVAL)
        return self._played.state, self._played.engine.clock.nanoseconds

    @property
    def is_endless(self) -> bool:
        """Whether what follows the evictions never settles."""
        return self._played is not None and self._played.engine.cycle is not None and not self.is_over

    @property
    def is_over(self) -> bool:
        """Whether the simulation has given up, or had not settled before the first eviction."""
        return self._played is not None and (self._played.engine.is_over_horizon or self._played.base.was_endless)
