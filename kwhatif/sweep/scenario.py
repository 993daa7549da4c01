"""Scenarios: drains or outages of the same cluster, each alone; and the `Player`."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.edits.edit import Apply
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import controller_of
from kwhatif.questions.maintenance.drain import Drained
from kwhatif.questions.maintenance.outage import Lost
from kwhatif.questions.manifests.edited import Given
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.caveats import caveats_of_end
from kwhatif.questions.story.played import SettledCluster
from kwhatif.questions.story.simulate import Playing
from kwhatif.report.story import ScenarioRow
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.parameters import Parameters

#: The limit of kept verdicts about nodes, of the base and of a scenario: lower than elsewhere, as scenarios of the same
#: workloads follow each other.
_KEPT_NODES = 250_000


class Outages(msgspec.Struct, frozen=True, tag="outage"):
    """May the nodes fail?"""

    #: Whether the Node objects go; else their kubelets fall silent.
    deleted: bool = False


#: May the nodes be drained, or may they fail?
SweepQuestion = DrainOptions | Outages


class SweepScenario(msgspec.Struct, frozen=True):
    """A name, and the nodes that fail or are drained."""

    name: str
    nodes: tuple[str, ...]


class ScenarioOutcome(msgspec.Struct, frozen=True):
    """The result of one scenario, and its caveats."""

    row: ScenarioRow
    caveats: tuple[Caveat, ...] = ()

    @property
    def name(self) -> str:
        """That of the scenario."""
        return self.row.scenario


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
S_contra = TypeVar("S_contra", contravariant=True)
O_co = TypeVar("O_co", covariant=True)


class PlaysScenarios(Protocol[S_contra, O_co]):
    """What processes and Dask need of a player. It is pickled to get to other processes."""

    @property
    def session(self) -> Session:
        """The cluster."""

    @property
    def base(self) -> object:
        """The start of all scenarios: it settles when it is first asked for."""

    def play(self, scenario: S_contra) -> O_co:
        """The outcome of the scenario."""


class Player:
    """Plays scenarios of one cluster, one at a time. In another process it lets the cluster settle again."""

    def __init__(
        self,
        session: Session,
        parameters: Parameters,
        question: SweepQuestion,
        applied: tuple[KubernetesObject, ...] = (),
    ) -> None:
        """`applied`: objects that are applied before all scenarios."""
        self.session = session.with_owners()
        self.parameters = parameters
        self.question = question
        self.applied = applied
        self._base: SettledCluster | None = None
        self._lock = threading.Lock()

    @property
    def base(self) -> SettledCluster:
        """The start of all scenarios."""
        if self._base is None:
            self._base = SettledCluster(self.session, self.parameters, self._apply if self.applied else None)
            self._base.engine.scheduler.attempts.keep(_KEPT_NODES)
        return self._base

    def _apply(self, engine: Engine) -> None:
        step = Given("the manifests", Apply(text="apply", objects=self.applied))
        Playing(engine, self.session.namespace).perform(step)

    def played(self, nodes: tuple[str, ...]) -> Drained | Lost:
        """The whole simulation of a scenario."""
        if isinstance(self.question, DrainOptions):
            return Drained(self.base, nodes, self.question)
        return Lost(self.base, nodes, deleted=self.question.deleted)

    def play(self, scenario: SweepScenario) -> ScenarioOutcome:
        """The outcome of the scenario."""
        with self._lock:
            played = self.played(scenario.nodes)
            row = ScenarioRow(scenario=scenario.name, verdict=played.verdict())
            outcome = ScenarioOutcome(row, tuple(caveats_of_end(played.engine)))
            played.engine.end()
            return outcome

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the arguments: the rest is computed again in the other process."""
        return type(self), (self.session, self.parameters, self.question, self.applied)


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


def blocks(scenarios: Sequence[S], workers: int) -> Iterator[Sequence[S]]:
    """The scenarios in blocks, small enough for all workers to finish at about the same time."""
    size = max(1, min(32, len(scenarios) // (8 * workers)))
    for start in range(0, len(scenarios), size):
        yield scenarios[start : start + size]
