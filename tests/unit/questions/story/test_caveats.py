"""What a simulation leaves out, and is there, is a caveat: only where the story meets it."""

from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.caveat import Caveat

Object = dict[str, Any]
_VERSIONS = {
    "StatefulSet": "apps/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "PodDisruptionBudget": "policy/v1",
    "StorageClass": "storage.k8s.io/v1",
}
TEMPLATE: Object = {
    "metadata": {"labels": {"app": "db"}},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
}
LABELS = {"app": "db"}


def obj(kind: str, name: str, meta: Object | None = None, **fields: Any) -> Object:
    namespaced = {} if kind in ("Node", "Namespace", "StorageClass", "PersistentVolume") else {"namespace": "shop"}
    metadata = {"name": name, **namespaced, **(meta or {})}
    return {"apiVersion": _VERSIONS.get(kind, "v1"), "kind": kind, "metadata": metadata, **fields}


def node(name: str, cpu: str = "4", **meta: Any) -> Object:
    status = {"allocatable": {"cpu": cpu, "pods": "9"}, "conditions": [{"type": "Ready", "status": "True"}]}
    return obj("Node", name, meta, status=status)


def pod(name: str, on: str = "a", **meta: Any) -> Object:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    meta = {"labels": LABELS, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z", **meta}
    return obj("Pod", name, meta, spec={**TEMPLATE["spec"], "nodeName": on}, status=status)


def owner(kind: str, name: str) -> Object:
    return {"ownerReferences": [{"kind": kind, "name": name, "controller": True, "uid": name}]}


def said(cluster: list[Object], *manifests: Object, then: tuple[str, ...] = ()) -> dict[str, Caveat]:
    """The caveats, by code, and by what of a story they leave out."""
    report = kwhatif.simulate(kwhatif.load([*cluster, obj("Namespace", "shop")]), *manifests, then=list(then))
    return {getattr(caveat, "what", caveat.code): caveat for caveat in report.caveat_details}


def stateful_set(update: str, name: str = "db", partition: int = 1) -> Object:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    spec = {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": TEMPLATE, "updateStrategy": strategy}
    status = {"currentRevision": "db-1", "updateRevision": update, "currentReplicas": 1}
    return obj("StatefulSet", name, {"uid": "db"}, spec=spec, status=status)


def db(number: int, revision: str) -> Object:
    return pod(f"db-{number}", labels={**LABELS, "controller-revision-hash": revision}, **owner("StatefulSet", "db"))


@pytest.mark.parametrize(
    ("update", "gone", "caveat"),
    [("db-2", "db-0", True), ("db-2", "db-1", False), ("db-1", "db-0", False)],
)
def test_pods_of_an_old_revision_of_which_the_template_is_not_known(update: str, gone: str, caveat: bool) -> None:
    cluster = [node("a"), stateful_set(update), db(0, "db-1"), db(1, update)]
    codes = said(cluster, then=(f"delete pod/shop/{gone}",))
    assert ("old-revisions-unknown" in codes) is caveat


def test_a_template_changed_in_the_middle_of_a_rollout() -> None:
    changed = stateful_set("db-2")
    changed["spec"] = {**changed["spec"], "template": {**TEMPLATE, "metadata": {"labels": {**LABELS, "new": "1"}}}}
    assert "old-revisions-unknown" in said([node("a"), stateful_set("db-2"), db(0, "db-1"), db(1, "db-2")], changed)
    assert "old-revisions-unknown" not in said([node("a"), stateful_set("db-1"), db(0, "db-1"), db(1, "db-1")], changed)


@pytest.mark.parametrize(("labels", "caveat"), [(LABELS, True), ({"app": "other"}, False)])
def test_a_pod_that_would_be_adopted(labels: Object, caveat: bool) -> None:
    assert ("adoption" in said([node("a"), stateful_set("db-1"), pod("bare", labels=labels)])) is caveat


@pytest.mark.parametrize(("kept", "caveat"), [(10, True), (10_000, False), (None, False)])
def test_a_job_that_would_be_deleted_after_its_end(kept: int | None, caveat: bool) -> None:
    template = {
        "metadata": {"annotations": {"kwhatif.dev/run-seconds": "1"}},
        "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"},
    }
    spec = {"template": template} if kept is None else {"template": template, "ttlSecondsAfterFinished": kept}
    job = obj("Job", "once", spec=spec)
    assert ("job-ttl" in said([node("a")], job, then=("wait 100s",))) is caveat


@pytest.mark.parametrize(("schedule", "caveat"), [("* * * * *", True), ("0 0 30 2 *", False)])
def test_a_cron_job_whose_time_comes(schedule: str, caveat: bool) -> None:
    template = {"spec": {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}}}
    cron_job = obj("CronJob", "often", spec={"schedule": schedule, "jobTemplate": template})
    assert ("cron-jobs" in said([node("a"), cron_job], then=("wait 100s",))) is caveat
    assert "cron-jobs" not in said([node("a"), cron_job])


@pytest.mark.parametrize(("cluster", "mode"), [("volume-provisioned", "Immediate"), ("", "WaitForFirstConsumer")])
def test_what_is_assumed_of_a_new_claim(cluster: str, mode: str) -> None:
    storage = obj("StorageClass", "fast", provisioner="x.io", volumeBindingMode=mode)
    spec = {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    found = said([node("a"), storage], obj("PersistentVolumeClaim", "data", spec=spec))
    assert {"volume-provisioned", "claim-unbound"} & found.keys() == ({cluster} if cluster else set())


def test_a_new_claim_that_stays_unbound() -> None:
    spec = {"storageClassName": "fats", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = obj("PersistentVolumeClaim", "data", spec=spec)
    storage = obj("StorageClass", "fast", provisioner="x.io")
    assert "claim-unbound" in said([node("a"), storage], claim)
    assert "claim-unbound" not in said([node("a"), storage, claim])


def test_the_volume_of_a_claim_that_goes() -> None:
    spec = {"storageClassName": "", "accessModes": ["ReadWriteOnce"], "volumeName": "v"}
    claim = obj("PersistentVolumeClaim", "data", spec=spec, status={"phase": "Bound"})
    volume = obj("PersistentVolume", "v", spec={"claimRef": {"namespace": "shop", "name": "data"}})
    cluster = [node("a"), claim, volume]
    assert "volume-reclaim" in said(cluster, then=("delete pvc/shop/data",))
    assert "volume-reclaim" not in said(cluster)


def test_an_autoscaler_of_a_workload_in_the_story() -> None:
    target = {"kind": "StatefulSet", "name": "db"}
    scaler = obj("HorizontalPodAutoscaler", "db", spec={"scaleTargetRef": target, "maxReplicas": 3})
    cluster = [node("a"), stateful_set("db-1"), db(0, "db-1"), db(1, "db-1"), scaler]
    assert "autoscaler" in said(cluster, then=("delete pod/shop/db-0",))
    assert "autoscaler" not in said(cluster, then=("cordon a",))


def test_a_node_autoscaler_where_pods_stay_pending() -> None:
    scaler = pod("scaler", labels={"app.kubernetes.io/name": "aws-cluster-autoscaler"})
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "9"}}}]}
    large, small = obj("Pod", "large", spec=spec), obj("Pod", "small", spec=TEMPLATE["spec"])
    karpenter = node("a", labels={"karpenter.sh/nodepool": "default"})
    assert "node-autoscaler" in said([node("a"), scaler], large)
    assert "node-autoscaler" in said([karpenter], large)
    assert "node-autoscaler" not in said([node("a")], large)
    assert "node-autoscaler" not in said([karpenter], small)


def test_a_namespace_that_is_being_deleted() -> None:
    going = obj("Namespace", "old", {"deletionTimestamp": "2026-01-01T00:00:00Z"})
    left = pod("left")
    left["metadata"]["namespace"] = "old"
    assert "namespaces" in said([node("a"), going, left])
    assert "namespaces" not in said([node("a"), going])


@pytest.mark.parametrize(("kind", "caveat"), [("Postgres", True), ("StatefulSet", False)])
def test_a_budget_of_pods_of_a_custom_kind(kind: str, caveat: bool) -> None:
    budget = obj(
        "PodDisruptionBudget",
        "db",
        spec={"maxUnavailable": 1, "selector": {"matchLabels": LABELS}},
        status={"disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 0, "expectedPods": 1},
    )
    owned = [pod(name, **owner(kind, "db")) for name in ("db-0", "db-1")]
    for each in owned:
        each["metadata"]["ownerReferences"][0]["apiVersion"] = "x.io/v1" if kind == "Postgres" else "apps/v1"
    cluster = [node("a"), stateful_set("db-1"), *owned, budget]
    assert ("budgets" in said(cluster, then=("delete pod/shop/db-0",))) is caveat
    assert "budgets" not in said(cluster)  # nobody counts it anew


@pytest.mark.parametrize(
    ("phase", "then", "caveat"),
    [
        ("Pending", ("delete pod/shop/other",), True),
        ("Running", ("delete pod/shop/other",), False),
        ("Pending", (), False),
    ],
)
def test_a_pod_that_has_a_node_and_does_not_run(phase: str, then: tuple[str, ...], caveat: bool) -> None:
    waiting = {**pod("slow"), "status": {"phase": phase}}
    assert ("not-started" in said([node("a"), waiting, pod("other")], then=then)) == caveat


@pytest.mark.parametrize(
    ("ready", "then", "caveat"),
    [
        ("False", ("delete pod/shop/slow",), True),
        ("True", ("delete pod/shop/slow",), False),
        ("False", ("delete pod/shop/other",), False),
    ],
)
def test_a_pod_that_was_not_ready_and_goes(ready: str, then: tuple[str, ...], caveat: bool) -> None:
    waiting = pod("slow", **owner("ReplicaSet", "db"))
    waiting["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    assert ("not-ready" in said([node("a"), waiting, pod("other")], then=then)) == caveat


GATES = [{"conditionType": "target-health.elbv2.k8s.aws/tg"}]


def gated(made: Object) -> Object:
    return {**made, "spec": {**made["spec"], "readinessGates": GATES}}


@pytest.mark.parametrize(
    ("then", "caveat"), [("delete pod/shop/behind", True), ("delete pod/shop/other", False), ("cordon a", False)]
)
def test_a_pod_behind_a_readiness_gate_that_goes(then: str, caveat: bool) -> None:
    behind = gated(pod("behind", **owner("ReplicaSet", "db")))
    assert ("readiness-gates" in said([node("a"), behind, pod("other")], then=(then,))) == caveat


def test_a_new_pod_behind_a_readiness_gate() -> None:
    bare = obj("Pod", "new", spec=TEMPLATE["spec"])
    assert "readiness-gates" in said([node("a")], gated(bare))
    assert "readiness-gates" not in said([node("a")], bare)


def test_a_drain_and_an_outage_say_it_too() -> None:
    session = kwhatif.load([node("a"), node("b"), obj("Namespace", "shop"), pod("x", **owner("Rollout", "gone"))])
    for report in (kwhatif.drain(session, "a"), kwhatif.outage(session, "a", deleted=True)):
        assert "owners-silent" in {caveat.code for caveat in report.caveat_details}


def judged(cluster: list[Object], *manifests: Object) -> dict[str, Caveat]:
    """The caveats of a gate that simulates, by code, and by what they leave out."""
    report = kwhatif.gate(kwhatif.load([*cluster, obj("Namespace", "shop")]), *manifests, validation="ignore")
    return {getattr(caveat, "what", caveat.code): caveat for caveat in report.caveat_details}


def test_a_gate_says_which_template_its_rollout_lacks() -> None:
    changed = stateful_set("db-2")
    changed["spec"] = {**changed["spec"], "template": {**TEMPLATE, "metadata": {"labels": {**LABELS, "new": "1"}}}}
    cluster = [node("a"), stateful_set("db-2"), db(0, "db-1"), db(1, "db-2")]
    assert "old-revisions-unknown" in judged(cluster, changed)


def test_a_gate_says_whose_evicted_pods_nobody_makes_anew() -> None:
    urgent = obj("PriorityClass", "urgent", value=9)
    urgent["apiVersion"] = "scheduling.k8s.io/v1"
    del urgent["metadata"]["namespace"]
    spec = {**TEMPLATE["spec"], "priorityClassName": "urgent"}
    new = [obj("Pod", f"new-{number}", spec=spec) for number in range(2)]
    cluster = [node("a", "1"), node("b", "1"), urgent]
    lost = owner("ReplicaSet", "lost")
    assert "owners-silent" in judged([*cluster, pod("old-0", **lost), pod("old-1", on="b", **lost)], *new)
    assert "owners-silent" not in judged([*cluster, pod("old-0"), pod("old-1", on="b")], *new)


@pytest.mark.parametrize(("app", "adopted"), [("db", True), ("web", False)])
def test_a_gate_says_which_pods_its_workload_would_adopt(app: str, adopted: bool) -> None:
    cluster = [node("a"), stateful_set("db-1"), pod("bare", labels={"app": app})]
    changed = stateful_set("db-1")
    changed["spec"] = {**changed["spec"], "template": {**TEMPLATE, "metadata": {"labels": {**LABELS, "new": "1"}}}}
    cluster += [db(0, "db-1"), db(1, "db-1")]
    assert ("adoption" in judged(cluster, changed)) is adopted
