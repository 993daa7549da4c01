"""Node names: the shared suffix once, and nothing cut that is not shared."""

from __future__ import annotations

import pytest

from kwhatif.render.node_names import NodeNames, nodes_in
from kwhatif.render.story_rows import gone_rows
from kwhatif.report import Report
from kwhatif.report.inputs import SchedulerInfo, SnapshotInfo
from kwhatif.report.maintenance import BlockedRow, VerdictRow
from kwhatif.report.story import CommandRow, GoneRow, ScenarioRow, Story, StoryWorkloadRow

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


def test_stories_have_short_names_but_what_is_there_to_be_copied_has_whole_ones() -> None:
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
    report = Report(
        command="outage",
        scheduler=SchedulerInfo(),
        snapshot=SnapshotInfo(sources=(), nodes=2, pods=0),
        decisions=(),
        story=story_of(*long),
        scenarios=(ScenarioRow(scenario=long[0], verdict=verdict, story=story_of(*long)),),
    )
    names = NodeNames(nodes_in(report))
    cut = names.cut_stories(report)
    (row,) = cut.scenarios
    assert (row.scenario, row.verdict.nodes, row.verdict.why) == ("a", ("a", "b"), "no room on b")
    for story in (cut.story, row.story):
        assert story is not None
        assert story.workloads[0].before == {"a": 1, "b": 1}
        assert gone_rows(story) == [("Deployment a/web", 2, "evicted on a, b")]
        assert story.commands[0].output == (f"node/a{CLOUD} drained",)
        assert story.blocked[0].remedy == f"taint a{CLOUD} a=b:NoExecute"
    assert NodeNames(["a", "b"]).cut_stories(report) is report
