"""The rows of a story: what the question causes, and what happens without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.timeline import why_refused
from kwhatif.report.story import (
    FailedRow,
    GoneRow,
    PendingRow,
    RefusedRow,
    Story,
    StoryBudgetRow,
    StoryNodeRow,
    StoryWorkloadRow,
)
from kwhatif.words.amounts import plural, some

#: How a pod went, in words.
_HOW = {
    "Preempted": "preempted",
    "Evicted": "evicted",
    "TaintEviction": "evicted by a taint",
    "DeviceTaintEviction": "evicted by a taint of its device",
    "PodGC": "collected with its node",
    "Deleted": "deleted",
    "ScaledDown": "scaled down",
    "RolledOut": "replaced in a rollout",
    "Completed": "completed",
    "Garbage": "collected with its owner",
}
#: How many nodes are named if there may be many.
FEW = 4


def is_different(row: StoryWorkloadRow) -> bool:
    """Whether its pods are elsewhere in the end, or fewer were ready in between."""
    return row.before != row.after or row.ready_lowest < row.ready_before


def different_workloads(story: Story) -> tuple[list[StoryWorkloadRow], list[StoryWorkloadRow]]:
    """The workloads with another result in the end; and those whose pods are where they were.

    The latter had fewer ready pods for a time, such as DaemonSets with lost nodes.
    """
    rows: list[StoryWorkloadRow] = []
    as_before: list[StoryWorkloadRow] = []
    for row in story.workloads:
        if row.pending or row.before != row.after:
            rows.append(row)
        elif is_different(row):
            is_well = ObjectRef.parse(row.workload).kind == "DaemonSet" or row.ready_after >= row.ready_before
            (as_before if is_well else rows).append(row)
    return rows, as_before


def kinds_of(rows: Sequence[StoryWorkloadRow]) -> str:
    """`24 DaemonSets, 1 Deployment`."""
    counts = Counter(ObjectRef.parse(row.workload).kind for row in rows)
    return ", ".join(plural(count, kind) for kind, count in counts.items())


def places(row: StoryWorkloadRow) -> tuple[str, str]:
    """Where its pods are, before and after: first the nodes with fewer or more of them."""
    return nodes_in_words(row.before, row.after), nodes_in_words(row.after, row.before)


def nodes_in_words(counts: Mapping[str, int], others: Mapping[str, int]) -> str:
    """`a, b (2)`; if not all are named, nodes with a different count among the others come first."""
    nodes = list(counts.items())
    if len(nodes) > FEW + 1:
        nodes.sort(key=lambda item: others.get(item[0], 0) == item[1])
    return some([f"{node} ({count})" if count > 1 else node for node, count in nodes], FEW) or "-"


def course_of(row: StoryWorkloadRow) -> str:
    """`a pod of Deployment shop/web goes from a to b`; "" unless a single one is elsewhere in the end."""
    came, left = _beyond(row.after, row.before), _beyond(row.before, row.after)
    if max(sum(came.values()), sum(left.values())) != 1:
        return ""
    who = row.workload if ObjectRef.parse(row.workload).kind == "Pod" else f"a pod of {row.workload}"
    if came and left:
        return f"{who} goes from {', '.join(left)} to {', '.join(came)}"
    return f"{who} comes to {', '.join(came)}" if came else f"{who} leaves {', '.join(left)}"


def _beyond(counts: Mapping[str, int], others: Mapping[str, int]) -> Mapping[str, int]:
    return {node: more for node, count in counts.items() if (more := count - others.get(node, 0)) > 0}


def gone_rows(story: Story) -> list[tuple[str, int, str]]:
    """The pods that are gone: the workload, how many of its pods, from where and why."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in story.gone:
        why = f"{_HOW[row.how]} for {row.by}" if row.by and row.how == "Preempted" else _HOW[row.how]
        groups.setdefault((row.owner or f"Pod {row.pod}", why), []).append(row.node or "")
    return [(who, len(nodes), f"{why}{_on(nodes)}") for (who, why), nodes in groups.items()]


def _on(nodes: Sequence[str]) -> str:
    named = list(dict.fromkeys(filter(None, nodes)))
    return f" on {some(named, FEW)}" if named else ""


def pending_rows(story: Story) -> list[tuple[str, int, str]]:
    """The pods that wait for a node: the workload, how many of its pods, and the scheduler's message."""
    groups: dict[tuple[str, str], int] = {}
    for row in story.pending:
        place = row.owner or f"Pod {row.pod}", row.message or "not tried"
        groups[place] = groups.get(place, 0) + row.count
    return [(who, count, why) for (who, why), count in groups.items()]


def failed_rows(story: Story) -> list[tuple[str, str]]:
    """The Jobs that have failed, and why."""
    return [(row.workload, row.message) for row in story.failed]


def refused_rows(story: Story) -> list[tuple[str, str]]:
    """The workloads whose new pods the API server refuses, and why."""
    return [(row.workload, why_refused(row.message)) for row in story.refused]


# --- what happens anyway ---------------------------------------------------------------------------------------------


_Row = TypeVar("_Row", PendingRow, RefusedRow, FailedRow, GoneRow, StoryWorkloadRow, StoryNodeRow, StoryBudgetRow)


def of_question(story: Story) -> Story:
    """The story without what happens anyway; the verdict of a drain or an outage is already without it."""
    if story.caused is None:
        return story
    return _only(story, anyway=False)


def _only(story: Story, *, anyway: bool) -> Story:
    def rows(given: Sequence[_Row]) -> tuple[_Row, ...]:
        return tuple(row for row in given if row.anyway == anyway)

    return replace(
        story,
        settled=story.settled if anyway else story.outcome,
        workloads=rows(story.workloads),
        pending=rows(story.pending),
        refused=rows(story.refused),
        failed=rows(story.failed),
        gone=rows(story.gone),
        nodes=rows(story.nodes),
        budgets=rows(story.budgets),
        cycle=story.cycle if story.cycle is not None and story.cycle.anyway == anyway else None,
    )


def anyway_rows(story: Story) -> list[tuple[str, str, str]]:
    """What also happens without the question: to whom, to how many of its pods, and what."""
    return [] if story.caused is None else list(_rows(_only(story, anyway=True)))


def _rows(story: Story) -> Iterator[tuple[str, str, str]]:
    if story.cycle is not None:
        yield some(story.cycle.participants), "-", "replace each other, and never settle"
    yield from ((who, str(count), why) for who, count, why in gone_rows(story))
    yield from ((who, str(count), f"pending: {why}") for who, count, why in pending_rows(story))
    yield from ((row.workload, "-", f"new pods are refused: {why_refused(row.message)}") for row in story.refused)
    yield from ((row.workload, "-", f"fails: {row.message}") for row in story.failed)
    for row in story.budgets:
        if row.overrun_anyway:
            yield f"PodDisruptionBudget {row.budget}", "-", f"short of {plural(row.overrun_anyway, 'healthy pod')}"
