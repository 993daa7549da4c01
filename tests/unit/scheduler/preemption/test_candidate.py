"""The order of victims and the ladder of candidates."""

from itertools import permutations

import pytest

from kwhatif.scheduler.preemption.candidate import RUNGS, by_importance, deciding_rung, oldest, rank
from kwhatif.state.pod_info import PodInfo
from tests.builders import pod

EARLY, LATE = "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z"


def info(name: str, priority: int = 0, start: str | None = None) -> PodInfo:
    built = pod(name).priority(priority)
    return (built.started(start) if start else built).info()


ORDERS = {
    "a higher priority goes first": (
        [info("low", -5), info("high", 7), info("mid", 0)],
        ["high", "mid", "low"],
    ),
    "of one priority the earlier start goes first": (
        [info("late", 0, LATE), info("early", 0, EARLY)],
        ["early", "late"],
    ),
    "priority counts before the start": (
        [info("early", 0, EARLY), info("late", 1, LATE)],
        ["late", "early"],
    ),
    "equal starts keep their order": (
        [info("b", 0, EARLY), info("a", 0, EARLY), info("c", 0, EARLY)],
        ["b", "a", "c"],
    ),
    "a pod that has not started counts as started now": (
        [info("new"), info("late", 0, LATE)],
        ["late", "new"],
    ),
    "pods that have not started come out reversed": (
        [info("a"), info("b"), info("c")],
        ["c", "b", "a"],
    ),
    "reversal stays within a priority, and leaves started pods alone": (
        [info("a"), info("x", 0, LATE), info("p", 1), info("b"), info("y", 0, LATE), info("q", 1)],
        ["q", "p", "x", "y", "b", "a"],
    ),
}


@pytest.mark.parametrize(("pods", "expected"), ORDERS.values(), ids=ORDERS.keys())
def test_importance(pods: list[PodInfo], expected: list[str]) -> None:
    assert [each.name for each in by_importance(pods)] == expected


def test_importance_is_what_insertion_sort_makes_of_upstreams_comparison() -> None:
    pool = [info("a"), info("b"), info("c", 0, EARLY), info("d", 0, EARLY), info("e", 1), info("f", 0, LATE)]
    for given in permutations(pool):
        ordered: list[PodInfo] = []
        for each in given:
            place = len(ordered)
            while place and more_important(each, ordered[place - 1]):
                place -= 1
            ordered.insert(place, each)
        assert by_importance(given) == ordered


def more_important(left: PodInfo, right: PodInfo) -> bool:
    if left.priority != right.priority:
        return left.priority > right.priority
    # Upstream asks the clock for both, for the left one first; it has always moved on by then.
    if left.start_time is None:
        return right.start_time is None
    return right.start_time is None or left.start_time < right.start_time


RANKS = {
    "violations come first": (([info("v", 9)], 0), ([info("v")], 1), "pdbViolations"),
    "then the priority of the most important victim": (
        ([info("v", 1), info("w", 1)], 0),
        ([info("v", 2)], 0),
        "highestPriority",
    ),
    "then the sum of priorities, so that fewer victims of a negative priority win": (
        ([info("v", -1)], 0),
        ([info("v", -1), info("w", -100)], 0),
        "prioritySum",
    ),
    "then the number of victims, when the sums happen to be equal": (
        ([info("v", 2**31 - 1), info("w", -1)], 0),
        ([info("v", 2**31 - 1), info("w", -(2**31)), info("x", -1)], 0),
        "victims",
    ),
    "then the LATER start": (([info("v", 0, LATE)], 0), ([info("v", 0, EARLY)], 0), "earliestStart"),
    "of all victims with the highest priority the earliest start counts": (
        ([info("v", 1, LATE), info("w", 0, EARLY)], 0),
        ([info("v", 1, EARLY), info("w", 0, LATE)], 0),
        "earliestStart",
    ),
    "a victim that has not started is later than all": (
        ([info("v")], 0),
        ([info("v", 0, "2200-01-01T00:00:00Z")], 0),
        "earliestStart",
    ),
    "victims that have not started tie": (([info("v")], 0), ([info("w")], 0), ""),
}


@pytest.mark.parametrize(("better", "worse", "rung"), RANKS.values(), ids=RANKS.keys())
def test_rank(better: tuple[list[PodInfo], int], worse: tuple[list[PodInfo], int], rung: str) -> None:
    first, second = rank(*better), rank(*worse)
    assert deciding_rung(RUNGS, first, second) == rung
    assert (first < second) == bool(rung)


def test_oldest_looks_at_the_highest_priority_only() -> None:
    pods = [info("new", 5), info("late", 5, LATE), info("early", 5, EARLY), info("ancient", 4, "2000-01-01T00:00:00Z")]
    assert oldest(pods).name == "early"
