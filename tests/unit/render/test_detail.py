"""Node names: the shared suffix once, and nothing cut that is not shared."""

from io import StringIO

import pytest
from msgspec.structs import replace
from rich.console import Console

from kwhatif.render.answer import answer, suited
from kwhatif.render.detail import Detail, NodeNames
from kwhatif.render.terminal import draw
from kwhatif.report import Report
from kwhatif.report.story import BlockedRow, CommandRow, GoneRow, ScenarioRow, Story, StoryWorkloadRow, VerdictRow

CLOUD = ".eu-central-1.compute.internal"


@pytest.mark.parametrize(
    ("names", "suffix"),
    [
        ([f"ip-10-0-1-1{CLOUD}", f"ip-10-0-2-1{CLOUD}"], CLOUD),
        ([f"ip-10-0-1-1{CLOUD}", f"ip-10-0-2-11{CLOUD}", "worker-1"], ""),
        ([f"a{CLOUD}"], ""),
        (["a.b.local", "c.d.local"], ".local"),
        (["general-a1", "general-b1"], ""),
        (["node1.local", "node1"], ""),
        ([".x.y", "a.x.y"], ""),
        ([], ""),
    ],
)
def test_the_suffix_is_shared_by_all_and_begins_at_a_dot(names: list[str], suffix: str) -> None:
    assert NodeNames(names).suffix == suffix


def test_names_are_cut_wherever_they_stand() -> None:
    names = NodeNames([f"a{CLOUD}", f"b{CLOUD}"])
    assert names.note == f"nodes: *{CLOUD}"
    assert names.cut(f"2 free on a{CLOUD}, b{CLOUD}.") == "2 free on a, b."
    assert names.cut(f"a{CLOUD}.example and x{CLOUD}-y") == f"a{CLOUD}.example and x{CLOUD}-y"


def test_whole_names_stay() -> None:
    assert NodeNames(["a", "b"]).cut(f"a{CLOUD}") == f"a{CLOUD}"


def story_of(*nodes: str) -> Story:
    counts = dict.fromkeys(nodes, 1)
    return Story(
        settled="settled",
        seconds=1.0,
        assumptions=(),
        parameters={},
        workloads=(
            StoryWorkloadRow(
                workload="Deployment a/web",
                before=counts,
                after={},
                pending=0,
                ready_lowest=0,
                ready_before=0,
                ready_after=0,
            ),
        ),
        gone=tuple(
            GoneRow(pod=f"a/{place}", owner="Deployment a/web", initial=True, node=node, how="Evicted", by="", at=0.0)
            for place, node in enumerate(nodes)
        ),
        commands=(CommandRow(command="drain", ok=True, seconds=1.0, output=(f"node/{nodes[0]} drained",)),),
        blocked=(BlockedRow(pod="a/db", class_="stays", cause="zone-lost", remedy=f"taint {nodes[0]} a=b:NoExecute"),),
    )


def shown(report: Report) -> str:
    """What a wide terminal shows, in one line."""
    detail = suited(Detail(), report)
    console = Console(file=StringIO(), width=200)
    for part in draw(answer(report, detail), detail):
        console.print(part)
    assert isinstance(console.file, StringIO)
    return " ".join(console.file.getvalue().split())


def test_stories_have_short_names_but_what_is_there_to_be_copied_has_whole_ones() -> None:
    said = shown(Report(command="simulate", story=story_of(f"a{CLOUD}", f"b{CLOUD}")))
    assert f"nodes: *{CLOUD}" in said
    for expected in ("Deployment a/web a, b - ", "evicted on a, b ", f"node/a{CLOUD} drained", f"taint a{CLOUD} a=b:"):
        assert expected in said


def test_scenarios_have_short_names() -> None:
    long = f"a{CLOUD}", f"b{CLOUD}"
    verdict = VerdictRow(
        of="outage",
        ok=False,
        nodes=long,
        why=f"no room on b{CLOUD}",
        moved=0,
        waves=0,
        preempted=0,
        pending=(),
        seconds=0,
    )
    story = replace(story_of(*long), verdict=verdict)
    said = shown(Report(command="outage", scenarios=(ScenarioRow(scenario=long[0], verdict=verdict, story=story),)))
    for expected in (
        "a cannot fail safely: no room on b kube-scheduler",
        " a no 0 0 0 0 s no room on b",
        "evicted on a, b ",
    ):
        assert expected in said
    assert f" taint a{CLOUD} a=b:NoExecute" in said
