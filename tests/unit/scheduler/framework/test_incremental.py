"""Counts with a shared base."""

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.scheduler.framework.incremental import DomainTally

VALUES = st.sampled_from("abc")
CHANGES = st.lists(st.tuples(VALUES, st.integers(-2, 2)))


@given(st.dictionaries(VALUES, st.integers(-2, 2)), CHANGES, CHANGES)
def test_a_fork_goes_on_from_where_it_was_made_and_leaves_its_origin_alone(
    base: dict[str, int], before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    expected = dict(base)
    tally = DomainTally(base)

    def change(counted: DomainTally, changes: list[tuple[str, int]]) -> None:
        for value, amount in changes:
            expected[value] = expected.get(value, 0) + amount
            assert counted.add(value, amount) == expected[value]

    def said(counted: DomainTally) -> tuple[list[int], int]:
        return [counted.count(value) for value in "abc"], counted.nonzero

    change(tally, before)
    at_fork = said(tally)
    fork = tally.fork()
    change(fork, after)
    assert said(tally) == at_fork
    assert said(fork) == ([expected.get(value, 0) for value in "abc"], sum(map(bool, expected.values())))
