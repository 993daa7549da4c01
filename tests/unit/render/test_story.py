"""What happened, with equal things as one line; and how it could have been avoided."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from kwhatif.controllers.contract import How
from kwhatif.render.detail import Detail
from kwhatif.render.story import first_line
from kwhatif.render.story_rows import timeline, tree
from kwhatif.render.terminal import draw
from kwhatif.render.worded import _remedies
from kwhatif.report.story import (
    CommandRow,
    CycleRow,
    EventRow,
    FailedRow,
    GoneRow,
    LoopCause,
    PendingRow,
    RefusedRow,
    Story,
    StoryBudgetRow,
    StoryNodeRow,
)
from kwhatif.simulation.history import Verb

LONG = "0/2 nodes are available: 2 Insufficient cpu."


def event(number: int, actor: str, verb: Verb, name: str, **more: Any) -> EventRow:
    more = {"at": 0.0, "because": None, **more}
    return EventRow(id=number, actor=actor, verb=verb, object=name, **more)


def story(*events: EventRow, **more: Any) -> Story:
    more = {"settled": "settled", "seconds": 0.0, "assumptions": (), "parameters": {}, **more}
    return Story(events=events, **more)


def shown(said: Story, *, explain: bool = False) -> list[str]:
    console = Console(file=StringIO(), width=300)
    for part in draw([tree(said)] if explain else timeline(said, Detail()), Detail()):
        console.print(part)
    assert isinstance(console.file, StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines() if " s " in line]


def refusal(number: int, reason: str = "exceeded quota: team") -> EventRow:
    name = f"web-{number:05}"
    detail = f'pods "{name}" is forbidden: {reason}'
    return event(number, "ReplicaSet shop/web", "was refused", f"Pod shop/{name}", at=float(number), detail=detail)


@pytest.mark.parametrize("explain", [False, True])
def test_refusals_that_differ_only_in_the_name_are_one_line(explain: bool) -> None:
    said = story(*(refusal(number) for number in range(13)), refusal(13, "exceeded quota: other"))
    assert shown(said, explain=explain) == [
        "0 s ReplicaSet shop/web was refused a Pod 13 times, until 12 s: exceeded quota: team",
        '13 s ReplicaSet shop/web was refused Pod shop/web-00013: pods "web-00013" is forbidden: exceeded quota: other',
    ]


def test_what_happens_to_many_pods_of_a_workload_is_one_line() -> None:
    events = [
        event(number, f"kubelet n{number}", "ready", f"Pod shop/web-{number}", workload="Deployment shop/web")
        for number in range(500)
    ]
    assert shown(story(*events)) == ["0 s kubelet reported 500 pods of Deployment shop/web ready"]


def test_a_workload_is_not_one_of_its_pods() -> None:
    pods = [
        event(number, "user", "deleted", f"Pod shop/web-{number}", workload="Deployment shop/web") for number in (1, 2)
    ]
    assert shown(story(event(0, "user", "deleted", "Deployment shop/web"), *pods)) == [
        "0 s user deleted Deployment shop/web",
        "0 s user deleted 2 pods of Deployment shop/web",
    ]


def test_what_happens_to_many_nodes_is_one_line() -> None:
    events = [
        event(number, f"NodeLifecycle n{number}", "tainted", f"Node n{number}", detail="+a:NoExecute")
        for number in range(6)
    ]
    assert shown(story(*events)) == ["0 s NodeLifecycle tainted 6 nodes (n0, n1, n2 and 3 more): +a:NoExecute"]


def test_all_that_gain_are_named() -> None:
    events = [
        event(number, "scheduler", "preempted", f"Pod a/v-{number}", workload="Job a/v", detail=f"for a/p-{number}")
        for number in range(2)
    ]
    assert shown(story(*events)) == ["0 s scheduler preempted 2 pods of Job a/v for a/p-0, a/p-1"]


def test_a_long_message_is_said_once() -> None:
    waits = [
        event(number, "scheduler", "unschedulable", f"Pod a/{name}", at=float(number), detail=LONG)
        for number, name in enumerate("pq")
    ]
    assert shown(story(*waits)) == [
        f"0 s scheduler found no node for Pod a/p: {LONG}",
        "1 s scheduler found no node for Pod a/q: as at 0 s",
    ]
    row = PendingRow(pod="a/q", owner=None, message=LONG, nominated_node=None)
    assert [line.rpartition(": ")[2] for line in shown(story(*waits, pending=(row,)))] == ["see PENDING"] * 2


def test_a_command_that_failed_is_the_verdict() -> None:
    failed = CommandRow(command="drain a", ok=False, seconds=0.0, why="it cannot")
    node = StoryNodeRow(node="a", before=(), after=("cordoned",))
    said = story(commands=(failed,), nodes=(node,))
    assert first_line(said)[1] == "drain a failed: it cannot; settled after 0 s: 1 node different"
    assert first_line(said)[0] == "bad"


def test_a_broken_budget_is_not_green() -> None:
    said = story(budgets=(StoryBudgetRow(budget="a/b", before=1, lowest=0, after=0, overrun=1),))
    assert (first_line(said)[1], first_line(said)[0]) == ("settled after 0 s: 1 budget broken", "doubtful")
    assert first_line(story())[0] == "good"


def test_refused_pods_are_not_green() -> None:
    refused = (RefusedRow(workload="Deployment a/web", message="exceeded quota"),)
    row = PendingRow(pod="a/q", owner=None, message=LONG, nominated_node=None)
    quality, said = first_line(story(settled="rollout-stuck", refused=refused))
    assert (quality, said) == ("bad", "settled after 0 s, but pods are refused: Deployment a/web")
    said = first_line(story(settled="rollout-stuck", refused=refused, pending=(row,)))[1]
    assert said == "settled after 0 s, 1 pod pending, but pods are refused: Deployment a/web"


def test_a_failed_job_is_not_green() -> None:
    quality, said = first_line(story(failed=(FailedRow(workload="Job a/etl", message="too many"),)))
    assert (quality, said) == ("bad", "settled after 0 s: 1 Job failed")


def test_equal_events_of_one_moment_are_one_line_and_what_decides_nothing_is_no_news() -> None:
    kinds = ["Service"] * 15 + ["PersistentVolumeClaim"] * 3 + ["Deployment"] * 2
    events = [event(number, "user", "created", f"{kind} shop/{number}") for number, kind in enumerate(kinds)]
    assert shown(story(*events)) == [
        "0 s user created 3 PersistentVolumeClaims (shop/15, shop/16, shop/17)",
        "0 s user created 2 Deployments (shop/18, shop/19)",
    ]


def test_times_count_from_the_question_and_what_was_before_is_one_line() -> None:
    before = event(0, "scheduler", "bound", "Pod shop/old", node="n1")
    since = event(1, "user", "created", "Pod shop/new", at=130.0)
    console = Console(file=StringIO(), width=300)
    for part in draw(timeline(story(before, since, asked=130.0, first_event=1), Detail()), Detail()):
        console.print(part)
    assert isinstance(console.file, StringIO)
    said = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]
    assert "0 s user created Pod shop/new" in said
    assert said[-1] == "Before, the cluster settles by itself: 1 event in 130 s (-o wide)"


# --- What ends an endless loop ------------------------------------------------------------------------


def gone(owner: str, how: How) -> GoneRow:
    return GoneRow(pod="shop/a", owner=owner, initial=True, node="n1", how=how, by="", at=0.0)


@pytest.mark.parametrize(
    ("rows", "causes", "expected"),
    [
        ([gone("Deployment shop/web", "Preempted")], (), ["their own nodes", "preemptionPolicy: Never"]),
        (
            [gone("Deployment shop/web", "Preempted")],
            ("anti-affinity", "spread"),
            ["their own nodes", "preemptionPolicy: Never", "let the anti-affinity", "let the spread constraint"],
        ),
        ([gone("Deployment shop/web", "TaintEviction")], (), ["effect NoSchedule"]),
        # Others than those that take part do not count.
        ([gone("Deployment shop/other", "TaintEviction")], (), []),
    ],
)
def test_remedies_go_by_how_the_pods_go(
    rows: list[GoneRow], causes: tuple[LoopCause, ...], expected: list[str]
) -> None:
    taking_part = ("Deployment shop/web",)
    cycle = CycleRow(start=0.0, period=2.0, participants=taking_part, events=(1, 2), remedies=(), causes=causes)
    found = list(_remedies(cycle, rows))
    assert len(found) == len(expected)
    assert all(part in sentence for part, sentence in zip(expected, found, strict=True))
