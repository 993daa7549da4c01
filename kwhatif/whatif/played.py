"""`Played`: a simulation in which something happens to nodes, and what is worse at its end than before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.controllers.catalog import all_controllers
from kwhatif.edits.selection import Lookup
from kwhatif.errors import InputError, Problem
from kwhatif.matching.labels import Selector
from kwhatif.model.caveat import Caveat
from kwhatif.model.node import Node
from kwhatif.simulation.clock import Clock, start_of
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.parameters import Parameters
from kwhatif.story import Story
from kwhatif.whatif.session import Session
from kwhatif.whatif.story_caveats import caveats_of_story


class Played:
    """A simulation that has come to rest once already; what waited for a node then is nobody's fault later."""

    def __init__(self, session: Session, parameters: Parameters) -> None:
        self.session = session
        self.parameters = parameters
        state = session.snapshot.fork()
        controllers = all_controllers(parameters.node_monitor_grace_period)
        self.engine = Engine(state, session.profiles, controllers, Clock(start_of(state.cluster)), parameters)
        self.engine.begin()
        self._pending = frozenset(state.pending)
        self._was_endless = self.engine.cycle is not None
        #: Seconds since the start of the simulation.
        self.start = self.engine.clock.now

    def caveats(self) -> Iterator[Caveat]:
        """What the simulation leaves out, once it has come to its end."""
        return caveats_of_story(self.engine, self.session.cluster)

    def pending(self, story: Story) -> tuple[str, ...]:
        """Pods without a node at the end that had one before, or were not there."""
        return tuple(row.pod for row in story.pending if row.pod not in self._pending)

    def preempted(self, story: Story) -> int:
        """How many pods were evicted in turn."""
        return sum(gone.how == "Preempted" and gone.at >= self.start for gone in story.gone)

    def is_endless(self, story: Story) -> bool:
        """Whether it comes to no end, and did before."""
        return story.settled in ("cycling", "horizon") and not self._was_endless

    def seconds(self, story: Story) -> float:
        """How long it took to settle."""
        return round(max(story.seconds - self.start, 0.0), 3)


def named_nodes(session: Session, words: Sequence[str], selector: Selector | None = None) -> tuple[str, ...]:
    """The names of the nodes that are meant: by name, glob or label selector; else all that the selector selects.

    Raises:
        InputError: a word, or the selector, means none.
    """
    if selector is not None and not words:
        found = [name for name, node in session.cluster.all(Node).items() if selector.matches(node.metadata.labels)]
        if not found:
            raise InputError([Problem("--selector", "no node has these labels")])
        return tuple(found)
    lookup = Lookup(session.cluster, session.namespace)
    nodes = lookup.nodes(words)
    if lookup.mistakes:
        raise InputError([Problem("NODE", wrong.message, hint=wrong.hint) for wrong in lookup.mistakes])
    return tuple(node.metadata.name for node in nodes)


def pending_words(pending: Sequence[str]) -> str:
    """That these pods stay without a node; "" for none."""
    if not pending:
        return ""
    return f"{pending[0]} stays pending" if len(pending) == 1 else f"{len(pending)} pods stay pending"
