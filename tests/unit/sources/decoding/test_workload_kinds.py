"""Custom kinds of which pods are made: the table, its reader, and their pods in dumps and manifests."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import kwhatif
from kwhatif.api.arguments import read_manifests
from kwhatif.kube.model.node import Node
from kwhatif.sources.decoding.kinds import ASKED, CUSTOM_LISTS
from kwhatif.sources.decoding.workload_kinds import GROUPS, KnownKinds, built_in, read_workload_kinds
from kwhatif.sources.text.files import standard_input
from kwhatif.workloads.custom_kinds import WorkloadKind, WorkloadKinds
from tests.objects import manifest

CUSTOM = Path("fixtures/custom")
CLUSTER = (CUSTOM / "cluster.yaml").read_text(encoding="utf-8")
#: Groups of the custom resources in that dump.
_GROUPS = ("argoproj.io", "apps.kruise.io", "ray.io", "postgresql.cnpg.io")

Json = dict[str, Any]


def test_the_table_is_read_only_where_one_of_its_groups_is_met() -> None:
    assert {entry.group for entry in built_in()} == GROUPS
    assert all(entry.note for entry in built_in())


def test_a_live_cluster_is_asked_for_those_that_control_pods_themselves() -> None:
    in_table = {(each.group, each.kind, each.resource) for each in built_in() if not (each.makes or each.inferred)}
    assert {(each.group, each.kind, each.plural) for each in CUSTOM_LISTS} == in_table
    assert KnownKinds().lists() == ASKED
    given = [
        WorkloadKind("Widget", "example.com"),
        WorkloadKind("Policy", "example.com", versions=("v2",)),
        WorkloadKind("Policy", "example.com"),
        WorkloadKind("Box", "example.com", plural="boxen"),
        WorkloadKind("Rollout", "argoproj.io"),
        WorkloadKind("Maker", "example.com", makes=True),
    ]
    lists = KnownKinds(WorkloadKinds(given)).lists()[len(ASKED) :]
    assert [each.subject for each in lists] == ["widgets.example.com", "policies.example.com", "boxen.example.com"]
    assert lists[0].versions == ("v1", "v1beta2", "v1beta1", "v1alpha2", "v1alpha1")


def test_pods_of_a_strimzi_pod_set_come_back_without_its_node_pool() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}}}
    owner = {
        "apiVersion": "core.strimzi.io/v1beta2",
        "kind": "StrimziPodSet",
        "name": "kafka-broker",
        "uid": "u",
        "controller": True,
    }
    container = {"name": "kafka", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    objects: list[Json] = [node | {"metadata": {"name": name}} for name in ("a", "b", "c")]
    for number, name in enumerate("ab"):
        meta = {"name": f"kafka-broker-{number}", "namespace": "shop", "ownerReferences": [owner], "labels": {"k": "v"}}
        spec = {"nodeName": name, "containers": [container]}
        objects.append(
            {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}
        )
    report = json.loads(kwhatif.drain(kwhatif.load(objects), "a").to_json())
    (row,) = report["story"]["workloads"]
    assert (row["workload"], len(row["after"])) == ("StrimziPodSet shop/kafka-broker", 2)


def test_everything_that_is_wrong_with_a_file_is_said_with_its_field(tmp_path: Path) -> None:
    path = tmp_path / "kinds.yaml"
    path.write_text(
        "- {kind: Widget, group: example.com, like: Deploymnt}\n"
        "- {kind: Widget, replica: /spec/x, name: 3}\n"
        "- 7\n"
        "- {kind: Deployment, group: apps, when: spec}\n"
    )
    with pytest.raises(kwhatif.InputError) as failure:
        read_workload_kinds(str(path), stdin=standard_input())
    assert [str(problem).removeprefix(f"{path}, ") for problem in failure.value.problems] == [
        "line 1: [0].like: expected one of DaemonSet, Deployment, Job, ReplicaSet, StatefulSet, got 'Deploymnt'"
        " (did you mean Deployment?)",
        "line 2: [1].replica: is not a field of a workload kind (did you mean replicas?)",
        "line 2: [1].name: expected a string, got an integer",
        "line 2: [1].group: is not set",
        "line 3: [2]: expected an object, got an integer (give kind, group and like)",
        "line 4: [3].when: expected a JSON pointer (such as /spec/template)",
        "line 4: [3].kind: Deployment is Kubernetes' own: it is judged without an entry",
    ]


#: What each manifest is judged as, and how many of its pods are new.
_JUDGED = {
    "Rollout shop/web": ["Deployment shop/web +2"],
    "CloneSet shop/api": ["Deployment shop/api"],
    "Cluster shop/pg": ["StatefulSet shop/pg +1"],
    "RayCluster shop/ray": ["ReplicaSet shop/ray-cpu +3", "ReplicaSet shop/ray-head"],
    "Prometheus shop/k8s": ["StatefulSet shop/prometheus-k8s +2", "StatefulSet shop/prometheus-k8s-shard-1 +2"],
    "JobSet shop/js": ["Job shop/js-w-0 +2", "Job shop/js-w-1 +2"],
    "LeaderWorkerSet shop/lws": ["StatefulSet shop/lws +2", "StatefulSet shop/lws-0 +2", "StatefulSet shop/lws-1 +2"],
    "PyTorchJob shop/pt": ["Job shop/pt-master +1", "Job shop/pt-worker +2"],
    "TrainJob shop/tj": ["Job shop/tj-node-0 +2"],
    "KafkaNodePool shop/broker": ["StatefulSet shop/kafka-broker +2"],
    "Service shop/fn": ["Deployment shop/fn-00001-deployment +2"],
    "StatefulSet shop/ass": ["StatefulSet shop/ass +2"],
    "Alertmanager shop/main": ["StatefulSet shop/alertmanager-main +2"],
    "RayJob shop/rj": ["ReplicaSet shop/rj-cpu +1", "ReplicaSet shop/rj-head +1"],
}


def test_every_built_in_kind_is_judged_by_what_makes_the_same_pods() -> None:
    session = kwhatif.load(kwhatif.text(CLUSTER), kubernetes_version="1.36")
    asked = read_manifests(session, [str(CUSTOM / "manifests.yaml")], {})
    kinds = {entry.kind for entry in built_in() if not entry.inferred}
    assert not asked.problems
    assert {each.source.object.partition(" ")[0] for each in asked.applied} == kinds
    assert len({each.source.object for each in asked.applied}) == len(asked.applied)
    report = json.loads(kwhatif.gate(session, str(CUSTOM / "manifests.yaml")).to_json())
    added: dict[str, list[str]] = {}
    names = {row["object"]: row["judgedAs"] for row in report["standIns"]}
    for row, each in zip(report["workloads"], asked.applied, strict=True):
        whole = row["name"].partition(" (")[0]
        assert any(name.partition(" (")[0] == whole for name in names), row["name"]
        number = row["replicas"] if row["update"] in ("new", "scaled") else 0
        name = f"{type(each.object).__name__} {each.object.metadata.namespace}/{each.object.metadata.name}"
        added.setdefault(whole, []).append(f"{name} +{number}" if number else name)
    assert {name: sorted(rows) for name, rows in added.items()} == _JUDGED
    said = {each["kind"] for each in report["caveatDetails"] if each["code"] == "custom-kind-played"}
    assert said == kinds


def test_an_exception_for_a_custom_resource_is_for_all_of_its_parts(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    session = kwhatif.load(kwhatif.text(CLUSTER))
    big = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "99"}}}
    workers = {"spec": {"containers": [big]}}
    given = manifest(
        "LeaderWorkerSet",
        {"name": "lws", "namespace": "shop"},
        spec={"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": workers}},
    )
    for name, failures in (("shop/lws", 0), ("shop/lws (0)", 2), ("shop/other", 3)):
        exception: Json = {"rules": ["unschedulable"], "workloads": [f"LeaderWorkerSet {name}"]}
        exception |= {"reason": "x", "expires": "2099-12-31"}
        policy.write_text(json.dumps({"apiVersion": "kwhatif.dev/v1", "kind": "Policy", "exceptions": [exception]}))
        report = kwhatif.gate(session, kwhatif.text(json.dumps(given)), policy=policy)
        assert report.policy is not None
        found = [each for each in report.policy.findings if each.rule == "unschedulable" and each.suppressed is None]
        assert len(found) == failures


def _without(groups: tuple[str, ...]) -> str:
    objects = msgspec.yaml.decode(CLUSTER)["items"]
    kept = [each for each in objects if each["apiVersion"].split("/")[0] not in groups]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": kept})


def _moves(session: kwhatif.Session, node: str) -> list[tuple[int, int, int]]:
    """Of each workload that the drain touches, in order: pods before and after, and the fewest that are ready."""
    story = json.loads(kwhatif.drain(session, node).to_json())["story"]
    return sorted((len(row["before"]), len(row["after"]), row["readyLowest"]) for row in story["workloads"])


@pytest.mark.parametrize("node", ["n1", "n3"])
def test_pods_of_custom_resources_come_back_whatever_the_dump_has_of_these(tmp_path: Path, node: str) -> None:
    whole = kwhatif.load(kwhatif.text(CLUSTER))
    moves = _moves(whole, node)
    assert len(moves) == 5
    text = kwhatif.drain(whole, node).to_json()
    assert "CloneSet shop/api" in text
    assert "Cluster shop/pg" in text
    assert "Deployment shop/api" not in json.dumps(json.loads(text)["story"])
    bare = kwhatif.load(kwhatif.text(_without(_GROUPS)))
    assert _moves(bare, node) == moves
    for anonymize in (False, True):
        saved = tmp_path / f"{anonymize}.json"
        kwhatif.save_snapshot(saved, kwhatif.text(CLUSTER), anonymize=anonymize)
        names = sorted(kwhatif.load(saved).cluster.all(Node))
        assert _moves(kwhatif.load(saved), names[int(node[1:]) - 1]) == moves
    story = json.loads(kwhatif.simulate(whole).to_json())["story"]
    assert (story["settled"], story["events"]) == ("settled", [])


def test_a_rollout_takes_the_template_of_the_workload_that_it_refers_to() -> None:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    deployment = manifest(
        "Deployment",
        {"name": "front", "namespace": "shop"},
        spec={
            "replicas": 0,
            "selector": {"matchLabels": {"app": "front"}},
            "template": {"metadata": {"labels": {"app": "front"}}, "spec": {"containers": [container]}},
        },
    )
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "front"}
    rollout = manifest(
        "Rollout", {"name": "front", "namespace": "shop"}, spec={"replicas": 2, "workloadRef": reference}
    )
    session = kwhatif.load(kwhatif.text(CLUSTER))
    report = kwhatif.gate(session, kwhatif.text(json.dumps(rollout)), kwhatif.text(json.dumps(deployment)))
    assert [(row.name, row.replicas) for row in report.workloads] == [
        ("Rollout shop/front", 2),
        ("Deployment shop/front", 0),
    ]
    assert {decision.requests["cpu"] for decision in report.decisions} == {1000}


def test_a_kind_of_a_file_is_judged_as_the_file_says(tmp_path: Path) -> None:
    kinds = tmp_path / "kinds.yaml"
    kinds.write_text(
        "kinds:\n- {kind: Widget, group: example.com, like: Deployment, template: /spec/pod, replicas: /spec/copies}\n"
    )
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    widget: Json = manifest(
        "Widget",
        {"name": "w", "namespace": "shop"},
        version="example.com/v1",
        spec={"copies": 3, "pod": {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [container]}}},
    )
    session = kwhatif.load(kwhatif.text(CLUSTER), workload_kinds=kinds)
    (row,) = kwhatif.gate(session, kwhatif.text(json.dumps(widget))).workloads
    assert (row.name, row.replicas, row.message) == ("Widget shop/w", 3, "all 3 pods fit on 3 nodes")
    container["resources"] = {"requests": {"cpu": "lots"}}
    (problem,) = kwhatif.gate(session, kwhatif.text(json.dumps(widget))).problems
    assert problem.field == "spec.pod.spec.containers[0].resources.requests.cpu"
    assert problem.source is not None
    assert problem.source.object == "Widget shop/w"


def test_objects_of_a_list_are_applied_as_they_stand_whatever_their_kind() -> None:
    pod: Any = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "first", "namespace": "shop"}}
    pod["spec"] = {"containers": [{"name": "a", "image": "i"}]}
    rollout: Any = manifest("Rollout", {"name": "next", "namespace": "shop"})
    rollout["spec"] = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}
    rollout["spec"]["template"] = {"metadata": {"labels": {"a": "b"}}, "spec": pod["spec"]}
    nodes = [manifest("Node", {"name": "n"}, status={"allocatable": {"cpu": "4", "pods": "9"}})]
    given = kwhatif.text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod, rollout]}))
    assert [row.name for row in kwhatif.gate(kwhatif.load(nodes), given).workloads] == [
        "Pod shop/first",
        "Rollout shop/next",
    ]
