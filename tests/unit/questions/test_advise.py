"""Advice: the changes that would help a pod, proven, the fewest first."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import kwhatif
from tests.advising import nodes_for, outcomes, taken
from tests.objects import manifest

FIXTURES = Path("fixtures/advise")

#: Situation -> kinds of the advice, the cheapest first.
ADVICE = {
    "apart": ["soften-anti-affinity", "delete-pod", "priority-class"],
    "claim": ["other-name", "create-claim"],
    "cpu": ["tolerate", "uncordon", "request-less", "untaint", "scale-down", "move-pod"],
    "dying": ["wait", "request-less", "move-pod", "scale-down"],
    "evictor": ["wait", "tolerate", "request-less", "move-pod", "untaint", "delete-pod"],
    "gated": ["drop-gates"],
    "gpu": ["tolerate"],
    "huge": ["request-less + request-less"],
    "label": ["drop-selector", "label-node"],
    "large": ["uncordon", "request-less", "add-nodes"],
    "lost": ["create-namespace"],
    "many": ["uncordon", "request-less", "tolerate", "untaint", "scale-down", "priority-class"],
    "memory": ["wait", "tolerate", "request-less", "uncordon", "untaint", "move-pod"],
    "near": ["soften-pod-affinity"],
    "other": ["scheduler-name"],
    "patient": ["tolerate", "uncordon", "request-less", "untaint", "scale-down", "move-pod"],
    "port": ["change-selector", "drop-selector", "change-host-port", "drop-host-port", "label-node", "delete-pod"],
    "quota": ["wait", "request-less", "raise-quota", "delete-pod"],
    "spread": ["widen-skew", "soften-spread", "drop-selector", "request-less", "label-node", "scale-down"],
    "two": ["uncordon + drop-selector", "uncordon + label-node", "drop-selector + request-less"],
    "typo": ["change-selector", "drop-selector", "label-node"],
    "unbound": ["claim-bound"],
}


@pytest.fixture(scope="module")
def cluster() -> kwhatif.Session:
    """The cluster of the situations."""
    return kwhatif.load(str(FIXTURES / "cluster.yaml"))


def _document(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FIXTURES / "pods" / f"{name}.yaml").read_text())
    return loaded


def _advised(cluster: kwhatif.Session, document: dict[str, Any]) -> dict[str, Any]:
    (row,) = kwhatif.advise(cluster, document).to_dict()["advise"]["workloads"]
    made: dict[str, Any] = row
    return made


def test_every_situation_is_in_the_table() -> None:
    assert sorted(ADVICE) == sorted(path.stem for path in (FIXTURES / "pods").iterdir())


@pytest.mark.parametrize("name", ADVICE)
def test_advice(name: str, cluster: kwhatif.Session) -> None:
    row = _advised(cluster, _document(name))
    kinds = [" + ".join(change["kind"] for change in advice["changes"]) for advice in row["advice"]]
    assert kinds[: len(ADVICE[name])] == ADVICE[name], kinds


@pytest.mark.parametrize("name", ADVICE)
def test_advice_holds_and_all_of_it_is_needed(name: str, cluster: kwhatif.Session) -> None:
    document = _document(name)
    row = _advised(cluster, document)
    for advice in row["advice"]:
        after = taken(cluster, document, advice["changes"])
        assert nodes_for(after) == advice["fit"], advice
        assert ("Preempts" in outcomes(after)) == bool(advice["victims"])
        for change in advice["changes"]:
            fewer = [other for other in advice["changes"] if other is not change]
            if fewer:
                assert nodes_for(taken(cluster, document, fewer)) < advice["fit"], advice


# --- Kinds of advice that need a cluster of their own: several terms at once, Jobs that end, quotas, victims by hand ---


Object = dict[str, Any]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def node(name: str, cpu: str = "4") -> Object:
    status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "20"}}
    return manifest("Node", {"name": name, "labels": {HOST: name, ZONE: "a"}}, spec={}, status=status)


def pod(name: str, cpu: str = "1", on: str = "", job: str = "", labels: Object | None = None, **spec: Any) -> Object:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    meta: Object = {"name": name, "namespace": "shop", "labels": labels or {}, "uid": f"uid-{name}" if on else ""}
    if job:
        meta["ownerReferences"] = [
            {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"uid-{job}", "controller": True}
        ]
    spec = {"containers": [container], **spec, **({"nodeName": on} if on else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def job(name: str) -> Object:
    spec = {
        "parallelism": 2,
        "completions": 2,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}},
    }
    return manifest("Job", {"name": name, "namespace": "shop", "uid": f"uid-{name}"}, spec=spec)


def quota(cpu: str) -> Object:
    spec = {"hard": {"requests.cpu": cpu}}
    return manifest("ResourceQuota", {"name": "cpu", "namespace": "shop"}, spec=spec)


SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def advised(document: Object, *objects: Object) -> tuple[kwhatif.Session, Object]:
    cluster = kwhatif.load({"apiVersion": "v1", "kind": "List", "items": [SHOP, *objects]})
    (row,) = kwhatif.advise(cluster, document, most=20).to_dict()["advise"]["workloads"]
    return cluster, row


def kinds(row: Object) -> list[str]:
    return [" + ".join(change["kind"] for change in advice["changes"]) for advice in row["advice"]]


def away(key: str, **labels: str) -> Object:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize("side", ["podAntiAffinity", "podAffinity"])
def test_all_terms_that_object_are_one_advice(side: str) -> None:
    terms = [away(HOST, app="a"), away(HOST, app="b"), away(HOST, app="c")]
    running = []
    if side == "podAntiAffinity":
        running = [pod(name, "1", "n1", labels={"app": name}) for name in "abc"]
    wanted = pod("new", affinity={side: {REQUIRED: terms}})
    cluster, row = advised(wanted, node("n1"), *running)
    combined = next(each for each in row["advice"] if each["changes"][0]["kind"].startswith("soften-"))
    (change,) = combined["changes"]
    assert change["before"] == "app=a and app=b and app=c"
    assert nodes_for(taken(cluster, wanted, [change])) == 1


def test_no_term_is_softened_that_may_stay() -> None:
    terms = [away(HOST, app="a"), away(ZONE, app="b")]
    running = [pod("a", "1", "n1", labels={"app": "a"}), pod("b", "1", "n1", labels={"app": "b"})]
    wanted = pod("new", affinity={"podAntiAffinity": {REQUIRED: terms}})
    _, row = advised(wanted, node("n1"), node("n2"), *running)
    said = [change["before"] for advice in row["advice"] for change in advice["changes"] if "soften" in change["kind"]]
    assert said == ["app=b"]


def test_waiting_for_a_job() -> None:
    running = [pod("etl-0", "2", "n1", "etl"), pod("etl-1", "2", "n1", "etl")]
    cluster, row = advised(pod("new", "3"), node("n1"), job("etl"), *running)
    advice = next(each for each in row["advice"] if each["changes"][0]["kind"] == "job-done")
    (change,) = advice["changes"]
    assert (change["by"], change["target"], change["count"]) == ("waiting", "Job shop/etl", 2)
    assert nodes_for(taken(cluster, pod("new", "3"), [change])) == 1


def test_no_job_is_waited_for_that_is_not_in_the_way() -> None:
    running = [pod("etl-0", "1", "n1", "etl"), pod("web", "3", "n1")]
    _, row = advised(pod("new", "3"), node("n1"), job("etl"), *running)
    assert "job-done" not in kinds(row)
    assert "delete-pod" in kinds(row)


def test_a_quota_is_freed_by_what_uses_it() -> None:
    running = [pod("etl-0", "2", "n1", "etl"), pod("etl-1", "2", "n1", "etl"), pod("debug", "1", "n1")]
    cluster, row = advised(pod("new", "3"), node("n1", "16"), quota("6"), job("etl"), *running)
    assert set(kinds(row)) == {"request-less", "raise-quota", "scale-down", "job-done"}
    for advice in row["advice"]:
        assert nodes_for(taken(cluster, pod("new", "3"), advice["changes"])) == 1, advice
    _, row = advised(pod("new", "2"), node("n1", "16"), quota("6"), job("etl"), *running)
    assert "delete-pod" in kinds(row)


def test_a_quota_is_freed_by_no_more_pods_than_needed() -> None:
    running = [pod(f"debug-{number}", "1", "n1") for number in range(4)]
    _, row = advised(pod("new", "2"), node("n1", "16"), quota("4"), *running)
    deleted = [
        change["count"] for advice in row["advice"] for change in advice["changes"] if "delete" in change["kind"]
    ]
    assert deleted == [2]


def test_victims_that_are_cheaper_by_hand() -> None:
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    one = pod("big", "3", "n1", priority=10)
    many = [pod(f"small-{number}", "1", "n2", priority=0) for number in range(3)]
    _, row = advised(pod("new", "3", priorityClassName="high"), high, node("n1", "3"), node("n2", "3"), *many, one)
    scheduler, *by_hand = row["going"]
    assert scheduler["by"] == "scheduler"
    assert scheduler["pods"] == row["victims"]
    assert [each["by"] for each in by_hand] == ["hand"] * len(by_hand)
    assert all(each["cost"] < scheduler["cost"] for each in by_hand)
    assert [each["pods"] for each in by_hand] == [["shop/big"]]


def test_a_manifest_of_a_pod_that_is_there_keeps_its_claim() -> None:
    claim = manifest(
        "PersistentVolumeClaim",
        {
            "name": "new-scratch",
            "namespace": "shop",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "new", "uid": "uid-new", "controller": True}
            ],
        },
        spec={"accessModes": ["ReadWriteOnce"], "storageClassName": "wait", "resources": {}},
        status={"phase": "Pending"},
    )
    wait = manifest(
        "StorageClass", {"name": "wait"}, provisioner="disk.example.com", volumeBindingMode="WaitForFirstConsumer"
    )
    template = {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "wait",
            "resources": {"requests": {"storage": "1Gi"}},
        }
    }
    wanted = pod("new", volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}])
    cluster = kwhatif.load({"apiVersion": "v1", "kind": "List", "items": [SHOP, node("n1"), claim, wait]})
    another = kwhatif.schedule(cluster, wanted).decisions[0]
    assert "pod is not owner" in another.message
    wanted["metadata"]["uid"] = "uid-new"
    assert kwhatif.schedule(cluster, wanted).decisions[0].outcome == "Placed"


# --- Of several pods that would have to go, the most important are spared -----------------------------


def deletions(priorities: dict[str, int], cpu: str) -> set[str]:
    """Whose deletion is advised so that a pod gets room on a node that these fill; each has one CPU."""
    classes = [manifest("PriorityClass", {"name": f"p{value}"}, value=value) for value in priorities.values()]
    pods = [
        pod(name, on="n1", priority=value, priorityClassName=f"p{value}", preemptionPolicy="PreemptLowerPriority")
        for name, value in priorities.items()
    ]
    session = kwhatif.load([node("n1", str(len(pods))), *classes, *pods], kubernetes_version="1.36")
    (row,) = kwhatif.advise(session, pod("new", cpu=cpu), most=20).to_dict()["advise"]["workloads"]
    changes = (change for advice in row["advice"] for change in advice["changes"])
    return {change["target"] for change in changes if change["kind"] == "delete-pod"}


@pytest.mark.parametrize(
    ("priorities", "cpu", "gone"),
    [
        ({"a": 1, "b": 5, "c": 10}, "2", "shop/a, shop/b"),
        ({"a": 10, "b": 5, "c": 1}, "2", "shop/b, shop/c"),
        ({"a": 5, "b": 10, "c": 1, "d": 20}, "2", "shop/a, shop/c"),
        ({"a": 5, "b": 10, "c": 1, "d": 20}, "3", "shop/a, shop/b, shop/c"),
    ],
)
def test_the_least_important_go(priorities: dict[str, int], cpu: str, gone: str) -> None:
    assert deletions(priorities, cpu) == {gone}


# --- Advice about a claim that does not bind because of its class: proven, and true of the file that has it written ---


CLUSTER = """apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
"""
VOLUME = """apiVersion: v1
kind: PersistentVolume
metadata: {name: model}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadOnlyMany], hostPath: {path: /models}}
status: {phase: Available}
"""
CLAIM = """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: model, namespace: default}
spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}, volumeName: model}
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: serve}
spec: {containers: [{name: c, image: c}], volumes: [{name: m, persistentVolumeClaim: {claimName: model}}]}
"""
UNBOUND = CLAIM.replace("{accessModes", "{storageClassName: gp3, accessModes").replace("default}", "default, uid: u1}")


def load(tmp_path: Path, *texts: str) -> kwhatif.Session:
    (tmp_path / "cluster.yaml").write_text("---\n".join(texts))
    return kwhatif.load(str(tmp_path / "cluster.yaml"))


def written(tmp_path: Path, *texts: str) -> str:
    (tmp_path / "app.yaml").write_text("---\n".join(texts))
    return str(tmp_path / "app.yaml")


def advice(session: kwhatif.Session, file: str) -> dict[str, Any]:
    (row,) = kwhatif.advise(session, file).to_dict()["advise"]["workloads"]
    first: dict[str, Any] = row["advice"][0]
    return first


@pytest.mark.parametrize("given", ["manifest", "cluster"])
def test_a_claim_of_the_manifests_is_written_with_the_class_of_its_volume(tmp_path: Path, given: str) -> None:
    session = load(tmp_path, CLUSTER, *([VOLUME] if given == "cluster" else []))
    files = (*([VOLUME] if given == "manifest" else []), CLAIM, POD)
    first = advice(session, written(tmp_path, *files))
    (change,) = first["changes"]
    assert (change["kind"], change["by"], change["before"], change["after"]) == ("claim-class", "manifest", "gp3", '""')
    assert (first["fit"], first["of"], first["node"]) == (1, 1, "n1")
    right = CLAIM.replace("{accessModes", '{storageClassName: "", accessModes')
    report = kwhatif.schedule(session, written(tmp_path, *(right if each == CLAIM else each for each in files)))
    assert [decision.node for decision in report.decisions] == ["n1"]


def test_a_claim_that_is_there_is_deleted_and_made_again(tmp_path: Path) -> None:
    session = load(tmp_path, CLUSTER, VOLUME, UNBOUND)
    (change,) = advice(session, written(tmp_path, POD))["changes"]
    assert (change["kind"], change["by"]) == ("claim-class", "cluster")
    assert [call["args"] for call in change["kubectl"]] == [
        ["delete", "persistentvolumeclaim", "-n", "default", "model"],
        ["apply", "-f", "-"],
    ]
    assert [each["metadata"]["name"] for each in change["kubectl"][1]["manifests"]] == ["model"]
    assert change["edits"][0] == {"delete": ["persistentvolumeclaim/default/model"]}
    assert change["edits"][1]["apply"][0]["spec"]["storageClassName"] == ""


def test_another_class_is_not_advised_where_more_is_wrong(tmp_path: Path) -> None:
    session = load(tmp_path, CLUSTER, VOLUME.replace("1Gi", "500Mi"))
    (row,) = kwhatif.advise(session, written(tmp_path, CLAIM, POD)).to_dict()["advise"]["workloads"]
    assert "claim-class" not in {change["kind"] for each in row["advice"] for change in each["changes"]}
