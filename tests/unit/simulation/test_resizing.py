"""Resizes in place: what kubelets decide, and what comes of it."""

from typing import Any

import pytest
from msgspec.structs import replace

import kwhatif
from kwhatif.kube.matching.requests import pod_requests
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import ContainerStatus, Pod, PodCondition
from kwhatif.kube.model.pod_spec import Container, ContainerResizePolicy, ResourceList, ResourceRequirements
from kwhatif.render.edits import sentences_of
from kwhatif.simulation import resizing
from kwhatif.simulation.resizing import Verdict, allocated, decide, in_order, is_under_way, resized, restarts
from kwhatif.state.change import SetFacts
from kwhatif.state.state import State
from tests.builders import cluster, node, pod
from tests.objects import manifest

Json = dict[str, Any]


def row(
    name: str = "main", allocated: ResourceList | None = None, actual: ResourceList | None = None
) -> ContainerStatus:
    resources = None if actual is None else ResourceRequirements(requests=actual)
    return ContainerStatus(name=name, resources=resources, allocated_resources=allocated)


def asking(name: str, asks: str, got: str, memory: str = "1Gi", **status: Any) -> Pod:
    """A pod on node n that asks for so much cpu, and has got so much."""
    granted: ResourceList = {"cpu": got, "memory": memory}
    rows = (row(allocated=granted, actual=granted),)
    made = pod(name).requests(cpu=asks, memory=memory).on("n")
    return made.status(phase="Running", container_statuses=rows, **status).build()


def decided(one: Pod, *others: Pod, minor: int = 36, size: Json | None = None) -> Verdict:
    made = node("n").allocatable(size or {"cpu": "8", "memory": "16Gi", "pods": "3"}).build()
    state = State(cluster(made, one, *others))
    state.apply(SetFacts.of(state.cluster, minor=minor))
    info = state.node("n")
    assert info is not None
    return decide(one, info, state.cluster)


SHORT = "Node didn't have enough resource: "


@pytest.mark.parametrize(
    ("one", "others", "minor", "expected"),
    [
        pytest.param(asking("a", "8", "1"), [], 36, Verdict("Fits"), id="all of the node"),
        pytest.param(asking("a", "5", "1"), [asking("b", "3", "3")], 36, Verdict("Fits"), id="to the last"),
        pytest.param(
            asking("a", "5001m", "1"),
            [asking("b", "3", "3")],
            36,
            Verdict("Deferred", f"{SHORT}cpu, requested: 5001, used: 3000, capacity: 8000"),
            id="a milli too much",
        ),
        pytest.param(
            asking("a", "5", "1"),
            [asking("b", "7", "3")],
            36,
            Verdict("Fits"),
            id="others count as granted, not as asked",
        ),
        pytest.param(
            asking("a", "5", "1"),
            [asking("b", "1", "4")],
            36,
            Verdict("Deferred", f"{SHORT}cpu, requested: 5000, used: 4000, capacity: 8000"),
            id="others keep what is granted until their kubelet has taken it back",
        ),
        pytest.param(
            asking("a", "9", "1"),
            [],
            36,
            Verdict("Deferred", f"{SHORT}cpu, requested: 9000, used: 0, capacity: 8000"),
            id="more than the node: since 1.36 the kubelet waits",
        ),
        pytest.param(
            asking("a", "9", "1"),
            [],
            35,
            Verdict("Infeasible", "Node didn't have enough capacity: cpu, requested: 9000, capacity: 8000"),
            id="more than the node: until 1.35 it gives up",
        ),
        pytest.param(
            asking("a", "9", "1", memory="17Gi"),
            [],
            34,
            Verdict(
                "Infeasible",
                f"Node didn't have enough capacity: memory, requested: {17 << 30}, capacity: {16 << 30}",
            ),
            id="memory is said first",
        ),
        pytest.param(
            asking("a", "2", "1"),
            [asking(name, "100m", "100m") for name in "bcd"],
            36,
            Verdict("Deferred", f"{SHORT}pods, requested: 1, used: 3, capacity: 3"),
            id="too many pods",
        ),
    ],
)
def test_decisions(one: Pod, others: list[Pod], minor: int, expected: Verdict) -> None:
    assert decided(one, *others, minor=minor) == expected


def test_a_resize_is_tried_as_a_new_pod_would_be() -> None:
    picky = asking("a", "2", "1")
    picky = replace(picky, spec=replace(picky.spec, node_selector={"disk": "ssd"}))
    assert decided(picky).message == "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({}, False, id="nothing is said"),
        pytest.param({"container_statuses": (row(),)}, False, id="nothing is said of resources"),
        pytest.param(
            {"container_statuses": (row(allocated={"cpu": "1000m"}),)}, False, id="the same, written otherwise"
        ),
        pytest.param(
            {"container_statuses": (row(allocated={"cpu": "2"}, actual={"cpu": "1"}),)}, True, id="not allocated"
        ),
        pytest.param(
            {"container_statuses": (row(allocated={"cpu": "1"}, actual={"cpu": "2"}),)}, True, id="not actuated"
        ),
        pytest.param({"container_statuses": (row("other", {"cpu": "2"}),)}, False, id="of no container"),
        pytest.param(
            {"conditions": (PodCondition(type="PodResizePending", status="True", reason="Deferred"),)},
            True,
            id="deferred",
        ),
        pytest.param(
            {
                "container_statuses": (row(allocated={"cpu": "2"}),),
                "conditions": (PodCondition(type="PodResizePending", status="True", reason="Infeasible"),),
            },
            False,
            id="given up",
        ),
    ],
)
def test_whether_a_resize_is_under_way(status: Json, expected: bool) -> None:
    one = pod("a").cpu("1").on("n").status(phase="Running", **status).build()
    assert is_under_way(one) is expected


def test_who_is_tried_first() -> None:
    def deferred(name: str, asks: str, time: str | None, **spec: Any) -> Pod:
        pending = PodCondition(type="PodResizePending", status="True", reason="Deferred", last_transition_time=time)
        made = asking(name, asks, "2", conditions=(pending,))
        return replace(made, spec=replace(made.spec, **spec))

    every = [
        deferred("shrinks", "1", None),
        deferred("important", "3", None, priority=7),
        replace(asking("whole", "3", "2"), status=replace(asking("whole", "3", "2").status, qos_class="Guaranteed")),
        deferred("early", "3", "2026-01-01T00:00:00Z"),
        deferred("late", "3", "2026-01-02T00:00:00Z"),
        deferred("undated", "3", None),
    ]
    for around in (every, every[::-1]):
        assert [each.metadata.name for each in in_order(around)] == [each.metadata.name for each in every]


def test_what_the_scheduler_counts_before_and_after() -> None:
    one = asking("a", "3", "1")
    assert pod_requests(allocated(one))["cpu"] == 1 * 10**9
    after = resized(one)
    assert allocated(after) == after
    assert not is_under_way(after)
    assert [(each.allocated_resources, each.resources) for each in after.status.container_statuses] == [
        ({"cpu": "3", "memory": "1Gi"}, after.spec.containers[0].resources)
    ]


def test_containers_restart_as_their_policy_says() -> None:
    policy = (ContainerResizePolicy(resource_name="memory", restart_policy="RestartContainer"),)
    one = asking("a", "3", "1")
    container: Container = replace(one.spec.containers[0], resize_policy=policy)
    one = replace(one, spec=replace(one.spec, containers=(container,)))
    assert restarts(one) == ()
    more = replace(container, resources=ResourceRequirements(requests={"cpu": "3", "memory": "2Gi"}))
    assert restarts(replace(one, spec=replace(one.spec, containers=(more,)))) == ("main",)
    assert resizing.is_assumed(replace(one, spec=replace(one.spec, containers=(more,))))


# --- stories -----------------------------------------------------------------------------------------------------


def raw_node(cpu: str = "8", kubelet: str = "", **labels: str) -> Json:
    amounts = {"cpu": cpu, "memory": "16Gi", "pods": "20"}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    meta = {"name": "n", "labels": {"kubernetes.io/hostname": "n", **labels}}
    info = {"nodeInfo": {"kubeletVersion": kubelet}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {**status, **info}}


def raw_pod(name: str, cpu: str = "1", got: str | None = None, *, status: Json | None = None, **more: Any) -> Json:
    resources = {"requests": {"cpu": cpu, "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    granted = {**resources, "requests": {"cpu": got or cpu, "memory": "1Gi"}}
    container = {"name": "c", "image": "i", "resources": resources, **more.pop("container", {})}
    rows = [{"name": "c", "state": {"running": {}}, "resources": granted, "allocatedResources": granted["requests"]}]
    ready = {"type": "Ready", "status": "True"}
    conditions = [ready, *(status or {}).get("conditions", ())]
    whole = {"phase": "Running", "containerStatuses": rows, **(status or {}), "conditions": conditions}
    return manifest(
        "Pod",
        {"name": name, "namespace": "d", "uid": name, **more.pop("metadata", {})},
        spec={"nodeName": "n", "containers": [container], "terminationGracePeriodSeconds": 10, **more},
        status=whole,
    )


def happened(report: kwhatif.Report) -> list[tuple[float, str, str, str]]:
    assert report.story is not None
    return [
        (each.at, each.verb, each.object, each.detail)
        for each in report.story.events
        if each.actor.startswith("kubelet") and each.verb not in ("ended", "removed")
    ]


def cpu(name: str, amount: str) -> str:
    return f"set pod/d/{name} spec.containers[0].resources.requests.cpu={amount}"


FULL = f"{SHORT}cpu, requested: 6000, used: 3000, capacity: 8000"


def play(*objects: Json, then: tuple[str, ...] = (), minor: int = 36) -> kwhatif.Report:
    return kwhatif.simulate(kwhatif.load([raw_node(), *objects], kubernetes_version=f"1.{minor}"), then=then)


def test_a_resize_that_fits_is_the_kubelets_event() -> None:
    report = play(raw_pod("a"), raw_pod("b", "3"), then=(cpu("a", "5"),))
    assert happened(report) == [(0.0, "resized", "Pod d/a", "cpu 1 to 5")]
    assert report.story is not None
    assert (report.story.settled, report.story.commands) == ("settled", ())


def test_one_that_does_not_fit_waits_until_there_is_room() -> None:
    report = play(raw_pod("a"), raw_pod("b", "3"), then=(cpu("a", "6"),))
    assert happened(report) == [(0.0, "deferred", "Pod d/a", FULL)]
    assert report.story is not None
    assert [(each.command, each.ok, each.why) for each in report.story.commands] == [
        ("resize Pod d/a", False, f"Deferred: {FULL}")
    ]
    report = play(raw_pod("a"), raw_pod("b", "3"), then=(cpu("a", "6"), "delete pod/d/b"))
    assert happened(report) == [
        (0.0, "deferred", "Pod d/a", FULL),
        (10.0, "resized", "Pod d/a", "cpu 1 to 6"),
    ]
    assert report.story is not None
    assert report.story.commands == ()


def test_who_shrinks_makes_room_for_who_waits() -> None:
    report = play(raw_pod("a"), raw_pod("b", "3"), then=(cpu("a", "6"), cpu("b", "2")))
    assert [each[1:3] for each in happened(report)] == [
        ("deferred", "Pod d/a"),
        ("resized", "Pod d/b"),
        ("resized", "Pod d/a"),
    ]


def test_a_node_that_grows_is_noticed_within_three_minutes() -> None:
    grown = "set node/n status.allocatable.cpu=20"
    report = play(raw_pod("a"), raw_pod("b", "3"), then=(cpu("a", "6"), grown))
    assert [each[:2] for each in happened(report)] == [(0.0, "deferred"), (180.0, "resized")]


def test_more_than_the_node_has() -> None:
    with pytest.raises(kwhatif.InputError) as refused:
        play(raw_pod("a"), then=(cpu("a", "9"),))
    assert (
        'pods "a" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 9000, allocatable: 8000'
        in str(refused.value)
    )
    report = play(raw_pod("a"), then=(cpu("a", "9"),), minor=35)
    why = "Node didn't have enough capacity: cpu, requested: 9000, capacity: 8000"
    assert happened(report) == [(0.0, "found infeasible", "Pod d/a", why)]


def test_what_a_dump_shows_under_way_is_decided_at_the_start() -> None:
    assert happened(play(raw_pod("a", "5", "1"))) == [(0.0, "resized", "Pod d/a", "cpu 1 to 5")]
    deferred = {"conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]}
    waits = raw_pod("a", "6", "1", status=deferred)
    assert happened(play(waits, raw_pod("b", "3"))) == []
    assert happened(play(waits, raw_pod("b", "2"))) == [(0.0, "resized", "Pod d/a", "cpu 1 to 6")]


def test_a_container_that_restarts_is_not_ready_for_a_while() -> None:
    policy = {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}
    probe = {"readinessProbe": {"initialDelaySeconds": 3, "successThreshold": 1}}
    report = play(raw_pod("a", container={**policy, **probe}), then=(cpu("a", "5"),))
    assert happened(report) == [
        (0.0, "resized", "Pod d/a", "cpu 1 to 5"),
        (0.0, "restarted", "Pod d/a", "containers c"),
        (13.0, "ready", "Pod d/a", ""),
    ]
    assert report.story is not None
    assert [(each.workload, each.ready_lowest) for each in report.story.workloads] == [("Pod d/a", 0)]


def test_a_silent_kubelet_decides_once_it_is_back() -> None:
    report = play(raw_pod("a"), then=("fail n", cpu("a", "5"), "wait 20s", "recover n"))
    assert [each[1] for each in happened(report) if each[2] == "Pod d/a"][-1] == "resized"


# --- edits -------------------------------------------------------------------------------------------------------


def edited(*edits: str, objects: tuple[Json, ...], minor: int = 36) -> tuple[Cluster, list[tuple[str, ...]], int]:
    """The cluster, the notes of each edit, and how much cpu the scheduler counts on the node."""
    session = kwhatif.edited(kwhatif.load([raw_node(), *objects], kubernetes_version=f"1.{minor}"), *edits)
    info = session.state.node("n")
    assert info is not None
    return session.cluster, [sentences_of(row.remarks) for row in session.changes], info.cpu


def test_an_edit_says_what_the_kubelet_decides() -> None:
    there = raw_pod("a"), raw_pod("b", "3")
    assert edited(cpu("a", "5"), objects=there)[1:] == (
        [("kubelet n has room for that and resizes Pod d/a in place",)],
        8000,
    )
    _, notes, counted = edited(cpu("a", "6"), objects=there)
    says = f"kubelet n defers the resize of Pod d/a ({FULL}): it keeps what it has, though the scheduler counts what it asks for"
    assert (notes, counted) == ([(says,)], 9000)
    _, notes, counted = edited(cpu("a", "9"), objects=there, minor=35)
    assert counted == 4000
    assert notes[0][0].startswith(
        "kubelet n finds the resize of Pod d/a infeasible (Node didn't have enough capacity: cpu,"
    )


def test_an_edit_that_makes_room_helps_who_waits() -> None:
    after, notes, counted = edited(cpu("a", "6"), "delete pod/d/b", objects=(raw_pod("a"), raw_pod("b", "3")))
    assert notes[1][-1] == "kubelet n has room for that and resizes Pod d/a in place"
    assert (counted, resizing.is_under_way(after.all(Pod)["d/a"])) == (6000, False)


GUARANTEED = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}}
PATH = "spec.containers[0].resources"


@pytest.mark.parametrize(
    ("given", "change", "minor", "message"),
    [
        pytest.param(
            raw_pod("a", container=GUARANTEED, status={"qosClass": "Guaranteed"}),
            f"{PATH}.limits.cpu=2",
            36,
            'Pod "a" is invalid: spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing',
            id="class of service",
        ),
        pytest.param(
            raw_pod("a"),
            f"{PATH}.requests.ephemeral-storage=1Gi",
            36,
            'Pod "a" is invalid: spec: Forbidden: only cpu and memory resources are mutable',
            id="another resource",
        ),
        pytest.param(
            raw_pod("a"),
            f"{PATH}.limits={{}}",
            36,
            'Pod "a" is invalid: spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed',
            id="removed",
        ),
        pytest.param(
            raw_pod("a", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}),
            f"{PATH}.requests.cpu=2",
            36,
            'Pod "a" is invalid: []: Forbidden: static pods cannot be resized',
            id="static",
        ),
        pytest.param(
            raw_pod("a"),
            f"{PATH}.limits.memory=1Gi",
            33,
            'Pod "a" is invalid: spec.containers[0].resources.limits[memory]: Forbidden: memory limits cannot be decreased'
            " unless resizePolicy is RestartContainer",
            id="a lower memory limit, in 1.33",
        ),
        pytest.param(
            raw_pod("a", resources={"requests": {"cpu": "2", "memory": "2Gi"}}),
            f"{PATH}.requests.cpu=2",
            34,
            'Pod "a" is invalid: []: Forbidden: pods with pod-level resources cannot be resized',
            id="resources of the pod as a whole, in 1.34",
        ),
    ],
)
def test_what_the_api_server_refuses(given: Json, change: str, minor: int, message: str) -> None:
    with pytest.raises(kwhatif.InputError) as refused:
        edited(f"set pod/d/a {change}", objects=(given,), minor=minor)
    assert message in str(refused.value)


def test_a_lower_memory_limit_is_taken_since_134_with_a_caveat() -> None:
    session = kwhatif.load([raw_node(), raw_pod("a")], kubernetes_version="1.36")
    report = kwhatif.simulate(session, then=(f"set pod/d/a {PATH}.limits.memory=1536Mi",))
    assert [each[1] for each in happened(report)] == ["resized"]
    assert "resize-assumed" in {each.code for each in report.caveat_details}


def test_a_critical_pod_waits_with_a_caveat() -> None:
    critical = raw_pod("a", priority=2_000_000_000)
    report = play(critical, raw_pod("b", "3"), then=(cpu("a", "6"),))
    assert "resize-evicts" in {each.code for each in report.caveat_details}


def test_nodes_of_another_system() -> None:
    windows = raw_node(**{"kubernetes.io/os": "windows"})
    with pytest.raises(kwhatif.InputError) as refused:
        kwhatif.edited(kwhatif.load([windows, raw_pod("a")], kubernetes_version="1.36"), cpu("a", "2"))
    assert 'pod resize is only supported on linux nodes, node "n" is "windows"' in str(refused.value)
    session = kwhatif.edited(kwhatif.load([windows, raw_pod("a")], kubernetes_version="1.35"), cpu("a", "2"))
    assert "In-place pod resize is not supported on Windows" in sentences_of(session.changes[0].remarks)[0]


def with_kubelet(version: str) -> kwhatif.Session:
    """Its dump does not say what the running container has been granted."""
    silent = raw_pod("a", status={"containerStatuses": [{"name": "c", "state": {"running": {}}}]})
    return kwhatif.load([raw_node(kubelet=version), silent], kubernetes_version="1.35")


def test_kubelets_that_cannot_resize() -> None:
    with pytest.raises(kwhatif.InputError) as refused:
        kwhatif.edited(with_kubelet("v1.32.9"), cpu("a", "2"))
    assert "spec: Forbidden: Pod running on node without support for resize" in str(refused.value)


@pytest.mark.parametrize("version", ["v1.33.0", ""])
def test_a_dump_may_have_lost_what_newer_kubelets_say(version: str) -> None:
    row = kwhatif.edited(with_kubelet(version), cpu("a", "2")).changes[0]
    assert sentences_of(row.remarks) == ("kubelet n has room for that and resizes Pod d/a in place",)
