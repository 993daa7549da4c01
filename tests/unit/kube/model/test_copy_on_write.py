"""Values that are changed in place, and shared until then."""

from __future__ import annotations

from kwhatif.kube.model.overlay import CopyOnWriteDict


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
