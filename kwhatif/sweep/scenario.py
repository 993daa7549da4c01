"""Scenarios: drains or outages of the same cluster, each alone; and the `NodePlayer`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.edits.edit import Edit
from kwhatif.kube.model.caveat import Caveat
from kwhatif.questions.maintenance.drain import Drained
from kwhatif.questions.maintenance.outage import Lost
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.caveats import caveats_of_end
from kwhatif.questions.story.player import Named, Player, S
from kwhatif.report.story import ScenarioRow
from kwhatif.simulation.parameters import Parameters


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


class NodePlayer(Player[SweepScenario, ScenarioOutcome]):
    """Plays drains, or outages."""

    def __init__(
        self, session: Session, parameters: Parameters, question: SweepQuestion, edits: Sequence[Edit] = ()
    ) -> None:
        super().__init__(session, parameters, edits)
        self.question: SweepQuestion = question

    def played(self, nodes: tuple[str, ...]) -> Drained | Lost:
        """The whole simulation of a scenario."""
        if isinstance(self.question, DrainOptions):
            return Drained(self.base, nodes, self.question)
        return Lost(self.base, nodes, deleted=self.question.deleted)

    def _outcome(self, scenario: SweepScenario) -> ScenarioOutcome:
        played = self.played(scenario.nodes)
        row = ScenarioRow(scenario=scenario.name, verdict=played.verdict())
        outcome = ScenarioOutcome(row, tuple(caveats_of_end(played.engine)))
        played.engine.end()
        return outcome

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.session, self.parameters, self.question, self.edits)


def weight_of(scenario: Named) -> int:
    """About how many times as long it takes as one node takes: it is as many nodes as that."""
    return len(getattr(scenario, "nodes", ())) or 1


def blocks(scenarios: Sequence[S], workers: int) -> Iterator[Sequence[S]]:
    """The scenarios in blocks, small enough for all workers to finish at about the same time."""
    size = max(1, min(32, len(scenarios) // (8 * workers)))
    block: list[S] = []
    weight = 0
    for scenario in scenarios:
        own = weight_of(scenario)
        if block and weight + own > size:
            yield block
            block, weight = [], 0
        block.append(scenario)
        weight += own
    if block:
        yield block
