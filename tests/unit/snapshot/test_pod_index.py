"""Pods by namespace and labels, and by affinity terms, kept up while pods come and go."""

from __future__ import annotations

from kwhatif.matching.affinity import AffinityTerms
from kwhatif.snapshot.snapshot import Snapshot
from tests.builders import ZONE, PodBuilder, affinity_term, node, pod, selector, snapshot

SHY = affinity_term(ZONE, selector(app="web"))


def web(name: str, namespace: str = "default") -> PodBuilder:
    return pod(name, namespace).labels(app="web")


def counts(snap: Snapshot, namespace: str = "default") -> dict[str | None, dict[str, int]]:
    return {group.labels.get("app"): dict(group.pods) for group in snap.index.groups(namespace)}


def terms(snap: Snapshot) -> dict[AffinityTerms, dict[str, int]]:
    return {terms: dict(pods) for terms, pods in snap.index.by_terms().items() if pods}


def test_groups_are_pods_of_one_namespace_with_equal_labels() -> None:
    snap = snapshot(
        node("n1"),
        node("n2"),
        *(web(name).on(place) for name, place in (("a", "n1"), ("b", "n1"), ("c", "n2"))),
        pod("bare").on("n2"),
        web("other", "shop").on("n1"),
        web("pending"),
        web("stray").on("gone"),
    )
    assert counts(snap) == {"web": {"n1": 2, "n2": 1}, None: {"n2": 1}}
    assert counts(snap, "shop") == {"web": {"n1": 1}}
    assert counts(snap, "empty") == {}
    assert {"default", "shop"} <= set(snap.index.namespaces())


def test_pods_that_are_being_deleted_are_counted_apart() -> None:
    snap = snapshot(node("n1"), web("a").on("n1"), web("b").on("n1").terminating())
    (group,) = snap.index.groups("default")
    assert (group.pods, group.terminating) == ({"n1": 2}, {"n1": 1})
    snap.forget(snap.pods["default/b"], "n1")
    assert (group.pods, group.terminating) == ({"n1": 1}, {})


def test_it_keeps_up_with_pods_that_come_and_go() -> None:
    snap = snapshot(node("n1"), node("n2"), web("a").on("n1"), web("b").on("n1"))
    assert counts(snap) == {"web": {"n1": 2}}
    snap.assume(web("c").info(), "n2")
    snap.forget(snap.pods["default/a"], "n1")
    assert counts(snap) == {"web": {"n1": 1, "n2": 1}}
    with snap.without("default/b"):
        assert counts(snap) == {"web": {"n2": 1}}
    assert counts(snap) == {"web": {"n1": 1, "n2": 1}}


def test_it_keeps_up_with_namespaces_that_nobody_asked_about() -> None:
    snap = snapshot(node("n1"), web("a", "shop").on("n1"), web("b").on("n1"))
    assert counts(snap) == {"web": {"n1": 1}}
    snap.assume(web("c", "shop").info(), "n1")
    snap.forget(snap.pods["shop/a"], "n1")
    assert counts(snap, "shop") == {"web": {"n1": 1}}


def test_terms_are_counted_by_node() -> None:
    snap = snapshot(
        node("n1"), node("n2"), web("plain").on("n1"), *(pod(n).pod_anti_affinity(SHY).on("n1") for n in "ab")
    )
    same = pod("c").pod_anti_affinity(SHY).info()
    assert terms(snap) == {same.affinity_terms: {"n1": 2}}
    snap.assume(same, "n2")
    snap.forget(snap.pods["default/a"], "n1")
    assert terms(snap) == {same.affinity_terms: {"n1": 1, "n2": 1}}
    with snap.without("default/b"):
        assert terms(snap) == {same.affinity_terms: {"n2": 1}}
    assert terms(snap) == {same.affinity_terms: {"n1": 1, "n2": 1}}
