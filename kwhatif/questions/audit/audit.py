"""`audit`: plays all what-ifs, and makes findings of what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import Literal

import msgspec
from msgspec.structs import replace

from kwhatif.edits.edit import Apply
from kwhatif.errors import OutOfTime
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, ObjectRef
from kwhatif.kube.model.kinds import find
from kwhatif.kube.model.workload import Namespace
from kwhatif.policy.violations import Brought
from kwhatif.questions.audit.findings import extents, findings_of, worse_than
from kwhatif.questions.audit.fixes import MOST_SECONDS, Fixes
from kwhatif.questions.audit.probes import PROBES, AuditPlayer, command_of
from kwhatif.questions.audit.scenario import AuditOutcome, AuditScenario
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.risks import AuditFindingRow, AuditRow, HarmRow, ProbeName, ProbeRow
from kwhatif.simulation.parameters import Parameters

Stopped = Literal["", "budget", "interrupted"]


class AuditQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked."""

    probes: tuple[ProbeName, ...] = tuple(PROBES)
    #: Only about workloads of this namespace; "": all.
    namespace: str = ""
    #: The number of findings to look for a fix for, the worst first.
    fixes: int = 10
    #: The identifier of the only finding to look for a fix for; "": no particular one.
    explain: str = ""
    #: The label of a workload, or of its namespace, that names its owner.
    owner_label: str = "team"


#: Plays scenarios; yields outcomes in any order, and stops early if the time is over.
Runner = Callable[[AuditPlayer, Sequence[AuditScenario]], Iterable[AuditOutcome]]


class Scope(msgspec.Struct):
    """The scenarios to play, and how many are done."""

    scenarios: list[AuditScenario]
    skipped: dict[ProbeName, str] = {}
    outcomes: dict[str, AuditOutcome] = {}

    def play(self, player: AuditPlayer, run: Runner) -> None:
        """Play the scenarios; if it is interrupted, it keeps the outcomes so far."""
        for outcome in run(player, self.scenarios):
            self.outcomes[outcome.name] = outcome

    @property
    def played(self) -> Iterator[tuple[AuditScenario, AuditOutcome]]:
        """The scenarios that were played, and their outcomes."""
        return ((each, self.outcomes[each.name]) for each in self.scenarios if each.name in self.outcomes)

    @property
    def caveats(self) -> Iterator[Caveat]:
        """The caveats about the outcomes."""
        return (caveat for outcome in self.outcomes.values() for caveat in outcome.caveats)

    def findings(self) -> list[AuditFindingRow]:
        """One for each cause, the worst first."""
        known = {(each.probe, each.about): each for each in self.scenarios}

        def command(row: HarmRow) -> str:
            return command_of(known.get((row.probe, row.scenario)) or AuditScenario(row.probe, row.scenario))

        return findings_of((row for outcome in self.outcomes.values() for row in outcome.harms), command)


def ask_audit(
    session: Session,
    question: AuditQuestion,
    parameters: Parameters,
    run: Runner,
    goes_on: Callable[[], bool] = lambda: True,
) -> Report:
    """Play everything, and look for fixes of the worst findings.

    Args:
        session: the cluster; it is not changed.
        question: what is asked.
        parameters: how long things take.
        run: plays the scenarios.
        goes_on: whether there is still time, for fixes.
    """
    player = AuditPlayer(session, parameters)
    scope = _scope(player.session, question)
    stopped: Stopped = ""
    try:
        scope.play(player, run)
    except KeyboardInterrupt:
        stopped = "interrupted"
    else:
        stopped = "budget" if len(scope.outcomes) < len(scope.scenarios) else ""
    found = scope.findings()
    if question.namespace:
        found = [each for each in found if question.namespace in each.namespaces]
    owners = _Owners(player.session.cluster, question.owner_label)
    found = [replace(each, owner=owners.of(each)) for each in found]
    fixes = Fixes(
        player,
        scope.scenarios,
        (lambda: False) if stopped else goes_on,
        {name: outcome.took for name, outcome in scope.outcomes.items()},
        inf if question.explain else MOST_SECONDS,
    )
    found = [
        fixes.fixed(each) if (each.id == question.explain if question.explain else place < question.fixes) else each
        for place, each in enumerate(found)
    ]
    row = AuditRow(
        findings=tuple(_told(each, player, scope) if each.id == question.explain else each for each in found),
        probes=tuple(_probes(question, scope)),
        stopped=stopped,
        namespace=question.namespace,
        explained=question.explain,
    )
    return replace(player.session.report("audit", (), player.caveats(scope.caveats)), audit=row)


def _told(finding: AuditFindingRow, player: AuditPlayer, scope: Scope) -> AuditFindingRow:
    """The finding with the story of its worst what-if."""
    worst = finding.worst.probe, finding.worst.scenario
    scenario = next((each for each in scope.scenarios if (each.probe, each.about) == worst), None)
    with suppress(OutOfTime):
        return finding if scenario is None else replace(finding, story=player.story(scenario))
    return finding


def brought(
    session: Session, objects: Sequence[KubernetesObject], question: AuditQuestion, run: Runner
) -> tuple[list[Brought], tuple[Caveat, ...]]:
    """The findings that are new, or worse than before, once the objects are applied; and the caveats.

    Only what-ifs that do harm are also played on the cluster as it is.

    Raises:
        InputError: the objects cannot be applied.
    """
    after = AuditPlayer(session, Parameters(), [Apply(text="apply the manifests", objects=tuple(objects))])
    scope = _scope(after.settled, question)
    scope.play(after, run)
    before = AuditPlayer(session, Parameters())
    harmful = {name for name, outcome in scope.outcomes.items() if outcome.harms}
    known = Scope([each for each in _scope(before.session, question).scenarios if each.name in harmful])
    known.play(before, run)
    was, now = extents(known.played), extents(scope.played)
    compared = (worse_than(was.get(each.id), now[each.id], each) for each in scope.findings())
    return [each for each in compared if each is not None], tuple(after.caveats(scope.caveats))


def _scope(session: Session, question: AuditQuestion) -> Scope:
    scenarios: list[AuditScenario] = []
    skipped: dict[ProbeName, str] = {}
    for name in question.probes:
        asked = PROBES[name].scenarios(session, question.namespace)
        scenarios += asked.scenarios
        if asked.skipped:
            skipped[name] = asked.skipped
    return Scope(scenarios, skipped)


def _probes(question: AuditQuestion, scope: Scope) -> Iterable[ProbeRow]:
    for name in question.probes:
        asked = [each for each in scope.scenarios if each.probe == name]
        judged = sum(each.name in scope.outcomes for each in asked)
        yield ProbeRow(probe=name, scenarios=len(asked), judged=judged, skipped=scope.skipped.get(name, ""))


class _Owners:
    """The owner of a finding: a label of the workload, or else of its namespace."""

    def __init__(self, cluster: Cluster, label: str) -> None:
        self._cluster = cluster
        self._label = label

    def of(self, finding: AuditFindingRow) -> str:
        """All owners, in the order of the subjects."""
        return ", ".join(dict.fromkeys(filter(None, map(self._owner, finding.subjects))))

    def _owner(self, subject: str) -> str:
        ref = ObjectRef.parse(subject)
        found = find(ref, self._cluster)
        named: str = "" if found is None else found.metadata.labels.get(self._label, "")
        space = self._cluster.get(Namespace, ref.namespace)
        return named or ("" if space is None else space.metadata.labels.get(self._label, ""))
