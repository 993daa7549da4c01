"""Clusters with planted faults: they are found and ranked, each by a command that shows the same, and each fix mends it."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from typer.testing import CliRunner

import kwhatif
from kwhatif.api.maintenance import runner
from kwhatif.api.options import MaintenanceOptions
from kwhatif.cli.app import app
from kwhatif.errors import ExitCode
from kwhatif.kube.model.caveat.workloads import CutAtHorizon, OwnersSilent
from kwhatif.policy.aftermath import violations_of_audit
from kwhatif.policy.schema import AuditRule
from kwhatif.policy.violations import Audited
from kwhatif.questions.audit import harms
from kwhatif.questions.audit.audit import AuditQuestion, Runner, ask_audit
from kwhatif.questions.audit.findings import Extent, extents, findings_of, identifier, key_of_cause, worse_than
from kwhatif.questions.audit.fixes import MOST_SECONDS, Fixes
from kwhatif.questions.audit.harms import PlayedProbe
from kwhatif.questions.audit.probes import PROBES, AuditPlayer
from kwhatif.questions.audit.scenario import AuditOutcome, AuditScenario, Stage
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.settled_cluster import Simulation
from kwhatif.render.audit import fix_words
from kwhatif.render.formats import FORMATS
from kwhatif.render.policy import violation_message
from kwhatif.render.worded import worded
from kwhatif.report import Report
from kwhatif.report.risks import AuditFindingRow, AuditFixRow, AuditRow, HarmRow
from kwhatif.simulation.parameters import Parameters
from kwhatif.sources.manifests.edits import read_edits
from kwhatif.sources.text.files import standard_input
from kwhatif.sweep.processes import play_here
from tests import FIXTURES

FOLDER = FIXTURES / "audit"
WEB = "Deployment shop/web"
#: File -> what is planted: harm, cause, and who suffers.
PLANTED = {
    "one-node": [("service-lost", "one-node", WEB)],
    "one-zone": [("service-lost", "one-zone", WEB)],
    "node-room": [("pods-pending", "room", WEB)],
    "zone-room": [("pods-pending", "room", WEB)],
    "drain-demands-all": [("drain-blocked", "demands-all", "PodDisruptionBudget shop/web")],
    "drain-two-budgets": [("drain-blocked", "many-budgets", "PodDisruptionBudget shop/also-web")],
    "drain-unready": [("drain-blocked", "unready", "PodDisruptionBudget shop/web")],
    "anti-affinity": [("pods-pending", "anti-affinity", WEB)],
    "restart-surge": [("pods-pending", "room", WEB)],
    "restart-quota": [("pods-refused", "quota", WEB)],
    "restart-volume": [("restart-hangs", "volume", "Deployment shop/ledger")],
    "restart-attached": [
        ("service-lost", "volume", "Deployment shop/ledger"),
        ("restart-hangs", "volume", "Deployment shop/ledger"),
    ],
    "zone-volume": [("service-lost", "volume", "Deployment shop/ledger")],
    "peak": [("peak-out-of-reach", "room", WEB)],
    "next-replica": [("pods-refused", "quota", WEB), ("pods-pending", "spread", WEB)],
    "evictable": [("evictable", "priority", "Deployment ops/gateway")],
    "budget-of-nothing": [("budget-useless", "selects-nothing", "PodDisruptionBudget shop/web")],
    "budget-of-all": [("budget-useless", "allows-all", "PodDisruptionBudget shop/web")],
    "tainted-since": [("no-way-back", "taint", WEB)],
    "unlabelled-since": [("no-way-back", "labels", WEB)],
    "volume-elsewhere": [("no-way-back", "volume", "Deployment shop/ledger")],
    "upgrade-affinity": [("upgrade-worse", "release", WEB)],
    "pending-now": [("service-lost", "placement", "Deployment shop/index")],
    "silent-node": [("service-lost", "node-silent", "StatefulSet shop/ledger")],
    "bare-pod": [("no-way-back", "bare", "Pod ops/debug")],
    "far-from-usage": [("requests-far", "asks-too-much", WEB)],
    "mixed-platform": [
        ("service-lost", "one-node", "Deployment shop/cart"),
        ("pods-pending", "placement", "Deployment shop/index"),
        ("drain-blocked", "demands-all", "PodDisruptionBudget shop/web"),
    ],
    "mixed-growth": [
        ("pods-pending", "anti-affinity", WEB),
        ("budget-useless", "selects-nothing", "PodDisruptionBudget shop/cart"),
    ],
}
CLEAN = ["clean", "clean-growing"]
#: Without a fix: what would help is not an edit of the cluster, or none of those that are tried.
#: A silent node keeps the volume of `zone-volume` until somebody marks it as down.
UNFIXED = {
    *("silent-node", "bare-pod", "far-from-usage", "unlabelled-since", "zone-volume"),
    *("volume-elsewhere", "upgrade-affinity"),
}
#: Of these the first finding has none: a pod whose volume no other pod may use, and pods that no zone may have.
NOT_FIRST = {"restart-volume"}


def load(name: str) -> Session:
    return kwhatif.load(str(FOLDER / f"{name}.yaml"))


@cache
def audited(name: str) -> tuple[Session, AuditRow]:
    session = load(name)
    return session, _row(kwhatif.audit(session, jobs=1, fixes=3))


def _row(report: Report) -> AuditRow:
    assert report.audit is not None
    return report.audit


def test_every_file_has_its_expectation() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {*PLANTED, *CLEAN}


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_cluster_has_no_findings(name: str) -> None:
    _, row = audited(name)
    assert row.findings == ()
    assert all(each.judged == each.scenarios for each in row.probes)
    assert {each.probe for each in row.probes} == set(PROBES)


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_among_the_first_three(name: str) -> None:
    _, row = audited(name)
    found = [(each.harm, each.cause, each.worst.subject) for each in row.findings[:3]]
    assert [planted for planted in PLANTED[name] if planted not in found] == []


LIMITS = """---
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: shop}
spec: {limits: [{type: Pod, min: {ephemeral-storage: 1Gi}}]}
"""
RESTRICTED = "labels: {pod-security.kubernetes.io/enforce: restricted}"


def test_what_refuses_a_pod_is_named() -> None:
    """Also where the API server's message lacks the word limit: `minimum … usage per Pod is …`."""
    clean = (FOLDER / "clean.yaml").read_text()
    for dump, cause in (
        (clean + LIMITS, "limits"),
        (clean.replace("labels: {team: storefront}", RESTRICTED), "pod-security"),
    ):
        row = _row(kwhatif.audit(kwhatif.load(kwhatif.text(dump)), jobs=1, fixes=0))
        assert {each.cause for each in row.findings if each.harm == "pods-refused"} == {cause}


@pytest.mark.parametrize("name", PLANTED)
def test_the_command_of_each_finding_shows_the_same(name: str) -> None:
    session, row = audited(name)
    for finding in row.findings:
        assert _shows(session, finding), f"{finding.command} does not show {finding.message}"


@pytest.mark.parametrize("name", PLANTED)
def test_with_its_fix_a_finding_is_gone(name: str) -> None:
    session, row = audited(name)
    fixed = [finding for finding in row.findings[:3] if finding.fix is not None and finding.fix.kind == "edits"]
    assert fixed or name in UNFIXED
    for finding in fixed:
        assert finding.fix is not None
        read = read_edits(finding.fix.edits, namespace="default", stdin=standard_input())
        assert read.problems == ()
        player = AuditPlayer(session, Parameters(), [given.edit for given in read.edits])
        scenarios = [
            each
            for probe in {shown.probe for shown in finding.shown_by}
            for each in PROBES[probe].scenarios(session, "").scenarios
            if any(each.about in shown.names for shown in finding.shown_by if shown.probe == probe)
        ]
        again = {identifier(key_of_cause(harm)) for each in scenarios for harm in player.play(each).harms}
        assert finding.id not in again, f"{finding.fix.edits} does not mend {finding.message}"


# --- proofs --------------------------------------------------------------------------------------------------------


def _shows(session: Session, finding: AuditFindingRow) -> bool:
    """Whether the command of the finding, run as a function, says what the finding says."""
    program, *words = shlex.split(finding.command)
    if program == "kubectl":  # what metrics say
        return finding.harm == "requests-far"
    assert program == "kwhatif"
    command, *words = words
    match command:
        case "outage":
            return _in_story(kwhatif.outage(session, *words), finding)
        case "drain":
            report = kwhatif.drain(session, words[0], ignore_daemonsets=True, delete_emptydir_data=True, force=True)
            return _in_story(report, finding)
        case "simulate":
            return _in_story(kwhatif.simulate(session, then=words[1:2]), finding)
        case "upgrade":
            upgrade = kwhatif.upgrade(session, to=words[1]).upgrade
            return upgrade is not None and finding.worst.subject in [each.workload for each in upgrade.worse]
        case "schedule":
            (decision,) = kwhatif.schedule(session, *words).decisions
            node = session.state.pods[decision.pod].pod.spec.node_name
            return any(each.node == node for each in decision.rejected) or node not in decision.ties
    raise AssertionError(command)


def _in_story(report: Report, finding: AuditFindingRow) -> bool:
    story, worst = report.story, finding.worst
    assert story is not None
    workload = next((each for each in story.workloads if each.workload == worst.subject), None)
    match finding.harm:
        case "service-lost":
            return workload is not None and not workload.ready_lowest
        case "pods-pending" | "data-blocked" | "restart-hangs" | "peak-out-of-reach" | "no-growth":
            waiting = any(worst.subject in (row.owner, f"Pod {row.pod}") for row in story.pending)
            waiting |= any(
                event.object == f"Pod {worst.example}" for event in story.events if event.detail == worst.said
            )
            return waiting or any(row.workload == worst.subject for row in story.refused)
        case "pods-refused":
            return any(row.workload == worst.subject for row in story.refused)
        case "drain-blocked":
            return any(row.pod == worst.example for row in story.blocked)
        case "budget-broken":
            return any(row.budget == worst.subject.partition(" ")[2] and row.overrun for row in story.budgets)
        case "budget-useless":
            return bool(story.gone) and not any(event.verb == "could not evict" for event in story.events)
        case "no-way-back":
            return any(row.pod == worst.example or f"Pod {row.pod}" == worst.subject for row in story.blocked)
        case "evictable":
            return any(row.owner == worst.subject and row.how == "Preempted" for row in story.gone)
    raise AssertionError(finding.harm)


def test_a_fix_that_was_proven_on_a_part_says_so() -> None:
    report = kwhatif.audit(load("drain-demands-all"), fixes=0, jobs=1)
    (finding,) = _row(report).findings
    for played, said in ((12, " (played for 12 of 40 what-ifs)"), (40, "")):
        fixed = replace(finding, fix=AuditFixRow(edits=("scale deployment/shop/web=4",), played=played, of=40))
        assert fix_words(fixed) == f"scale deployment/shop/web=4{said}"
        row = replace(_row(report), findings=(fixed,), explained=finding.id)
        text = FORMATS["markdown"](replace(report, audit=row))
        assert ("gone from all 12 that were played again, of 40 what-ifs that show it" in text) is (played < 40)
        junit = FORMATS["junit"](replace(report, audit=replace(row, explained="")))
        assert f"what helps: scale deployment/shop/web=4{said}" in junit
        assert ("(played for" in junit) is (played < 40)


def _times(rows: Sequence[AuditOutcome], took: float) -> Runner:
    """Plays no more: the outcomes are known, and took so long."""
    return lambda _, __: [replace(each, took=took) for each in rows]


def test_a_fix_that_takes_too_long_is_looked_for_only_if_it_is_asked_for() -> None:
    session = load("drain-demands-all")
    player, outcomes = AuditPlayer(session, Parameters()), list[AuditOutcome]()

    def play(_: AuditPlayer, scenarios: Sequence[AuditScenario]) -> list[AuditOutcome]:
        outcomes.extend(map(player.play, scenarios))
        return outcomes

    (known,) = _row(ask_audit(session, AuditQuestion(), Parameters(), play)).findings
    assert known.fix is not None
    assert known.takes is None
    slow = _times(outcomes, MOST_SECONDS + 1)
    report = ask_audit(session, AuditQuestion(), Parameters(), slow)
    (finding,) = _row(report).findings
    assert (finding.fix, finding.tried, finding.takes) == (None, None, MOST_SECONDS + 1)
    assert "fix not looked for (a what-if takes 6 s): --explain does" in FORMATS["markdown"](worded(report))
    (explained,) = _row(ask_audit(session, AuditQuestion(explain=finding.id), Parameters(), slow)).findings
    assert explained.fix == known.fix


def test_a_what_if_that_is_cut_says_so() -> None:
    session = load("clean")
    player = AuditPlayer(session, Parameters(horizon=200.0))
    outcome = player.play(AuditScenario("outage", "a1", ("a1",)))
    (caveat,) = (each for each in outcome.caveats if isinstance(each, CutAtHorizon))
    assert caveat == CutAtHorizon(what_ifs=("outage a1",), horizon=200.0)
    assert {row.cut for row in outcome.harms} <= {200.0}
    whole = AuditPlayer(session, Parameters()).play(AuditScenario("outage", "a1", ("a1",)))
    assert not any(isinstance(each, CutAtHorizon) for each in whole.caveats)


def test_pods_that_are_evicted_after_the_simulated_time_do_not_stay() -> None:
    player = AuditPlayer(load("clean"), Parameters(horizon=200.0))
    assert "tolerates" not in {row.cause for row in player.play(AuditScenario("outage", "a1", ("a1",))).harms}


# --- identifiers, scope and time -----------------------------------------------------------------------------------


def _shuffled(name: str) -> Session:
    """The same cluster in another order, and with other names of pods that controllers have made."""
    text = (FOLDER / f"{name}.yaml").read_text()
    text = re.sub(r"(web|cart|index|report|gateway)-5d9c-(\d)", r"\1-5d9c-x\2z", text)
    data = yaml.safe_load(text)
    random.Random(7).shuffle(data["items"])
    return kwhatif.load(kwhatif.text(yaml.safe_dump(data)))


@pytest.mark.parametrize("name", ["mixed-platform", "mixed-growth", "node-room"])
def test_identifiers_do_not_depend_on_names_of_pods_or_on_order(name: str) -> None:
    _, row = audited(name)
    other = _row(kwhatif.audit(_shuffled(name), jobs=1, fixes=0))
    assert [each.id for each in other.findings] == [each.id for each in row.findings]


def test_two_processes_say_what_one_says() -> None:
    session, row = audited("mixed-platform")
    assert _row(kwhatif.audit(session, jobs=2, fixes=0)).findings == tuple(_without_fix(each) for each in row.findings)


def _without_fix(finding: AuditFindingRow) -> AuditFindingRow:
    return replace(finding, fix=None, tried=None)


def test_a_namespace_sees_only_its_own_findings() -> None:
    session, row = audited("evictable")
    assert row.findings
    assert _row(kwhatif.audit(session, namespace="shop", fixes=0, jobs=1)).findings == ()
    assert _row(kwhatif.audit(session, namespace="ops", fixes=0, jobs=1)).findings[0].owner == ""


def test_only_the_probes_that_are_named_are_asked() -> None:
    row = _row(kwhatif.audit(load("drain-demands-all"), only="drain,outage", fixes=0, jobs=1))
    assert [each.probe for each in row.probes] == ["outage", "drain"]


@pytest.mark.parametrize("wrong", ["outages", "drain,no"])
def test_a_probe_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(kwhatif.InputError, match="there is no"):
        kwhatif.audit(load("clean"), only=wrong)


def _cut_after(count: int, error: type[BaseException] | None = None) -> Runner:
    def run(player: AuditPlayer, scenarios: Sequence[AuditScenario]) -> Iterator[AuditOutcome]:
        yield from play_here(player, scenarios[:count])
        if error is not None:
            raise error

    return run


def test_what_was_not_reached_is_said() -> None:
    report = ask_audit(load("mixed-platform"), AuditQuestion(), Parameters(), _cut_after(5))
    row = _row(report)
    assert row.stopped == "budget"
    assert {each.probe for each in row.unjudged} >= {"drain", "restart", "zone"}
    assert sum(each.judged for each in row.probes) == 5


def _patience(moments: int) -> Callable[[], bool]:
    """Time that is over when it has been looked at that often."""
    looks = count()
    return lambda: next(looks) < moments


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_what_if_is_given_up_when_the_time_is_over(jobs: int) -> None:
    """Not only between two of them: one lost zone of a large cluster takes longer than most budgets."""
    goes_on = _patience(9)
    run = runner(MaintenanceOptions(jobs=jobs), AuditOutcome, None, goes_on)
    question = AuditQuestion(probes=("zone", "outage"))
    row = _row(ask_audit(load("mixed-platform"), question, Parameters(), run, goes_on))
    assert row.stopped == "budget"
    assert sum(each.judged for each in row.probes) < sum(each.scenarios for each in row.probes)
    assert all(each.fix is None and each.tried is None for each in row.findings)


def test_a_single_what_if_is_given_up_too() -> None:
    goes_on = _patience(3)
    run = runner(MaintenanceOptions(jobs=1), AuditOutcome, None, goes_on)
    row = _row(ask_audit(load("one-zone"), AuditQuestion(probes=("zone",)), Parameters(), run, goes_on))
    assert (row.stopped, [each.judged for each in row.probes], row.findings) == ("budget", [0], ())


def test_a_fix_is_given_up_when_the_time_is_over() -> None:
    _, row = audited("drain-demands-all")
    (known,) = row.findings
    for moments in (2, 9):
        player = AuditPlayer(load("drain-demands-all"), Parameters())
        scenarios = PROBES["drain"].scenarios(player.session, "").scenarios
        goes_on = _patience(moments)
        player.is_awaited = goes_on
        finding = Fixes(player, scenarios, goes_on, {}).fixed(_without_fix(known))
        assert finding.fix is None


def test_an_audit_that_is_interrupted_says_what_it_has_and_goes_on_from_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, row = audited("mixed-platform")
    file = str(tmp_path / "audit.jsonl")

    def cut(done: int, _total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    found = _row(kwhatif.audit(session, jobs=1, fixes=0, resume=file, progress=cut))
    assert found.stopped == "interrupted"
    assert [each.id for each in found.findings] == ["one-place-ba5b299c", "placement-1bbdbd4e"]
    played: list[str] = []
    play = AuditPlayer.play

    def counted(self: AuditPlayer, scenario: AuditScenario) -> AuditOutcome:
        played.append(scenario.name)
        return play(self, scenario)

    monkeypatch.setattr(AuditPlayer, "play", counted)
    found = _row(kwhatif.audit(session, jobs=1, fixes=0, resume=file))
    assert found.findings == tuple(map(_without_fix, row.findings))
    assert len(played) == sum(each.scenarios for each in row.probes) - 4  # which the file has


def test_an_interrupted_audit_is_printed_and_exits_130(monkeypatch: pytest.MonkeyPatch) -> None:
    play = AuditPlayer.play

    def cut(self: AuditPlayer, scenario: AuditScenario) -> AuditOutcome:
        if scenario.probe == "drain":
            raise KeyboardInterrupt
        return play(self, scenario)

    monkeypatch.setattr(AuditPlayer, "play", cut)
    ended = CliRunner().invoke(app, ["audit", "--from", str(FOLDER / "mixed-platform.yaml"), "--jobs", "1"])
    assert ended.exit_code == ExitCode.INTERRUPTED
    assert "one-place-ba5b299c" in ended.stdout
    assert "it was interrupted" in ended.stdout


def test_a_finding_that_was_not_reached_is_not_said_to_be_unknown() -> None:
    _, row = audited("mixed-platform")
    count = sum(each.scenarios for each in row.probes)
    for options, said in (
        ({"budget": "1ms"}, f"{row.findings[-1].id} was not reached: 1 of {count} what-ifs were played"),
        ({}, "there is no finding"),
    ):
        explain = row.findings[-1].id if options else "room-00000000"
        with pytest.raises(kwhatif.InputError, match=said):
            kwhatif.audit(load("mixed-platform"), jobs=1, explain=explain, **options)  # type: ignore[arg-type]


# --- accepted findings ---------------------------------------------------------------------------------------------


def _baseline(finding: AuditFindingRow, until: str) -> Any:
    accepted = {"id": finding.id, "owner": "team-data", "reason": "known", "until": until}
    others = {"id": "room-00000000", "reason": "gone since"}
    return {"apiVersion": "kwhatif.dev/v1", "kind": "AuditBaseline", "accepted": [accepted, others]}


def test_accepted_findings_do_not_count_until_their_day_is_over(tmp_path: Path) -> None:
    session, row = audited("drain-demands-all")
    (finding,) = row.findings
    for until, is_over in (("2026-01-31", False), ("2026-01-01", True)):
        file = tmp_path / "accepted.yaml"
        file.write_text(yaml.safe_dump(_baseline(finding, until)))
        from datetime import date

        found = _row(kwhatif.audit(session, fixes=0, jobs=1, baseline=str(file), today=date(2026, 1, 31)))
        assert bool(found.counting) is is_over
        assert found.baseline is not None
        assert found.baseline.gone == ("room-00000000",)
        assert found.baseline.expired == ((finding.id,) if is_over else ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: Policy", "is not a baseline"),
        ("apiVersion: kwhatif.dev/v1\nkind: AuditBaseline\naccepted: [{id: a, reason: ''}]", "say why"),
        (
            "apiVersion: kwhatif.dev/v1\nkind: AuditBaseline\naccepted: [{id: a, reason: b}, {id: a, reason: b}]",
            "already",
        ),
        ("apiVersion: kwhatif.dev/v1\nkind: AuditBaseline\naccepted: [{id: a, reason: b, until: soon}]", "until"),
        ("apiVersion: kwhatif.dev/v1\nkind: AuditBaseline\nacepted: []", "accepted"),
    ],
)
def test_a_wrong_baseline_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "accepted.yaml"
    file.write_text(text)
    with pytest.raises(kwhatif.InputError, match=said):
        kwhatif.audit(load("clean"), baseline=str(file), only="upgrade")


# --- ranking -------------------------------------------------------------------------------------------------------


def test_the_worst_come_first() -> None:
    rows = [finding.worst for name in PLANTED for finding in audited(name)[1].findings]
    from kwhatif.questions.audit.findings import LEVELS, level_of, rank

    ordered = sorted(rows, key=rank)
    levels = [LEVELS.index(level_of(row)) for row in ordered]
    assert levels == sorted(levels)
    for name in PLANTED:
        ranks = [rank(finding.worst) for finding in audited(name)[1].findings]
        assert ranks == sorted(ranks)


def test_pods_that_make_way_and_zones_are_less_bad() -> None:
    from kwhatif.questions.audit.findings import level_of

    row = HarmRow(probe="outage", scenario="a1", harm="pods-pending", cause="room", subject=WEB)
    assert level_of(row) == "high"
    assert level_of(HarmRow(**{**_fields(row), "priority": -10})) == "low"
    assert level_of(HarmRow(**{**_fields(row), "cause": "toleration-unknown"})) == "low"
    assert level_of(HarmRow(**{**_fields(row), "probe": "zone"})) == "medium"
    assert level_of(HarmRow(**{**_fields(row), "autoscaled": True})) == "medium"


def _fields(row: HarmRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


# --- the rule of the gate, and formats for tools -------------------------------------------------------------------

_POLICY = {"apiVersion": "kwhatif.dev/v1", "kind": "Policy", "audit": {}}
_BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}},
}


def _rules(session: Session, budget: dict[str, Any]) -> list[str]:
    web = yaml.load((FOLDER / "clean.yaml").read_bytes(), yaml.CSafeLoader)["items"]
    deployment = next(each for each in web if each["kind"] == "Deployment")
    policy = kwhatif.gate(session, budget, deployment, policy=_POLICY).policy
    assert policy is not None
    return [finding.rule for finding in policy.findings]


def test_the_gate_refuses_manifests_that_bring_a_finding() -> None:
    assert "audit/drain-blocked" in _rules(load("clean"), {**_BUDGET, "metadata": {"name": "all", "namespace": "shop"}})


def test_the_gate_lets_pass_what_was_found_before() -> None:
    assert "audit/drain-blocked" not in _rules(load("drain-demands-all"), _BUDGET)


def _packed(pods: dict[str, list[str]], cpu: dict[str, int]) -> Session:
    """Nodes of 4 cpus, each with one pod: of which ReplicaSet, and how many cpus it asks for."""
    objects: list[dict[str, Any]] = []
    for name, nodes in pods.items():
        uid = f"set-{name}"
        meta = {"name": name, "namespace": "shop"}
        spec: dict[str, Any] = {
            "containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": cpu[name]}}}]
        }
        lost = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        spec["tolerations"] = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in lost
        ]
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": uid, "controller": True}
        for number, node in enumerate(nodes):
            status = {"allocatable": {"cpu": 4, "memory": "8Gi", "pods": 110}}
            ready = {"conditions": [{"type": "Ready", "status": "True"}]}
            objects += [
                {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}, "status": {**status, **ready}},
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        "name": f"{name}-{number}",
                        "namespace": "shop",
                        "labels": {"app": name},
                        "ownerReferences": [owner],
                    },
                    "spec": {**spec, "nodeName": node},
                    "status": {"phase": "Running", **ready},
                },
            ]
        template = {"metadata": {"labels": {"app": name}}, "spec": spec}
        of_set = {"replicas": len(nodes), "selector": {"matchLabels": {"app": name}}, "template": template}
        kind = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
        objects.append({**kind, "metadata": {**meta, "uid": uid}, "spec": of_set})
    return kwhatif.load(*objects)


_NODES = [f"n{number:02}" for number in range(1, 15)]


def _more(replicas: int, cpu: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": cpu}}}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "more", "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "more"}},
            "template": {"metadata": {"labels": {"app": "more"}}, "spec": spec},
        },
    }


def _audited_by_gate(session: Session, manifest: dict[str, Any]) -> list[str]:
    policy = kwhatif.gate(session, manifest, policy={**_POLICY, "audit": {"only": ["outage"]}}).policy
    assert policy is not None
    return [each.message for each in policy.findings if each.rule.startswith("audit/")]


def test_the_gate_refuses_a_finding_that_reaches_further_than_before() -> None:
    session = _packed({"small": _NODES, "large": ["n98", "n99"]}, {"small": 2, "large": 3})
    (message,) = _audited_by_gate(session, _more(len(_NODES), "2"))
    assert "if any of 16 nodes is lost" in message
    assert message.endswith(
        "; it was so before, but not if any of 14 nodes is lost (n01, n02, n03 and 11 more);"
        " not for Deployment shop/more, ReplicaSet shop/small"
    )


def test_the_gate_compares_with_all_that_was_so_before_however_much_it_is() -> None:
    """A row names some of the nodes; all of them were bad before."""
    session = _packed({"large": _NODES}, {"large": 3})
    assert len(_row(kwhatif.audit(session, only="outage", jobs=1, fixes=0)).findings[0].shown_by[0].names) < len(_NODES)
    assert _audited_by_gate(session, _more(14, "100m")) == []


def _extent(*rows: HarmRow) -> Extent:
    played = [(AuditScenario(each.probe, each.scenario), AuditOutcome("", (each,))) for each in rows]
    (extent,) = extents(played).values()
    return extent


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        ([("outage", "a", WEB)], [("outage", "a", WEB)], None),
        ([("outage", "a", WEB), ("outage", "b", WEB)], [("outage", "a", WEB)], None),
        ([("zone", "z", WEB)], [("outage", "a", WEB)], "at level high (medium); not if a is lost"),
        ([("outage", "a", WEB)], [("outage", "a", WEB), ("outage", "b", WEB)], "if b is lost"),
        ([("outage", "a", WEB)], [("outage", "a", WEB), ("outage", "a", "Deployment shop/b")], "for Deployment shop/b"),
        ([("restart", WEB, WEB)], [("restart", WEB, WEB), ("drain", "a", WEB)], "if a is drained"),
    ],
)
def test_a_finding_is_worse_if_its_level_is_higher_or_it_reaches_further(
    before: list[tuple[Any, str, str]], now: list[tuple[Any, str, str]], new: str | None
) -> None:
    def rows(said: list[tuple[Any, str, str]]) -> list[HarmRow]:
        return [
            HarmRow(probe=probe, scenario=scenario, harm="pods-pending", cause="room", subject=subject, pods=1)
            for probe, scenario, subject in said
        ]

    (finding,) = findings_of(rows(now), lambda row: row.scenario)
    found = worse_than(_extent(*rows(before)), _extent(*rows(now)), finding)
    said = [] if found is None else violations_of_audit(AuditRule(), Audited([found]))
    assert [violation_message(each).rpartition("; it was so before, but not ")[2] for each in said] == (
        [new] if new else []
    )


#: Of each kind of what-if that is played, a cluster in which one is.
PLAYED_IN = {
    "pending": "clean",
    "budgets": "budget-of-all",
    "outage": "clean",
    "drain": "clean",
    "restart": "clean",
    "zone": "clean",
    "peak": "peak",
    "replica": "clean",
    "arrival": "evictable",
}


def test_every_kind_of_what_if_that_is_played_is_known_here() -> None:
    assert [name for name, probe in PROBES.items() if isinstance(probe, PlayedProbe)] == [
        name for name in PROBES if name in PLAYED_IN
    ]


@pytest.mark.parametrize("probe", PLAYED_IN)
def test_what_is_played_says_its_caveats_and_comes_to_its_end(probe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session = load(PLAYED_IN[probe])
    player, play_it = AuditPlayer(session, Parameters()), Stage.played
    played: list[Simulation] = []

    def kept(self: Stage, scenario: AuditScenario) -> Simulation:
        played.append(play_it(self, scenario))
        return played[-1]

    monkeypatch.setattr(Stage, "played", kept)
    caveat = OwnersSilent(owners=(WEB,), count=1)
    monkeypatch.setattr(harms, "caveats_of_end", lambda engine: [caveat] if engine is played[-1].engine else [])
    outcomes = [player.play(each) for each in PROBES[probe].scenarios(session, "").scenarios]
    assert played
    assert sum(caveat in each.caveats for each in outcomes) == len(played)
    assert not any(each.engine.api_server.watchers for each in played)


@pytest.mark.parametrize("output", ["junit", "sarif", "github", "gitlab", "markdown", "baseline", "json"])
def test_every_format_has_the_finding(output: str) -> None:
    report = kwhatif.audit(load("drain-demands-all"), fixes=0, jobs=1)
    (finding,) = _row(report).findings
    assert finding.id in FORMATS[output](report) or finding.message in FORMATS[output](report)


def test_an_error_says_what_was_not_judged() -> None:
    from kwhatif.render.junit import to_junit

    report = ask_audit(load("mixed-platform"), AuditQuestion(), Parameters(), _cut_after(5, KeyboardInterrupt))
    assert _row(report).stopped == "interrupted"
    assert 'type="unjudged"' in to_junit(report)
