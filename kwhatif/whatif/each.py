"""The same question of every node, or of every group of nodes, alone: which of them may go?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.errors import InputError, Problem
from kwhatif.model.node import Node
from kwhatif.report import Report
from kwhatif.simulation.parameters import Parameters
from kwhatif.story import ScenarioRow, VerdictRow
from kwhatif.whatif.drain import Drained
from kwhatif.whatif.outage import Lost
from kwhatif.whatif.played import SettledCluster
from kwhatif.whatif.session import Session

_Groups = Mapping[str, tuple[str, ...]]


def drain_each(session: Session, nodes: tuple[str, ...], options: DrainOptions, parameters: Parameters) -> Report:
    """Drain each of the nodes alone."""
    base = SettledCluster(session, parameters)

    def play(names: tuple[str, ...]) -> VerdictRow:
        return Drained(base, names, options).verdict()

    return _report(session, "drain", {name: (name,) for name in nodes}, play)


def outage_each(session: Session, key: str, parameters: Parameters, *, deleted: bool) -> Report:
    """Let all nodes fail that have one value of the label, for each value alone.

    Raises:
        InputError: no node has the label.
    """
    base = SettledCluster(session, parameters)

    def play(names: tuple[str, ...]) -> VerdictRow:
        return Lost(base, names, deleted=deleted).verdict()

    groups: dict[str, tuple[str, ...]] = {}
    for name, node in session.cluster.all(Node).items():
        value = node.metadata.labels.get(key)
        if value is not None:
            groups[value] = (*groups.get(value, ()), name)
    if not groups:
        raise InputError([Problem("--each", f"no node has the label {key}")])
    return _report(session, "outage", groups, play)


def _report(session: Session, command: str, groups: _Groups, play: Callable[[tuple[str, ...]], VerdictRow]) -> Report:
    """The worst first; each scenario starts from the same state."""
    rows = []
    for name, nodes in groups.items():
        rows.append(ScenarioRow(scenario=name, verdict=play(nodes)))
    report = session.report(command, (), (*session.caveats, *session.stale()))
    return replace(report, scenarios=tuple(sorted(rows, key=_trouble)))


def _trouble(row: ScenarioRow) -> tuple[bool, int, int, float, str]:
    verdict = row.verdict
    return verdict.ok, -len(verdict.pending), -verdict.preempted, -verdict.seconds, row.scenario
