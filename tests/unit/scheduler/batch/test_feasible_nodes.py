"""Nodes that fit, kept up to date, and their order by rank."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.scheduler.batch.feasible_nodes import FeasibleNodes, RankedNodes, all_ties
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.cycle import CycleError
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.scoring import default_normalize
from kwhatif.scheduler.framework.status import SUCCESS, Status, error, unschedulable
from kwhatif.state.change import Bind
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.state import State
from tests.builders import node, pod, snapshot
from tests.fake_plugins import plugin


class Room(NodeFilter):
    """Two pods to a node, and nothing on one that is broken."""

    reads = Reads.PODS

    def filter(self, node: NodeInfo) -> Status:
        if "broken" in node.labels and node.pods:
            return error("broken")
        return SUCCESS if len(node.pods) < 2 else unschedulable("full")


class Fewest(NodeScorer):
    """A plain score: of the node and its pods alone, and not normalised."""

    reads = Reads.PODS

    def score(self, node: NodeInfo) -> int:
        return 10 - 5 * len(node.pods)


class Class(NodeScorer):
    """A score that is normalised among the nodes that are feasible."""

    reads = Reads.NODE

    def score(self, node: NodeInfo) -> int:
        return int(node.labels.get("class", "0"))

    def normalize(self, scores: list[int], nodes: object) -> list[int]:
        del nodes
        return default_normalize(scores)


def profile(*scorers: NodeScorer) -> Profile:
    filters = (plugin("Room", pre_filter=Room()),)
    scoring = tuple(plugin(type(scorer).__name__, pre_score=scorer) for scorer in scorers)
    return Profile(pre_filter=filters, filter=filters, pre_score=scoring, score=scoring, weights={"Fewest": 3})


def begun(profile: Profile, state: State) -> FeasibleNodes:
    whole = attempt(profile, pod("web").info(), state)
    assert whole.scores is not None
    return FeasibleNodes(whole.cycle, whole.scores, ())


@given(
    st.lists(st.sampled_from(["", "1", "2", "4"]), min_size=1, max_size=5),
    st.sampled_from([(), (Fewest(),), (Class(),), (Fewest(), Class())]),
)
def test_the_best_node_is_that_of_a_whole_attempt(classes: list[str], scorers: tuple[NodeScorer, ...]) -> None:
    nodes = [node(f"n{number}").labels({"class": each} if each else {}) for number, each in enumerate(classes)]
    state, rules = snapshot(*nodes), profile(*scorers)
    feasible, fork = begun(rules, state), None
    for number in range(2 * len(nodes)):
        whole = attempt(rules, pod("web").info(), state)
        assert whole.scores is not None
        best = feasible.best()
        assert best is not None
        ties = whole.scores.best()
        place = [each.name for each in whole.scores.nodes].index(best.node)
        assert (best.node, best.score, best.find_ties()) == (ties[0], max(whole.scores.total), tuple(ties))
        assert best.scores == {name: column[place] for name, column in whole.scores.by_plugin.items()}
        assert best.tied is (len(ties) > 1)
        fork = fork or feasible.fork(whole.cycle, whole.scores)
        state.apply(Bind(pod(f"web-{number}").build(), best.node))
        feasible.refresh([best.node])
    assert feasible.best() is None
    assert fork is not None
    assert fork.best() is not None


def test_a_plugin_that_fails_ends_the_cycle() -> None:
    state = snapshot(node("a"), node("b").labels(broken="yes"))
    feasible = begun(profile(Fewest()), state)
    state.apply(Bind(pod("web-0").build(), "b"))
    with pytest.raises(CycleError, match='running "Room" filter plugin: broken'):
        feasible.refresh(["b"])


# --- The order of nodes by rank, now and earlier ------------------------------------------------------


names = st.sampled_from("abcdef")
ranks = st.integers(-2, 2)
randoms = st.randoms(use_true_random=False)


@given(st.dictionaries(names, ranks), st.lists(st.tuples(names, st.none() | ranks)), randoms)
def test_the_best_and_its_ties_at_any_moment(
    start: dict[str, int], changes: list[tuple[str, int | None]], random: Random
) -> None:
    order, now = RankedNodes(dict(start)), dict(start)
    asked = []
    for name, rank in changes:
        order.put(name, rank)
        if rank is None:
            now.pop(name, None)
        else:
            now[name] = rank
        assert len(order) == len(now)
        assert order.best() == min(((rank, name) for name, rank in now.items()), default=None)
        for each in now.values():
            ties = sorted(name for name, other in now.items() if other == each)
            asked.append((order.ties(each), ties))
    random.shuffle(asked)
    for find, expected in asked:
        assert list(find()) == expected


def test_ties_of_several_orders_are_sorted_together() -> None:
    first, second = RankedNodes({"a": 1, "d": 1, "b": 2}), RankedNodes({"c": 1})
    tied = all_ties([(first, 1), (second, 1)])
    first.put("a", 2)
    assert tied() == ("a", "c", "d")
