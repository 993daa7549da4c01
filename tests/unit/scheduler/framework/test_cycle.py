"""PreFilter and Filter of one cycle: who is asked, who stops it, and what is recorded."""

from typing import Any

import pytest

from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.plugin import Reads
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Status, error, unresolvable, unschedulable
from tests.builders import budget, node, pod, selector, snapshot
from tests.fake_plugins import Filter, plugin

NODES = (node("a"), node("b"), node("c"))


def cycle(*answers: object, **fields: Any) -> Cycle:
    """A cycle of plugins P0, P1, … whose PreFilter gives these answers."""
    plugins = tuple(plugin(f"P{place}", pre_filter=each) for place, each in enumerate(answers))
    return Cycle(Profile(pre_filter=plugins, filter=plugins, **fields), pod("web").info(), snapshot(*NODES))


def only(*names: str) -> Filter:
    return Filter(only=frozenset(names))


STOPPED = {
    "nobody can ever take it: nobody else is asked": (
        [unresolvable("never"), Filter()],
        "never",
        {"P0"},
        {"P0"},
    ),
    "nobody takes it now: the others are asked": (
        [unschedulable("not now"), Filter()],
        "not now",
        {"P0"},
        {"P0", "P1"},
    ),
    "of several the last one is quoted": (
        [unschedulable("first"), unschedulable("second")],
        "second",
        {"P1"},
        {"P0", "P1"},
    ),
    "one leaves no node": (
        [only(), Filter()],
        "node(s) didn't satisfy plugin P0",
        {"P0"},
        {"P0"},
    ),
    "two leave no node together": (
        [only("a", "b"), only("c"), Filter()],
        "node(s) didn't satisfy plugin(s) [P0 P1] simultaneously",
        {"P0", "P1"},
        {"P0", "P1"},
    ),
}


@pytest.mark.parametrize(("answers", "message", "named", "asked"), STOPPED.values(), ids=STOPPED)
def test_a_pre_filter_stops_it(answers: list[object], message: str, named: set[str], asked: set[str]) -> None:
    tried = cycle(*answers)
    assert not tried.pre_filter()
    assert (tried.pre_filter_message, tried.unschedulable_plugins, tried.asked) == (message, named, asked)
    verdict = tried.verdict_of("a")
    assert verdict is not None
    assert verdict.status.message == message
    assert tried.message() == f"0/3 nodes are available: {message}."


def test_after_a_no_for_now_preemption_may_ask_the_other_filters() -> None:
    tried = cycle(unschedulable("not now"), Filter())
    assert not tried.pre_filter()
    assert [name for name, _ in tried.filters] == ["P1"]


def test_one_that_has_nothing_to_check_is_not_asked_again() -> None:
    tried = cycle(SKIP, Filter())
    assert tried.pre_filter()
    assert [name for name, _ in tried.filters] == ["P1"]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([error("broken")], 'running PreFilter plugin "P0": broken'),
        ([Filter({"b": error("broken")})], 'running "P0" filter plugin: broken'),
    ],
)
def test_an_error_ends_it(answers: list[object], message: str) -> None:
    tried = cycle(*answers)

    def run() -> None:
        tried.pre_filter()
        tried.filter_nodes()

    with pytest.raises(CycleError, match=message):
        run()


def filtered(tried: Cycle, hint: str = "") -> tuple[list[str], dict[str, tuple[str, str]]]:
    """The feasible nodes; and plugin and reason of those that are not."""
    assert tried.pre_filter()
    tried.filter_nodes(hint)
    out = {name: (verdict.plugin, verdict.status.message) for name, verdict in tried.verdicts.items()}
    return [each.name for each in tried.feasible], out


NO = unschedulable("no")
NEVER = unresolvable("never")
FILTERED: dict[str, tuple[list[object], list[str], dict[str, tuple[str, str]]]] = {
    "nobody objects": ([Filter(), Filter()], ["a", "b", "c"], {}),
    "the first to object is named": (
        [Filter({"b": NO}), Filter({"b": NEVER, "c": NEVER})],
        ["a"],
        {"b": ("P0", "no"), "c": ("P1", "never")},
    ),
    "one that reads the shape speaks for all nodes of that shape": (
        [Filter({"a": NO, "b": NO, "c": NO}, reads=Reads.SHAPE)],
        [],
        dict.fromkeys("abc", ("P0", "no")),
    ),
    "those before one that reads the shape come first": (
        [Filter({"b": NO}), Filter(dict.fromkeys("abc", NEVER), reads=Reads.SHAPE)],
        [],
        {"a": ("P1", "never"), "b": ("P0", "no"), "c": ("P1", "never")},
    ),
    "of nodes that PreFilter left out nothing is recorded": (
        [only("a", "b"), Filter({"b": NO})],
        ["a"],
        {"b": ("P1", "no")},
    ),
}


@pytest.mark.parametrize(("answers", "feasible", "out"), FILTERED.values(), ids=FILTERED)
def test_filter(answers: list[object], feasible: list[str], out: dict[str, tuple[str, str]]) -> None:
    assert filtered(cycle(*answers)) == (feasible, out)


def test_a_shape_is_asked_about_once() -> None:
    asked = Filter(reads=Reads.SHAPE)
    filtered(cycle(asked))
    assert len(asked.asked) == 1


def test_nodes_that_pre_filter_left_out_share_a_verdict() -> None:
    tried = cycle(only("a"), Filter({"a": NO}))
    assert filtered(tried) == ([], {"a": ("P1", "no")})
    absent = tried.verdict_of("b")
    assert absent is not None
    assert absent.status.reasons == ("node(s) didn't satisfy plugin(s) [P0]",)
    assert tried.unschedulable_plugins == {"P0", "P1"}
    assert tried.message() == "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [P0]."


@pytest.mark.parametrize(
    ("hint", "expected", "asked"),
    [
        ("b", ["b"], ["b"]),
        ("c", ["a", "b"], ["c", "a", "b", "c"]),
        ("gone", ["a", "b"], ["a", "b", "c"]),
        ("", ["a", "b"], ["a", "b", "c"]),
    ],
)
def test_a_hinted_node_that_fits_is_the_only_one(hint: str, expected: list[str], asked: list[str]) -> None:
    filter_ = Filter({"c": NO})
    assert filtered(cycle(filter_), hint)[0] == expected
    assert filter_.asked == asked


class _Crowded(Filter):
    """Objects to nodes that a nominated pod has come to, or to those that none has."""

    def __init__(self, *, with_it: bool, without: bool) -> None:
        super().__init__()
        self._with_it, self._without = with_it, without

    def filter(self, node: Any) -> Status:
        return NO if (self._with_it if node.pods else self._without) else SUCCESS


@pytest.mark.parametrize("priority", [0, 5, 9])
@pytest.mark.parametrize(("with_it", "without"), [(True, False), (False, True), (False, False)])
def test_it_must_fit_with_nominated_pods_and_without(priority: int, with_it: bool, without: bool) -> None:
    """Those of a lower priority are as good as not there."""
    plugins = (plugin("P0", pre_filter=_Crowded(with_it=with_it, without=without)),)
    state = snapshot(node("a"), pod("first").priority(5).nominated("a"))
    tried = Cycle(Profile(pre_filter=plugins, filter=plugins), pod("web").priority(priority).info(), state)
    fits = not without and not (with_it and priority <= 5)
    assert filtered(tried)[0] == (["a"] if fits else [])


def test_what_filters_reserve_comes_in_their_order() -> None:
    first, second = (budget(name, 1, selector()) for name in ("first", "second"))
    tried = cycle(Filter(reserved=(first,)), Filter(), Filter(reserved=(second,)))
    filtered(tried)
    assert tried.reserve(tried.feasible[0]) == (first, second)
