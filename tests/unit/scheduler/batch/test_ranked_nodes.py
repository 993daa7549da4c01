"""The order of nodes by rank, now and earlier."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.scheduler.batch.feasible_nodes import RankedNodes, all_ties

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
