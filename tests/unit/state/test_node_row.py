"""Some nodes of a state, in its order."""

from __future__ import annotations

from kwhatif.state.state import NodeRow, State
from tests.builders import node, snapshot

NAMES = "abcdefghij"


def state() -> State:
    """So many nodes that a host name makes no shape."""
    return snapshot(*(node(name).labels({"disk": "ssd" if name == "b" else "hdd"}) for name in NAMES))


def test_a_row_knows_where_its_nodes_are() -> None:
    row = NodeRow.at(state(), [0, 1, 3])
    assert [each.name for each in row] == ["a", "b", "d"]
    assert row.shapes == [each.shape for each in row]
    assert [row.place_of(name) for name in ("a", "b", "c", "d", "z")] == [0, 1, None, 2, None]


def test_a_row_counts_shapes_and_has_a_node_of_each() -> None:
    row = NodeRow.at(state(), range(10))
    assert list(row.sizes.values()) == [9, 1]
    assert [each.name for each in row.samples.values()] == ["j", "b"]
    assert row.shapes == [each.shape for each in row]
