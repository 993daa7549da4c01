"""Scores: normalised, weighted and summed; who is best; what ends the cycle."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.scoring import Scores, default_normalize, score_nodes
from kwhatif.scheduler.framework.status import SKIP, error
from tests.builders import node, pod, snapshot
from tests.fake_plugins import Doubling, Scorer, plugin


def scores(answers: Mapping[str, object], weights: Mapping[str, int] | None = None) -> Scores:
    """Of nodes a, b and c by plugins whose PreScore gives these answers."""
    plugins: tuple[Any, ...] = tuple(plugin(name, pre_score=each) for name, each in answers.items())
    profile = Profile(pre_score=plugins, score=plugins, weights=weights or {})
    cycle = Cycle(profile, pod("web").info(), snapshot(node("a"), node("b"), node("c")))
    assert cycle.pre_filter()
    cycle.filter_nodes()
    return score_nodes(cycle)


def by_node(*values: int) -> dict[str, int]:
    return dict(zip("abc", values, strict=True))


@pytest.mark.parametrize(
    ("raw", "reverse", "expected"),
    [
        ([], False, []),
        ([0, 0], False, [0, 0]),
        ([0, 0], True, [100, 100]),
        ([1, 2, 4], False, [25, 50, 100]),
        ([1, 2, 4], True, [75, 50, 0]),
        ([1, 3], False, [33, 100]),
        ([1, 3], True, [67, 0]),
        ([7], False, [100]),
    ],
)
def test_the_usual_normalisation(raw: list[int], reverse: bool, expected: list[int]) -> None:
    assert default_normalize(raw, reverse=reverse) == expected


SUMS: dict[str, tuple[dict[str, object], dict[str, int], list[int], list[str]]] = {
    "no plugin scores: all are equal": ({}, {}, [1, 1, 1], ["a", "b", "c"]),
    "one that has nothing to say adds nothing": ({"P": SKIP}, {}, [0, 0, 0], ["a", "b", "c"]),
    "the highest sum is best": (
        {"P": Scorer(by_node(10, 20, 30)), "Q": Scorer(by_node(25, 10, 0))},
        {},
        [35, 30, 30],
        ["a"],
    ),
    "weights multiply": (
        {"P": Scorer(by_node(10, 20, 30)), "Q": Scorer(by_node(25, 10, 0))},
        {"P": 3},
        [55, 70, 90],
        ["c"],
    ),
    "weights come after normalisation": ({"P": Doubling(by_node(10, 50, 50))}, {"P": 2}, [40, 200, 200], ["b", "c"]),
    "one that says the same of all changes nothing": (
        {"P": Scorer(by_node(7, 7, 7)), "Q": Scorer(by_node(0, 1, 0))},
        {},
        [7, 8, 7],
        ["b"],
    ),
}


@pytest.mark.parametrize(("answers", "weights", "total", "best"), SUMS.values(), ids=SUMS)
def test_sums(answers: dict[str, object], weights: dict[str, int], total: list[int], best: list[str]) -> None:
    found = scores(answers, weights)
    assert (list(found.total), found.best()) == (total, best)
    assert list(found.by_plugin) == [name for name, answer in answers.items() if answer is not SKIP]


def test_raw_scores_stay_as_they_were() -> None:
    found = scores({"P": Doubling(by_node(1, 2, 3))})
    assert (found.raw, found.by_plugin) == ({"P": [1, 2, 3]}, {"P": [2, 4, 6]})


INVALID = "returns an invalid score {}, it should in the range of [0, 100] after normalizing"
FAILING: dict[str, tuple[dict[str, object], str]] = {
    "PreScore": ({"P": error("broken")}, 'running PreScore plugin "P": broken'),
    "too high": ({"P": Scorer(by_node(0, 101, 0))}, 'plugin "P" ' + INVALID.format(101)),
    "too high once normalised": ({"P": Doubling(by_node(0, 0, 51))}, 'plugin "P" ' + INVALID.format(102)),
    "below zero": ({"P": Scorer(by_node(-1, 0, 0))}, 'plugin "P" ' + INVALID.format(-1)),
    "of several the first node decides": (
        {"P": Scorer(by_node(0, 0, 300)), "Q": Scorer(by_node(0, 200, 0))},
        'plugin "Q" ' + INVALID.format(200),
    ),
    "there the first plugin": (
        {"P": Scorer(by_node(0, 300, 0)), "Q": Scorer(by_node(0, 200, 0))},
        'plugin "P" ' + INVALID.format(300),
    ),
}


@pytest.mark.parametrize(("answers", "message"), FAILING.values(), ids=FAILING)
def test_what_ends_the_cycle(answers: dict[str, object], message: str) -> None:
    with pytest.raises(CycleError, match=re.escape(message)):
        scores(answers)
