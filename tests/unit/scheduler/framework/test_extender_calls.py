"""How a cycle asks its extenders: order, verdicts, scores, and what is odd about an answer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from kwhatif.kube.model.caveat.scheduling import ExtenderOddity
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.extender import ExtenderError, ExtenderVictims, FilterOutcome, Oddity
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import Code
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from tests.builders import node, pod, snapshot

SNAPSHOT = snapshot(node("a"), node("b"), node("c"))


def odd(oddity: Oddity, verb: str, **more: Any) -> ExtenderOddity:
    return ExtenderOddity(extender="http://e", verb=verb, oddity=oddity.value, **more)


class Fake:
    """Answers from functions; `log` notes who was asked what."""

    preempts = False

    def __init__(
        self,
        name: str = "http://e",
        *,
        keeps: Sequence[str] | Exception | None = None,
        failed: Mapping[str, str] | None = None,
        unresolvable: Mapping[str, str] | None = None,
        scores: Sequence[tuple[str, int]] | Exception | None = None,
        weight: int = 1,
        ignorable: bool = False,
        wants: Callable[[PodInfo], bool] = lambda _: True,
        log: list[Any] | None = None,
    ) -> None:
        self.name = name
        self.ignorable = ignorable
        self.weight = weight
        self.filters = keeps is not None
        self.prioritizes = scores is not None
        self.interested = wants
        self._keeps = keeps
        self._failed = failed or {}
        self._unresolvable = unresolvable or {}
        self._scores = scores
        self.log = [] if log is None else log

    def filter(self, pod: PodInfo, nodes: Sequence[NodeInfo], snapshot: State) -> FilterOutcome:
        self.log.append((self.name, [node.name for node in nodes]))
        if isinstance(self._keeps, Exception):
            raise self._keeps
        kept = [node("x").info() if name == "x" else SNAPSHOT.by_name[name] for name in self._keeps or ()]
        return FilterOutcome(tuple(kept), self._failed, self._unresolvable)

    def prioritize(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Sequence[tuple[str, int]]:
        self.log.append((self.name, [node.name for node in nodes]))
        if isinstance(self._scores, Exception):
            raise self._scores
        return self._scores or ()

    def preempt(
        self, pod: PodInfo, victims: Mapping[str, ExtenderVictims], snapshot: State
    ) -> Mapping[str, ExtenderVictims]:
        raise NotImplementedError


def ask(*extenders: Fake, **spec: Any) -> Any:
    return attempt(Profile(extenders=extenders), pod().spec(**spec).info(), SNAPSHOT)


def names(result: Any) -> list[str]:
    return [node.name for node in result.cycle.feasible]


def test_each_extender_is_asked_about_what_the_one_before_left_and_those_that_must_not_fail_come_first() -> None:
    log: list[Any] = []
    result = ask(
        Fake("ignorable", keeps="b", ignorable=True, log=log),
        Fake("first", keeps="abc", log=log),
        Fake("second", keeps="bc", log=log),
    )
    assert log == [("first", ["a", "b", "c"]), ("second", ["a", "b", "c"]), ("ignorable", ["b", "c"])]
    assert names(result) == ["b"]
    assert result.cycle.unschedulable_plugins == {"Extender"}


def test_when_nothing_is_left_nobody_else_is_asked() -> None:
    last = Fake(keeps="a")
    result = ask(Fake(keeps=""), last)
    assert (names(result), last.log) == ([], [])
    assert result.message == "0/3 nodes are available:"


def test_an_extender_that_drops_nothing_is_not_among_the_unschedulable_plugins() -> None:
    assert ask(Fake(keeps="abc")).cycle.unschedulable_plugins == set()


def test_its_words_become_verdicts_and_unresolvable_ones_count_before_others() -> None:
    result = ask(Fake(keeps="", failed={"a": "later", "b": "full"}, unresolvable={"a": "never"}))
    verdicts = {name: (v.status.code, v.status.reasons, v.plugin) for name, v in result.cycle.verdicts.items()}
    assert verdicts == {"b": (Code.UNSCHEDULABLE, ("full",), ""), "a": (Code.UNRESOLVABLE, ("never",), "")}
    assert result.message == "0/3 nodes are available: 1 full, 1 never."


def test_an_extender_that_does_not_care_about_the_pod_is_not_asked() -> None:
    extender = Fake(keeps="", scores=[("a", 10)], wants=lambda pod: pod.priority > 5)
    assert names(ask(extender)) == ["a", "b", "c"]
    assert extender.log == []
    assert names(ask(extender, priority=6)) == []


def test_a_failure_ends_the_attempt_with_its_words() -> None:
    result = ask(Fake(keeps=ExtenderError("no answer")), Fake(keeps="a"))
    assert (result.failed, result.message) == (True, "no answer")
    assert result.cycle.extenders.remarks == [odd(Oddity.FAILURE, "filter", error="no answer")]


def test_a_failure_of_an_ignorable_extender_is_passed_over() -> None:
    result = ask(Fake(keeps=ExtenderError("no answer"), ignorable=True))
    assert names(result) == ["a", "b", "c"]
    assert result.cycle.extenders.remarks == [odd(Oddity.IGNORED_FAILURE, "filter", error="no answer")]


def test_a_nominated_node_is_asked_about_alone_and_a_failure_there_is_passed_over() -> None:
    extender = Fake(keeps=ExtenderError("no answer"))
    result = attempt(Profile(extenders=(extender,)), pod().nominated("b").info(), SNAPSHOT)
    assert [asked for _, asked in extender.log] == [["b"], ["a", "b", "c"]]
    assert result.failed


def test_scores_are_weighted_and_scaled_and_added_up() -> None:
    result = ask(
        Fake(scores=[("a", 1), ("b", 2), ("b", 3)], weight=2),
        Fake(scores=[("c", 10)]),
        Fake(scores=ExtenderError("no answer")),
    )
    assert result.scores.total == [20, 100, 100]
    assert result.scores.best() == ["b", "c"]
    assert [remark.oddity for remark in result.cycle.extenders.remarks] == [Oddity.IGNORED_FAILURE.value]


def test_a_sum_of_scores_runs_over_as_in_go() -> None:
    assert ask(Fake(scores=[("a", 2**62)], weight=1)).scores.total == [-(2**63), 0, 0]


def test_a_single_feasible_node_is_taken_without_asking_for_scores() -> None:
    extender = Fake(keeps="b", scores=[("b", 7)])
    result = ask(extender)
    assert result.scores.total == [0]
    assert len(extender.log) == 1


ODD: dict[str, tuple[Fake, list[str], ExtenderOddity]] = {
    "a node that it was not asked about passes": (
        Fake(keeps="ax"),
        ["a", "x"],
        odd(Oddity.UNKNOWN_NODES, "filter", nodes=("x",)),
    ),
    "a node that passes twice is one node": (
        Fake(keeps="abb"),
        ["a", "b"],
        odd(Oddity.REPEATED_NODES, "filter", nodes=("b",)),
    ),
    "the score of a node that is not feasible counts nothing": (
        Fake(scores=[("z", 3), ("y", 3)]),
        ["a", "b", "c"],
        odd(Oddity.UNKNOWN_NODES, "prioritize", nodes=("y", "z")),
    ),
    "a score above 10 or below 0 counts": (
        Fake(scores=[("a", 11), ("b", 10), ("c", -1)]),
        ["a", "b", "c"],
        odd(Oddity.SCORE_OUT_OF_RANGE, "prioritize", nodes=("a", "c")),
    ),
}


@pytest.mark.parametrize(("extender", "feasible", "remark"), ODD.values(), ids=ODD.keys())
def test_what_is_odd_is_remembered(extender: Fake, feasible: list[str], remark: ExtenderOddity) -> None:
    result = ask(extender)
    assert names(result) == feasible
    assert result.cycle.extenders.remarks == [remark]
