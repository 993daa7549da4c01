"""Rows of a story that tables and Markdown share."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.render.timeline import why_refused
from kwhatif.report.story import Story, StoryWorkloadRow
from kwhatif.words.amounts import some

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
#: So many nodes are named where there may be very many.
FEW = 4


def is_different(row: StoryWorkloadRow) -> bool:
    """Whether its pods are elsewhere in the end, or fewer were ready in between."""
    return row.before != row.after or row.ready_lowest < row.ready_before


def nodes_in_words(counts: dict[str, int]) -> str:
    """`a, b (2)`."""
    return some([f"{node} ({count})" if count > 1 else node for node, count in counts.items()], FEW) or "-"


def gone_rows(story: Story) -> list[tuple[str, int, str]]:
    """Who is gone: the workload, how many of its pods, and from where and why."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in story.gone:
        why = f"{_HOW[row.how]} for {row.by}" if row.by and row.how == "Preempted" else _HOW[row.how]
        groups.setdefault((row.owner or f"Pod {row.pod}", why), []).append(row.node or "")
    return [(who, len(nodes), f"{why}{_on(nodes)}") for (who, why), nodes in groups.items()]


def _on(nodes: Sequence[str]) -> str:
    named = list(dict.fromkeys(filter(None, nodes)))
    return f" on {some(named, FEW)}" if named else ""


def pending_rows(story: Story) -> list[tuple[str, int, str]]:
    """Who waits for a node: the workload, how many of its pods, and the scheduler's message."""
    groups: dict[tuple[str, str], int] = {}
    for row in story.pending:
        place = row.owner or f"Pod {row.pod}", row.message or "not tried"
        groups[place] = groups.get(place, 0) + row.count
    return [(who, count, why) for (who, why), count in groups.items()]


def failed_rows(story: Story) -> list[tuple[str, str]]:
    """Which Jobs have failed, and why."""
    return [(row.workload, row.message) for row in story.failed]


def refused_rows(story: Story) -> list[tuple[str, str]]:
    """Whose new pods the API server refuses, and why."""
    return [(row.workload, why_refused(row.message)) for row in story.refused]
