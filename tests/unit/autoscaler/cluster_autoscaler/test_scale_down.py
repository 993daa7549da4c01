"""Scale-down of the Cluster Autoscaler, rule by rule."""

from typing import Any

import pytest

from tests.cluster_autoscaler.play import Json, asked, group, node, pod, replica_set, verdicts
from tests.objects import manifest

G = group("g", "a", "b", "c")
OTHERS = [node("b"), pod("keeps-b", cpu="3", on="b"), node("c"), pod("keeps-c", cpu="3", on="c"), replica_set()]


def of_a(*objects: Json, **flags: Any) -> str:
    """The verdict about node `a`, beside two that are needed."""
    named = {name.replace("_", "-"): value for name, value in flags.items()}
    return verdicts([node("a"), *OTHERS, *objects], G, flags=named)["a"]


def on_a(cpu: str = "500m", **more: Any) -> Json:
    return pod("p", cpu=cpu, on="a", **more)


def test_an_empty_node_goes_and_one_that_is_in_use_stays() -> None:
    assert of_a() == "goes"
    assert of_a(on_a(cpu="2")) == "NoPlaceToMovePods"
    assert of_a(on_a(cpu="2001m")) == "NotUnderutilized"
    assert of_a(on_a(cpu="1"), scale_down_utilization_threshold=0.2) == "NotUnderutilized"
    assert of_a(on_a(cpu="1")) == "goes"


def test_nodes_of_no_group_or_of_one_at_its_minimum_are_not_looked_at() -> None:
    objects = [node("a"), node("b")]
    assert verdicts(objects, group("g", "a")) == {"a": "goes", "b": "NotACandidate"}
    assert verdicts(objects, group("g", "a", "b", min=2)) == {"a": "NotACandidate", "b": "NotACandidate"}
    assert verdicts(objects, group("g", "a", "b", min=2, target=3)) == {"a": "goes", "b": "goes"}


def test_no_more_go_than_can_at_once() -> None:
    names = [f"n{number}" for number in range(5)]
    found = verdicts(list(map(node, names)), group("g", *names), flags={"max-scale-down-parallelism": 2})
    assert list(found.values()) == ["goes"] * 4 + ["NotACandidate"]


@pytest.mark.parametrize(
    ("more", "flags", "verdict"),
    [
        (
            {"annotations": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}},
            {},
            "ScaleDownDisabledAnnotation",
        ),
        ({"annotations": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "false"}}, {}, "goes"),
        ({"ready": False}, {}, "goes"),
        ({"ready": False}, {"scale-down-unready-enabled": False}, "ScaleDownUnreadyDisabled"),
        ({"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "value": "1795175990"}]}, {}, "CurrentlyBeingDeleted"),
        ({"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "value": "1795100000"}]}, {}, "goes"),
        ({"unschedulable": True}, {}, "goes"),
        ({"cpu": "0"}, {}, "UnexpectedError"),
    ],
)
def test_what_a_node_says_itself(more: Json, flags: Json, verdict: str) -> None:
    taints = [{"effect": "NoSchedule", **taint} for taint in more.pop("taints", [])]
    assert verdicts([node("a", taints=taints, **more), *OTHERS], G, flags=flags)["a"] == verdict


def test_what_counts_as_used() -> None:
    daemon = pod("d", cpu="3", on="a", owner="DaemonSet/agent")
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "default"}}
    assert of_a(daemon, owner) == "NotUnderutilized"
    assert of_a(daemon, owner, ignore_daemonsets_utilization=True) == "goes"
    mirror = pod("m", cpu="3", on="a", owner="", annotations={"kubernetes.io/config.mirror": "x"})
    assert of_a(mirror) == "NotUnderutilized"
    assert of_a(mirror, ignore_mirror_pods_utilization=True) == "goes"
    gone = pod("t", cpu="3", on="a", metadata={"deletionTimestamp": "2026-11-20T11:00:00Z"})
    assert of_a(gone) == "goes"
    expendable = pod("x", cpu="3", on="a", priority=-11)
    assert of_a(expendable) == "goes"


def test_of_a_node_with_gpus_only_these_count() -> None:
    gpus = {"nvidia.com/gpu": 3}
    uses = pod("g", cpu="100m", on="a")
    uses["spec"]["containers"][0]["resources"] = {"requests": gpus, "limits": gpus}
    busy = [node("a", gpus="4"), pod("cpu", cpu="3500m", on="a"), *OTHERS]
    room = node("c2", cpu="8", labels={"room": "yes"})
    assert verdicts([*busy, room], G)["a"] == "goes"
    assert verdicts([*busy, room, uses], G)["a"] == "NotUnderutilized"
    assert (
        verdicts([*busy, room, uses], G, flags={"scale-down-gpu-utilization-threshold": 0.8})["a"]
        == "NoPlaceToMovePods"
    )


# --- drainability ------------------------------------------------------------------------------------------------------


def safe(value: str) -> Json:
    return {"cluster-autoscaler.kubernetes.io/safe-to-evict": value}


def volume(**source: Any) -> Json:
    return {"volumes": [{"name": "data", **source}]}


@pytest.mark.parametrize(
    ("more", "flags", "verdict"),
    [
        ({"owner": ""}, {}, "BlockedByPod: NotReplicated"),
        ({"owner": "", "annotations": safe("true")}, {}, "goes"),
        ({"owner": "CloneSet/x"}, {}, "BlockedByPod: NotReplicated"),
        ({"owner": "CloneSet/x"}, {"skip_nodes_with_custom_controller_pods": False}, "goes"),
        ({"owner": "ReplicaSet/gone"}, {}, "BlockedByPod: ControllerNotFound"),
        ({"owner": "ReplicaSet/gone"}, {"skip_nodes_with_custom_controller_pods": False}, "goes"),
        ({"owner": "StatefulSet/gone"}, {}, "BlockedByPod: ControllerNotFound"),
        ({"owner": "Job/gone"}, {}, "BlockedByPod: ControllerNotFound"),
        ({"owner": "DaemonSet/gone"}, {}, "BlockedByPod: ControllerNotFound"),
        ({}, {"min_replica_count": 4}, "BlockedByPod: MinReplicasReached"),
        ({}, {"min_replica_count": 3}, "goes"),
        ({"annotations": safe("false")}, {}, "BlockedByPod: NotSafeToEvictAnnotation"),
        ({"annotations": safe("on-completion")}, {}, "goes"),
        ({"spec": volume(emptyDir={})}, {}, "BlockedByPod: LocalStorageRequested"),
        ({"spec": volume(hostPath={"path": "/x"})}, {}, "BlockedByPod: LocalStorageRequested"),
        ({"spec": volume(emptyDir={"medium": "Memory"})}, {}, "goes"),
        ({"spec": volume(configMap={"name": "x"})}, {}, "goes"),
        ({"spec": volume(emptyDir={})}, {"skip_nodes_with_local_storage": False}, "goes"),
        ({"spec": volume(emptyDir={}), "annotations": safe("true")}, {}, "goes"),
        (
            {
                "spec": volume(emptyDir={}),
                "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "other,data"},
            },
            {},
            "goes",
        ),
        ({"owner": "", "annotations": {"kubernetes.io/config.mirror": "x"}}, {}, "goes"),
        ({"owner": "", "metadata": {"deletionTimestamp": "2026-11-20T11:00:00Z"}}, {}, "goes"),
        ({"owner": "", "metadata": {"deletionTimestamp": "2026-11-20T11:59:50Z"}}, {}, "BlockedByPod: NotReplicated"),
        ({"owner": "", "annotations": {"cluster-autoscaler.kubernetes.io/daemonset-pod": "true"}}, {}, "goes"),
    ],
)
def test_pods_that_block_a_node_and_those_that_do_not(more: Json, flags: Json, verdict: str) -> None:
    assert of_a(on_a(**more), **flags) == verdict


def system_pod(created: str) -> list[Json]:
    owner = replica_set("dns")
    owner["metadata"]["namespace"] = "kube-system"
    return [owner, on_a(namespace="kube-system", owner="ReplicaSet/dns", created=created, labels={"app": "dns"})]


def budget(allowed: int, namespace: str = "default", app: str = "app") -> Json:
    return manifest(
        "PodDisruptionBudget",
        {"name": "budget", "namespace": namespace},
        spec={"selector": {"matchLabels": {"app": app}}, "maxUnavailable": 1},
        status={"disruptionsAllowed": allowed},
    )


def test_pods_of_the_system_block_for_an_hour_unless_a_budget_is_about_them() -> None:
    young, old = system_pod("2026-11-20T11:30:00Z"), system_pod("2026-11-20T10:30:00Z")
    assert of_a(*young) == "BlockedByPod: UnmovableKubeSystemPod"
    assert of_a(*old) == "goes"
    assert of_a(*young, skip_nodes_with_system_pods=False) == "goes"
    assert of_a(*young, blocking_system_pod_distruption_timeout="10m") == "goes"
    assert of_a(*young, budget(1, "kube-system", "dns")) == "goes"
    assert of_a(*young, budget(0, "kube-system", "dns")) == "BlockedByPod: NotEnoughPdb"


def test_budgets_are_counted_down_from_node_to_node() -> None:
    def found(allowed: int) -> dict[str, str]:
        pods = [pod(f"p-{name}", cpu="100m", on=name) for name in "ab"]
        rest = [node("z", cpu="8"), replica_set(), budget(allowed)]
        return verdicts([node("a"), node("b"), *pods, *rest], group("g", "a", "b"))

    assert found(2) == {"a": "goes", "b": "goes", "z": "NotACandidate"}
    assert found(1)["b"] == "BlockedByPod: NotEnoughPdb"
    assert found(0)["a"] == "BlockedByPod: NotEnoughPdb"


def test_without_any_owner_in_the_input_they_are_taken_to_be_there() -> None:
    objects = [node("a"), node("b"), pod("p", cpu="500m", on="a")]
    assert verdicts(objects, group("g", "a", "b"))["a"] == "goes"


# --- where the pods go -------------------------------------------------------------------------------------------------


def test_what_a_node_leaves_behind_is_there_for_the_next_one() -> None:
    names = ["a", "b", "c"]
    pods = [pod(f"p-{name}", cpu="1100m", on=name) for name in names]
    report = asked("consolidate", [*map(node, names), *pods, replica_set()], {"groups": [group("g", *names)]})
    assert report.consolidate is not None
    rows = {row.node: row for row in report.consolidate.nodes}
    assert [row.removable for row in rows.values()] == [True, True, False]
    assert {each.pod: each.node for each in rows["b"].destinations} == {"default/p-a": "c", "default/p-b": "c"}
    assert (rows["c"].reason, rows["c"].nearest) == ("NoPlaceToMovePods", None)


def test_a_node_that_stays_says_which_pod_has_no_place_and_what_is_lacking_where() -> None:
    report = asked("consolidate", [node("a"), *OTHERS, on_a(cpu="1500m")], {"groups": [G]})
    assert report.consolidate is not None
    row = next(each for each in report.consolidate.nodes if each.node == "a")
    assert (row.reason, row.unplaced, row.pod) == ("NoPlaceToMovePods", "default/p", None)
    assert row.nearest is not None
    assert (row.nearest.node, row.nearest.plugin) == ("b", "NodeResourcesFit")
    assert (row.utilization, row.threshold, row.resource) == (0.375, 0.5, "cpu")


def test_a_cordoned_node_takes_no_pods() -> None:
    tolerant = on_a(spec={"tolerations": [{"operator": "Exists"}]})
    objects = [node("a"), tolerant, replica_set(), node("b", unschedulable=True)]
    assert verdicts(objects, group("g", "a"))["a"] == "NoPlaceToMovePods"


def test_the_zone_of_a_node_that_goes_still_counts_for_spread() -> None:
    """While its pods are placed the node is there, tainted: the zone is not forgotten."""
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "app"}},
        }
    ]
    x, y = ({"topology.kubernetes.io/zone": zone} for zone in "xy")
    moving = on_a(spec={"topologySpreadConstraints": spread})
    objects = [node("a", labels=x), moving, replica_set(), node("b", labels=y), pod("q", cpu="1", on="b")]
    assert verdicts(objects, group("g", "a"))["a"] == "NoPlaceToMovePods"
    assert verdicts([*objects, node("c", labels=x)], group("g", "a"))["a"] == "goes"
