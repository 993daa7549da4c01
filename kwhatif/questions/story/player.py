"""`Player`: many scenarios of one cluster, which settles once; each scenario continues on a fork."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from kwhatif.edits.edit import Edit, SourcedEdit
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.meta import controller_of
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.caveats import in_one
from kwhatif.questions.story.played import SettledCluster
from kwhatif.questions.story.simulate import Playing
from kwhatif.simulation.engine import Engine, is_always_awaited
from kwhatif.simulation.parameters import Parameters


class Named(Protocol):
    """Anything that can be asked about by itself."""

    @property
    def name(self) -> str:
        """No other one has it."""


class AboutNodes(Named, Protocol):
    """Asks about nodes."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Their names."""


S = TypeVar("S", bound=Named)
OfNodes = TypeVar("OfNodes", bound=AboutNodes)
Outcome = TypeVar("Outcome", bound=Named)


class Player(ABC, Generic[S, Outcome]):
    """Plays scenarios of one cluster, one at a time. In another process it lets the cluster settle again."""

    #: What is asked about each scenario, as far as it makes a difference to outcomes.
    question: object

    def __init__(self, session: Session, parameters: Parameters, edits: Sequence[Edit] = ()) -> None:
        """`edits` are made, and have settled, before all scenarios."""
        self.session = session.with_owners()
        self.parameters = parameters
        self.edits = tuple(edits)
        #: Whether outcomes are still waited for; it does not reach other computers, or processes without `fork`.
        self.is_awaited: Callable[[], bool] = is_always_awaited
        self._lock = threading.Lock()

    @cached_property
    def base(self) -> SettledCluster:
        """The start of all scenarios; it is played to its end, as nothing can be said without it."""
        base = SettledCluster(self.session, self.parameters, self._prepare if self.edits else None)
        base.is_awaited = self._is_still_awaited
        return base

    def _is_still_awaited(self) -> bool:
        """`is_awaited`, which may be set later than the start is played."""
        return self.is_awaited()

    def _prepare(self, engine: Engine) -> None:
        playing = Playing(engine, self.session.namespace)
        for edit in self.edits:
            playing.perform(SourcedEdit(edit.text, edit))
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
        """The outcome, while nobody else plays."""

    def caveats(self, of_scenarios: Iterable[Caveat]) -> Iterator[Caveat]:
        """What is to be said about all answers together."""
        scaling = self.session.scaling
        grown = () if scaling is None else (*scaling.caveats, *scaling.of_new_nodes)
        return in_one((*self.base.caveats(self.base.engine), *of_scenarios, *grown))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the arguments: the rest is computed again in the other process."""
        return type(self), (self.session, self.parameters, self.edits)


def together(session: Session, scenarios: Iterable[OfNodes]) -> list[OfNodes]:
    """The scenarios ordered so that those of the same workloads follow each other.

    Results for a workload's pods serve the next scenario, and are dropped later.
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
