"""What a Deployment's controller makes of its ReplicaSets, step by step."""

from collections.abc import Sequence

import pytest

from kwhatif.kube.model.workload import RollingUpdate
from kwhatif.workloads.deployment import Bounds, Sized, bounds_of, is_scaling_event, scale, sync

#: Before any new pod is ready: what the functions of the controller itself (1.36.2) came to when none that they made
#: got ready. Sizes and available pods of the ReplicaSets, the oldest first; which of them is new; how many pods were wanted, and
#: are; maxSurge and maxUnavailable; the sizes in the end.
CASES = {
    "the defaults": ([(4, 4), (0, 0)], 1, 4, 4, None, None, [3, 2]),
    "the defaults, of ten": ([(10, 10), (0, 0)], 1, 10, 10, None, None, [8, 5]),
    "one more at a time": ([(4, 4), (0, 0)], 1, 4, 4, 1, 0, [4, 1]),
    "one fewer at a time": ([(4, 4), (0, 0)], 1, 4, 4, 0, 1, [3, 1]),
    "percentages: up for the surge, down for the others": ([(7, 7), (0, 0)], 1, 7, 7, "30%", "30%", [5, 5]),
    "both round to nothing": ([(3, 3), (0, 0)], 1, 3, 3, 0, "30%", [2, 1]),
    "all at once, beside the old": ([(4, 4), (0, 0)], 1, 4, 4, "100%", 0, [4, 4]),
    "all at once, instead of the old": ([(4, 4), (0, 0)], 1, 4, 4, 0, "100%", [0, 4]),
    "more than all": ([(2, 2), (0, 0)], 1, 2, 2, 5, 5, [0, 2]),
    "and more are wanted": ([(4, 4), (0, 0)], 1, 4, 6, None, None, [5, 3]),
    "and many more are wanted": ([(4, 4), (0, 0)], 1, 4, 12, "50%", 0, [12, 6]),
    "and more are wanted, none beside": ([(4, 4), (0, 0)], 1, 4, 6, 0, 2, [4, 2]),
    "and fewer are wanted": ([(4, 4), (0, 0)], 1, 4, 2, None, None, [2, 1]),
    "and fewer are wanted, none beside": ([(10, 10), (0, 0)], 1, 10, 4, 0, "50%", [2, 2]),
    "and none are wanted": ([(4, 4), (0, 0)], 1, 4, 0, None, None, [0, 0]),
    "and there were none": ([(0, 0), (0, 0)], 1, 0, 3, None, None, [0, 3]),
    "from one to many": ([(1, 1), (0, 0)], 1, 1, 8, 3, 2, [6, 5]),
    "some old ones are not available": ([(4, 2), (0, 0)], 1, 4, 4, None, None, [3, 2]),
    "no old one is available": ([(4, 0), (0, 0)], 1, 4, 4, None, None, [3, 2]),
    "none is available, and more are wanted": ([(4, 0), (0, 0)], 1, 4, 6, None, None, [5, 3]),
    "a rollout is under way": ([(3, 3), (3, 2)], 1, 4, 4, None, None, [1, 4]),
    "a rollout that is under way gives way to another": ([(3, 3), (3, 0), (0, 0)], 2, 4, 4, None, None, [3, 0, 2]),
    "back to the old one while a rollout is under way": ([(3, 3), (3, 0)], 0, 4, 4, None, None, [4, 0]),
    "more are wanted while a rollout is under way": ([(6, 6), (4, 4)], 1, 8, 16, None, None, [8, 12]),
    "more are wanted as a rollout gives way to another": ([(6, 6), (4, 4), (0, 0)], 2, 8, 12, None, None, [5, 4, 6]),
    "fewer are wanted as a rollout gives way to another": ([(6, 6), (4, 4), (0, 0)], 2, 8, 4, None, None, [1, 2, 2]),
    "equal ones: the newest grows first": ([(5, 5), (5, 5), (0, 0)], 2, 8, 11, None, None, [4, 5, 5]),
    "equal ones: the oldest shrinks first": ([(5, 5), (5, 5), (0, 0)], 2, 8, 5, None, None, [0, 4, 3]),
}


def settle(sets: Sequence[Sized], new: Sized, bounds: Bounds) -> None:
    """Let the controller act until all that it can do is wait: no pod that it makes meanwhile gets ready."""
    if is_scaling_event(sets, bounds.wanted):
        scale(sets, new, bounds)
    while sync(sets, new, bounds):
        pass


@pytest.mark.parametrize(
    ("sets", "new", "before", "after", "surge", "unavailable", "expected"), CASES.values(), ids=CASES.keys()
)
def test_sizes(
    sets: list[tuple[int, int]],
    new: int,
    before: int,
    after: int,
    surge: int | str | None,
    unavailable: int | str | None,
    expected: list[int],
) -> None:
    rolling = RollingUpdate(max_surge=surge, max_unavailable=unavailable)
    noted = bounds_of(rolling, before)
    sized = [Sized(str(number), *each, noted.wanted, noted.most) for number, each in enumerate(sets)]
    settle(sized, sized[new], bounds_of(rolling, after))
    assert [each.size for each in sized] == expected


#: Pods wanted, maxSurge, maxUnavailable, size and available pods of the old and of the new ReplicaSet, the sizes after
#: one step; the cases of `rolling_test.go`.
STEPS = {
    "no room beside the old": (10, 0, 0, (10, 10), (0, 0), (9, 0)),
    "room for two": (10, 2, 0, (10, 10), (0, 0), (10, 2)),
    "room for seven": (10, 2, 0, (5, 5), (0, 0), (5, 7)),
    "the room is used": (10, 2, 0, (10, 10), (2, 0), (10, 2)),
    "too many new ones": (10, 2, 0, (2, 2), (11, 0), (2, 10)),
    "two may be missed": (10, 0, 2, (10, 10), (0, 0), (8, 0)),
    "two old ones are not available": (10, 0, 2, (10, 8), (0, 0), (8, 0)),
    "one old one is not available": (10, 0, 2, (10, 9), (0, 0), (8, 0)),
    "new ones that are not available count": (10, 0, 2, (8, 8), (2, 0), (8, 2)),
    "most old ones are not available": (10, 0, 2, (10, 1), (0, 0), (8, 0)),
    "new ones got available": (10, 3, 2, (8, 8), (5, 5), (3, 5)),
    "it is done": (10, 3, 2, (0, 0), (10, 10), (0, 10)),
}


@pytest.mark.parametrize(("wanted", "surge", "unavailable", "old", "new", "expected"), STEPS.values(), ids=STEPS.keys())
def test_one_step(
    wanted: int, surge: int, unavailable: int, old: tuple[int, int], new: tuple[int, int], expected: tuple[int, int]
) -> None:
    sets = [Sized("old", *old), Sized("new", *new)]
    changed = sync(sets, sets[1], bounds_of(RollingUpdate(max_surge=surge, max_unavailable=unavailable), wanted))
    assert (sets[0].size, sets[1].size) == expected
    assert changed is (expected != (old[0], new[0]))


def rolled(wanted: int, surge: int | str, unavailable: int | str, ready: int) -> list[tuple[int, int]]:
    """Sizes after each step where so many of the pods that were made get available before the next one."""
    sets = [Sized("old", wanted, wanted), Sized("new", 0)]
    bounds = bounds_of(RollingUpdate(max_surge=surge, max_unavailable=unavailable), wanted)
    sizes = []
    while sync(sets, sets[1], bounds):
        sizes.append((sets[0].size, sets[1].size))
        sets[1].available = min(sets[1].size, sets[1].available + ready)
    return sizes


def test_whole_rollouts() -> None:
    assert rolled(3, "25%", "25%", 9) == [(3, 1), (2, 1), (2, 2), (1, 2), (1, 3), (0, 3)]
    assert rolled(1, "25%", "25%", 9) == [(1, 1), (0, 1)]
    assert rolled(4, 0, 1, 9) == [(3, 0), (3, 1), (2, 1), (2, 2), (1, 2), (1, 3), (0, 3), (0, 4)]
    assert rolled(10, "25%", "25%", 99)[-1] == (0, 10)
    assert rolled(10, "25%", "25%", 0) == [(10, 3), (8, 3), (8, 5)]
    assert len(rolled(500, "25%", "25%", 500)) < 10
