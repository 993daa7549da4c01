"""What a DaemonSet's controller does next, by what stands on its nodes."""

from __future__ import annotations

import msgspec
import pytest

from kwhatif.model.pod import Pod
from kwhatif.model.workload import RollingUpdate, UpdateStrategy
from kwhatif.workloads.controllers.daemon_set import Bounds, Moves, Standing, bounds_of, sync
from kwhatif.workloads.daemon_set import node_of

#: Letters for what stands on a node.
LETTERS = {
    ".": Standing.BARE,
    "r": Standing.REFUSED,
    "o": Standing.IDLE,
    "O": Standing.WORKING,
    "b": Standing.BESIDE,
    "B": Standing.DOUBLED,
    "n": Standing.WAITING,
    "N": Standing.UPDATED,
}

#: What stands on the nodes; those that no new pod is made on; maxUnavailable and maxSurge; where pods are made, and
#: where old ones go.
STEPS = {
    "nodes without a pod come first": ("OO..", [], 2, 0, [2, 3], []),
    "two may be missing": ("OOOOO", [], 2, 0, [], [0, 1]),
    "and are": ("nnOOO", [], 2, 0, [], []),
    "one of them is ready": ("nNOOO", [], 2, 0, [], [2]),
    "the last one": ("NNNNO", [], 2, 0, [], [4]),
    "it is done": ("NNNNN", [], 2, 0, [], []),
    "new pods that are not ready count": ("nnnOO", [], 3, 0, [], []),
    "pods that are refused count": ("rrOOO", [], 2, 0, [], []),
    "old pods that are not ready go at once": ("ooOOO", [], 1, 0, [], [0, 1]),
    "and count": ("oOOOO", [], 2, 0, [], [0, 1]),
    "from nodes that no pod is made on, too": ("OONNN", [0, 1], 1, 0, [], [0]),
    "two beside": ("OOOOO", [], 0, 2, [0, 1], []),
    "while these are not ready": ("bbOOO", [], 0, 2, [], []),
    "two more, and the old ones go": ("BBOOO", [], 0, 2, [2, 3], [0, 1]),
    "the last one beside": ("NNBBO", [], 0, 2, [4], [2, 3]),
    "the last old one": ("NNNNB", [], 0, 2, [], [4]),
    "beside old pods that are not ready, whatever the bound": ("oooOO", [], 0, 1, [0, 1, 2, 3], [0, 1, 2]),
    "one too many: from a node that no pod is made on": ("OOOOO", [0], 0, 1, [1], [0]),
    "none too many": ("OOOO.", [0], 0, 1, [4], []),
    "an old pod that is not ready, where none is made": ("oOOOO", [0], 0, 1, [1], [0]),
}


def standing(letters: str) -> dict[Standing, dict[str, None]]:
    return {
        each: {f"n{number}": None for number, letter in enumerate(letters) if LETTERS[letter] is each}
        for each in Standing
    }


@pytest.mark.parametrize(
    ("letters", "leaving", "unavailable", "surge", "made", "gone"), STEPS.values(), ids=STEPS.keys()
)
def test_steps(
    letters: str, leaving: list[int], unavailable: int, surge: int, made: list[int], gone: list[int]
) -> None:
    """The cases of `update_test.go`, and others."""
    bounds = Bounds(len(letters) - len(leaving), unavailable, surge)
    moves = sync(standing(letters), {f"n{number}" for number in leaving}, bounds)
    assert moves == Moves(tuple(f"n{number}" for number in made), tuple(f"n{number}" for number in gone))


def test_only_deleted_pods_are_updated() -> None:
    assert sync(standing("oO.N"), set(), None) == Moves(("n2",))
    assert sync(standing("oONN"), set(), None) == Moves()


@pytest.mark.parametrize(
    ("unavailable", "surge", "expected"),
    [
        (None, None, Bounds(10, 1, 0)),
        ("15%", None, Bounds(10, 2, 0)),
        (3, 0, Bounds(10, 3, 0)),
        (0, 2, Bounds(10, 0, 2)),
        (0, "11%", Bounds(10, 0, 2)),
        (0, 0, Bounds(10, 1, 0)),
        ("0%", "0%", Bounds(10, 1, 0)),
    ],
)
def test_bounds(unavailable: int | str | None, surge: int | str | None, expected: Bounds) -> None:
    rolling = RollingUpdate(max_unavailable=unavailable, max_surge=surge)
    assert bounds_of(UpdateStrategy(type="RollingUpdate", rolling_update=rolling), 10) == expected


def test_a_waiting_pod_whose_affinity_names_no_node_is_for_none() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": []}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    assert node_of(msgspec.convert({"metadata": {"name": "x"}, "spec": {"affinity": affinity}}, Pod)) == ""
