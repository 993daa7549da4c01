"""What a StatefulSet's controller does next, by the state of its pods."""

import pytest

from kwhatif.workloads.stateful_set import Moves, Replica, made_of_old, sync

#: Letters for pods: old or new revision (`o`, `n`), in capitals where they are ready; terminating ones (`p`, `m`, in
#: capitals where they are ready still); at its end (`x`), and terminating, too (`y`); `.` where there is none.
STATES = {letter: Replica(letter in "nN", letter.isupper()) for letter in "oOnN"}
STATES |= {letter: Replica(letter in "mM", letter.isupper(), terminating=True) for letter in "pPmM"}
STATES |= {"x": Replica(True, False, ended=True), "y": Replica(True, False, terminating=True, ended=True)}

#: Pods by number, from the first wanted number on; how many are wanted; the lowest number that is updated (None: none);
#: numbers that are made and deleted, and the one that is waited for.
ORDERED = {
    "all is well": ("NNN", 3, 0, [], [], None),
    "nothing is there": ("...", 3, 0, [0], [], None),
    "the first one is not ready": ("n..", 3, 0, [], [], 0),
    "the next one": ("N..", 3, 0, [1], [], None),
    "one in the middle is missing": ("N.N", 3, 0, [1], [], None),
    "the highest outdated one goes": ("OOO", 3, 0, [], [2], None),
    "then the next one": ("OON", 3, 0, [], [1], None),
    "not before the new one is ready": ("OOn", 3, 0, [], [], 2),
    "nor before the old ones are": ("OoN", 3, 0, [], [], 1),
    "a new revision repairs nothing": ("ooo", 3, 0, [], [], 0),
    "down to the partition": ("ONN", 3, 1, [], [], None),
    "not below it": ("OOO", 3, 2, [], [2], None),
    "when somebody deletes them": ("OOO", 3, None, [], [], None),
    "fewer are wanted, and a new template": ("OOO", 2, 0, [], [2], None),
    "fewer are wanted: one by one": ("NNNN", 2, 0, [], [3], None),
    "fewer are wanted, but one is not ready": ("nNNN", 2, 0, [], [], 0),
    "the highest is not ready": ("NNNn", 2, 0, [], [3], None),
    "a lower one is not ready either": ("NNnn", 2, 0, [], [], 2),
    "more are wanted, and a new template": ("OO..", 4, 0, [2], [], None),
    "one is terminating": ("NM..", 4, 0, [], [], 1),
    "one is at its end": ("Nx..", 4, 0, [], [1], None),
    "one is at its end, and not gone yet": ("Ny..", 4, 0, [], [], 1),
    "the next goes when the one before is gone": ("NNNM", 2, 0, [], [], 3),
    "one that is wanted no more is terminating": ("NNMN", 2, 0, [], [3], None),
    "one that is wanted no more is at its end": ("NNxn", 2, 0, [], [], 2),
    "the outdated one is terminating": ("OOP", 3, 0, [], [], 2),
}
PARALLEL = {
    "one is terminating": ("NM.", 3, 0, [2], [], 2),
    "some are at their end": ("xNy", 3, 0, [], [0], 2),
    "one of too many is terminating": ("NNMN", 2, 0, [], [3], None),
    "the outdated one is terminating": ("OOP", 3, 0, [], [], 2),
    "a terminating one below does not matter": ("POO", 3, 0, [], [2], None),
    "nothing is there": ("...", 3, 0, [0, 1, 2], [], 2),
    "one is not ready": ("n..", 3, 0, [1, 2], [], 2),
    "the highest outdated one goes": ("OOO", 3, 0, [], [2], None),
    "also if it is not ready": ("ooo", 3, 0, [], [2], None),
    "not before the new one is ready": ("OOn", 3, 0, [], [], 2),
    "fewer are wanted: all at once": ("NNNN", 2, 0, [], [3, 2], None),
    "fewer are wanted, and a new template": ("OOO", 2, 0, [], [2, 1], None),
    "one is missing below": (".OO", 3, 0, [0], [2], None),
    "one is missing above": ("OO.", 3, 0, [2], [], 2),
}

#: The same where two pods may be unavailable (`maxUnavailable: 2`).
TWO_ORDERED = {
    "the two highest outdated ones go": ("OOOO", 4, 0, [], [3, 2], None),
    "and no more while they are gone": ("OOPP", 4, 0, [], [], 2),
    "the missing ones come back from the lowest on": ("OO..", 4, 0, [2], [], None),
    "not before the new one is ready": ("OOnN", 4, 0, [], [], 2),
    "down to the partition": ("OOON", 4, 2, [], [2], None),
    "all is well": ("NNNN", 4, 0, [], [], None),
    "when somebody deletes them": ("OOOO", 4, None, [], [], None),
}
TWO_PARALLEL = {
    "the two highest outdated ones go": ("OOOO", 4, 0, [], [3, 2], None),
    "one while another is not ready": ("OOOn", 4, 0, [], [2], None),
    "none while two are not ready": ("OOnn", 4, 0, [], [], 3),
    "nor while one is going and one is missing": ("OOM.", 4, 0, [3], [], 3),
    "outdated ones that are not ready go first, and count": ("oOOO", 4, 0, [], [0, 3], None),
    "all of them": ("oooO", 4, 0, [], [2, 1, 0], None),
    "though too many are unavailable": ("oOnn", 4, 0, [], [0], None),
    "not below the partition, where they count all the same": ("ooOO", 4, 2, [], [], 1),
    "one that goes already does not go again": ("pOOO", 4, 0, [], [3], None),
    "a new one that is not ready below the partition is not waited for": ("nNNN", 4, 1, [], [], None),
}


def state(letters: str, start: int) -> dict[int, Replica]:
    return {start + number: STATES[letter] for number, letter in enumerate(letters) if letter != "."}


@pytest.mark.parametrize("start", [0, 5])
@pytest.mark.parametrize(
    ("ordered", "most", "letters", "wanted", "lowest", "made", "gone", "waits"),
    [pytest.param(True, None, *case, id=f"ordered: {name}") for name, case in ORDERED.items()]
    + [pytest.param(False, None, *case, id=f"parallel: {name}") for name, case in PARALLEL.items()]
    + [pytest.param(True, 2, *case, id=f"ordered, two: {name}") for name, case in TWO_ORDERED.items()]
    + [pytest.param(False, 2, *case, id=f"parallel, two: {name}") for name, case in TWO_PARALLEL.items()],
)
def test_steps(
    *,
    start: int,
    ordered: bool,
    most: int | None,
    letters: str,
    wanted: int,
    lowest: int | None,
    made: list[int],
    gone: list[int],
    waits: int | None,
) -> None:
    lowest = None if lowest is None else start + lowest
    moves = sync(state(letters, start), range(start, start + wanted), ordered=ordered, lowest=lowest, most=most)
    assert moves == Moves(
        tuple(start + number for number in made),
        tuple(start + number for number in gone),
        None if waits is None else start + waits,
    )


def test_below_the_partition_pods_are_made_of_the_old_revision() -> None:
    assert [made_of_old(number, 5, 2, 0) for number in range(5, 9)] == [True, True, False, False]
    assert [made_of_old(number, 0, None, 3) for number in range(5)] == [True, True, True, False, False]


@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("ordered", [True, False])
def test_a_set_of_absurdly_many_pods_is_not_numbered_through(ordered: bool, most: int | None) -> None:
    moves = sync({0: STATES["N"]}, range(2**31 - 1), ordered=ordered, lowest=0, most=most)
    assert moves.create[0] == 1
    assert len(moves.create) <= 10_000
