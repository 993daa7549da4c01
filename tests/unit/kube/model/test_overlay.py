"""Mappings that lie over others, and values that are shared until they are changed."""

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.model.overlay import CopyOnWriteDict, Overlay

NUMBERS = st.integers(0, 120)


@given(st.lists(NUMBERS, max_size=30), st.lists(NUMBERS, max_size=30), st.lists(NUMBERS, max_size=10))
def test_many_values_at_once_are_those_that_are_there(put: list[int], popped: list[int], again: list[int]) -> None:
    base: Overlay[int, int] = Overlay({number: number for number in range(100)})
    fork = base.fork()
    for number in put:
        fork.put(number, -number)
    for number in popped:
        fork.pop(number)
    for number in again:
        fork.put(number, 1000 + number)
    keys = list(range(121))
    assert fork.select(key for key in keys if key in fork) == [fork[key] for key in keys if key in fork]
    assert base.select(range(100)) == list(range(100))


# --- Values that are changed in place, and shared until then ------------------------------------------


def test_a_fork_copies_what_it_changes() -> None:
    first: CopyOnWriteDict[str, list[int]] = CopyOnWriteDict(list.copy)
    kept = first.put("a", [1])
    assert first.own("a") is kept
    assert (first.get("b"), first.own("b")) == (None, None)
    second = first.fork()
    third = second.fork()
    assert second.get("a") is kept
    mine = second.own("a")
    assert mine is not None
    mine.append(2)
    assert second.own("a") is mine
    third.put("b", [3])
    assert (first.get("a"), second.get("a"), third.get("a")) == ([1], [1, 2], [1])
    assert (first.keys(), third.keys()) == ({"a"}, {"a", "b"})
    first.own("a").append(4)  # type: ignore[union-attr]
    assert (first.get("a"), third.get("a")) == ([1, 4], [1])
