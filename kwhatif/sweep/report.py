"""The report of one question about many nodes, or groups of nodes, each alone: which of them may go?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.names import did_you_mean, nearest
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import OwnersSilent
from kwhatif.kube.model.node import Node
from kwhatif.questions.maintenance.drain import Drained, with_remedies
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.player import together
from kwhatif.report import Report
from kwhatif.report.story import ScenarioRow
from kwhatif.simulation.parameters import Parameters
from kwhatif.sweep.scenario import NodePlayer, Outages, ScenarioOutcome, SweepQuestion, SweepScenario

#: The number of harmful scenarios to explain, the worst first.
_EXPLAINED = 2
#: Plays scenarios; yields outcomes in any order.
Runner = Callable[[NodePlayer, Sequence[SweepScenario]], Iterable[ScenarioOutcome]]


def drain_each(
    session: Session, nodes: Sequence[str], question: DrainOptions, parameters: Parameters, run: Runner
) -> Report:
    """Drain each of the nodes alone."""
    return _sweep(session, [SweepScenario(name, (name,)) for name in nodes], question, parameters, run)


def outage_each(session: Session, key: str, question: Outages, parameters: Parameters, run: Runner) -> Report:
    """Let all nodes with one value of the label fail, for each value alone.

    Raises:
        InputError: no node has the label.
    """
    scenarios = groups_of(session, key)
    if not scenarios:
        labels = {label for node in session.cluster.all(Node).values() for label in node.metadata.labels}
        hint = did_you_mean(nearest(key, labels))
        raise InputError([Problem("--each", f"no node has the label {key}", hint=hint)])
    return _sweep(session, scenarios, question, parameters, run)


def groups_of(session: Session, key: str) -> list[SweepScenario]:
    """The nodes of each value of the label."""
    groups: dict[str, tuple[str, ...]] = {}
    for name, node in session.cluster.all(Node).items():
        value = node.metadata.labels.get(key)
        if value is not None:
            groups[value] = (*groups.get(value, ()), name)
    return [SweepScenario(value, names) for value, names in groups.items()]


def _sweep(
    session: Session, scenarios: Sequence[SweepScenario], question: SweepQuestion, parameters: Parameters, run: Runner
) -> Report:
    """The worst first; each scenario starts from the same settled cluster."""
    player = NodePlayer(session, parameters, question)
    outcomes = sorted(run(player, together(session, scenarios)), key=lambda outcome: trouble(outcome.row))
    rows = [outcome.row for outcome in outcomes]
    explained, left_out = _explained(player, rows)
    command = "drain" if isinstance(question, DrainOptions) else "outage"
    ends = (caveat for outcome in outcomes for caveat in outcome.caveats)
    report = session.report(command, (), player.caveats([*left_out, *ends]))
    return replace(report, scenarios=(*explained, *rows[len(explained) :]))


def trouble(row: ScenarioRow) -> tuple[object, ...]:
    """The worst is the least: pods that stay pending, the most important ones first, broken budgets, evictions."""
    verdict = row.verdict
    highest = float("-inf") if verdict.priority is None else verdict.priority
    harm = -len(verdict.pending), -len(verdict.broken), -verdict.preempted, -verdict.seconds
    return verdict.ok, -verdict.critical, -highest, *harm, row.scenario


def _explained(player: NodePlayer, rows: Sequence[ScenarioRow]) -> tuple[list[ScenarioRow], list[Caveat]]:
    """The worst ones with their stories, and the caveats."""
    found: list[ScenarioRow] = []
    caveats: list[Caveat] = []
    for row in rows[:_EXPLAINED]:
        if row.verdict.ok:
            break
        played = player.played(row.verdict.nodes)
        story = played.story(tuple(with_remedies(played))) if isinstance(played, Drained) else played.story()
        found.append(replace(row, story=story))
        caveats += [caveat for caveat in played.caveats() if not isinstance(caveat, OwnersSilent)]
    return found, caveats
