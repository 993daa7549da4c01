"""The scheduler's message when a pod fits on no node (`FitError.Error()` in `pkg/scheduler/framework/types.go`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

from kwhatif.scheduler.framework.status import Status, unresolvable

NO_NODES = "no nodes available to schedule pods"


def reasons_histogram(statuses: Iterable[Status], absent: Status | None, absent_count: int) -> str:
    """The reasons of all nodes; `absent` is the status of nodes that have none of their own."""
    counts = Counter(chain.from_iterable([status.reasons for status in statuses]))
    if absent is not None and absent_count > 0:
        for reason in absent.reasons:
            counts[reason] += absent_count
    return histogram(counts)


def histogram(counts: Mapping[str, int]) -> str:
    """`2 Insufficient cpu, 3 node(s) were unschedulable`: sorted as strings, so `10 x` comes before `2 x`."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))


def fit_error(total: int, detail: str) -> str:
    """`0/12 nodes are available: <detail>.`; without detail nothing follows the colon."""
    prefix = f"0/{total} nodes are available:"
    return f"{prefix} {detail}." if detail else prefix


def with_post_filter(message: str, post_filter_message: str) -> str:
    """The FitError with the PostFilter part appended; upstream adds no dot."""
    return f"{message} {post_filter_message}" if post_filter_message else message


def nobody_left(restrictors: set[str]) -> Status:
    """The status if the node sets of these plugins have no node in common."""
    if len(restrictors) == 1:
        return unresolvable(f"node(s) didn't satisfy plugin {next(iter(restrictors))}")
    return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(restrictors))}] simultaneously")


def not_in_node_set(restrictors: set[str]) -> Status:
    """The status of a node that is not in the node sets of these plugins."""
    return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(restrictors))}]")
