"""Who may, must not, and would rather be near whom."""

from typing import Any

import pytest

from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.pod_spec import PodAffinityTerm
from kwhatif.scheduler.framework.evidence import ExistingAntiAffinity, PodAffinityUnmatched, PodAntiAffinityMatched
from kwhatif.scheduler.framework.filters import ask_each
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.status import SUCCESS, Code, Status, error, unresolvable
from kwhatif.scheduler.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from kwhatif.scheduler.plugins.inter_pod_affinity.filtering import AffinityFilter
from kwhatif.scheduler.plugins.inter_pod_affinity.scoring import AffinityScorer, Preferences
from kwhatif.state.node_info import NodesByLabel
from kwhatif.state.state import NodeRow, State
from tests.builders import (
    HOSTNAME,
    ZONE,
    NodeBuilder,
    PodBuilder,
    affinity_term,
    cluster,
    namespace,
    node,
    pod,
    requirement,
    selector,
    snapshot,
)

WEB = selector(app="web")
DB = selector(app="db")
BROKEN = selector(requirement("app", "Near", "web"))
PROBLEM = '"Near" is not a valid label selector operator'


def web(name: str = "pod", namespace: str = "default") -> PodBuilder:
    return pod(name, namespace).labels(app="web")


def db(name: str = "db", namespace: str = "default") -> PodBuilder:
    return pod(name, namespace).labels(app="db")


def near(selector: LabelSelector | None, key: str = ZONE, **fields: Any) -> PodAffinityTerm:
    return affinity_term(key, selector, **fields)


def three_zones() -> list[NodeBuilder]:
    """Nodes a1 and a2 in zone a, b1 in b, c1 in c."""
    return [node(name).zone(name[0]) for name in ("a1", "a2", "b1", "c1")]


def world(*pods: PodBuilder) -> State:
    """Three zones; namespaces `default` of team a, `shop` of team b, and `bare` that has no object."""
    return snapshot(*three_zones(), namespace("default", team="a"), namespace("shop", team="b"), *pods)


def compiled(candidate: PodBuilder, snap: State) -> NodeFilter:
    result = InterPodAffinity().pre_filter(candidate.info(), snap)
    assert isinstance(result, NodeFilter)
    return result


def fits(plugin: NodeFilter, snap: State) -> str:
    """The names of the nodes that pass."""
    return " ".join(node.name for node in snap.nodes if plugin.filter(node) is SUCCESS)


# --- Filter: affinity ---------------------------------------------------------------------------------

AFFINITY = {
    "the domain of a pod that matches": (pod().pod_affinity(near(DB)), [db().on("a1")], "a1 a2"),
    "the same host": (pod().pod_affinity(near(DB, HOSTNAME)), [db().on("a1")], "a1"),
    "nobody matches": (pod().pod_affinity(near(DB)), [], ""),
    "a missing selector matches nobody": (pod().pod_affinity(near(None)), [db().on("a1")], ""),
    "an empty selector matches everybody": (pod().pod_affinity(near(selector())), [pod("any").on("a1")], "a1 a2"),
    "a pod that is being deleted counts": (pod().pod_affinity(near(DB)), [db().on("a1").terminating()], "a1 a2"),
    "one pod must match all terms": (
        pod().pod_affinity(near(DB), near(selector(tier="back"))),
        [db().on("a1"), pod("back").labels(tier="back").on("a1"), db("both").labels(tier="back").on("b1")],
        "b1",
    ),
    "each term in its own domain": (
        pod().pod_affinity(near(DB), near(DB, HOSTNAME)),
        [db("one").on("a1"), db("two").on("b1")],
        "a1 b1",
    ),
    "different pods may serve different terms about the same kind of pod": (
        pod().pod_affinity(near(DB), near(DB, "rack")),
        [db("one").on("a1")],
        "",
    ),
    "the first of a group goes anywhere": (web().pod_affinity(near(WEB)), [], "a1 b1 c1 a2"),
    "anywhere that has the key": (web().pod_affinity(near(WEB, "rack")), [], ""),
    "the second joins the first": (web().pod_affinity(near(WEB)), [web("first").on("b1")], "b1"),
    "the first must match all of its own terms": (web().pod_affinity(near(WEB), near(DB)), [], ""),
    "a pod where nobody can join it does not make the first the second": (
        web().pod_affinity(near(WEB, "rack"), near(WEB, "row")),
        [web("first").on("b1")],
        "",
    ),
}


@pytest.mark.parametrize(("candidate", "pods", "expected"), AFFINITY.values(), ids=AFFINITY.keys())
def test_affinity(candidate: PodBuilder, pods: list[PodBuilder], expected: str) -> None:
    snap = world(*pods)
    assert fits(compiled(candidate, snap), snap) == expected


def test_a_pod_on_a_node_without_the_key_is_nobody() -> None:
    snap = snapshot(*three_zones(), node("bare"), web("first").on("bare"))
    assert fits(compiled(web().pod_affinity(near(WEB)), snap), snap) == "a1 b1 c1 a2"


def test_unmatched_affinity_cannot_be_resolved_and_names_every_term_in_question() -> None:
    snap = world(db().on("a1"))
    plugin = compiled(pod().pod_affinity(near(DB), near(DB, HOSTNAME), near(DB, "rack")), snap)
    reason = ("node(s) didn't match pod affinity rules",)
    assert plugin.filter(snap.by_name["a1"]) == Status(
        Code.UNRESOLVABLE, reason, (PodAffinityUnmatched("rack", None, "app=db"),)
    )
    assert plugin.filter(snap.by_name["a2"]) == Status(
        Code.UNRESOLVABLE,
        reason,
        (PodAffinityUnmatched(HOSTNAME, "a2", "app=db"), PodAffinityUnmatched("rack", None, "app=db")),
    )


# --- Filter: whose pods a term speaks of --------------------------------------------------------------

NAMESPACES = {
    "without a word: those of the pod's own namespace": ({}, "default"),
    "those that are listed": ({"namespaces": ("shop", "bare")}, "bare shop"),
    "those that are selected": ({"namespace_selector": selector(team="b")}, "shop"),
    "both": ({"namespaces": ("default",), "namespace_selector": selector(team="b")}, "default shop"),
    "an empty selector: all": ({"namespace_selector": selector()}, "bare default shop"),
    "a namespace without an object is known by its name": (
        {"namespace_selector": selector(requirement("kubernetes.io/metadata.name", "In", "bare"))},
        "bare",
    ),
    "a selector that holds for no labels at all: all": (
        {"namespace_selector": selector(requirement("team", "NotIn", "a"))},
        "bare default shop",
    ),
    "so does one that wants a label to be absent": (
        {"namespace_selector": selector(requirement("team", "DoesNotExist"))},
        "bare default shop",
    ),
    "not if it wants another to be there": (
        {"namespace_selector": selector(requirement("team", "NotIn", "a"), requirement("team", "Exists"))},
        "shop",
    ),
}


@pytest.mark.parametrize(("fields", "expected"), NAMESPACES.values(), ids=NAMESPACES.keys())
def test_namespaces_of_the_incoming_pods_terms(fields: dict[str, Any], expected: str) -> None:
    places = {"bare": "a1", "default": "b1", "shop": "c1"}
    snap = world(*(db("db", name).on(place) for name, place in places.items()))
    reached = fits(compiled(pod().pod_affinity(near(DB, HOSTNAME, **fields)), snap), snap).split()
    assert " ".join(name for name, place in places.items() if place in reached) == expected


#: Here the selector means what it says: only the incoming pod's namespace is looked up.
THEIR_NAMESPACES = {
    **NAMESPACES,
    "a selector that holds for no labels at all: all": (
        {"namespace_selector": selector(requirement("team", "NotIn", "a"))},
        "bare shop",
    ),
    "so does one that wants a label to be absent": (
        {"namespace_selector": selector(requirement("team", "DoesNotExist"))},
        "bare",
    ),
}


@pytest.mark.parametrize(("fields", "expected"), THEIR_NAMESPACES.values(), ids=NAMESPACES.keys())
def test_namespaces_of_other_pods_terms(fields: dict[str, Any], expected: str) -> None:
    snap = world(pod("shy").on("b1").pod_anti_affinity(near(WEB, **fields)))
    refused = [
        name
        for name in ("bare", "default", "shop")
        if isinstance(InterPodAffinity().pre_filter(web(namespace=name).info(), snap), NodeFilter)
    ]
    assert " ".join(refused) == expected


# --- Filter: anti-affinity ----------------------------------------------------------------------------

ANTI_AFFINITY = {
    "not in the domain of a pod that matches": (
        pod().pod_anti_affinity(near(DB)), [db().on("a1")], "b1 c1",
    ),
    "nor in that of one that matches another term": (
        pod().pod_anti_affinity(near(DB), near(WEB, HOSTNAME)), [db().on("a1"), web("web").on("b1")], "c1",
    ),
    "a pod that is being deleted counts": (
        pod().pod_anti_affinity(near(DB)), [db().on("a1").terminating()], "b1 c1",
    ),
    "a node without the key is far from everybody": (
        pod().pod_anti_affinity(near(DB, "rack")), [db().on("a1")], "a1 b1 c1 a2",
    ),
    "not where others refuse it": (
        web(), [db().on("a1").pod_anti_affinity(near(WEB))], "b1 c1",
    ),
    "what others prefer is no refusal": (
        web().pod_anti_affinity(near(selector(app="none"))), [db().on("a1").prefer_not_pods(100, near(WEB))], "a1 b1 c1 a2",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("candidate", "pods", "expected"), ANTI_AFFINITY.values(), ids=ANTI_AFFINITY.keys())
def test_anti_affinity(candidate: PodBuilder, pods: list[PodBuilder], expected: str) -> None:
    snap = world(*pods)
    assert fits(compiled(candidate, snap), snap) == expected


def test_matched_anti_affinity_may_be_resolved_by_eviction_and_says_what_matched() -> None:
    snap = world(db("one").on("a1"), db("two").on("a2"), web("web").on("a1"))
    plugin = compiled(pod().pod_anti_affinity(near(selector(app="none")), near(DB)), snap)
    assert plugin.filter(snap.by_name["a1"]) == Status(
        Code.UNSCHEDULABLE,
        ("node(s) didn't match pod anti-affinity rules",),
        (PodAntiAffinityMatched(ZONE, "a", "app=db", 2),),
    )


def test_a_refusal_by_others_may_be_resolved_by_eviction_and_says_by_how_many() -> None:
    snap = world(*(db(name).on(name).pod_anti_affinity(near(WEB), near(WEB, "rack")) for name in ("a1", "a2")))
    assert compiled(web(), snap).filter(snap.by_name["a1"]) == Status(
        Code.UNSCHEDULABLE,
        ("node(s) didn't satisfy existing pods anti-affinity rules",),
        (ExistingAntiAffinity(ZONE, "a", 2),),
    )


def test_affinity_is_judged_before_anti_affinity_and_that_of_others_last() -> None:
    others = [db("db").on("a1").pod_anti_affinity(near(WEB))]
    snap = world(*others)
    candidate = web().pod_affinity(near(DB, HOSTNAME)).pod_anti_affinity(near(DB))
    reasons = {node.name: compiled(candidate, snap).filter(node).message for node in snap.nodes}
    assert reasons["a1"] == "node(s) didn't match pod anti-affinity rules"
    assert reasons["a2"] == "node(s) didn't match pod affinity rules"


def test_the_verdict_depends_on_pods_elsewhere() -> None:
    assert compiled(pod().pod_affinity(near(DB)), world()).reads is Reads.CLUSTER


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="nobody is there"),
        pytest.param([db().on("a1").pod_affinity(near(WEB))], id="others' affinity binds only them"),
        pytest.param([db().on("a1").pod_anti_affinity(near(DB))], id="others refuse somebody else"),
        pytest.param([db().on("a1").pod_anti_affinity(near(WEB, "rack"))], id="others refuse it, but their node lacks the key"),
        pytest.param([db().nominated("a1").pod_anti_affinity(near(WEB))], id="a nominated pod is not there yet"),
        pytest.param([db().on("a1").pod_anti_affinity(near(BROKEN), near(WEB))], id="terms that do not parse are no terms"),
    ],
)  # fmt: skip
def test_nothing_to_filter(pods: list[PodBuilder]) -> None:
    found = InterPodAffinity().pre_filter(web().prefer_pods(1, near(DB)).info(), world(*pods))
    assert isinstance(found, Status)
    assert found.code is Code.SKIP


@pytest.mark.parametrize(
    ("candidate", "problem"),
    [
        (pod().pod_affinity(near(BROKEN)), f"requiredAffinityTerms: {PROBLEM}"),
        (pod().prefer_not_pods(1, near(DB, namespace_selector=BROKEN)), f"preferredAntiAffinityTerms: {PROBLEM}"),
        (
            pod().pod_anti_affinity(near(BROKEN)).prefer_pods(1, near(BROKEN)),
            f"[requiredAntiAffinityTerms: {PROBLEM}, preferredAffinityTerms: {PROBLEM}]",
        ),
    ],
)
def test_a_selector_that_does_not_parse_stops_the_cycle(candidate: PodBuilder, problem: str) -> None:
    snap = world()
    assert InterPodAffinity().pre_filter(candidate.info(), snap) == unresolvable(f"parsing pod: {problem}")
    assert InterPodAffinity().pre_score(candidate.info(), snap, snap.nodes) == error(f"failed to parse pod: {problem}")


# --- AddPod, RemovePod --------------------------------------------------------------------------------


def test_removing_a_refused_pod_makes_room() -> None:
    snap = world(db("one").on("a1"), db("two").on("b1"))
    plugin = compiled(pod().pod_anti_affinity(near(DB)), snap)
    fork = plugin.fork()
    fork.remove_pod(snap.pods["default/one"], snap.by_name["a1"])
    assert (fits(fork, snap), fits(plugin, snap)) == ("a1 c1 a2", "c1")
    fork.add_pod(snap.pods["default/one"], snap.by_name["a1"])
    assert fits(fork, snap) == "c1"


def test_removing_a_pod_that_refuses_makes_room() -> None:
    snap = world(*(db(name).on(name).pod_anti_affinity(near(WEB)) for name in ("a1", "a2")))
    fork = compiled(web(), snap).fork()
    fork.remove_pod(snap.pods["default/a1"], snap.by_name["a1"])
    assert fits(fork, snap) == "b1 c1"
    fork.remove_pod(snap.pods["default/a2"], snap.by_name["a2"])
    assert fits(fork, snap) == "a1 b1 c1 a2"


def test_an_added_pod_may_refuse_by_a_key_that_nobody_used() -> None:
    snap = world(db().on("a1").pod_anti_affinity(near(WEB)))
    plugin = compiled(web(), snap)
    fork = plugin.fork()
    fork.add_pod(db("added").pod_anti_affinity(near(WEB, HOSTNAME)).info(), snap.by_name["b1"])
    assert (fits(fork, snap), fits(plugin, snap)) == ("c1", "b1 c1")


def test_without_its_last_friend_a_pod_is_the_first_of_its_group_again() -> None:
    snap = world(web("friend").on("a1"))
    fork = compiled(web().pod_affinity(near(WEB)), snap).fork()
    assert fits(fork, snap) == "a1 a2"
    fork.remove_pod(snap.pods["default/friend"], snap.by_name["a1"])
    assert fits(fork, snap) == "a1 b1 c1 a2"


def test_with_another_friend_left_elsewhere_it_is_not() -> None:
    snap = world(web("friend").on("a1"), web("other").on("b1"))
    fork = compiled(web().pod_affinity(near(WEB)), snap).fork()
    fork.remove_pod(snap.pods["default/friend"], snap.by_name["a1"])
    assert fits(fork, snap) == "b1"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod("other"), id="a pod that no term matches"),
        pytest.param(db("other", "shop"), id="a pod of another namespace"),
    ],
)
def test_pods_that_change_nothing(other: PodBuilder) -> None:
    snap = world(db().on("a1"))
    fork = compiled(pod().pod_anti_affinity(near(DB)), snap).fork()
    fork.add_pod(other.info(), snap.by_name["b1"])
    assert fits(fork, snap) == "b1 c1"


def test_a_pod_added_to_a_node_without_the_key_changes_nothing() -> None:
    snap = snapshot(*three_zones(), node("bare"), db().on("a1"))
    candidate = web().pod_affinity(near(DB)).pod_anti_affinity(near(WEB))
    fork = compiled(candidate, snap).fork()
    before = fits(fork, snap)
    fork.add_pod(web("added").labels(app="web").pod_anti_affinity(near(WEB)).info(), snap.by_name["bare"])
    fork.add_pod(db("other").info(), snap.by_name["bare"])
    assert fits(fork, snap) == before == "a1 a2"


# --- Score --------------------------------------------------------------------------------------------


def raw_scores(candidate: PodBuilder, snap: State, args: InterPodAffinityArgs | None = None) -> str:
    scorer = InterPodAffinity(args).pre_score(candidate.info(), snap, snap.nodes)
    assert isinstance(scorer, NodeScorer)
    return " ".join(f"{node.name}={scorer.score(node)}" for node in snap.nodes)


SCORE = {
    "a wanted pod adds its weight to its domain": (
        pod().prefer_pods(10, near(DB)), [db().on("a1")], "a1=10 b1=0 c1=0 a2=10",
    ),
    "two add it twice": (
        pod().prefer_pods(10, near(DB)), [db("one").on("a1"), db("two").on("a2")], "a1=20 b1=0 c1=0 a2=20",
    ),
    "an unwanted one takes it": (
        pod().prefer_not_pods(10, near(DB)), [db().on("a1")], "a1=-10 b1=0 c1=0 a2=-10",
    ),
    "each term counts for itself": (
        pod().prefer_pods(10, near(DB)).prefer_pods(7, near(selector(tier="back"), HOSTNAME)).prefer_not_pods(1, near(DB)),
        [db().labels(tier="back").on("a1")],
        "a1=16 b1=0 c1=0 a2=9",
    ),
    "a pod that is being deleted counts": (
        pod().prefer_pods(10, near(DB)), [db().on("a1").terminating()], "a1=10 b1=0 c1=0 a2=10",
    ),
    "so do the preferences of others": (
        web(),
        [db("one").on("a1").prefer_pods(10, near(WEB)), db("two").on("b1").prefer_not_pods(5, near(WEB))],
        "a1=10 b1=-5 c1=0 a2=10",
    ),
    "what others require is worth 1": (
        web(), [db().on("a1").pod_affinity(near(WEB))], "a1=1 b1=0 c1=0 a2=1",
    ),
    "what the pod itself requires is worth nothing": (
        pod().pod_affinity(near(DB)).prefer_pods(3, near(DB, HOSTNAME)), [db().on("a1")], "a1=3 b1=0 c1=0 a2=0",
    ),
    "a selector that holds for no labels at all reaches every namespace": (
        pod().prefer_pods(10, near(DB, namespace_selector=selector(requirement("team", "NotIn", "b")))),
        [db("db", "shop").on("b1")],
        "a1=0 b1=10 c1=0 a2=0",
    ),
    "that of others means what it says": (
        web(namespace="shop"),
        [
            db("one").on("a1").prefer_pods(9, near(WEB, namespace_selector=selector(requirement("team", "NotIn", "b")))),
            db("two").on("b1").prefer_pods(3, near(WEB, namespace_selector=selector(team="b"))),
        ],
        "a1=0 b1=3 c1=0 a2=0",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("candidate", "pods", "expected"), SCORE.values(), ids=SCORE.keys())
def test_score(candidate: PodBuilder, pods: list[PodBuilder], expected: str) -> None:
    assert raw_scores(candidate, world(*pods)) == expected


def test_the_weight_of_what_others_require_can_be_configured() -> None:
    snap = world(db().on("a1").pod_affinity(near(WEB)))
    assert raw_scores(web(), snap, InterPodAffinityArgs(hard_pod_affinity_weight=50)) == "a1=50 b1=0 c1=0 a2=50"


IGNORE = InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True)
OTHERS = [db().on("a1").prefer_pods(10, near(WEB))]


def test_preferences_of_others_are_met_if_the_pod_has_its_own() -> None:
    assert raw_scores(web().prefer_pods(1, near(WEB)), world(*OTHERS), IGNORE) == "a1=10 b1=0 c1=0 a2=10"


@pytest.mark.parametrize(
    ("candidate", "pods", "args"),
    [
        pytest.param(web(), [db().on("a1")], None, id="nobody prefers anything"),
        pytest.param(web().pod_affinity(near(DB)), [db().on("a1")], None, id="requirements are no preferences"),
        pytest.param(web().prefer_pods(1, near(DB, "rack")), [db().on("a1")], None, id="the node of the wanted pod lacks the key"),
        pytest.param(web(), OTHERS, IGNORE, id="the pod prefers nothing, and others are to be ignored"),
        pytest.param(web().pod_affinity(near(BROKEN)), OTHERS, IGNORE, id="so it is if it could not be parsed"),
        pytest.param(
            web(), [db().on("a1").pod_affinity(near(WEB))], InterPodAffinityArgs(hard_pod_affinity_weight=0),
            id="what others require is worth nothing",
        ),
    ],
)  # fmt: skip
def test_nothing_to_score(candidate: PodBuilder, pods: list[PodBuilder], args: InterPodAffinityArgs | None) -> None:
    snap = world(*pods)
    found = InterPodAffinity(args).pre_score(candidate.info(), snap, snap.nodes)
    assert isinstance(found, Status)
    assert found.code is Code.SKIP


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param([0, 29, 100], [0, 28, 100], id="divided first, then multiplied and cut off: 29 of 100 is 28"),
        pytest.param([-10, 0, 10], [0, 50, 100], id="from the least to the most"),
        pytest.param([7, 7], [0, 0], id="all equal"),
    ],
)
def test_normalize(raw: list[int], expected: list[int]) -> None:
    preferences = Preferences(pod().info(), cluster(), 1)
    assert AffinityScorer({}, preferences, frozenset(), NodesByLabel(cluster())).normalize(raw, []) == expected


def test_nodes_of_a_shape_are_of_one_class_but_for_those_whose_hosts_count() -> None:
    nodes = [node(f"n{number:02}").zone("ab"[number % 2]) for number in range(12)]
    nodes[5] = nodes[5].without_label(HOSTNAME)
    snap = snapshot(*nodes, db().on("n00"))
    pod_ = pod().pod_anti_affinity(near(DB, HOSTNAME), near(DB)).info()
    compiled = InterPodAffinity().pre_filter(pod_, snap)
    assert isinstance(compiled, AffinityFilter)
    row = NodeRow.at(snap, range(len(snap.nodes)))
    assert compiled.exceptions(row) == {"n00", "n05"}
    one_by_one = [compiled.node_class(info) for info in row]
    assert ask_each(row, compiled, compiled.node_class) == one_by_one
    assert len(set(one_by_one)) > len("ab")


def test_scores_are_shared_by_shape_unless_they_depend_on_what_a_shape_leaves_open() -> None:
    nodes = [node(f"n{number:02}").zone("ab"[number % 2]) for number in range(12)]
    snap = snapshot(*nodes, db().on("n00"))
    plugin = InterPodAffinity()
    by_zone = plugin.pre_score(pod().prefer_pods(1, near(DB)).info(), snap, snap.nodes)
    by_host = plugin.pre_score(pod().prefer_pods(1, near(DB, HOSTNAME)).info(), snap, snap.nodes)
    assert isinstance(by_zone, AffinityScorer)
    assert isinstance(by_host, AffinityScorer)
    assert (by_zone.exceptions(snap.nodes), by_host.exceptions(snap.nodes)) == (set(), {"n00"})
    plain = next(info for info in snap.nodes if info.name == "n03")
    assert len({by_host.score(info) for info in snap.nodes if info.name != "n00"}) == 1
    assert by_host.score(plain) != by_host.score(snap.by_name["n00"])
