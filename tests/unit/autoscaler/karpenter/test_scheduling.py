"""One round of Karpenter's provisioner, rule by rule."""

from typing import Any

import pytest

from tests.karpenter.objects import TYPES, Json, asked, node, pod, pool, type_
from tests.karpenter.play import play
from tests.objects import manifest

ARM = {"kubernetes.io/arch": "arm64"}
WEB = {"matchLabels": {"app": "web"}}


def affinity(**kinds: Any) -> Json:
    return {"affinity": kinds}


def required(*terms: list[Json]) -> Json:
    found = [{"matchExpressions": term} for term in terms]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": found}}


def term(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": list(values)}


def round_of(*objects: Any, **more: Any) -> Json:
    return play(asked("autoscale", *objects, **more))


def test_nothing_pending_makes_nothing() -> None:
    assert not any(round_of(pool(), node("n1")).values())


def test_the_largest_pods_are_tried_first_and_nodes_shrink_to_what_fits() -> None:
    found = round_of(pool(), pod("small", cpu="1"), pod("large", cpu="7"))
    (made,) = found["newNodes"]
    assert made["pods"] == ["default/large", "default/small"]
    assert made["instanceTypes"] == ["m.2xlarge"]
    assert made["cheapest"] == "m.2xlarge a on-demand 0.4"


def test_nodes_that_stand_come_first_by_name_and_initialized_before_others() -> None:
    found = round_of(pool(), node("a", initialized=False), node("c"), node("b"), pod("p", cpu="1"))
    assert found["existing"] == [{"node": "b", "pods": ["default/p"]}]


def test_the_pool_of_most_weight_is_asked_first_then_the_last_by_name() -> None:
    pools = [pool("a"), pool("c"), pool("b", weight=2)]
    assert [each["group"] for each in round_of(*pools, pod("p"))["newNodes"]] == ["b"]
    assert [each["group"] for each in round_of(*pools[:2], pod("p"))["newNodes"]] == ["c"]


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"deletionTimestamp": "2026-11-20T00:00:00Z"}},
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        {"spec": {"replicas": 3}},
    ],
)
def test_pools_that_make_nothing(change: Json) -> None:
    unusable = pool()
    for field, value in change.items():
        unusable[field] = unusable[field] | value
    found = round_of(unusable, pod("p"))
    assert found["refused"] == [{"pod": "default/p", "message": "no dynamic nodepools found"} | _rest(found)]


def _rest(found: Json) -> Json:
    return {key: value for key, value in found["refused"][0].items() if key not in ("pod", "message")}


def message(found: Json) -> str:
    (row,) = found["refused"]
    text: str = row["message"]
    return text


def test_limits_count_nodes_that_stand_and_the_largest_type_of_new_ones() -> None:
    exceeded = "all available instance types exceed limits for nodepool (NodePool=general)"
    assert message(round_of(pool(limits={"cpu": "3"}), node("n1", cpu=2), pod("p", cpu="3"))) == exceeded
    found = round_of(pool(limits={"cpu": "9"}), pod("p1", cpu="2"), pod("p2", cpu="7"), types=TYPES)
    # The first could be as large as m.2xlarge: 1 CPU is left.
    assert [each["pods"] for each in found["newNodes"]] == [["default/p2"]]
    assert message(found) == exceeded
    none = "node limits have been exhausted for nodepool (NodePool=general)"
    assert message(round_of(pool(limits={"nodes": "1"}), node("n1", cpu=1), pod("p", cpu="2"))) == none


def test_every_taint_counts_and_startup_taints_do_not() -> None:
    taints = [{"key": key, "value": "x", "effect": effect} for key, effect in (("a", "NoExecute"), ("b", "NoSchedule"))]
    assert message(round_of(pool(taints=taints), pod("p"))) == (
        "did not tolerate taint (taint=a=x:NoExecute); did not tolerate taint (taint=b=x:NoSchedule)"
    )
    assert round_of(pool(startupTaints=taints), pod("p"))["newNodes"]


def test_a_tolerance_for_preferences_is_the_last_thing_to_be_added() -> None:
    soft = pool(taints=[{"key": "a", "effect": "PreferNoSchedule"}])
    assert round_of(soft, pod("p"))["newNodes"]
    assert round_of(soft, pool("untainted"), pod("p"))["newNodes"][0]["group"] == "untainted"


def test_labels_that_no_pool_defines_are_refused_unless_they_are_well_known() -> None:
    unknown = round_of(pool(), pod("p", nodeSelector={"team": "x"}))
    assert message(unknown) == 'incompatible requirements, label "team" does not have known values'
    assert round_of(pool(labels={"team": "x"}), pod("p", nodeSelector={"team": "x"}))["newNodes"]
    (made,) = round_of(pool(), pod("p", nodeSelector={"example.com/cpu": "4"}))["newNodes"]
    assert made["instanceTypes"] == ["m.xlarge"]


def test_required_terms_are_tried_one_after_the_other() -> None:
    either = required([term("kubernetes.io/arch", "In", "arm64")], [term("example.com/cpu", "In", "8")])
    (made,) = round_of(pool(), pod("p", **affinity(nodeAffinity=either)))["newNodes"]
    assert made["instanceTypes"] == ["m.2xlarge"]
    assert not any("arm64" in each for each in made["requirements"])


def test_preferences_are_required_until_nothing_else_works() -> None:
    def preferring(weight: int, zone: str) -> Json:
        return {
            "weight": weight,
            "preference": {"matchExpressions": [term("topology.kubernetes.io/zone", "In", zone)]},
        }

    wishes = {"preferredDuringSchedulingIgnoredDuringExecution": [preferring(1, "b"), preferring(9, "z")]}
    (made,) = round_of(pool(), pod("p", **affinity(nodeAffinity=wishes)))["newNodes"]
    assert "topology.kubernetes.io/zone In [b]" in made["requirements"]


def test_no_type_is_large_enough() -> None:
    words = message(round_of(pool(), pod("p", cpu="99")))
    assert words.startswith("no instance type has enough resources, requirements=karpenter.k8s.aws/ec2nodeclass In [")
    assert words.endswith('resources={"cpu":"99","memory":"64Mi","pods":"1"}')
    assert message(round_of(pool(), pod("p", cpu="2M"))).endswith("(CPU request >= 1 Million, m vs M typo?)")


def test_daemons_take_their_part_and_messages_say_so() -> None:
    daemon = manifest(
        "DaemonSet",
        {"name": "agent", "namespace": "kube-system", "uid": "agent"},
        spec={
            "selector": WEB,
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "500m"}}}]},
            },
        },
    )
    (made,) = round_of(pool(), daemon, pod("p", cpu="1600m"))["newNodes"]
    assert made["instanceTypes"] == ["m.2xlarge", "m.xlarge"]
    assert message(round_of(pool(), daemon, pod("p", cpu="8"))).endswith(
        'resources={"cpu":"8500m","memory":"64Mi","pods":"2"}'
    )
    # On a node that stands, room is kept for it until it is there.
    assert not round_of(pool(), daemon, node("n1"), pod("p", cpu="1600m"))["existing"]


def test_host_ports_need_nodes_of_their_own() -> None:
    def with_port(name: str, **port: Any) -> Json:
        found = pod(name, cpu="100m")
        found["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80, "protocol": "TCP", **port}]
        return found

    assert len(round_of(pool(), with_port("p1"), with_port("p2"))["newNodes"]) == 2
    addresses = [with_port(f"p{number}", hostIP=f"10.0.0.{number}") for number in (1, 2)]
    assert len(round_of(pool(), *addresses)["newNodes"]) == 1
    assert len(round_of(pool(), *addresses, with_port("p3", hostIP="::"))["newNodes"]) == 2


def test_pods_with_devices_are_refused() -> None:
    devices = pod("p", resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
    assert message(round_of(pool(), devices)) == (
        "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"
    )


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Pending"},
        {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
        {"phase": "Pending", "nominatedNodeName": "n9"},
    ],
)
def test_pods_that_wait_for_something_else_are_not_looked_at(status: Json) -> None:
    waiting = pod("p")
    waiting["status"] = (waiting["status"] if "nominatedNodeName" in status else {}) | status
    assert not any(round_of(pool(), waiting).values())


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (
            affinity(nodeAffinity=required([term("karpenter.sh/nodepool", "DoesNotExist")])),
            "configured to not run on a Karpenter provisioned node (requirement=karpenter.sh/nodepool DoesNotExist)",
        ),
        (
            {"nodeSelector": {"karpenter.sh/capacity-type": "cheap"}},
            "no valid values found in [cheap] for karpenter.sh/capacity-type, expected one of: [on-demand reserved spot]",
        ),
        ({"nodeSelector": {"kubernetes.io/hostname": "n1"}}, "using label kubernetes.io/hostname is not allowed as it"),
        (
            {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "gone"}}]},
            'getting persistent volume claim, persistentvolumeclaims "gone" not found (PersistentVolumeClaim=gone)',
        ),
    ],
)
def test_pods_that_karpenter_does_not_take(spec: Json, reason: str) -> None:
    (row,) = round_of(pool(), pod("p", **spec))["ignored"]
    assert row["reason"].startswith(reason)


def test_pods_of_nodes_that_go_are_placed_too() -> None:
    going = node("n1")
    going[0]["metadata"]["deletionTimestamp"] = "2026-11-20T11:00:00Z"
    (made,) = round_of(pool(), going, pod("p", on="n1"))["newNodes"]
    assert made["pods"] == ["default/p"]


def test_spread_pins_a_node_to_the_zone_with_the_fewest_pods() -> None:
    spread: Json = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": WEB,
            }
        ]
    }
    full = node("n1", zone="a", cpu=1)
    found = round_of(pool(), full, pod("old", on="n1"), *(pod(f"p{number}", **spread) for number in (1, 2)))
    zones = {each for made in found["newNodes"] for each in made["requirements"] if "zone" in each}
    assert zones == {"topology.kubernetes.io/zone In [b]", "topology.kubernetes.io/zone In [c]"}


def test_anti_affinity_keeps_others_away_from_both_sides() -> None:
    zone = "topology.kubernetes.io/zone"
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": WEB, "topologyKey": zone}]}
    standing = pod("old", on="n1", **affinity(podAntiAffinity=apart))
    (made,) = round_of(pool(), node("n1", zone="a"), standing, pod("p", cpu="100m"))["newNodes"]
    assert f"{zone} In [b c]" in made["requirements"]


def test_a_volume_binds_its_pod_to_a_zone() -> None:
    zone = term("topology.kubernetes.io/zone", "In", "c")
    volume = manifest(
        "PersistentVolume",
        {"name": "pv"},
        spec={
            "csi": {"driver": "d"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}},
        },
    )
    claim = manifest(
        "PersistentVolumeClaim",
        {"name": "c", "namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        spec={"volumeName": "pv"},
        status={"phase": "Bound"},
    )
    using = pod("p", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}])
    (made,) = round_of(pool(), volume, claim, using, node("n1", zone="a"))["newNodes"]
    assert "topology.kubernetes.io/zone In [c]" in made["requirements"]


def test_reserved_capacity_is_used_up_before_anything_else() -> None:
    reserved = type_("m.large", 2, 0.1)
    reserved["offerings"].append(
        {"capacityType": "reserved", "zone": "a", "price": 0, "reservationID": "r1", "reservationCapacity": 1}
    )
    found = round_of(pool(), pod("p1", cpu="2"), pod("p2", cpu="2"), types=[reserved])
    (made,) = found["newNodes"]
    assert "karpenter.sh/capacity-type In [reserved]" in made["requirements"]
    # The other is left for a later round, when the reservation is known to be used.
    (row,) = found["ignored"]
    assert row["reason"].startswith("one or more instance types with compatible reserved offerings are available")


def test_min_values_refuse_a_node_with_too_little_choice() -> None:
    choosy = pool(requirements=[{"key": "example.com/cpu", "operator": "Exists", "minValues": 2}])
    assert round_of(choosy, pod("p", cpu="4"))["newNodes"][0]["instanceTypes"] == ["m.2xlarge", "m.xlarge"]
    assert message(round_of(choosy, pod("p", cpu="5"))).startswith(
        "minValues requirement is not met for label(s) (label(s)=[example.com/cpu]), requirements="
    )
