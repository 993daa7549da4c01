"""How sure statements are: every kind of caveat is sorted, and the facts of a report decide."""

from functools import cache

import pytest
from msgspec.structs import replace

import kwhatif
from kwhatif.kube.model.caveat import CODES, reading, scheduling
from kwhatif.render.blocks import PROVEN, Sure
from kwhatif.render.certainty import EXACT, SEVERAL, of_decision, of_finding, of_report, of_story
from kwhatif.report import Report
from kwhatif.report.deciders import DescheduleRow, EvictedRow, ReplacementRow
from kwhatif.report.decision import Decision, PreemptionRow
from kwhatif.report.risks import AuditFindingRow, HarmRow
from kwhatif.report.story import FactRow, RunsRow, Story
from tests import FIXTURES

DEMO = FIXTURES / "demo"


@cache
def demo() -> kwhatif.Session:
    return kwhatif.load(DEMO / "cluster.yaml")


def decision(*ties: str, pod: str = "shop/a") -> Decision:
    return Decision(pod=pod, outcome="Placed", node=ties[0] if ties else "a1", ties=ties)


def story(**fields: object) -> Story:
    return Story(settled="settled", seconds=1.0, assumptions=(), parameters={"horizon": 60.0}, **fields)  # type: ignore[arg-type]


def degrees(found: object) -> list[str]:
    return [each.degree for each in found]  # type: ignore[attr-defined]


def test_what_nothing_speaks_against_is_proven() -> None:
    report = Report(command="schedule", decisions=(decision("a1"),))
    assert of_report(report) == of_decision(report.decisions[0], report) == (PROVEN,)


@pytest.mark.parametrize(
    "tied",
    [
        decision("a1", "b1"),
        Decision(pod="shop/a", outcome="Preempts", node="a1", preemption=PreemptionRow(True, ties=("a1", "b1"))),
    ],
)
def test_equally_good_nodes_are_one_of_several_outcomes(tied: Decision) -> None:
    alone = Report(command="preempt", decisions=(tied,))
    assert of_report(alone) == of_decision(tied, alone) == [Sure("several", "2 nodes are equally good")]
    both = Report(command="schedule", decisions=(tied, decision("a1", pod="shop/b")))
    assert of_report(both) == [Sure("several", "1 of 2 pods has equally good nodes")]
    assert of_decision(both.decisions[1], both) == (PROVEN,)


def test_caveats_are_sorted_and_said_in_the_words_of_the_verdict() -> None:
    caveats = (
        scheduling.OrderOfEquals(workloads=("Deployment shop/api",)),
        reading.NoBudgets(missing=True),
        scheduling.Batching(),
    )
    report = Report(command="schedule", decisions=(decision("a1"),), caveat_details=caveats)
    assert of_report(report) == [
        Sure("assumed", "no budget is known"),
        Sure("several", "the pod that comes first gets the place"),
    ]


def test_a_caveat_about_another_pod_does_not_count() -> None:
    caveat = reading.UnknownPriorityClass(name="high", pods=("shop/b",))
    report = Report(
        command="schedule", decisions=(decision("a1"), decision("a1", pod="shop/b")), caveat_details=(caveat,)
    )
    assert [degrees(of_decision(each, report)) for each in report.decisions] == [["proven"], ["assumed"]]


def test_every_caveat_is_in_one_class() -> None:
    assert not EXACT & SEVERAL
    assert set(CODES.values()) >= EXACT | SEVERAL
    assert not [kind for kind in CODES.values() if kind in EXACT | SEVERAL and kind.warns]
    # What is not in either is an assumption: a new kind of caveat is one until it is shown not to be.
    for kind in (reading.StaleSnapshot, scheduling.PluginNotModelled, reading.NoPods):
        assert kind not in EXACT | SEVERAL


def test_a_story_that_chose_between_equals_or_was_cut() -> None:
    report = Report(command="simulate")
    assert of_story(story(), report) == (PROVEN,)
    chosen = story(conventions={"nodes": 2, "evictions": 1, "stopTimes": 3})
    said = "of equal choices the first by name is taken: 2 nodes, 1 preemption"
    assert of_story(chosen, report) == [Sure("several", said)]
    cut = replace(chosen, settled="horizon")
    assert degrees(of_story(cut, report)) == ["assumed", "several"]


def test_many_runs_that_end_alike_prove_it() -> None:
    def runs(*facts: FactRow) -> RunsRow:
        return RunsRow(runs=5, seed=1, seconds_least=1.0, seconds_most=2.0, facts=facts)

    report = Report(command="simulate")
    chosen = {"nodes": 1}
    always = story(conventions=chosen, runs=runs(FactRow("settled", "settled", 5)))
    sometimes = story(conventions=chosen, runs=runs(FactRow("settled", "settled", 3), FactRow("settled", "pending", 2)))
    assert of_story(always, report) == (PROVEN,)
    assert degrees(of_story(sometimes, report)) == ["several"]


def test_replacements_of_evicted_pods_with_equally_good_nodes() -> None:
    landed = ReplacementRow("Elsewhere", "shop/b", "a1", ties=("a1", "b1"))
    row = DescheduleRow(policy="p", at="2026-01-01T00:00:00Z", evicted=(_evicted(landed), _evicted(None)))
    found = of_report(Report(command="deschedule", deschedule=row))
    assert found == [Sure("several", "1 of 2 pods has equally good nodes")]


def _evicted(replacement: ReplacementRow | None) -> EvictedRow:
    (found,) = kwhatif.deschedule(demo(), DEMO / "descheduler.yaml").deschedule.evicted[:1]  # type: ignore[union-attr]
    return replace(found, replacement=replacement)


def test_a_finding_whose_what_if_was_not_over_is_assumed() -> None:
    harm = HarmRow(probe="drain", scenario="a1", harm="pods-pending", cause="room", subject="Deployment shop/a")
    finding = AuditFindingRow(
        id="room-1",
        level="low",
        harm="pods-pending",
        cause="room",
        subjects=("Deployment shop/a",),
        namespaces=("shop",),
        worst=harm,
        harms=(harm,),
        shown_by=(),
        command="kwhatif drain a1",
    )
    report = Report(command="audit")
    assert of_finding(finding, report) == (PROVEN,)
    assert degrees(of_finding(replace(finding, worst=replace(harm, cut=60.0)), report)) == ["assumed"]


def test_the_line_of_a_verdict_holds_the_doubt_that_a_page_shows_below() -> None:
    report = kwhatif.schedule(demo(), DEMO / "pods" / "small.yaml")
    text = kwhatif.html(report, demo())
    assert "; but the cluster is as of" not in text.partition("<h1")[2].partition("</h1>")[0]
    assert '<span class="assumed"><span class="glyph" aria-hidden="true">□</span>assumed: the cluster is as of' in text
