"""How many more fit: what is counted, what stops it, and how many nodes a target takes."""

import json
from typing import Any

import pytest

import kwhatif
from kwhatif.errors import InputError
from kwhatif.policy.fail_on import fails
from kwhatif.render.worded import worded
from kwhatif.report import Report
from kwhatif.report.capacity import CapacityRow
from tests.objects import manifest

Json = dict[str, Any]


def node(name: str, cpu: str = "4", memory: str = "8Gi", pods: str = "110", zone: str = "", **spec: Any) -> Json:
    labels = {"kubernetes.io/hostname": name} | ({"topology.kubernetes.io/zone": zone} if zone else {})
    amounts = {"cpu": cpu, "memory": memory, "pods": pods}
    status = {"allocatable": amounts, "capacity": amounts}
    return manifest("Node", {"name": name, "labels": labels}, spec=spec, status=status)


def pod_spec(cpu: str = "1", memory: str = "1Gi", **fields: Any) -> Json:
    return {
        "containers": [{"name": "a", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]
    } | fields


def pod(name: str = "web", cpu: str = "1", memory: str = "1Gi", **fields: Any) -> Json:
    meta = {"name": name, "namespace": "default", "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod_spec(cpu, memory, **fields)}


def running(name: str, on: str, **fields: Any) -> Json:
    made = pod(name, nodeName=on, **fields)
    return made | {"status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}}


def workload(kind: str, name: str = "web", cpu: str = "1", **spec: Any) -> Json:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(cpu)}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        return {
            "apiVersion": "batch/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"template": template} | spec,
        }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template} | spec,
    }


def priority(name: str, value: int) -> Json:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def loaded(*objects: Json) -> kwhatif.Session:
    return kwhatif.load(list(objects))


def ask(session: kwhatif.Session, *manifests: Any, **options: Any) -> Report:
    return kwhatif.capacity(session, *manifests, **options)


def row_of(report: Report) -> CapacityRow:
    assert report.capacity is not None
    return report.capacity


def sets(session: kwhatif.Session, *manifests: Any, **options: Any) -> int:
    best = row_of(ask(session, *manifests, **options)).best
    assert best is not None
    return best.sets


def test_pods_are_counted_by_node_and_zone() -> None:
    session = loaded(node("a", zone="x"), node("b", zone="y", cpu="2"), node("c", cpu="1"), running("old", "a"))
    fit = row_of(ask(session, pod())).fit
    assert fit is not None
    (counted,) = fit.counted
    assert (fit.sets, counted.pods, counted.workload) == (6, 6, "Pod default/web")
    assert counted.nodes == {"a": 3, "b": 2, "c": 1}
    assert counted.zones == {"": 1, "x": 3, "y": 2}
    assert counted.requests == {"cpu": 1000, "memory": 2**30}


def test_what_stops_the_next_one_is_counted_by_reason() -> None:
    session = loaded(node("a"), node("b", memory="2Gi"), node("c", unschedulable=True), node("d", pods="1", cpu="3"))
    fit = row_of(ask(session, pod())).fit
    assert fit is not None
    assert fit.stop is not None
    assert {row.reason: row.nodes for row in fit.stop.reasons} == {
        "Insufficient cpu": 1,
        "Insufficient memory": 1,
        "Too many pods": 1,
        "node(s) were unschedulable": 1,
    }
    tightest = {row.resource: (row.nodes, row.stranded) for row in fit.stop.tightest}
    assert tightest == {
        "cpu": (1, {"memory": 4 * 2**30}),
        "memory": (1, {"cpu": 2000}),
        "pods": (1, {"cpu": 2000, "memory": 7 * 2**30}),
    }
    assert fit.stop.outcome == "Unschedulable"


def test_a_workload_that_runs_gets_more_pods_beside_those_that_it_has() -> None:
    session = loaded(node("a"), workload("Deployment", replicas=2), running("web", "a"))
    assert sets(session, "deploy/web") == 3
    assert sets(session, "pod/web") == 3
    assert sets(session, [workload("Deployment", replicas=0)]) == 3
    assert sets(session, [workload("Deployment", replicas=9, paused=True)]) == 3


def test_a_stateful_set_gets_the_numbers_that_are_free_with_claims_of_their_own() -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "none",
        },
    }
    session = loaded(node("a"), running("db-1", "a"))
    stateful = workload("StatefulSet", "db", serviceName="db", replicas=1)
    assert sets(session, [stateful]) == 3
    (decision,) = ask(session, [stateful]).decisions
    assert decision.pod == "default/db-4"
    report = ask(session, [workload("StatefulSet", "db", serviceName="db", volumeClaimTemplates=[claim])])
    (decision,) = report.decisions
    assert row_of(report).fit.sets == 0  # type: ignore[union-attr]
    assert "unbound immediate PersistentVolumeClaims" in decision.message or "not found" in decision.message


@pytest.mark.parametrize("spec", [{}, {"suspend": True}, {"completions": 1, "completionMode": "Indexed"}])
def test_a_job_has_as_many_pods_as_fit(spec: Json) -> None:
    assert sets(loaded(node("a")), [workload("Job", **spec)]) == 4


def test_a_quota_stops_the_next_one() -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
    quota |= {"spec": {"hard": {"pods": "2"}}}
    fit = row_of(ask(loaded(node("a")), [workload("Deployment"), quota])).fit
    assert fit is not None
    assert fit.stop is not None
    assert (fit.sets, fit.stop.outcome) == (2, "Denied")
    assert "exceeded quota: q" in fit.stop.message


def test_gated_and_foreign_pods_are_not_counted() -> None:
    session = loaded(node("a"))
    for fields, outcome in (({"schedulingGates": [{"name": "x"}]}, "Gated"), ({"schedulerName": "mine"}, "Ignored")):
        fit = row_of(ask(session, pod(**fields))).fit
        assert fit is not None
        assert fit.stop is not None
        assert (fit.sets, fit.stop.outcome) == (0, outcome)


def test_eviction_is_counted_apart_and_says_whom() -> None:
    session = loaded(node("a"), priority("high", 1000), *(running(f"old-{number}", "a") for number in range(3)))
    row = row_of(ask(session, pod(priorityClassName="high"), with_preemption=True))
    assert row.fit is not None
    assert row.fit.stop is not None
    assert row.preempting is not None
    assert (row.fit.sets, row.fit.stop.outcome) == (1, "Preempts")
    assert (row.preempting.fit.sets, row.preempting.evicting) == (4, 3)
    assert sorted(row.preempting.victims) == ["default/old-0", "default/old-1", "default/old-2"]
    assert sets(session, pod(priorityClassName="high")) == 1


def test_a_set_is_whole_or_not_counted() -> None:
    session = loaded(node("a"))
    fit = row_of(ask(session, [pod("web"), pod("cache", cpu="2")])).fit
    assert fit is not None
    assert fit.sets == 1
    assert [(counted.pods, counted.times) for counted in fit.counted] == [(1, 1), (1, 1)]
    assert fit.stop is not None
    assert fit.stop.workload == "Pod default/cache"


def test_pods_of_a_set_never_evict_those_of_another() -> None:
    session = loaded(node("a"), priority("high", 1000))
    manifests = [pod("low"), pod("high", priorityClassName="high")]
    row = row_of(ask(session, manifests, with_preemption=True))
    assert row.preempting is not None
    assert row.preempting.fit.sets == 2
    assert row.preempting.victims == ()
    assert row.preempting.fit.stop is not None
    assert row.preempting.fit.stop.outcome == "Preempts"


def test_pending_pods_come_first_unless_their_priority_is_lower() -> None:
    session = loaded(
        node("a"), priority("high", 10), pod("waits"), pod("waits-long", priorityClassName="high", priority=10)
    )
    report = ask(session, pod())
    assert row_of(report).fit.sets == 2  # type: ignore[union-attr]
    assert [row.pod for row in report.queued_before] == ["default/waits-long", "default/waits"]
    assert sets(session, pod(priorityClassName="high")) == 3


@pytest.mark.parametrize(("target", "nodes", "fewer"), [(4, 0, None), (5, 1, 4), (8, 1, 4), (9, 2, 8), (40, 9, 36)])
def test_the_fewest_nodes_are_found_and_tried(target: int, nodes: int, fewer: int | None) -> None:
    row = row_of(ask(loaded(node("a")), pod(), target=target, add_nodes_like="a"))
    added = row.added_nodes
    assert added is not None
    assert (added.nodes, added.fewer, added.fit.sets) == (nodes, fewer, target)
    assert row.target is not None
    assert row.target.met
    assert added.edit == ("" if not nodes else f"add {nodes} node{'s' * (nodes > 1)} like a")
    edited = kwhatif.edited(loaded(node("a")), added.edit) if nodes else loaded(node("a"))
    assert sets(edited, pod(), target=target) == target


def test_pods_of_daemon_sets_take_their_room_on_new_nodes() -> None:
    large = workload("DaemonSet", "large", cpu="9")
    elsewhere = workload("DaemonSet", "elsewhere")
    elsewhere["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    session = loaded(node("a"), workload("DaemonSet", "agent"), large, elsewhere, running("agent", "a"))
    report = worded(ask(session, pod(), target=9, add_nodes_like="a"))
    added = row_of(report).added_nodes
    assert added is not None
    assert (added.nodes, added.fewer) == (2, 6)
    assert added.notes[1:] == (
        "1 pod of DaemonSets takes 1 cpu and 1Gi memory on each: default/agent",
        "2 pods of DaemonSets (default/large) find no room there",
    )
    edited = kwhatif.edited(session, "add 2 nodes like a")
    report = ask(edited, pod())
    assert row_of(report).fit.sets == 9  # type: ignore[union-attr]
    assert worded(report).changes[0].notes == added.notes
    assert [shape.fit.sets for shape in row_of(ask(edited)).shapes] == [9]
    assert sets(session, [pod(), node("new")]) == 6


def test_nodes_that_do_not_help_are_said_so() -> None:
    row = row_of(ask(loaded(node("a", cpu="500m")), pod(), target=3, add_nodes_like="a"))
    assert row.added_nodes is not None
    assert (row.added_nodes.nodes, row.added_nodes.limit) == (None, 3)
    assert row.target is not None
    assert (row.target.met, row.target.missing, row.target.lacking) == (False, 3, {"cpu": 3000, "memory": 3 * 2**30})


def test_the_common_kinds_of_pods_are_counted_each_alone() -> None:
    daemon = {
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}]
    }
    agent = running("agent", "a")
    agent["metadata"] |= daemon
    session = loaded(node("a", cpu="10"), running("x", "a"), running("y", "a"), running("z", "a", cpu="2"), agent)
    row = row_of(ask(session))
    assert [(shape.running, shape.workloads, shape.fit.sets) for shape in row.shapes] == [
        (2, ("Pod default/x", "Pod default/y"), 4),
        (1, ("Pod default/z",), 2),
    ]
    assert row.fit is None
    assert row_of(ask(session, limit=3)).shapes[0].fit.stop is None


def test_a_session_stays_as_it_is() -> None:
    session = loaded(node("a"), running("old", "a"))
    before = json.dumps(kwhatif.gate(session, pod()).to_dict())
    assert sets(session, pod(), with_preemption=True) == 3
    assert json.dumps(kwhatif.gate(session, pod()).to_dict()) == before


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (workload("DaemonSet"), "has one pod on each node"),
        ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}, "holds no workload"),
    ],
)
def test_what_cannot_be_counted_is_bad_input(manifest: Json, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask(loaded(node("a")), manifest)


def test_a_custom_resource_is_counted_by_its_template() -> None:
    rollout = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "r"}}
    rollout |= {"spec": {"template": {"spec": pod_spec()}}}
    assert sets(loaded(node("a")), rollout, template_paths=["Rollout=.spec.template"]) == 4


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0},
        {"target": 0},
        {"add_nodes_like": "a"},
        {"add_nodes_like": "a", "target": 10_001},
        {"template_paths": ["nonsense"]},
    ],
)
def test_wrong_arguments_are_value_errors(options: Json) -> None:
    with pytest.raises(ValueError, match=r"at least 1|say with --target how many|at most 10,000|KIND=PATH"):
        ask(loaded(node("a")), pod(), **options)


def test_a_target_needs_a_manifest() -> None:
    with pytest.raises(TypeError, match="needs a manifest"):
        ask(loaded(node("a")), target=3)
    with pytest.raises(TypeError, match="takes a cluster first"):
        kwhatif.capacity("cluster.yaml", "pod.yaml")  # type: ignore[arg-type]


def test_the_shape_of_a_pod_of_the_cluster_is_admitted_as_if_it_were_asked_for_again() -> None:
    """The input may lack its images, and there may be another default class of priority today."""
    bare = running("old", "a")
    del bare["spec"]["containers"][0]["image"]
    default = priority("new-default", 7) | {"globalDefault": True}
    session = loaded(node("a"), bare, default)
    (shape,) = row_of(ask(session)).shapes
    assert (shape.workloads, shape.fit.sets) == (("Pod default/old",), 3)


def scaler(most: int) -> Json:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    meta = {"name": "web", "namespace": "default"}
    spec = {"scaleTargetRef": target, "maxReplicas": most}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta, "spec": spec}


@pytest.mark.parametrize(("most", "pending", "fit"), [(5, 0, 3), (8, 0, 0), (10, 2, 0)])
def test_the_peak_is_placed_before_what_is_counted(most: int, pending: int, fit: int) -> None:
    """Whatever the priority of what is counted."""
    high: Json = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    high |= {"value": 9, "preemptionPolicy": "Never"}
    session = kwhatif.load([node("a"), node("b"), workload("Deployment", replicas=2), scaler(most), high])
    web = pod("more") | {"spec": pod_spec(priorityClassName="high")}
    report = kwhatif.capacity(kwhatif.edited(session, "scale deploy/web=2"), web, peak=True)
    row = report.capacity
    assert row is not None
    assert row.peak is not None
    assert row.fit is not None
    (found,) = row.peak.workloads
    assert (found.workload, found.peak, found.pending) == ("Deployment default/web", most, pending)
    assert bool(found.message) == bool(pending)
    assert row.fit.sets == fit
    assert fails(report, ("peak",)) == bool(pending)


def test_the_peak_of_a_cluster_without_autoscalers_is_refused() -> None:
    with pytest.raises(InputError, match="no HorizontalPodAutoscaler scales a workload"):
        kwhatif.capacity(kwhatif.load([node("a")]), pod(), peak=True)


def test_a_path_that_leads_to_no_template_is_bad_input() -> None:
    rollout = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "r"}, "spec": {}}
    with pytest.raises(InputError, match=r"\.spec has no 'template'"):
        ask(loaded(node("a")), rollout, template_paths=["Rollout=.spec.template"])
