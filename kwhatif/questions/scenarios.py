"""Scenarios: drains or outages of the same cluster, each alone; and their report: which nodes may go?"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.edits.edit import Apply, Edit
from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import did_you_mean, nearest
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import OwnersSilent
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.node import ZONE, Node
from kwhatif.policy.violations import Fragile
from kwhatif.questions.maintenance.drain import DrainSimulation, with_remedies
from kwhatif.questions.maintenance.outage import OutageSimulation
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.caveats import caveats_of_end
from kwhatif.questions.story.settled_cluster import ScenarioPlayer, together
from kwhatif.report import Report
from kwhatif.report.story import ScenarioRow, VerdictRow
from kwhatif.simulation.parameters import Parameters


def survival(
    session: Session, objects: Iterable[KubernetesObject], kinds: Sequence[str], run: Runner
) -> tuple[list[Fragile], tuple[Caveat, ...]]:
    """The nodes and zones that may no longer fail, and the caveats.

    Args:
        session: the cluster without the manifests.
        objects: the objects of the manifests.
        kinds: "node" and "zone", one of them or both.
        run: plays the scenarios.
    """
    before = NodePlayer(session, Parameters(), Outages())
    after = NodePlayer(session, Parameters(), Outages(), [Apply(text="apply", objects=tuple(objects))])
    try:
        base = after.base
    except InputError as wrong:
        said = "; ".join(problem.message for problem in wrong.problems)
        return [Fragile(kind, unjudged=said) for kind in kinds], ()
    found = [fragile for kind in kinds for fragile in _of_kind(kind, before, after, run)]
    return found, base.caveats(base.engine)


def _of_kind(kind: str, before: NodePlayer, after: NodePlayer, run: Runner) -> Iterator[Fragile]:
    """One finding about the nodes, or zones, that may fail now, but not with the manifests."""
    session = after.session
    nodes = [SweepScenario(node.name, (node.name,)) for node in session.state.nodes]
    scenarios = nodes if kind == "node" else groups_of(session, ZONE)
    if not scenarios:
        lacking = f"no node has the label {ZONE}" if kind == "zone" else "there are no nodes"
        yield Fragile(kind, unjudged=lacking)
        return
    rows = sorted((outcome.row for outcome in run(after, together(session, scenarios))), key=trouble)
    bad = {row.scenario: row.verdict for row in rows if not row.verdict.ok}
    again = [scenario for scenario in scenarios if scenario.name in bad]
    known = {outcome.row.scenario: outcome.row.verdict for outcome in run(before, together(before.session, again))}
    worse = [name for name, verdict in bad.items() if _is_worse(verdict, known[name])]
    if worse:
        yield Fragile(kind, worse[0], bad[worse[0]], more=len(worse) - 1)


def _is_worse(now: VerdictRow, before: VerdictRow) -> bool:
    return before.ok or len(now.pending) > len(before.pending)


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


class NodePlayer(ScenarioPlayer[SweepScenario, ScenarioOutcome]):
    """Plays drains, or outages."""

    def __init__(
        self, session: Session, parameters: Parameters, question: SweepQuestion, edits: Sequence[Edit] = ()
    ) -> None:
        super().__init__(session, parameters, edits)
        self.question: SweepQuestion = question

    def played(self, nodes: tuple[str, ...]) -> DrainSimulation | OutageSimulation:
        """The whole simulation of a scenario."""
        if isinstance(self.question, DrainOptions):
            return DrainSimulation(self.base, nodes, self.question)
        return OutageSimulation(self.base, nodes, deleted=self.question.deleted)

    def _outcome(self, scenario: SweepScenario) -> ScenarioOutcome:
        played = self.played(scenario.nodes)
        row = ScenarioRow(scenario=scenario.name, verdict=played.verdict())
        outcome = ScenarioOutcome(row, tuple(caveats_of_end(played.engine)))
        played.engine.end()
        return outcome

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.session, self.parameters, self.question, self.edits)


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
    return _sweep(session, scenarios, question, parameters, run, f"{key}=")


def groups_of(session: Session, key: str) -> list[SweepScenario]:
    """The nodes of each value of the label."""
    groups: dict[str, tuple[str, ...]] = {}
    for name, node in session.cluster.all(Node).items():
        value = node.metadata.labels.get(key)
        if value is not None:
            groups[value] = (*groups.get(value, ()), name)
    return [SweepScenario(value, names) for value, names in groups.items()]


def _sweep(
    session: Session,
    scenarios: Sequence[SweepScenario],
    question: SweepQuestion,
    parameters: Parameters,
    run: Runner,
    selector: str = "",
) -> Report:
    """The worst first; each scenario starts from the same settled cluster.

    `selector`: what stands before a scenario's name where a command names its nodes.
    """
    player = NodePlayer(session, parameters, question)
    outcomes = sorted(run(player, together(session, scenarios)), key=lambda outcome: trouble(outcome.row))
    command = "drain" if isinstance(question, DrainOptions) else "outage"
    flags = [*_flags(question), *_flags(parameters)]
    rows = [
        replace(row, command=shlex.join(["kwhatif", command, f"{selector}{row.scenario}", *flags]))
        for row in (outcome.row for outcome in outcomes)
    ]
    explained, left_out = _explained(player, rows)
    ends = (caveat for outcome in outcomes for caveat in outcome.caveats)
    report = session.report(command, (), player.caveats([*left_out, *ends]))
    return replace(report, scenarios=(*explained, *rows[len(explained) :]))


def _flags(given: msgspec.Struct) -> Iterator[str]:
    """The options of a command that differ from its defaults; times are seconds."""
    for name, default in zip(given.__struct_fields__, given.__struct_defaults__, strict=True):
        value = getattr(given, name)
        if value != default:
            yield f"--{name.replace('_', '-')}"
        if value != default and not isinstance(value, bool):
            yield f"{value:g}s" if isinstance(value, float) else str(value)


def trouble(row: ScenarioRow) -> tuple[object, ...]:
    """Sort key, the worst first: pods that stay pending, by importance, broken budgets, evictions."""
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
        story = played.story(tuple(with_remedies(played))) if isinstance(played, DrainSimulation) else played.story()
        found.append(replace(row, story=story))
        caveats += [caveat for caveat in played.caveats() if not isinstance(caveat, OwnersSilent)]
    return found, caveats
