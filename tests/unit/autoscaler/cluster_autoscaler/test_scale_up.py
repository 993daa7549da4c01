"""Scale-up of the Cluster Autoscaler, rule by rule."""

from typing import Any

import pytest

from tests.cluster_autoscaler.play import Json, added, asked, group, node, pod, refusals, replica_set, scaled_up

FULL = [node("a"), pod("big", cpu="4", on="a")]


def waiting(count: int, cpu: str = "2", **more: Any) -> list[Json]:
    return [replica_set(), *(pod(f"p{number}", cpu=cpu, **more) for number in range(count))]


def test_as_many_nodes_as_the_pods_fill() -> None:
    assert added([*FULL, *waiting(5)], group("g", "a")) == {"g": 3}
    assert added(FULL, group("g", "a")) == {}


def test_pods_that_fit_already_are_not_counted() -> None:
    found = scaled_up([node("a"), *waiting(3)], group("g", "a"))
    assert [(each["nodes"], each["pods"]) for each in found["options"]] == [(1, ["default/p2"])]


def test_a_pod_like_one_that_found_no_place_is_not_tried() -> None:
    """Also where there would be one for it: with anti-affinity to its own kind it has none, one behind another does."""
    keeps = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "z"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    pods = [
        pod("a1", cpu="100m", spec={"affinity": keeps}, created="2026-11-20T10:00:00Z"),
        pod("z1", cpu="100m", labels={"app": "z"}, owner="ReplicaSet/z", created="2026-11-20T10:00:01Z"),
        pod("a2", cpu="100m", spec={"affinity": keeps}, created="2026-11-20T10:00:02Z"),
    ]
    found = scaled_up([node("a"), replica_set(), replica_set("z"), *pods], group("g", "a"))
    assert refusals(found).keys() == {"default/a1", "default/a2"}


@pytest.mark.parametrize(
    ("priority", "flags", "helped"),
    [(-11, {}, False), (-10, {}, True), (-1, {"expendable-pods-priority-cutoff": 0}, False), (None, {}, True)],
)
def test_expendable_pods_add_no_node(priority: int | None, flags: Json, helped: bool) -> None:
    pods = waiting(1, priority=priority)
    assert bool(added([*FULL, *pods], group("g", "a"), flags=flags)) is helped


def test_pods_of_daemon_sets_and_gated_ones_add_no_node() -> None:
    daemon = pod("d", cpu="2", owner="DaemonSet/agent")
    marked = pod("m", cpu="2", annotations={"cluster-autoscaler.kubernetes.io/daemonset-pod": "true"})
    fresh = pod("f", cpu="2", status={"conditions": []})
    promised = pod("n", cpu="2", status={"nominatedNodeName": "a"})
    assert added([*FULL, replica_set(), daemon, marked, fresh, promised], group("g", "a")) == {}


def test_a_scheduler_may_be_bypassed_or_not_allowed() -> None:
    fresh = pod("f", cpu="2", status={"conditions": []})
    objects = [*FULL, replica_set(), fresh]
    assert added(objects, group("g", "a"), flags={"bypassed-scheduler-names": "default-scheduler"}) == {"g": 1}
    assert added([*FULL, *waiting(1)], group("g", "a"), flags={"allowed-scheduler-names": "other"}) == {}


def test_young_pods_wait() -> None:
    objects = [*FULL, *waiting(1, created="2026-11-20T11:59:50Z")]
    assert added(objects, group("g", "a"), flags={"new-pod-scale-up-delay": "30s"}) == {}
    own = {"cluster-autoscaler.kubernetes.io/pod-scale-up-delay": "1m"}
    assert added([*FULL, *waiting(1, created="2026-11-20T11:59:50Z", annotations=own)], group("g", "a")) == {}
    assert added(objects, group("g", "a")) == {"g": 1}


def test_nodes_that_are_on_their_way_take_pods() -> None:
    assert added([*FULL, *waiting(3)], group("g", "a", target=2)) == {"g": 1}
    starting = node("b", ready=False, created="2026-11-20T11:55:00Z", since="2026-11-20T11:55:00Z")
    assert added([*FULL, starting, *waiting(2)], group("g", "a", "b")) == {}


def test_pods_of_a_node_that_is_being_deleted_are_helped() -> None:
    deleted = [{"key": "ToBeDeletedByClusterAutoscaler", "value": "1795175940", "effect": "NoSchedule"}]
    going = [node("b", taints=deleted), pod("moved", cpu="2", on="b"), replica_set()]
    found = scaled_up([*FULL, *going], group("g", "a", "b"))
    assert [each["pods"] for each in found["options"]] == [["default/moved"]]
    since = [{**deleted[0], "value": "1795100000"}]
    assert added([*FULL, node("b", taints=since), pod("moved", cpu="2", on="b"), replica_set()], group("g", "a")) == {}


# --- templates -------------------------------------------------------------------------------------------------------


def test_a_new_node_has_no_taints_of_a_state() -> None:
    kept = {"key": "team", "value": "a", "effect": "NoSchedule"}
    passing = [
        {"key": "DeletionCandidateOfClusterAutoscaler", "effect": "PreferNoSchedule"},
        {"key": "status-taint.cluster-autoscaler.kubernetes.io/x", "effect": "NoSchedule"},
        {"key": "NodeWithImpairedVolumes", "effect": "NoSchedule"},
        {"key": "mine", "effect": "NoSchedule"},
    ]
    flags = {"status-taint": ["mine"]}
    assert added([node("a", taints=passing), *waiting(1)], group("g", "a"), flags=flags) == {"g": 1}
    found = scaled_up([node("a", taints=[kept, *passing]), *waiting(1)], group("g", "a"), flags=flags)
    assert refusals(found) == {"default/p0": {"g": "node(s) had untolerated taint(s)"}}


def test_a_node_that_is_not_ready_is_the_last_example() -> None:
    small = node("a", cpu="1", ready=False)
    large = node("b", cpu="8")
    assert added([small, large, pod("x", cpu="8", on="b"), *waiting(4)], group("g", "a", "b")) == {"g": 1}
    template = {"node": node("t", cpu="2")}
    assert added([small, *waiting(2)], group("g", "a", template=template)) == {"g": 2}
    assert refusals(scaled_up([small, *waiting(2)], group("g", "a")))["default/p0"] == {"g": "Insufficient cpu"}


def test_a_cordoned_example_makes_cordoned_nodes_unless_a_flag_says_otherwise() -> None:
    objects = [node("a", unschedulable=True), *waiting(1)]
    assert refusals(scaled_up(objects, group("g", "a")))["default/p0"] == {"g": "node(s) were unschedulable"}
    assert added(objects, group("g", "a"), flags={"scale-from-unschedulable": True}) == {"g": 1}


def daemon_set(name: str, cpu: str, **spec: Any) -> Json:
    containers = [{"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers, **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template},
    }


def test_daemon_sets_take_their_part_of_new_nodes() -> None:
    agent = daemon_set("agent", "1")
    running = pod("agent-1", cpu="1", on="a", owner="DaemonSet/agent", labels={"app": "agent"})
    full = [node("a"), pod("big", cpu="3", on="a"), agent, running]
    assert added([*full, *waiting(3, cpu="1500m")], group("g", "a")) == {"g": 2}
    # One that does not run on the node counts only where it is made to, or puts others out.
    missing = [*FULL, agent, *waiting(3, cpu="1500m")]
    assert added(missing, group("g", "a")) == {"g": 2}
    assert added([*FULL, agent, *waiting(2, cpu="2")], group("g", "a")) == {"g": 1}
    assert added([*FULL, agent, *waiting(2, cpu="2")], group("g", "a"), flags={"force-ds": True}) == {"g": 2}
    critical = daemon_set("agent", "1", priorityClassName="system-node-critical")
    assert added([*FULL, critical, *waiting(2, cpu="2")], group("g", "a")) == {"g": 2}
    template = group("g", template={"node": node("t")})
    assert added([agent, node("other", cpu="100m"), *waiting(2, cpu="2")], template) == {"g": 2}


# --- limits ----------------------------------------------------------------------------------------------------------


def test_a_group_at_its_maximum_is_refused_by_name_and_is_the_nearest() -> None:
    found = scaled_up([*FULL, *waiting(1)], group("g", "a", max=1))
    assert refusals(found) == {"default/p0": {"g": "max node group size reached"}}
    assert found["refused"][0]["nearest"]["group"] == "g"


def test_no_more_nodes_than_there_is_room_for() -> None:
    assert added([*FULL, *waiting(9)], group("g", "a", max=3)) == {"g": 2}
    assert added([*FULL, *waiting(9)], group("g", "a"), flags={"max-nodes-per-scaleup": 1}) == {"g": 1}
    assert added([*FULL, *waiting(9)], group("g", "a"), flags={"max-nodes-total": 3}) == {"g": 2}
    refused = scaled_up([*FULL, *waiting(2)], group("g", "a"), flags={"max-nodes-total": 1})["refused"]
    assert [each["message"] for each in refused] == ["max total nodes in cluster reached: 1"] * 2


@pytest.mark.parametrize(
    ("flag", "limit", "delta"),
    [("cores-total", "0:12", 2), ("cores-total", "0:7", 0), ("memory-total", "0:35", 1), ("memory-total", "0:99", 5)],
)
def test_limits_of_the_cluster(flag: str, limit: str, delta: int) -> None:
    found = scaled_up([*FULL, *waiting(9)], group("g", "a"), flags={flag: limit})
    assert [each["delta"] for each in found["scaleUp"]] == [delta] * bool(delta)
    if not delta:
        resource = flag.removesuffix("s-total").replace("core", "cpu")
        assert set(refusals(found)["default/p0"].values()) == {f'exceeded quota: "cluster-wide", resources: {resource}'}


def test_the_autoscaler_does_nothing_while_too_many_nodes_are_not_ready() -> None:
    taints = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    unready = [node(f"n{number}", ready=False, taints=taints) for number in range(4)]
    objects = [*FULL, *unready, *waiting(1)]
    assert added(objects, group("g", "a")) == {}
    assert "autoscaler-halted" in codes("autoscale", objects, group("g", "a"))
    assert added(objects, group("g", "a"), flags={"ok-total-unready-count": 4}) == {"g": 1}


def test_rounds_go_on_until_nothing_more_is_added() -> None:
    full = [*FULL, node("b", cpu="8", labels={"pool": "b"}), pod("more", cpu="8", on="b")]
    other = [replica_set("other"), pod("q", owner="ReplicaSet/other", spec={"nodeSelector": {"pool": "b"}})]
    settings = {"groups": [group("g", "a"), group("h", "b")], "expander": "least-waste"}
    report = asked("autoscale", [*full, *waiting(2), *other], settings).to_dict()
    rounds = report["autoscaler"]["rounds"]
    assert [[(each["group"], each["delta"]) for each in found["scaleUp"]] for found in rounds] == [
        [("g", 1)],
        [("h", 1)],
    ]
    assert [[(each["pod"], each["node"]) for each in found["placed"]] for found in rounds] == [
        [("default/p0", "g-new-1"), ("default/p1", "g-new-1")],
        [("default/q", "h-new-1")],
    ]


def test_a_group_with_too_many_unready_nodes_is_not_ready() -> None:
    taints = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    unready = [node(f"n{number}", ready=False, taints=taints) for number in range(4)]
    small = [node(f"small{number}", cpu="1") for number in range(5)]
    objects = [*FULL, *small, *unready, *waiting(1)]
    names = [f"n{number}" for number in range(4)]
    assert refusals(scaled_up(objects, group("g", "a", *names)))["default/p0"] == {"g": "not ready for scale-up"}
    assert added(objects, group("g", "a", *names), flags={"ok-total-unready-count": 4}) == {"g": 1}


# --- the choice ------------------------------------------------------------------------------------------------------

TWO = [
    node("a", cpu="4", memory="16Gi"),
    pod("x", cpu="4", on="a"),
    node("b", cpu="16", memory="64Gi"),
    pod("y", cpu="16", on="b"),
]


@pytest.mark.parametrize(
    ("expander", "chosen"),
    [
        ("least-waste", {"a": 2}),
        ("least-nodes", {"b": 1}),
        ("most-pods,least-nodes", {"b": 1}),
        (["most-pods", "least-waste"], {"a": 2}),
        ("priority", {"b": 1}),
        ("price", {"a": 2}),
    ],
)
def test_expanders(expander: object, chosen: dict[str, int]) -> None:
    groups = group("a", "a", price=0.2, priority=5), group("b", "b", price=0.8, priority=10)
    assert added([*TWO, *waiting(4)], *groups, expander=expander) == chosen


@pytest.mark.parametrize(
    ("odd", "memory", "chosen"),
    [
        ("a", None, "a"),  # NaN is kept if it comes first, and is not less than anything later
        ("b", None, "a"),
        ("a", "64Mi", "a"),  # the waste is negative infinity
        ("b", "64Mi", "b"),
    ],
)
def test_least_waste_of_nodes_without_memory_compares_as_go_does(odd: str, memory: str | None, chosen: str) -> None:
    nodes = [node(name, labels={"name": name}) for name in ("a", "b")]
    for each in nodes:
        if each["metadata"]["name"] == odd:
            each["status"]["capacity"] = {"cpu": "4", "pods": "110"}
    requests = {"cpu": "4"} | ({} if memory is None else {"memory": memory})
    containers = [{"name": "main", "image": "app:1", "resources": {"requests": requests}}]
    objects = [
        *nodes,
        pod("x", cpu="4", on="a"),
        pod("y", cpu="4", on="b"),
        *waiting(1, spec={"containers": containers}),
    ]
    assert added(objects, group("a", "a"), group("b", "b"), expander="least-waste") == {chosen: 1}


def test_a_node_without_cpu_is_infinitely_unfit_for_the_price_expander() -> None:
    nodes = [node("a"), node("b")]
    nodes[0]["status"]["capacity"] = {"memory": "16Gi", "pods": "110"}
    objects = [*nodes, pod("x", cpu="4", on="a"), pod("y", cpu="4", on="b"), *waiting(1)]
    groups = group("a", "a", price=0.0001), group("b", "b", price=1)
    assert added(objects, *groups, expander="price") == {"b": 1}


def test_a_group_without_priority_is_used_only_if_none_has_one() -> None:
    groups = group("a", "a"), group("b", "b", priority=1)
    assert added([*TWO, *waiting(4)], *groups, expander="priority,least-waste") == {"b": 1}
    assert added([*TWO, *waiting(4)], group("a", "a"), group("b", "b"), expander="priority,least-waste") == {"a": 2}


def codes(ask: str, objects: list[Json], *groups: Json, **settings: Any) -> set[str]:
    report = asked(ask, objects, {"groups": list(groups), **settings})
    return {caveat.code for caveat in report.caveat_details}


def test_what_is_not_known_is_said() -> None:
    twin = [node("b"), pod("y", cpu="4", on="b")]
    two = [*FULL, *twin, *waiting(1)], group("g", "a"), group("h", "b")
    assert {"expander-tied", "expander-assumed", "cloud-capacity-unknown"} <= codes("autoscale", *two)
    assert {"expander-tied", "prices-unknown"} <= codes("autoscale", *two, expander="price")
    assert "expander-assumed" not in codes("autoscale", *two, expander="random")
    unbounded = {"name": "g", "nodes": ["a"]}
    assert "group-bounds-unknown" in codes("autoscale", [*FULL, *waiting(1)], unbounded)
    salvo = codes("autoscale", [*FULL, *waiting(1)], group("g", "a"), flags={"salvo-scale-up": True})
    assert "autoscaler-flags-not-modelled" in salvo
    cheap = pod("cheap", cpu="100m", on="a", priority=-20)
    assert "expendable-pods-count" in codes("autoscale", [*FULL, cheap, *waiting(1)], group("g", "a"))


# --- groups that are alike ---------------------------------------------------------------------------------------------


def zones(sizes: dict[str, int], **more: Any) -> tuple[list[Json], list[Json]]:
    """Full nodes in groups by zone, and the groups."""
    nodes, groups = [], []
    for zone, size in sizes.items():
        names = [f"{zone}{number}" for number in range(size)]
        for name in names:
            labels = {"topology.kubernetes.io/zone": zone, **more.get(zone, {})}
            nodes += [node(name, labels=labels), pod(f"x-{name}", cpu="4", on=name)]
        groups.append(group(zone, *names))
    return nodes, groups


def test_new_nodes_are_spread_over_groups_that_are_alike() -> None:
    flags = {"balance-similar-node-groups": True}
    nodes, groups = zones({"a": 3, "b": 1, "c": 2})
    assert added([*nodes, *waiting(12)], *groups, flags=flags) == {"a": 1, "b": 3, "c": 2}
    assert len(added([*nodes, *waiting(12)], *groups)) == 1


@pytest.mark.parametrize(
    ("labels", "flags", "alike"),
    [
        ({"pool": "x"}, {}, False),
        ({"pool": "x"}, {"balancing-ignore-label": "pool"}, True),
        ({"kops.k8s.io/instancegroup": "x"}, {}, True),
        ({"pool": "x"}, {"balancing-label": ["kubernetes.io/hostname"]}, False),
    ],
)
def test_groups_with_other_labels_are_not_alike(labels: dict[str, str], flags: Json, alike: bool) -> None:
    nodes, groups = zones({"a": 1, "b": 1}, b=labels)
    found = added([*nodes, *waiting(4)], *groups, flags={"balance-similar-node-groups": True, **flags})
    assert (len(found) == 2) is alike


def test_groups_alike_share_the_room_of_an_estimate() -> None:
    nodes, groups = zones({"a": 1, "b": 1})
    bounded = [{**each, "max": 2} for each in groups]
    flags = {"balance-similar-node-groups": True}
    assert added([*nodes, *waiting(12)], *bounded, flags=flags) == {"a": 1, "b": 1}


def test_the_quick_estimate_comes_to_the_same_for_equal_pods() -> None:
    objects = [*FULL, *waiting(9)]
    assert added(objects, group("g", "a"), flags={"fastpath-binpacking-enabled": True}) == added(
        objects, group("g", "a")
    )


# --- refusals ----------------------------------------------------------------------------------------------------------


def test_the_nearest_group_says_what_is_lacking_and_by_how_much() -> None:
    large = waiting(1, cpu="20", spec={"nodeSelector": {"pool": "x"}})
    groups = group("a", "a"), group("b", "b")
    pool = [node("a"), node("b", cpu="16", labels={"pool": "x"})]
    [row] = scaled_up([*pool, *large], *groups)["refused"]
    nearest = row["nearest"]
    assert (nearest["group"], nearest["plugin"]) == ("b", "NodeResourcesFit")
    [evidence] = nearest["evidence"]
    assert (evidence["resource"], evidence["requested"], evidence["allocatable"]) == ("cpu", 20000, 16000)


def test_a_skipped_group_is_simulated_where_a_flag_says_so() -> None:
    objects = [*FULL, *waiting(1, cpu="6")]
    flags = {"scaleup-simulation-for-skipped-node-groups-enabled": True}
    assert refusals(scaled_up(objects, group("g", "a", max=1), flags=flags))["default/p0"] == {"g": "Insufficient cpu"}


def test_a_full_node_that_could_count_keeps_new_nodes_at_one_pod_each() -> None:
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "app"}},
        }
    ]
    pods = waiting(4, cpu="1", spec={"topologySpreadConstraints": spread})
    full = [node("a"), pod("big", cpu="4", on="a", labels={"app": "big"})]
    assert added([*full, *pods], group("g", "a")) == {"g": 4}
