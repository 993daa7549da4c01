"""Node names: the shared suffix once, and nothing cut that is not shared."""

from __future__ import annotations

import pytest

from kwhatif.render.node_names import NodeNames

CLOUD = ".eu-central-1.compute.internal"


@pytest.mark.parametrize(
    ("names", "suffix"),
    [
        ([f"ip-10-0-1-1{CLOUD}", f"ip-10-0-2-1{CLOUD}"], CLOUD),
        ([f"ip-10-0-1-1{CLOUD}", f"ip-10-0-2-11{CLOUD}", "worker-1"], ""),
        ([f"a{CLOUD}"], ""),
        (["a.b.local", "c.d.local"], ".local"),
        (["general-a1", "general-b1"], ""),
        (["node1.local", "node1"], ""),
        ([".x.y", "a.x.y"], ""),
        ([], ""),
    ],
)
def test_the_suffix_is_shared_by_all_and_begins_at_a_dot(names: list[str], suffix: str) -> None:
    assert NodeNames(names).suffix == suffix


def test_names_are_cut_wherever_they_stand() -> None:
    names = NodeNames([f"a{CLOUD}", f"b{CLOUD}"])
    assert names.note == f"nodes: *{CLOUD}"
    assert names.cut(f"2 free on a{CLOUD}, b{CLOUD}.") == "2 free on a, b."
    assert names.cut(f"a{CLOUD}.example and x{CLOUD}-y") == f"a{CLOUD}.example and x{CLOUD}-y"


def test_whole_names_stay() -> None:
    assert NodeNames(["a", "b"]).cut(f"a{CLOUD}") == f"a{CLOUD}"
