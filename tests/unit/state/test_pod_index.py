"""Pods by namespace and labels, and by affinity terms, kept up while pods come and go."""

import pytest

from kwhatif.kube.matching.labels import compile_selector
from kwhatif.kube.matching.pods import AffinityTerms
from kwhatif.kube.model.pod import Pod
from kwhatif.state.change import Bind, Delete, Evict
from kwhatif.state.state import State
from tests.builders import ZONE, PodBuilder, affinity_term, node, pod, selector, snapshot

SHY = affinity_term(ZONE, selector(app="web"))


def web(name: str, namespace: str = "default") -> PodBuilder:
    return pod(name, namespace).labels(app="web")


def counts(snap: State, namespace: str = "default") -> dict[str | None, dict[str, int]]:
    return {group.labels.get("app"): dict(group.pods) for group in snap.index.labels.groups(namespace)}


def terms(snap: State) -> dict[AffinityTerms, dict[str, int]]:
    return {terms: dict(pods) for terms, pods in snap.index.terms.about("default") if pods}


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
    assert counts(snap) == {"web": {"n1": 2, "n2": 1, "gone": 1}, None: {"n2": 1}}
    assert counts(snap, "shop") == {"web": {"n1": 1}}
    assert counts(snap, "empty") == {}
    assert {"default", "shop"} <= set(snap.index.labels.namespaces())


def test_pods_that_are_being_deleted_are_counted_apart() -> None:
    snap = snapshot(node("n1"), web("a").on("n1"), web("b").on("n1").terminating())
    (group,) = snap.index.labels.groups("default")
    assert (group.pods, group.terminating) == ({"n1": 2}, {"n1": 1})
    snap.apply(Evict("default/b"))
    assert (group.pods, group.terminating) == ({"n1": 1}, {})


def test_it_keeps_up_with_pods_that_come_and_go() -> None:
    snap = snapshot(node("n1"), node("n2"), web("a").on("n1"), web("b").on("n1"))
    assert counts(snap) == {"web": {"n1": 2}}
    snap.apply(Bind(web("c").build(), "n2"))
    snap.apply(Evict("default/a"))
    assert counts(snap) == {"web": {"n1": 1, "n2": 1}}
    fork = snap.fork()
    fork.apply(Delete(Pod, "default/b"))
    assert counts(fork) == {"web": {"n2": 1}}
    assert counts(snap) == {"web": {"n1": 1, "n2": 1}}


def test_groups_that_a_selector_matches_are_those_of_each_fork() -> None:
    def front(snap: State) -> dict[str | None, dict[str, int]]:
        found = snap.index.labels.matching("default", compile_selector(selector(tier="front")))
        return {group.labels.get("app"): dict(group.pods) for group in found}

    snap = snapshot(node("n1"), web("a").labels(tier="front").on("n1"), web("b").on("n1"))
    assert front(snap) == {"web": {"n1": 1}}
    one, other = snap.fork(), snap.fork()
    one.apply(Bind(pod("c").labels(app="db", tier="front").build(), "n1"))
    other.apply(Bind(pod("d").labels(app="db", tier="back").build(), "n1"))
    assert (front(one), front(other)) == ({"web": {"n1": 1}, "db": {"n1": 1}}, {"web": {"n1": 1}})
    other.apply(Evict("default/a"))
    assert (front(other), front(snap)) == ({"web": {}}, {"web": {"n1": 1}})


def test_groups_that_a_fork_makes_are_there_for_others_and_change_for_it_alone() -> None:
    snap = snapshot(node("n1"), web("a", "shop").on("n1"), web("b").on("n1"))
    assert counts(snap) == {"web": {"n1": 1}}
    one, other = snap.fork(), snap.fork()
    assert counts(one, "shop") == {"web": {"n1": 1}}
    one.apply(Bind(web("c", "shop").build(), "n1"), Bind(pod("d", "shop").labels(app="db").build(), "n1"))
    one.apply(Evict("shop/a"), Bind(web("e", "shop").build(), "n1"))
    assert counts(one, "shop") == {"web": {"n1": 2}, "db": {"n1": 1}}
    assert counts(other, "shop") == counts(snap, "shop") == {"web": {"n1": 1}}


def test_it_keeps_up_with_namespaces_that_nobody_asked_about() -> None:
    snap = snapshot(node("n1"), web("a", "shop").on("n1"), web("b").on("n1"))
    assert counts(snap) == {"web": {"n1": 1}}
    snap.apply(Bind(web("c", "shop").build(), "n1"))
    snap.apply(Evict("shop/a"))
    assert counts(snap, "shop") == {"web": {"n1": 1}}


@pytest.mark.parametrize("asked", range(7))
def test_it_does_not_matter_how_many_namespaces_were_asked_about(asked: int) -> None:
    names = [f"team-{number}" for number in range(6)]
    snap = snapshot(node("n1"), node("n2"), *(web("a", name).on("n1") for name in names))
    for name in names[:asked]:
        assert counts(snap, name) == {"web": {"n1": 1}}
    for name in names[1:]:
        snap.apply(Bind(web("b", name).build(), "n2"))
        snap.apply(Evict(f"{name}/a"))
    assert set(snap.index.labels.namespaces()) >= set(names)
    assert [counts(snap.fork(), name) for name in names] == [{"web": {"n1": 1}}, *[{"web": {"n2": 1}}] * 5]
    assert [counts(snap, name) for name in names] == [{"web": {"n1": 1}}, *[{"web": {"n2": 1}}] * 5]


def test_terms_are_found_by_the_namespaces_that_they_may_speak_of() -> None:
    here, there = affinity_term(ZONE), affinity_term(ZONE, namespaces=("shop",))
    any_of_a_team = affinity_term(ZONE, namespace_selector=selector(team="web"))
    pods = {
        "here": pod("here").prefer_pods(1, here),
        "there": pod("there").pod_affinity(there),
        "both": pod("both").pod_anti_affinity(here).prefer_not_pods(1, there),
        "any": pod("any").pod_affinity(any_of_a_team),
    }
    snap = snapshot(node("n1"), *(built.on("n1") for name, built in pods.items() if name != "any"))
    known = {name: built.info().affinity_terms for name, built in pods.items()}

    def about(snap: State, namespace: str) -> set[str]:
        found = {terms for terms, _ in snap.index.terms.about(namespace)}
        return {name for name, terms in known.items() if terms in found}

    assert about(snap, "default") == {"here", "both"}
    assert about(snap, "shop") == {"there", "both"}
    fork = snap.fork()
    fork.apply(Bind(pods["any"].build(), "n1"))
    assert about(fork, "elsewhere") == {"any"}
    assert about(fork, "shop") == {"there", "both", "any"}
    assert about(snap, "elsewhere") == set()


def test_terms_are_counted_by_node() -> None:
    snap = snapshot(
        node("n1"), node("n2"), web("plain").on("n1"), *(pod(n).pod_anti_affinity(SHY).on("n1") for n in "ab")
    )
    same = pod("c").pod_anti_affinity(SHY).info()
    assert terms(snap) == {same.affinity_terms: {"n1": 2}}
    snap.apply(Bind(same.pod, "n2"))
    snap.apply(Evict("default/a"))
    assert terms(snap) == {same.affinity_terms: {"n1": 1, "n2": 1}}
    fork = snap.fork()
    fork.apply(Delete(Pod, "default/b"))
    assert terms(fork) == {same.affinity_terms: {"n2": 1}}
    assert terms(snap) == {same.affinity_terms: {"n1": 1, "n2": 1}}


def test_terms_about_a_namespace_that_nobody_has_asked_about_are_counted_all_the_same() -> None:
    def wide(name: str, namespace: str) -> PodBuilder:
        return pod(name, namespace).pod_affinity(affinity_term(ZONE, selector(**{namespace: "x"})))

    def about(snap: State, namespace: str) -> list[dict[str, int]]:
        return [dict(pods) for _, pods in snap.index.terms.about(namespace) if pods]

    snap = snapshot(node("n1"), node("n2"), *(wide(name, ns).on("n1") for ns in ("one", "two") for name in "ab"))
    assert about(snap, "one") == [{"n1": 2}]
    assert snap.index.terms.label_keys("one") == {"one"}
    fork = snap.fork()
    fork.apply(Bind(wide("c", "two").build(), "n2"), Evict("two/a"), Bind(wide("d", "one").build(), "n2"))
    assert (about(fork, "one"), about(fork, "two")) == ([{"n1": 2, "n2": 1}], [{"n1": 1, "n2": 1}])
    assert (about(snap, "one"), about(snap, "two")) == ([{"n1": 2}], [{"n1": 2}])
    assert (snap.index.terms.label_keys("two"), fork.index.terms.label_keys("none")) == ({"two"}, set())
