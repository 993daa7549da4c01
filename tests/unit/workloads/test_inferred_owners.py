"""Owners of pods whose kind the input lacks altogether, kind by kind."""

import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.policy import PriorityClass, RuntimeClass
from kwhatif.kube.model.workload import SCALABLE, DaemonSet, Deployment, Job, ReplicaSet, StatefulSet
from kwhatif.workloads.daemon_set import eligible_nodes
from tests.objects import manifest

Object = dict[str, Any]
GROUPS = {"Job": "batch/v1", "ReplicationController": "v1"}
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def node(name: str, **labels: str) -> Object:
    status = {"allocatable": {"cpu": "8", "pods": "20"}, "conditions": [{"type": "Ready", "status": "True"}]}
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status}


def pod(
    name: str,
    owner: str | None,
    *,
    uid: str = "u",
    labels: Object | None = None,
    phase: str = "Running",
    created: str = EARLY,
    going: bool = False,
    version: str = "",
    ready: bool = True,
    annotations: Object | None = None,
    **spec: Any,
) -> Object:
    """`owner`: such as "ReplicaSet web-6d4"."""
    meta: Object = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "creationTimestamp": created}
    meta["labels"] = {"app": "web"} if labels is None else labels
    meta["annotations"] = annotations or {}
    if owner is not None:
        kind, _, own = owner.partition(" ")
        reference = {"apiVersion": version or GROUPS.get(kind, "apps/v1"), "kind": kind, "name": own}
        meta["ownerReferences"] = [{**reference, "uid": uid, "controller": True}]
    if going:
        meta["deletionTimestamp"] = LATE
    spec = {"nodeName": "a", "priority": 0, "containers": [{"name": "c", "image": "i"}], **spec}
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return manifest("Pod", meta, spec=spec, status={"phase": phase, "conditions": [condition]})


def known(*objects: Object) -> Cluster:
    """The cluster with the owners that the input lacks."""
    return kwhatif.load([node("a"), node("b"), *objects]).with_owners().cluster


def sizes(cluster: Cluster) -> dict[str, int | None]:
    """How many replicas each has."""
    found: dict[str, int | None] = {}
    for kind in SCALABLE:
        for key, each in cluster.all(kind).items():
            found[f"{kind.__name__} {key}"] = each.spec.replicas
    return found


HASHED = {"app": "web", "pod-template-hash": "6d4"}


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(
            [
                pod("web-6d4-1", "ReplicaSet web-6d4", labels=HASHED),
                pod("web-6d4-2", "ReplicaSet web-6d4", labels=HASHED),
            ],
            {"Deployment shop/web": 2, "ReplicaSet shop/web-6d4": 2},
            id="a ReplicaSet, and its Deployment by the hash in its name",
        ),
        pytest.param(
            [pod("web-1", "ReplicaSet web")], {"ReplicaSet shop/web": 1}, id="a ReplicaSet of its own: no hash"
        ),
        pytest.param(
            [pod("web-6d4-1", "ReplicaSet web-6d4", labels={"app": "web", "pod-template-hash": "77"})],
            {"ReplicaSet shop/web-6d4": 1},
            id="a hash that is not that of the name",
        ),
        pytest.param([pod("p", "ReplicationController old")], {"ReplicationController shop/old": 1}, id="a controller"),
        pytest.param(
            [pod("web-1", "ReplicaSet web"), pod("web-2", "ReplicaSet web", going=True)],
            {"ReplicaSet shop/web": 1},
            id="a terminating pod does not count",
        ),
        pytest.param(
            [pod("web-1", "ReplicaSet web"), pod("web-2", "ReplicaSet web", phase="Failed")],
            {"ReplicaSet shop/web": 1},
            id="a pod that has ended does not count",
        ),
        pytest.param(
            [pod("web-1", "ReplicaSet web", nodeName="", phase="Pending"), pod("web-2", "ReplicaSet web")],
            {"ReplicaSet shop/web": 2},
            id="a pending pod counts",
        ),
        pytest.param(
            [pod("db-0", "StatefulSet db"), pod("db-2", "StatefulSet db")],
            {"StatefulSet shop/db": 3},
            id="a number that is missing between is about to be made",
        ),
        pytest.param(
            [pod("db-0", "StatefulSet db"), pod("db-1", "StatefulSet db", going=True)],
            {"StatefulSet shop/db": 1},
            id="the last pod of a set goes",
        ),
        pytest.param([pod("bare", None)], {}, id="no owner at all"),
        pytest.param(
            [pod("r-1", "Widget r", version="example.com/v1")], {}, id="an owner of a custom kind stays unknown"
        ),
        pytest.param(
            [pod("s-0", "StatefulSet s", version="example.com/v1beta1")], {}, id="a custom kind of the same name"
        ),
        pytest.param(
            [
                pod("web-6d4-1", "ReplicaSet web-6d4", labels=HASHED, uid="u1"),
                pod("web-7f5-1", "ReplicaSet web-7f5", labels={**HASHED, "pod-template-hash": "7f5"}, uid="u2"),
            ],
            {"Deployment shop/web": 2, "ReplicaSet shop/web-6d4": 1, "ReplicaSet shop/web-7f5": 1},
            id="two hashes are of one Deployment",
        ),
        pytest.param(
            [
                pod("web-1", "ReplicaSet web", uid="old"),
                pod("web-2", "ReplicaSet web", uid="new", created=LATE),
                pod("web-3", "ReplicaSet web", uid="new", created=LATE),
            ],
            {"ReplicaSet shop/web": 2},
            id="of two UIDs the last owner is there, the pods of the other are orphans",
        ),
    ],
)
def test_as_many_replicas_as_pods(pods: list[Object], expected: dict[str, int]) -> None:
    assert sizes(known(*pods)) == expected


def test_an_owner_has_the_uid_that_its_pods_name() -> None:
    cluster = known(pod("web-1", "ReplicaSet web", uid="old"), pod("web-2", "ReplicaSet web", uid="new", created=LATE))
    assert cluster.all(ReplicaSet)["shop/web"].metadata.uid == "new"


def test_where_the_kind_is_in_the_input_an_owner_that_is_not_is_gone() -> None:
    other = manifest(
        "ReplicaSet",
        {"name": "other", "namespace": "shop"},
        spec={"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {}},
    )
    cluster = known(other, pod("web-6d4-1", "ReplicaSet web-6d4", labels=HASHED), pod("db-0", "StatefulSet db"))
    assert sizes(cluster) == {"ReplicaSet shop/other": 0, "StatefulSet shop/db": 1}


def test_a_deployment_is_known_by_what_its_replica_sets_note() -> None:
    noted = {"revision": "3", "desired-replicas": "4", "max-replicas": "6"}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": True}
    replica_set = manifest(
        "ReplicaSet",
        {
            "name": "web-6d4",
            "namespace": "shop",
            "uid": "u",
            "annotations": {f"deployment.kubernetes.io/{name}": value for name, value in noted.items()},
            "ownerReferences": [owner],
        },
        spec={
            "replicas": 4,
            "minReadySeconds": 5,
            "selector": {"matchLabels": HASHED},
            "template": {"metadata": {"labels": HASHED}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    )
    made = known(replica_set, pod("web-6d4-1", "ReplicaSet web-6d4", labels=HASHED)).all(Deployment)["shop/web"]
    assert (made.metadata.uid, made.spec.replicas, made.spec.min_ready_seconds) == ("d", 4, 5)
    assert made.spec.selector is not None
    assert made.spec.selector.match_labels == {"app": "web"}
    assert made.spec.strategy.rolling_update is not None
    assert made.spec.strategy.rolling_update.max_surge == 2


@pytest.mark.parametrize(("ready", "paused"), [(True, True), (False, False)])
def test_two_templates_at_rest_are_meant_to_stay(*, ready: bool, paused: bool) -> None:
    cluster = known(
        pod("web-6d4-1", "ReplicaSet web-6d4", labels=HASHED, uid="u1"),
        pod(
            "web-7f5-1",
            "ReplicaSet web-7f5",
            labels={**HASHED, "pod-template-hash": "7f5"},
            uid="u2",
            created=LATE,
            ready=ready,
        ),
    )
    made = cluster.all(Deployment)["shop/web"]
    assert made.spec.paused is paused


# --- templates ---------------------------------------------------------------------------------------------------


def test_a_template_is_the_pod_without_what_was_added() -> None:
    seconds = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    own = {"key": "own", "operator": "Exists"}
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "matchLabelKeys": ["pod-template-hash"],
        "labelSelector": {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "pod-template-hash", "operator": "In", "values": ["6d4"]}],
        },
    }
    one = pod(
        "web-6d4-1",
        "ReplicaSet web-6d4",
        labels={**HASHED, "by-hand": "1", "topology.kubernetes.io/zone": "z"},
        annotations={"controller.kubernetes.io/pod-deletion-cost": "7"},
        created=LATE,
        tolerations=[own, *seconds],
        volumes=[{"name": "kube-api-access-x", "projected": {}}, {"name": "tmp", "emptyDir": {}}],
        priority=7,
        priorityClassName="high",
        preemptionPolicy="Never",
        runtimeClassName="kata",
        overhead={"cpu": "100m"},
        topologySpreadConstraints=[spread],
    )
    cluster = known(one, pod("web-6d4-2", "ReplicaSet web-6d4", labels=HASHED))
    template = cluster.all(Deployment)["shop/web"].spec.template
    assert template is not None
    assert template.metadata.labels == {"app": "web"}
    assert template.metadata.annotations.deletion_cost == ""
    spec = template.spec
    assert (spec.node_name, spec.priority, spec.priority_class_name, spec.preemption_policy) == ("", None, "high", "")
    assert [toleration.key for toleration in spec.tolerations] == ["own"]
    assert [volume.name for volume in spec.volumes] == ["tmp"]
    assert spec.overhead is None
    selector = spec.topology_spread_constraints[0].label_selector
    assert selector is not None
    assert selector.match_expressions == ()
    priority, runtime = cluster.all(PriorityClass)["high"], cluster.all(RuntimeClass)["kata"]
    assert (priority.value, priority.preemption_policy) == (7, "Never")
    assert runtime.overhead is not None
    assert runtime.overhead.pod_fixed == {"cpu": "100m"}


def test_a_stateful_set_has_its_claims_and_its_service() -> None:
    claim = manifest(
        "PersistentVolumeClaim",
        {"name": "data-db-0", "namespace": "shop"},
        spec={
            "volumeName": "pv-1",
            "storageClassName": "fast",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    )
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
        {"name": "shared", "persistentVolumeClaim": {"claimName": "all"}},
    ]
    labels = {"app": "db", "controller-revision-hash": "db-1", "apps.kubernetes.io/pod-index": "0"}
    made = known(
        claim, pod("db-0", "StatefulSet db", labels=labels, volumes=volumes, hostname="db-0", subdomain="db-svc")
    ).all(StatefulSet)["shop/db"]
    assert made.spec.service_name == "db-svc"
    (template,) = made.spec.volume_claim_templates
    assert (template.metadata.name, template.spec.storage_class_name, template.spec.volume_name) == ("data", "fast", "")
    assert made.spec.template is not None
    assert [volume.name for volume in made.spec.template.spec.volumes] == ["shared"]
    assert made.spec.template.spec.hostname == ""
    assert (made.status.update_revision, made.status.current_revision) == ("db-1", "db-1")


# --- DaemonSets --------------------------------------------------------------------------------------------------


def pinned(name: str, node_name: str, **fields: Any) -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    fields = {"nodeName": node_name, **fields}
    return pod(name, "DaemonSet agent", labels={"app": "agent"}, affinity=affinity, **fields)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([pinned("x", "a"), pinned("y", "b"), pinned("z", "c")], ["a", "b", "c", "new"], id="everywhere"),
        pytest.param([pinned("x", "a"), pinned("y", "b")], ["a", "b", "new"], id="where the pool is that of its nodes"),
        pytest.param([pinned("x", "a"), pinned("z", "c")], ["a", "c", "new"], id="on all nodes but one"),
        pytest.param([pinned("x", "a")], ["a"], id="on one node, of which nothing else is special"),
        pytest.param(
            [pinned("x", "a"), pinned("y", "b", nodeName="", phase="Pending")],
            ["a", "b", "new"],
            id="a pod that waits is for the node of its affinity",
        ),
        pytest.param(
            [pinned("x", "a"), pinned("y", "b", phase="Failed")],
            ["a", "b", "new"],
            id="one that has failed comes again",
        ),
        pytest.param(
            [pinned("x", "a"), pinned("y", "b", going=True)], ["a", "b", "new"], id="one that goes comes again"
        ),
    ],
)
def test_a_daemon_set_wants_pods_where_it_has_them(pods: list[Object], expected: list[str]) -> None:
    nodes = [node("a", pool="x"), node("b", pool="x"), node("c", pool="y")]
    session = kwhatif.load([*nodes, *pods]).with_owners()
    later = kwhatif.load([*nodes, node("new", pool="x"), *pods]).cluster
    made = session.cluster.all(DaemonSet)["shop/agent"]
    assert made.spec.template is not None
    assert "kubernetes.io/hostname" not in str(made.spec.template.spec.affinity)
    assert eligible_nodes(made, later) == expected


# --- Jobs --------------------------------------------------------------------------------------------------------


def indexed(index: int, **fields: Any) -> Object:
    notes = {"batch.kubernetes.io/job-completion-index": str(index)}
    return pod(f"j-{index}-x", "Job j", labels={"job-name": "j"}, annotations=notes, **fields)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([pod("j-1", "Job j"), pod("j-2", "Job j")], (2, 2, None, 0), id="as many at once as there are"),
        pytest.param(
            [pod("j-1", "Job j"), pod("j-2", "Job j", phase="Succeeded")], (1, 2, None, 1), id="one is done already"
        ),
        pytest.param(
            [indexed(0, phase="Succeeded"), indexed(3)], (1, 4, "Indexed", 1), id="completions by the highest number"
        ),
        pytest.param([pod("j-2", "Job j", phase="Succeeded")], None, id="nothing is left of one that is done"),
        pytest.param([pod("j-2", "Job j", phase="Failed")], None, id="nor of one whose pods have failed"),
    ],
)
def test_a_job_has_the_completions_that_its_pods_show(
    pods: list[Object], expected: tuple[int, int, str | None, int] | None
) -> None:
    made = known(*pods).get(Job, "shop/j")
    spec = made and made.spec
    found = spec and (spec.parallelism, spec.completions, spec.completion_mode, made.status.succeeded if made else 0)
    assert found == expected


# --- when ----------------------------------------------------------------------------------------------------------


def test_nothing_is_made_up_where_nothing_lacks() -> None:
    session = kwhatif.load([node("a"), pod("bare", None)])
    assert session.with_owners() is session


def test_where_a_pod_lands_does_not_depend_on_owners() -> None:
    session = kwhatif.load([node("a"), pod("web-6d4-1", "ReplicaSet web-6d4", labels=HASHED)])
    new = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"}, "spec": {"containers": [{"name": "c"}]}}
    report = kwhatif.schedule(session, new)
    assert "owners-inferred" not in {caveat.code for caveat in report.caveat_details}
    assert not session.cluster.all(ReplicaSet)


def test_what_was_made_up_is_said_once_with_the_kinds_to_add() -> None:
    session = kwhatif.load(
        [node("a"), node("b"), pod("web-6d4-1", "ReplicaSet web-6d4", labels=HASHED), pod("db-0", "StatefulSet db")]
    )
    report = kwhatif.drain(session, "a")
    (said,) = (text for text in report.caveats if "owners are inferred from pods" in text)
    lists = ("apps/v1/replicasets", "apps/v1/deployments", "apps/v1/statefulsets", "policy/v1/poddisruptionbudgets")
    assert f"for l in {' '.join(f'/apis/{each}' for each in lists)}; do kubectl get --raw $l; done" in said
    assert report.story is not None
    assert report.story.verdict is not None
    assert (report.story.verdict.ok, report.story.verdict.moved) == (True, 2)


def test_an_edit_scales_an_owner_that_was_made_up() -> None:
    session = kwhatif.load([node("a"), node("b"), pod("web-6d4-1", "ReplicaSet web-6d4", labels=HASHED)])
    report = kwhatif.simulate(kwhatif.edited(session, "scale deployment/shop/web=3"))
    assert report.story is not None
    (row,) = report.story.workloads
    assert (row.workload, row.ready_after) == ("Deployment shop/web", 3)


def test_an_owner_adopts_no_pod_that_it_would_have_adopted_long_ago() -> None:
    session = kwhatif.load([node("a"), pod("web-1", "ReplicaSet web"), pod("bare", None)])
    report = kwhatif.simulate(session)
    assert report.story is not None
    assert report.story.events == ()


# --- claims ------------------------------------------------------------------------------------------------------


def claiming(name: str, owner: str, **fields: Any) -> Object:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
    return pod(name, owner, labels={"app": "db"}, volumes=volumes, **fields)


def test_the_claims_of_a_pod_that_runs_are_there_and_bound() -> None:
    session = kwhatif.load([node("a"), node("b"), claiming("db-0", "StatefulSet db")])
    report = kwhatif.drain(session, "a")
    assert report.story is not None
    assert report.story.verdict is not None
    assert (report.story.verdict.ok, report.story.verdict.moved) == (True, 1)
    said = {caveat.code: caveat for caveat in report.caveat_details}
    kinds = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
    assert getattr(said["no-storage"], "kinds", None) == kinds


def test_nothing_is_said_of_volumes_where_no_pod_with_a_claim_is_made() -> None:
    objects = [node("a"), node("b"), pod("web-1", "ReplicaSet web", nodeName="b"), claiming("db-0", "StatefulSet db")]
    report = kwhatif.drain(kwhatif.load(objects), "b")
    assert "no-storage" not in {caveat.code for caveat in report.caveat_details}


def test_a_volume_that_only_its_claim_shows_can_be_reached_from_everywhere() -> None:
    claim = manifest(
        "PersistentVolumeClaim",
        {"name": "data-db-0", "namespace": "shop", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        spec={"volumeName": "pv-1", "storageClassName": "fast", "accessModes": ["ReadWriteOnce"]},
    )
    claim["spec"]["resources"] = {"requests": {"storage": "1Gi"}}
    report = kwhatif.drain(kwhatif.load([node("a"), node("b"), claim, claiming("db-0", "StatefulSet db")]), "a")
    assert report.story is not None
    assert report.story.verdict is not None
    assert report.story.verdict.ok
    said = {caveat.code: caveat for caveat in report.caveat_details}
    assert getattr(said["no-storage"], "kinds", None) == ("PersistentVolume", "StorageClass")


@pytest.mark.parametrize("saved", [False, True])
def test_an_empty_list_of_a_kind_says_that_there_is_none(*, saved: bool, tmp_path: Path) -> None:
    empty = {"apiVersion": "apps/v1", "kind": "ReplicaSetList", "items": []}
    items = [node("a"), node("b"), pod("web-6d4-1", "ReplicaSet web-6d4", labels=HASHED), pod("db-0", "StatefulSet db")]
    for number, each in enumerate([empty, {"apiVersion": "v1", "kind": "List", "items": items}]):
        (tmp_path / f"{number}.json").write_text(json.dumps(each))
    session = kwhatif.load(tmp_path)
    if saved:
        kwhatif.save_snapshot(tmp_path / "saved.json.gz", tmp_path / "0.json", tmp_path / "1.json")
        session = kwhatif.load(tmp_path / "saved.json.gz")
    assert sizes(session.with_owners().cluster) == {"StatefulSet shop/db": 1}


def test_a_class_that_pods_show_is_known_to_new_ones() -> None:
    there = pod("web-1", "ReplicaSet web", priorityClassName="high", priority=7, preemptionPolicy="Never")
    session = kwhatif.load([node("a"), there])
    spec = {"containers": [{"name": "c", "image": "i"}]}
    new = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new", "namespace": "shop"}, "spec": spec}
    (decision,) = kwhatif.schedule(session, {**new, "spec": {**spec, "priorityClassName": "high"}}).decisions
    assert (decision.outcome, decision.priority) == ("Placed", 7)
    (decision,) = kwhatif.schedule(session, {**new, "spec": {**spec, "priorityClassName": "unheard-of"}}).decisions
    assert decision.outcome == "Denied"
