"""A candidate replaces its namesake: the snapshot is as if that had never been there, for a while."""

from __future__ import annotations

from tests.builders import node, pod, snapshot


def test_a_port_that_another_pod_holds_as_well_stays_taken() -> None:
    snap = snapshot(node("n1"), pod("a").host_port(80).on("n1"), pod("b").host_port(80).on("n1"))
    with snap.without("default/a"):
        assert snap.by_name["n1"].used_ports() == set(snap.pods["default/b"].ports)
    assert len(snap.by_name["n1"].pods) == 2


def test_the_others_keep_their_order() -> None:
    snap = snapshot(node("n1"), *(pod(name).cpu("1").on("n1") for name in "abcd"))
    with snap.without("default/b"):
        (bare,) = snap.nodes
        assert ([info.name for info in bare.pods], bare.cpu) == (["a", "c", "d"], 3000)
        assert bare is snap.by_name["n1"]
    (whole,) = snap.nodes
    assert ([info.name for info in whole.pods], whole.cpu) == (["a", "b", "c", "d"], 4000)
    assert whole is snap.by_name["n1"]
