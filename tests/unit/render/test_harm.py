"""The line of a finding agrees in number, and says of whom it speaks."""

from typing import Any, Literal, get_args

import pytest
from msgspec.structs import replace

from kwhatif.questions.audit.findings import findings_of
from kwhatif.render.harm import finding_message, why_blocked, why_harmful
from kwhatif.report.risks import HarmRow
from kwhatif.report.story import BlockedCause, BlockedRow, Harm, VerdictRow, WorstRow

WEB, API = "Deployment shop/web", "Deployment shop/api"


def line(subjects: list[str], **fields: Any) -> str:
    """Of one finding about these workloads."""
    given = {"probe": "outage", "scenario": "a1", "harm": "pods-pending", "pods": 1, **fields}
    (finding,) = findings_of([HarmRow(subject=each, **given) for each in subjects], lambda _: "")
    return finding_message(finding)


ROOM = {"cause": "room", "about": ("cpu",)}
STAYS = {"cause": "toleration-unknown"}
LOST = {"cause": "node-silent", "harm": "service-lost"}
TAINT = {"cause": "taint", "harm": "no-way-back", "probe": "return", "about": ("a=b:NoSchedule",)}
LABELS = {"cause": "labels", "harm": "no-way-back", "probe": "return"}


@pytest.mark.parametrize(
    ("subjects", "fields", "said"),
    [
        ([WEB], ROOM, f"1 pod of {WEB} stays pending if a1 is lost: no node has enough cpu free"),
        ([WEB], {**ROOM, "pods": 2}, f"2 pods of {WEB} stay pending if a1 is lost: no node has enough cpu free"),
        (
            [API, WEB],
            ROOM,
            f"pods of {API} and 1 other workload stay pending if a1 is lost: no node has enough cpu free",
        ),
        (
            [WEB],
            STAYS,
            f"1 pod of {WEB} stays on the lost node if a1 is lost: nothing says for how long its pods tolerate the"
            " loss of their node",
        ),
        (
            ["StatefulSet d/a", "StatefulSet d/b"],
            LOST,
            "StatefulSet d/a and 1 other workload have no ready pod if a1 is lost: their pods are not replaced until the"
            " lost node is back, or has the out-of-service taint",
        ),
        (
            [WEB],
            TAINT,
            f"1 pod of {WEB} could not be placed again where it runs: its node now has the taint a=b:NoSchedule",
        ),
        (
            [API, WEB],
            TAINT,
            f"pods of {API} and 1 other workload could not be placed again where they run: their node now has the taint"
            " a=b:NoSchedule",
        ),
        (
            [WEB],
            LABELS,
            f"1 pod of {WEB} could not be placed again where it runs: its node no longer has the labels that it asks"
            " for",
        ),
        (
            ["PodDisruptionBudget shop/web"],
            {"cause": "priority", "harm": "budget-broken", "probe": "drain"},
            "budget shop/web lacks 1 healthy pod if a1 is drained: pods of higher priority may evict its pods",
        ),
    ],
)
def test_the_line_of_a_finding(subjects: list[str], fields: dict[str, Any], said: str) -> None:
    assert line(subjects, **fields) == said


def verdict(
    worst: WorstRow | None,
    pending: tuple[str, ...] = (),
    of: Literal["drain", "outage"] = "drain",
    critical: int = 0,
) -> VerdictRow:
    return VerdictRow(
        of=of,
        ok=worst is None,
        nodes=("n1",),
        moved=0,
        waves=0,
        preempted=0,
        pending=pending,
        seconds=0,
        critical=critical,
        worst=worst,
    )


_VIOLATES = (
    'pods "b-1" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container'
    ' "c" must set securityContext.allowPrivilegeEscalation=false)'
)


@pytest.mark.parametrize("cause", get_args(BlockedCause))
def test_every_cause_has_words_without_gaps(cause: BlockedCause) -> None:
    row = BlockedRow(pod="a/b", class_="late", cause=cause, about="n9", budgets=("a/x", "a/y"), needed=3, healthy=2)
    said = why_blocked(row)
    assert said
    assert "{" not in said


BLOCKED = BlockedRow(
    pod="a/b", class_="no-room", cause="pending-member", about="a/c", budgets=("a/x",), needed=3, healthy=2
)
WHY = "budget a/x needs 3 healthy pods, and 2 are: a/c stays pending"


def test_a_budget_says_what_it_needs_and_has() -> None:
    assert why_blocked(BLOCKED) == WHY


def test_braces_in_names_mean_nothing() -> None:
    row = BlockedRow(pod="a/b", class_="refused", cause="refused-by-kubectl", about="{about} {0}")
    assert why_blocked(row) == "{about} {0}"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (verdict(None), ""),
        (verdict(WorstRow(what="blocked", blocked=BLOCKED, count=1)), f"a/b does not go ({WHY})"),
        (verdict(WorstRow(what="blocked", blocked=BLOCKED, count=3)), f"a/b does not go ({WHY}), and 2 more"),
        (
            verdict(WorstRow(what="blocked", blocked=BLOCKED, count=3), of="outage"),
            f"a/b does not come back ({WHY}), nor do 2 more",
        ),
        (
            verdict(WorstRow(what="blocked", blocked=BLOCKED, count=2), of="outage"),
            f"a/b does not come back ({WHY}), nor does 1 more",
        ),
        (verdict(WorstRow(what="pending"), ("a/b",)), "a/b stays pending"),
        (verdict(WorstRow(what="pending"), ("a/b",), critical=1), "a/b (critical) stays pending"),
        (verdict(WorstRow(what="pending"), ("a/b", "a/c"), critical=1), "2 pods stay pending, 1 of them critical"),
        (
            verdict(WorstRow(what="refused", subject="Deployment a/b", count=2, messages=("quota",))),
            "Deployment a/b has 2 pods fewer, because new ones are rejected: quota",
        ),
        (
            verdict(WorstRow(what="refused", subject="Deployment a/b", count=1, messages=(_VIOLATES,))),
            'Deployment a/b has 1 pod fewer, because new ones are rejected: pods "b-1" is forbidden:'
            ' violates PodSecurity "restricted:latest"',
        ),
        (
            verdict(WorstRow(what="failed", subject="Job a/b", count=2, messages=("too often",))),
            "Job a/b fails (too often), and 1 more",
        ),
        (
            verdict(WorstRow(what="unready", subject="Deployment a/b", count=1, of=2)),
            "Deployment a/b has 1 of 2 pods ready",
        ),
        (verdict(WorstRow(what="unsettled")), "it never settles"),
        (verdict(WorstRow(what="endless")), "it does not end"),
    ],
)
def test_what_is_worst(row: VerdictRow, said: str) -> None:
    assert why_harmful(row) == said


@pytest.mark.parametrize("what", get_args(Harm))
def test_every_harm_has_words(what: Harm) -> None:
    worst = WorstRow(what=what, subject="Job a/b", messages=("m: a/b",), count=1, of=1, blocked=BLOCKED)
    assert why_harmful(verdict(worst, ("a/b",)))


def test_the_same_error_of_many_nodes_is_said_once() -> None:
    daemons = [f"cannot delete DaemonSet-managed Pods: ns/a{number}, ns/b{number}" for number in range(3)]
    worst = WorstRow(what="refused-by-kubectl", messages=(*daemons, "it failed"))
    said = "cannot delete DaemonSet-managed Pods: ns/a0, ns/b0, ns/a1 and 3 more; it failed"
    assert why_harmful(verdict(worst)) == said


def test_rows_of_an_earlier_kwhatif_keep_their_words() -> None:
    """`outage --resume` goes on with what an earlier one has written."""
    assert why_blocked(BlockedRow(pod="a/b", class_="late", why="it was late")) == "it was late"
    assert why_harmful(replace(verdict(None), ok=False, why="a/b stays pending")) == "a/b stays pending"
