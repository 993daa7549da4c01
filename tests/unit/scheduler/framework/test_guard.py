"""What a plugin of your own raises is reported with plugin, point, pod and node; so is what it should not return."""

import pickle
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

import pytest

from kwhatif.errors import InputError, PluginFailed, Problem
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.cycle import CycleError
from kwhatif.scheduler.framework.filters import ByShape, ByShapeExcept, is_by_shape
from kwhatif.scheduler.framework.guard import GuardedPlugin
from kwhatif.scheduler.framework.hints import EnqueueExtensions
from kwhatif.scheduler.framework.incremental import (
    Incremental,
    NormalizesByRange,
    Relaxing,
    Selective,
    TopologyDomains,
    apply_pod_change,
    class_state,
    is_affected,
    is_relaxing,
    node_class,
    tracks_pods,
)
from kwhatif.scheduler.framework.plugin import (
    NodeFilter,
    NodeScorer,
    Plugin,
    PostFilterKind,
    PostFilterResult,
    Reads,
    ScorePlugin,
    is_custom,
    post_filter_kind,
)
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Status, unschedulable
from kwhatif.scheduler.plugins.default_preemption import DefaultPreemption
from kwhatif.scheduler.preemption.guard import GuardedPolicy, GuardedPreemption
from kwhatif.scheduler.preemption.policy import EvictsByPolicy
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from tests.builders import node, pod, snapshot

Answer = Callable[..., Any]


def fail(*_: object) -> Any:
    raise ZeroDivisionError("division by zero")


class Filter(NodeFilter):
    reads = Reads.PODS

    def __init__(self, **answers: Any) -> None:
        self._answers = answers

    def filter(self, node: NodeInfo) -> Status:
        return cast("Status", self._answers.get("filter", lambda _: SUCCESS)(node))

    def reserve(self, node: NodeInfo, snapshot: object) -> Sequence[Any]:
        return cast("Sequence[Any]", self._answers.get("reserve", lambda *_: ())(node, snapshot))


class Follower(Filter):
    reads = Reads.CLUSTER

    def fork(self) -> NodeFilter:  # type: ignore[override]
        return cast("NodeFilter", self._answers.get("fork", lambda: Follower(**self._answers))())

    def add_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        self._answers.get("add_pod", lambda *_: None)(pod, node)

    def remove_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        self._answers.get("remove_pod", lambda *_: None)(pod, node)


class Scorer(NodeScorer):
    def __init__(self, score: Answer = lambda _: 1, normalize: Answer = lambda scores, _: scores) -> None:
        self._score = score
        self._normalize = normalize

    def score(self, node: NodeInfo) -> int:
        return cast("int", self._score(node))

    def normalize(self, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        return cast("list[int]", self._normalize(scores, nodes))


def with_field(made: Any, name: str, field: Any) -> Any:
    """The same, but for a field of its class."""
    made.__class__ = type(type(made).__name__, (type(made),), {})
    setattr(type(made), name, field)
    return made


def own(**methods: Answer) -> Any:
    """A guarded plugin with these methods."""
    made = type("Own", (), {"name": "Own", **{name: staticmethod(method) for name, method in methods.items()}})
    return GuardedPlugin(made())


def ask(plugin: Any, *, victims: bool = False) -> Attempt:
    points = ("pre_enqueue", "pre_filter", "filter", "pre_score", "score", "post_filter")
    methods = {"filter": "pre_filter", "score": "pre_score"}
    profile: dict[str, Any] = {
        point: (cast("Plugin", plugin),) for point in points if hasattr(plugin, methods.get(point, point))
    }
    if victims:
        profile["post_filter"] = (DefaultPreemption(),)
    running = [pod("old").on("n1")] if victims else []
    found = snapshot(node("n1"), node("n2"), *running)
    return attempt(Profile(**profile), pod("web", "shop").priority(9).info(), found)


REFUSES: Answer = lambda _: unschedulable("no")  # noqa: E731

FAILURES: dict[str, tuple[Any, bool, str]] = {
    "PreEnqueue": (own(pre_enqueue=fail), False, "in PreEnqueue for pod shop/web: ZeroDivisionError: division by zero"),
    "PreFilter": (own(pre_filter=fail), False, "in PreFilter for pod shop/web: ZeroDivisionError: division by zero"),
    "Filter": (
        own(pre_filter=lambda *_: Filter(filter=fail)),
        False,
        "in Filter for pod shop/web on node n1: ZeroDivisionError: division by zero",
    ),
    "AddPod and RemovePod": (
        own(pre_filter=lambda *_: Follower(filter=REFUSES, remove_pod=fail)),
        True,
        "in RemovePod of default/old for pod shop/web on node n1: ZeroDivisionError: division by zero",
    ),
    "fork": (
        own(pre_filter=lambda *_: Follower(filter=REFUSES, fork=fail)),
        True,
        "in Filter (fork) for pod shop/web: ZeroDivisionError: division by zero",
    ),
    "PreScore": (own(pre_score=fail), False, "in PreScore for pod shop/web: ZeroDivisionError: division by zero"),
    "Score": (
        own(pre_score=lambda *_: Scorer(score=fail)),
        False,
        "in Score for pod shop/web on node n1: ZeroDivisionError: division by zero",
    ),
    "NormalizeScore": (
        own(pre_score=lambda *_: Scorer(normalize=fail)),
        False,
        "in NormalizeScore for pod shop/web: ZeroDivisionError: division by zero",
    ),
    "PostFilter": (
        own(pre_filter=lambda *_: unschedulable("no"), post_filter=fail),
        False,
        "in PostFilter for pod shop/web: ZeroDivisionError: division by zero",
    ),
    "PreFilter returns something else": (
        own(pre_filter=lambda *_: None),
        False,
        "in PreFilter for pod shop/web: it returned NoneType, not NodeFilter or Status",
    ),
    "Filter returns something else": (
        own(pre_filter=lambda *_: Filter(filter=lambda _: True)),
        False,
        "in Filter for pod shop/web on node n1: it returned bool, not Status",
    ),
    "fork returns something else": (
        own(pre_filter=lambda *_: Follower(filter=REFUSES, fork=lambda: None)),
        True,
        "in Filter (fork) for pod shop/web: it returned NoneType, not NodeFilter",
    ),
    "PreScore returns something else": (
        own(pre_score=lambda *_: 5),
        False,
        "in PreScore for pod shop/web: it returned int, not NodeScorer or Status",
    ),
    "Score returns something else": (
        own(pre_score=lambda *_: Scorer(score=lambda _: 1.5)),
        False,
        "in Score for pod shop/web on node n1: it returned float, not int",
    ),
    "NormalizeScore returns too few": (
        own(pre_score=lambda *_: Scorer(normalize=lambda *_: [1])),
        False,
        "in NormalizeScore for pod shop/web: it returned [1], not 2 whole numbers",
    ),
    "NormalizeScore returns something else": (
        own(pre_score=lambda *_: Scorer(normalize=lambda *_: [1, "2"])),
        False,
        "in NormalizeScore for pod shop/web: it returned [1, '2'], not 2 whole numbers",
    ),
    "a property of a filter": (
        own(pre_filter=lambda *_: with_field(Filter(), "only_nodes", property(fail))),
        False,
        "in Filter for pod shop/web: ZeroDivisionError: division by zero",
    ),
    "a field of a filter is something else": (
        own(pre_filter=lambda *_: with_field(Filter(), "only_nodes", ["n1"])),
        False,
        "in Filter for pod shop/web: only_nodes is of type list",
    ),
    "a property of a scorer": (
        own(pre_score=lambda *_: with_field(Scorer(), "reads", property(fail))),
        False,
        "in Score for pod shop/web: ZeroDivisionError: division by zero",
    ),
    "a field of a scorer is something else": (
        own(pre_score=lambda *_: with_field(Scorer(), "reads", 7)),
        False,
        "in Score for pod shop/web: reads is of type int",
    ),
    "PostFilter returns something else": (
        own(pre_filter=lambda *_: unschedulable("no"), post_filter=lambda _: "n1"),
        False,
        "in PostFilter for pod shop/web: it returned str, not PostFilterResult",
    ),
}


@pytest.mark.parametrize(("plugin", "victims", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_failures(plugin: Any, victims: bool, message: str) -> None:
    with pytest.raises(PluginFailed) as caught:
        ask(plugin, victims=victims)
    assert str(caught.value) == f"plugin Own failed {message}"


def test_the_cause_is_kept() -> None:
    with pytest.raises(PluginFailed) as caught:
        ask(own(pre_filter=fail))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_reserve_is_guarded() -> None:
    guarded = own(pre_filter=lambda *_: Filter(reserve=fail))
    found = snapshot(node("n1"))
    compiled = guarded.pre_filter(pod("web", "shop").info(), found)
    with pytest.raises(PluginFailed, match="failed in Reserve for pod shop/web on node n1"):
        compiled.reserve(found.nodes[0], found)


@pytest.mark.parametrize("passed_on", [CycleError("x"), InputError([Problem("a", "b")]), PluginFailed("y")])
def test_what_others_have_reported_already_is_passed_on(passed_on: Exception) -> None:
    def raise_it(*_: object) -> None:
        raise passed_on

    with pytest.raises(type(passed_on)) as caught:
        own(pre_filter=raise_it).pre_filter(pod().info(), snapshot())
    assert caught.value is passed_on


def test_a_plugin_that_behaves_is_not_changed() -> None:
    filter_ = Filter(filter=lambda node: SUCCESS if node.name == "n1" else unschedulable("not n1"))
    filter_.only_nodes = frozenset({"n1", "n2"})
    plugin = own(
        pre_enqueue=lambda *_: SUCCESS,
        pre_filter=lambda *_: filter_,
        pre_score=lambda *_: Scorer(),
        post_filter=lambda _: PostFilterResult(SUCCESS, "n1"),
    )
    result = ask(plugin)
    assert [each.name for each in result.cycle.feasible] == ["n1"]
    assert result.cycle.unschedulable_plugins == {"Own"}
    compiled = result.cycle.compiled["Own"]
    assert (compiled.reads, compiled.only_nodes) == (filter_.reads, filter_.only_nodes)
    assert result.scores is not None
    assert result.scores.by_plugin == {"Own": [1]}


def test_a_plugin_may_skip() -> None:
    result = ask(own(pre_filter=lambda *_: SKIP, pre_score=lambda *_: SKIP))
    assert [each.name for each in result.cycle.feasible] == ["n1", "n2"]


def test_it_has_the_methods_of_the_plugin_and_no_others() -> None:
    guarded = own(pre_score=lambda *_: SKIP)
    assert [name for name in ("pre_enqueue", "pre_filter", "pre_score", "post_filter") if hasattr(guarded, name)] == [
        "pre_score"
    ]


def test_only_filters_that_follow_pods_are_forked_for_each_candidate() -> None:
    plain = own(pre_filter=lambda *_: Filter()).pre_filter(pod().info(), snapshot())
    follower = own(pre_filter=lambda *_: Follower()).pre_filter(pod().info(), snapshot())
    assert type(plain).add_pod is NodeFilter.add_pod
    assert type(follower).add_pod is not NodeFilter.add_pod


class Quick(Selective, Relaxing, Incremental, Follower):
    """Has all that a filter of one's own may have besides."""

    relaxing = False

    def affected_by(self, pod: PodInfo) -> bool:
        return cast("bool", self._answers["affected_by"](pod))

    def apply_pod_change(self, pod: PodInfo, node: NodeInfo, amount: int) -> TopologyDomains:
        return frozenset([(pod.name, node.name)])

    def node_class(self, node: NodeInfo) -> str:
        return f"class of {node.name}"

    def class_state(self, node: NodeInfo) -> str:
        return f"state of {node.name}"


def test_what_a_filter_can_do_besides_its_guard_can_do_as_well() -> None:
    guarded = own(pre_filter=lambda *_: Quick(affected_by=lambda pod: pod.name == "a"))
    compiled = guarded.pre_filter(pod().info(), snapshot())
    one, on = pod("a").info(), node("n1").info()
    assert is_affected(compiled, on, [one])
    assert not is_affected(compiled, on, [pod("b").info()])
    assert not is_relaxing(compiled)
    assert apply_pod_change(compiled, one, on, 1) == frozenset({("a", "n1")})
    assert (node_class(compiled, on), class_state(compiled, on)) == ("class of n1", "state of n1")
    assert tracks_pods(compiled.fork())


def test_what_a_plain_filter_cannot_do_its_guard_cannot_do_either() -> None:
    compiled = own(pre_filter=lambda *_: Follower()).pre_filter(pod().info(), snapshot())
    one, on = pod("a").info(), node("n1").info()
    assert is_affected(compiled, on, [one])
    assert apply_pod_change(compiled, one, on, 1) is None
    assert node_class(compiled, on) == "n1"
    assert class_state(compiled, on) != class_state(compiled, on)


def test_a_failure_of_what_only_speeds_things_up_says_where_it_was() -> None:
    compiled = own(pre_filter=lambda *_: Quick(affected_by=fail)).pre_filter(pod("web", "shop").info(), snapshot())
    with pytest.raises(PluginFailed, match=r"failed in Filter \(affected_by default/a\) for pod shop/web"):
        is_affected(compiled, node("n1").info(), [pod("a").info()])


def test_a_scorer_keeps_what_it_says_of_shapes() -> None:
    class Shaped(ByShape, NormalizesByRange, Scorer):
        by_shape = False

    scorer = own(pre_score=lambda *_: Shaped()).pre_score(pod().info(), snapshot(), ())
    assert not is_by_shape(scorer)
    assert isinstance(scorer, NormalizesByRange)

    class ButSome(ByShapeExcept, Scorer):
        by_shape = True

    # By shape it would have to be asked for exceptions; a node at a time it need not.
    assert not is_by_shape(own(pre_score=lambda *_: ButSome()).pre_score(pod().info(), snapshot(), ()))
    plain = own(pre_score=lambda *_: Scorer()).pre_score(pod().info(), snapshot(), ())
    assert not isinstance(plain, ByShape | NormalizesByRange)


def test_a_guarded_preemption_is_one_and_says_that_it_is_custom() -> None:
    class Own(DefaultPreemption):
        name: ClassVar[str] = "Own"

    guarded: Any = GuardedPreemption(Own())
    assert [isinstance(guarded, kind) for kind in (EvictsByPolicy, EnqueueExtensions, ScorePlugin)] == [
        True,
        True,
        False,
    ]
    assert (guarded.preempts_beside_the_loop, guarded.sufficient_candidates(2000)) == (True, 200)
    assert post_filter_kind(guarded) is PostFilterKind.EVALUATES
    assert (is_custom(guarded), is_custom(Own())) == (True, False)
    assert Profile(post_filter=(guarded,)).has_custom_plugins
    again = pickle.loads(pickle.dumps(GuardedPreemption(DefaultPreemption())))
    assert isinstance(again.policy, GuardedPolicy)
    assert not isinstance(again.policy._inner, GuardedPolicy)
