"""Who may go where so that pods stay evenly spread, and what the scores say of the rest."""

from typing import Any

import pytest

from kwhatif.kube.model.pod_spec import NodeSelectorTerm, TopologySpreadConstraint
from kwhatif.kube.model.workload import ReplicaSet, ReplicaSetMeta, ReplicaSetSpec
from kwhatif.scheduler.framework.evidence import MissingTopologyLabel, SpreadSkew
from kwhatif.scheduler.framework.plugin import NodeFilter, NodeScorer, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Code, Status, error
from kwhatif.scheduler.plugins.pod_topology_spread import PodTopologySpread, PodTopologySpreadArgs
from kwhatif.scheduler.plugins.pod_topology_spread.filtering import CriticalPaths
from kwhatif.scheduler.plugins.pod_topology_spread.scoring import SpreadScorer, round_half_away
from kwhatif.state.state import State
from tests.builders import (
    HOSTNAME,
    ZONE,
    NodeBuilder,
    PodBuilder,
    node,
    on_name,
    pod,
    requirement,
    selector,
    service,
    snapshot,
    term,
)

WEB = selector(app="web")


def web(name: str = "pod", namespace: str = "default") -> PodBuilder:
    return pod(name, namespace).labels(app="web")


def three_zones() -> list[NodeBuilder]:
    """Nodes a1 and a2 in zone a, b1 in b, c1 in c."""
    return [node(name).zone(name[0]) for name in ("a1", "a2", "b1", "c1")]


def running(*places: str) -> list[PodBuilder]:
    """A web pod on each of the nodes."""
    return [web(f"web-{number}").on(place) for number, place in enumerate(places)]


def compiled(candidate: PodBuilder, snap: State, args: PodTopologySpreadArgs | None = None) -> NodeFilter:
    result = PodTopologySpread(args).pre_filter(candidate.info(), snap)
    assert isinstance(result, NodeFilter)
    return result


def fits(plugin: NodeFilter, snap: State) -> str:
    """The names of the nodes that pass."""
    return " ".join(node.name for node in snap.nodes if plugin.filter(node) is SUCCESS)


# --- Filter -------------------------------------------------------------------------------------------

FILTER = {
    "a zone without pods is the minimum": (
        web().spread(ZONE, WEB),
        three_zones(),
        running("a1", "b1"),
        "c1",
    ),
    "a wider skew lets the others in, too": (
        web().spread(ZONE, WEB, 2),
        three_zones(),
        running("a1", "b1"),
        "a1 b1 c1 a2",
    ),
    "pods count for all nodes of their zone": (
        web().spread(ZONE, WEB),
        three_zones(),
        running("a1", "a1", "b1", "c1"),
        "b1 c1",
    ),
    "hosts are domains like any other": (
        web().spread(HOSTNAME, WEB),
        three_zones(),
        running("a1", "b1"),
        "c1 a2",
    ),
    "a pod that its own selector does not match adds nothing to the skew": (
        pod().spread(ZONE, WEB),
        three_zones(),
        running("a1", "b1"),
        "a1 b1 c1 a2",
    ),
    "a missing selector matches nobody": (
        web().spread(ZONE, None),
        three_zones(),
        running("a1", "a1", "a1"),
        "a1 b1 c1 a2",
    ),
    "an empty selector counts nobody, though it matches the pod itself": (
        web().spread(ZONE, selector()),
        three_zones(),
        running("a1", "a1", "a1"),
        "a1 b1 c1 a2",
    ),
    "pods that are being deleted do not count": (
        web().spread(ZONE, WEB),
        three_zones(),
        [*running("b1"), web("gone").on("a1").terminating()],
        "a1 c1 a2",
    ),
    "pods of other namespaces do not count": (
        web().spread(ZONE, WEB),
        three_zones(),
        [*running("b1"), web("other", "shop").on("a1")],
        "a1 c1 a2",
    ),
    "only pods of the same revision count": (
        web().labels(rev="2").spread(ZONE, WEB, match_label_keys=("rev", "absent")),
        three_zones(),
        [*running("a1", "a1"), web("new").labels(rev="2").on("b1")],
        "a1 c1 a2",
    ),
    "with fewer domains than minDomains the minimum is 0": (
        web().spread(ZONE, WEB, min_domains=4),
        three_zones(),
        running("a1", "b1", "c1"),
        "",
    ),
    "with as many domains as minDomains it is what it is": (
        web().spread(ZONE, WEB, min_domains=3),
        three_zones(),
        running("a1", "b1", "c1"),
        "a1 b1 c1 a2",
    ),
    "a zone that the pod's own nodeSelector rules out does not count": (
        web().node_selector(disk="ssd").spread(ZONE, WEB),
        [node("a1").zone("a").labels(disk="ssd"), node("b1").zone("b")],
        running("a1"),
        "a1 b1",
    ),
    "unless nodeAffinityPolicy is Ignore": (
        web().node_selector(disk="ssd").spread(ZONE, WEB, node_affinity_policy="Ignore"),
        [node("a1").zone("a").labels(disk="ssd"), node("b1").zone("b")],
        running("a1"),
        "b1",
    ),
    "a tainted zone counts": (
        web().spread(ZONE, WEB),
        [node("a1").zone("a"), node("b1").zone("b").taint("x")],
        running("a1"),
        "b1",
    ),
    "unless nodeTaintsPolicy is Honor": (
        web().spread(ZONE, WEB, node_taints_policy="Honor"),
        [node("a1").zone("a"), node("b1").zone("b").taint("x")],
        running("a1"),
        "a1 b1",
    ),
    "a tolerated taint does not matter": (
        web().toleration("x", "Exists").spread(ZONE, WEB, node_taints_policy="Honor"),
        [node("a1").zone("a"), node("b1").zone("b").taint("x")],
        running("a1"),
        "b1",
    ),
    "a preference against a node is no taint to honor": (
        web().spread(ZONE, WEB, node_taints_policy="Honor"),
        [node("a1").zone("a"), node("b1").zone("b").taint("x", effect="PreferNoSchedule")],
        running("a1"),
        "b1",
    ),
    "a cordoned node counts": (
        web().spread(ZONE, WEB, node_taints_policy="Honor"),
        [node("a1").zone("a"), node("b1").zone("b").cordoned()],
        running("a1"),
        "b1",
    ),
    "a node that lacks any of the keys counts for none": (
        web().spread(ZONE, WEB).spread("rack", WEB, 9),
        [node("a1").zone("a").labels(rack="1"), node("b1").zone("b").labels(rack="1"), node("c1").zone("c")],
        running("a1", "b1"),
        "a1 b1",
    ),
    "soft constraints do not filter": (
        web().spread(HOSTNAME, WEB, 9).spread(ZONE, WEB, soft=True),
        three_zones(),
        running("a1", "a1"),
        "a1 b1 c1 a2",
    ),
}


@pytest.mark.parametrize(("candidate", "nodes", "pods", "expected"), FILTER.values(), ids=FILTER.keys())
def test_filter(candidate: PodBuilder, nodes: list[NodeBuilder], pods: list[PodBuilder], expected: str) -> None:
    snap = snapshot(*nodes, *pods)
    assert fits(compiled(candidate, snap), snap) == expected


@pytest.mark.parametrize(
    "pins",
    [
        pytest.param([on_name("n00"), on_name("n01")], id="by name"),
        pytest.param([term(requirement(HOSTNAME, "In", "n00", "n01"))], id="by a label of its own"),
    ],
)
def test_nodes_of_one_shape_may_differ_in_what_the_pod_asks(pins: list[NodeSelectorTerm]) -> None:
    nodes = [node(f"n{number:02}").zone("ab"[number % 2]) for number in range(12)]
    snap = snapshot(*nodes, *running("n02", "n02", "n01"))
    assert snap.by_name["n00"].shape == snap.by_name["n02"].shape
    # The pods in zone a are on a node that does not count; that in zone b does.
    plugin = compiled(web().node_affinity(*pins).spread(ZONE, WEB), snap)
    assert [plugin.filter(snap.by_name[name]).code for name in ("n00", "n01")] == [Code.SUCCESS, Code.UNSCHEDULABLE]


def test_too_much_skew_may_be_resolved_by_eviction_and_says_how_much_it_is() -> None:
    snap = snapshot(*three_zones(), *running("a1", "a2", "b1", "c1"))
    status = compiled(web().spread(ZONE, WEB), snap).filter(snap.by_name["a2"])
    assert status == Status(
        Code.UNSCHEDULABLE,
        ("node(s) didn't match pod topology spread constraints",),
        (SpreadSkew(ZONE, "a", matching=2, minimum=1, self_match=1, max_skew=1),),
    )


def test_a_missing_label_cannot_be_resolved() -> None:
    snap = snapshot(*three_zones(), node("bare"))
    status = compiled(web().spread(ZONE, WEB), snap).filter(snap.by_name["bare"])
    assert status == Status(
        Code.UNRESOLVABLE,
        ("node(s) didn't match pod topology spread constraints (missing required label)",),
        (MissingTopologyLabel(ZONE),),
    )


def test_the_first_violated_constraint_decides() -> None:
    snap = snapshot(*three_zones(), *running("a1", "a1"))
    plugin = compiled(web().spread(ZONE, WEB).spread("rack", WEB), snap)
    assert [plugin.filter(snap.by_name[name]).code for name in ("a1", "b1")] == [Code.UNRESOLVABLE] * 2
    snap = snapshot(*(each.labels(rack="1") for each in three_zones()), node("d1").zone("a"), *running("a1", "a1"))
    plugin = compiled(web().spread(ZONE, WEB).spread("rack", WEB), snap)
    assert plugin.filter(snap.by_name["d1"]).code is Code.UNSCHEDULABLE


def test_the_verdict_depends_on_pods_elsewhere() -> None:
    assert compiled(web().spread(ZONE, WEB), snapshot()).reads is Reads.CLUSTER


@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param(web(), id="no constraints: the built-in ones are soft"),
        pytest.param(web().spread(ZONE, WEB, soft=True), id="only soft constraints"),
    ],
)
def test_nothing_to_filter(candidate: PodBuilder) -> None:
    snap = snapshot(*three_zones(), service("web", {"app": "web"}))
    assert PodTopologySpread().pre_filter(candidate.info(), snap) is SKIP


LISTED = PodTopologySpreadArgs(
    defaulting_type="List",
    default_constraints=(
        TopologySpreadConstraint(topology_key=ZONE, max_skew=1, when_unsatisfiable="DoNotSchedule"),
        TopologySpreadConstraint(topology_key=HOSTNAME, max_skew=1, when_unsatisfiable="ScheduleAnyway"),
    ),
)


def test_listed_defaults_apply_to_what_the_pods_services_select() -> None:
    snap = snapshot(*three_zones(), *running("a1", "b1"), service("web", {"app": "web"}))
    assert fits(compiled(web(), snap, LISTED), snap) == "c1"


@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param(pod(), id="no service selects the pod"),
        pytest.param(web().spread(ZONE, WEB, soft=True), id="the pod has constraints of its own, though none is hard"),
    ],
)
def test_listed_defaults_do_not_apply(candidate: PodBuilder) -> None:
    snap = snapshot(*three_zones(), *running("a1"), service("web", {"app": "web"}))
    assert PodTopologySpread(LISTED).pre_filter(candidate.info(), snap) is SKIP


def test_an_invalid_selector_is_an_error() -> None:
    snap = snapshot(*three_zones())
    broken = selector(requirement("app", "Near", "web"))
    problem = '"Near" is not a valid label selector operator'
    plugin = PodTopologySpread()
    assert plugin.pre_filter(web().spread(ZONE, broken).info(), snap) == error(
        f"get constraints from pod: obtaining pod's hard topology spread constraints: {problem}"
    )
    assert plugin.pre_score(web().spread(ZONE, broken, soft=True).info(), snap, snap.nodes) == error(
        f"calculating preScoreState: obtaining pod's soft topology spread constraints: {problem}"
    )
    assert plugin.pre_filter(web().spread(ZONE, broken, soft=True).info(), snap) is SKIP


# --- AddPod, RemovePod --------------------------------------------------------------------------------


def test_removing_a_pod_lowers_its_domain() -> None:
    snap = snapshot(*three_zones(), *running("a1", "b1"))
    plugin = compiled(web().spread(ZONE, WEB), snap)
    fork = plugin.fork()
    fork.remove_pod(snap.pods["default/web-0"], snap.by_name["a1"])
    assert fits(fork, snap) == "a1 c1 a2"
    assert fits(plugin, snap) == "c1"
    fork.add_pod(snap.pods["default/web-0"], snap.by_name["a1"])
    assert fits(fork, snap) == "c1"


def test_adding_a_pod_may_raise_the_minimum() -> None:
    snap = snapshot(*three_zones(), *running("a1", "b1"))
    fork = compiled(web().spread(ZONE, WEB), snap).fork()
    fork.add_pod(web("added").info(), snap.by_name["c1"])
    assert fits(fork, snap) == "a1 b1 c1 a2"


@pytest.mark.parametrize(
    ("other", "place"),
    [
        pytest.param(pod("other"), "c1", id="a pod that no selector matches"),
        pytest.param(web("other", "shop"), "c1", id="a pod of another namespace"),
        pytest.param(web("other"), "bare", id="a pod on a node that lacks a key"),
        pytest.param(web("other"), "c2", id="a pod on a node that does not count"),
    ],
)
def test_pods_that_change_nothing(other: PodBuilder, place: str) -> None:
    nodes = [each.labels(disk="ssd") for each in three_zones()]
    snap = snapshot(*nodes, node("bare").labels(disk="ssd"), node("c2").zone("c"), *running("a1", "b1"))
    fork = compiled(web().node_selector(disk="ssd").spread(ZONE, WEB), snap).fork()
    before = fits(fork, snap)
    fork.add_pod(other.info(), snap.by_name[place])
    assert fits(fork, snap) == before == "c1 c2"


@pytest.mark.parametrize(
    ("candidate", "victim"),
    [
        pytest.param(web().spread(ZONE, WEB), web("victim").terminating(), id="one that is being deleted"),
        pytest.param(web().spread(ZONE, selector()), web("victim"), id="one that an empty selector matches"),
    ],
)
def test_evicting_a_pod_that_was_never_counted_lowers_the_count_below_0(
    candidate: PodBuilder, victim: PodBuilder
) -> None:
    snap = snapshot(*three_zones(), victim.on("a1"))
    fork = compiled(candidate, snap).fork()
    assert fits(fork, snap) == "a1 b1 c1 a2"
    fork.remove_pod(snap.pods["default/victim"], snap.by_name["a1"])
    assert fits(fork, snap) == "a1 a2"


def test_the_minimum_is_right_as_long_as_one_domain_changes() -> None:
    paths = CriticalPaths({"a": 1, "b": 1, "c": 1})
    paths.update("a", 3)
    assert paths.least == 1
    paths.update("a", 0)
    assert paths.least == 0
    paths.update("a", 2)
    assert paths.least == 1


def test_the_runner_up_takes_over_when_the_minimum_grows() -> None:
    paths = CriticalPaths({"a": 3, "b": 1, "c": 7})
    paths.update("b", 5)
    assert paths.least == 3


def test_the_minimum_forgets_a_third_domain_when_two_change() -> None:
    paths = CriticalPaths({"a": 1, "b": 1, "c": 1})
    paths.update("a", 3)
    paths.update("b", 5)
    assert paths.least == 3  # c still has 1


def test_a_single_domain_is_the_minimum_whatever_becomes_of_it() -> None:
    paths = CriticalPaths({"a": 1})
    paths.update("a", 7)
    assert paths.least == 7


# --- Score --------------------------------------------------------------------------------------------


def scores(
    candidate: PodBuilder, snap: State, names: str = "", args: PodTopologySpreadArgs | None = None
) -> dict[str, tuple[int, int]]:
    """Raw and normalised score of the feasible nodes; all, if none are named."""
    nodes = [snap.by_name[name] for name in names.split()] or snap.nodes
    scorer = PodTopologySpread(args).pre_score(candidate.info(), snap, nodes)
    assert isinstance(scorer, NodeScorer)
    raw = [scorer.score(node) for node in nodes]
    points = scorer.normalize(raw, nodes)
    return {node.name: pair for node, pair in zip(nodes, zip(raw, points, strict=True), strict=True)}


def test_fewer_pods_in_the_zone_give_more_points() -> None:
    nodes = [node(f"{zone}{number}").zone(zone) for zone in "ab" for number in range(3)]
    snap = snapshot(*nodes, *running("a0", "a0", "a1", "a2", "b0"))
    # ln(2 + 2) = 1.386 per pod: 5.545 and 1.386, rounded.
    assert scores(web().spread(ZONE, WEB, soft=True), snap) == {
        "a0": (6, 16), "a1": (6, 16), "a2": (6, 16), "b0": (1, 100), "b1": (1, 100), "b2": (1, 100),
    }  # fmt: skip


def test_hosts_are_counted_one_by_one_and_weigh_by_the_number_of_feasible_nodes() -> None:
    snap = snapshot(*three_zones(), *running("a1", "a1", "b1"))
    # ln(4 + 2) = 1.792 per pod.
    assert scores(web().spread(HOSTNAME, WEB, soft=True), snap) == {
        "a1": (4, 0), "b1": (2, 50), "c1": (0, 100), "a2": (0, 100),
    }  # fmt: skip


def test_only_domains_of_feasible_nodes_count_for_the_weight() -> None:
    snap = snapshot(*three_zones(), *running("a1", "a1", "a1", "b1"))
    # Two zones: ln(4) = 1.386 per pod; the pods of an infeasible node of such a zone count all the same.
    assert scores(web().spread(ZONE, WEB, soft=True), snap, "a2 b1") == {"a2": (4, 25), "b1": (1, 100)}


def test_a_tolerated_skew_waters_the_difference_down() -> None:
    snap = snapshot(*three_zones(), *running("a1", "a1"))
    assert scores(web().spread(ZONE, WEB, 5, soft=True), snap, "a1 b1") == {"a1": (7, 57), "b1": (4, 100)}


def test_all_are_equal_when_there_are_no_pods() -> None:
    snap = snapshot(*three_zones())
    assert scores(web().spread(ZONE, WEB, soft=True), snap, "a1 b1") == {"a1": (0, 100), "b1": (0, 100)}


def test_a_node_that_lacks_a_key_gets_nothing() -> None:
    snap = snapshot(*three_zones(), node("bare"), *running("a1"))
    said = scores(web().spread(ZONE, WEB, soft=True).spread(HOSTNAME, WEB, soft=True), snap)
    assert said["bare"] == (0, 0)
    assert said["b1"] == (0, 100)


def test_with_the_built_in_constraints_such_a_node_is_scored_by_its_host() -> None:
    snap = snapshot(*three_zones(), node("bare"), *running("bare", "a1"), service("web", {"app": "web"}))
    # host: ln(5 + 2) = 1.946 per pod, and 2; zone: three zones and the lack of one, ln(4 + 2) = 1.792 per pod, and 4.
    assert scores(web(), snap) == {
        "a1": (10, 40), "a2": (8, 60), "b1": (6, 80), "bare": (4, 100), "c1": (6, 80),
    }  # fmt: skip


def test_listed_defaults_ignore_it() -> None:
    soft = tuple(
        TopologySpreadConstraint(topology_key=key, max_skew=1, when_unsatisfiable="ScheduleAnyway")
        for key in (HOSTNAME, ZONE)
    )
    args = PodTopologySpreadArgs(defaulting_type="List", default_constraints=soft)
    snap = snapshot(*three_zones(), node("bare"), *running("a1"), service("web", {"app": "web"}))
    assert scores(web(), snap, args=args)["bare"] == (0, 0)


def test_ineligible_nodes_do_not_count_for_zones_but_do_for_hosts() -> None:
    nodes = [node("a1").zone("a").labels(disk="ssd"), node("a2").zone("a"), node("b1").zone("b").labels(disk="ssd")]
    snap = snapshot(*nodes, *running("a2", "a2"))
    candidate = web().node_selector(disk="ssd")
    assert scores(candidate.spread(ZONE, WEB, soft=True), snap, "a1 b1") == {"a1": (0, 100), "b1": (0, 100)}
    candidate = web().node_selector(disk="ssd").spread(HOSTNAME, WEB, soft=True)
    assert scores(candidate, snap, "a1 a2") == {"a1": (0, 100), "a2": (3, 0)}


def test_the_pods_on_a_node_info_from_elsewhere_are_its_own() -> None:
    snap = snapshot(*three_zones(), *running("a1", "b1"))
    nodes = [node("a1").zone("a").info(), snap.by_name["b1"]]
    scorer = PodTopologySpread().pre_score(web().spread(HOSTNAME, WEB, soft=True).info(), snap, nodes)
    assert isinstance(scorer, NodeScorer)
    assert [scorer.score(each) for each in nodes] == [0, 1]


@pytest.mark.parametrize(
    ("candidate", "objects"),
    [
        pytest.param(web().spread(ZONE, WEB), three_zones(), id="only hard constraints"),
        pytest.param(web(), three_zones(), id="nothing selects the pod"),
        pytest.param(web().spread(ZONE, WEB, soft=True), [], id="no nodes"),
        pytest.param(
            web().owner("ReplicaSet", "web"),
            [*three_zones(), ReplicaSet(metadata=ReplicaSetMeta(name="web", namespace="shop"), spec=ReplicaSetSpec(selector=WEB))],
            id="the set is of another namespace",
        ),
    ],
)  # fmt: skip
def test_nothing_to_score(candidate: PodBuilder, objects: list[Any]) -> None:
    snap = snapshot(*objects)
    assert PodTopologySpread().pre_score(candidate.info(), snap, snap.nodes) is SKIP


@pytest.mark.parametrize(
    ("key", "by_shape", "exceptions"),
    [
        pytest.param(ZONE, True, set(), id="zones"),
        pytest.param("rack", False, set(), id="a label that tells most nodes apart"),
        pytest.param(HOSTNAME, True, {"n00", "n07"}, id="hosts: even nodes of one shape have different pods"),
    ],
)
def test_scores_are_shared_by_shape_where_they_depend_on_nothing_else(
    key: str, by_shape: bool, exceptions: set[str]
) -> None:
    nodes = [node(f"n{number:02}").zone("ab"[number % 2]).labels(rack=f"r{number}") for number in range(12)]
    same = [each.labels({HOSTNAME: "same"}) for number, each in enumerate(nodes) if number != 7]
    snap = snapshot(*same, nodes[7].without_label(HOSTNAME), *running("n00"))
    scorer = PodTopologySpread().pre_score(web().spread(key, WEB, soft=True).info(), snap, snap.nodes)
    assert isinstance(scorer, SpreadScorer)
    assert scorer.by_shape is by_shape
    assert scorer.exceptions(snap.nodes) == exceptions


@pytest.mark.parametrize(
    ("number", "rounded"),
    [(0.0, 0), (0.5, 1), (1.5, 2), (2.5, 3), (2.4999999, 2), (0.49999999999999994, 0), (-0.5, -1), (-1.4, -1)],
)
def test_halves_are_rounded_away_from_zero(number: float, rounded: int) -> None:
    assert round_half_away(number) == rounded
