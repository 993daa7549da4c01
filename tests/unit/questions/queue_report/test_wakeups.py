"""What would wake a pod: as data and in words; and that it is so."""

import pytest
from msgspec.structs import replace

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.questions.queue_report.wakeups import ideal_node, wake_ups
from kwhatif.render.queue import clause, wake_up_sentence
from kwhatif.report.causes import Flush, NodeAdded, PodDeleted, RoomFreed, VictimsEnd
from kwhatif.report.queue import WakeUpRow
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.events import cluster_events
from kwhatif.scheduler.framework.hints import QUEUE, registrations
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.state import State
from tests import devices, storage
from tests.builders import NodeBuilder, PodBuilder, affinity_term, node, pod, requirement, selector, snapshot, term

ZONE = "topology.kubernetes.io/zone"
Objects = list[KubernetesObject | NodeBuilder | PodBuilder]


def woken(candidate: PodBuilder, *objects: KubernetesObject | NodeBuilder | PodBuilder) -> list[WakeUpRow]:
    """The causes, without the flush, which is always the last."""
    found = wake_ups(attempt(default_profile(), candidate.info(), snapshot(*objects)))
    return [each for each in found if not isinstance(each.cause, Flush)]


def full(name: str, **labels: str) -> PodBuilder:
    return pod(f"on-{name}").cpu("3500m").on(name).labels(labels)


#: The pod, the cluster, and the first causes in words.
CASES: dict[str, tuple[PodBuilder, Objects, list[str]]] = {
    "one pod could make room on two nodes": (
        pod().cpu("1200m").spec(preemption_policy="Never"),
        [node("a1"), node("a2"), full("a1"), full("a2")],
        [
            "an assigned pod that frees 700m cpu on a1 or a2 is deleted (such as default/on-a1 or default/on-a2)",
            "node(s) with room for 1200m cpu are added",
        ],
    ),
    "the node that lacks least comes first": (
        pod().requests(cpu="2", memory="1Gi").spec(preemption_policy="Never"),
        [node("a1"), node("a2"), full("a1"), pod("x").cpu("3").on("a2"), pod("y").cpu("200m").on("a2")],
        [
            "an assigned pod that frees 1200m cpu on a2 is deleted (such as default/x)",
            "an assigned pod that frees 1500m cpu on a1 is deleted (such as default/on-a1)",
        ],
    ),
    "it takes several pods": (
        pod().cpu("4").spec(preemption_policy="Never"),
        [node("a1"), pod("x").cpu("2").on("a1"), pod("y").cpu("2").on("a1")],
        ["assigned pods that together free 4 cpu on a1 are deleted"],
    ),
    "too many pods": (
        pod().spec(preemption_policy="Never"),
        [node("a1").allocatable(pods="1"), pod("x").on("a1")],
        ["an assigned pod that frees the place of 1 pod on a1 is deleted (such as default/x)"],
    ),
    "a pod that is going already": (
        pod().cpu("1"),
        [node("a1"), full("a1").terminating()],
        ["default/on-a1 on a1 is gone, which makes room for it"],
    ),
    "its victims": (
        pod().cpu("1").priority(10),
        [node("a1"), full("a1")],
        ["default/on-a1 on a1 is gone, which makes room for it"],
    ),
    "the node is too small": (
        pod().cpu("5"),
        [node("a1"), pod("x").cpu("1").on("a1")],
        ["node(s) with room for 5 cpu are added", "the allocatable cpu of a1 grows to 6 cpu"],
    ),
    "node selector": (
        pod().cpu("1").node_selector(disk="ssd"),
        [node("a1"), node("a2")],
        ["node(s) with label disk=ssd and room for 1 cpu are added", "label disk=ssd is set on a1 or a2"],
    ),
    "node affinity": (
        pod().node_affinity(term(requirement("disk", "In", "ssd", "nvme"))),
        [node("a1")],
        ["node(s) with label disk in (nvme,ssd) are added", "label disk in (nvme,ssd) is set on a1"],
    ),
    "a taint": (
        pod(),
        [node("a1").taint("dedicated", "batch")],
        ["node(s) are added", "taint dedicated=batch:NoSchedule is removed from a1"],
    ),
    "a cordon, whose taint goes with it": (
        pod(),
        [node("a1").cordoned().taint("node.kubernetes.io/unschedulable")],
        ["a1 is uncordoned", "node(s) are added"],
    ),
    "a named node": (
        pod().on("n9"),
        [node("a1")],
        ["node n9 is added"],
    ),
    "a host port": (
        pod().host_port(80).spec(preemption_policy="Never"),
        [node("a1"), pod("x").host_port(80).on("a1")],
        ["pod default/x on a1, which has host port 80/TCP, is deleted", "node(s) are added"],
    ),
    "anti-affinity": (
        pod().pod_anti_affinity(affinity_term(ZONE, selector(app="db"))).spec(preemption_policy="Never"),
        [node("a1").zone("a"), pod("x").labels(app="db").on("a1"), pod("y").labels(app="db").on("a1")],
        [f"2 pods matching app=db in {ZONE}=a are deleted", "node(s) are added"],
    ),
    "anti-affinity of others": (
        pod().labels(app="web").spec(preemption_policy="Never"),
        [
            node("a1").zone("a"),
            pod("x").labels(app="db").pod_anti_affinity(affinity_term(ZONE, selector(app="web"))).on("a1"),
        ],
        [f"1 pod in {ZONE}=a that refuses it by anti-affinity is deleted"],
    ),
    "affinity": (
        pod().pod_affinity(affinity_term(ZONE, selector(app="db"))),
        [node("a1").zone("a")],
        [f"a pod matching app=db is assigned to a node with label {ZONE}"],
    ),
    "spread": (
        pod().labels(app="web").spread(ZONE, selector(app="web")).spec(preemption_policy="Never"),
        [
            node("a1").zone("a"),
            node("b1").zone("b").taint("x"),
            pod("w").labels(app="web").on("a1"),
        ],
        [f"1 pod matching app=web in {ZONE}=a is deleted", "node(s) are added"],
    ),
    "a claim that nobody has made": (
        pod().claim("data"),
        [node("a1")],
        ["PersistentVolumeClaim default/data is created"],
    ),
    "a claim that is not bound": (
        pod().claim("data"),
        [node("a1"), storage.claim("data"), storage.storage_class("fast", mode="Immediate")],
        ["PersistentVolumeClaim default/data is bound"],
    ),
    "a class that is not there": (
        pod().claim("data"),
        [node("a1"), storage.claim("data")],
        ["StorageClass fast is created"],
    ),
    "gates": (
        pod().gates("example.com/quota"),
        [node("a1")],
        ["gate example.com/quota is removed"],
    ),
    "a resource claim that nobody has made": (
        devices.asking("gpu"),
        [node("a1")],
        ["ResourceClaim default/gpu is created"],
    ),
    "devices": (
        devices.asking("gpu"),
        [node("n1"), devices.claim("gpu", devices.request("gpu")), devices.device_class("gpu")],
        ["1 more device for request gpu of ResourceClaim default/gpu comes or is given back"],
    ),
    "there are no nodes": (pod(), [], ["its backoff ends, 1 s to 10 s after its last attempt"]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_would_wake_it(case: str) -> None:
    candidate, objects, expected = CASES[case]
    found = [clause(each.cause) for each in woken(candidate, *objects)]
    assert found[: len(expected)] == expected


def test_a_pod_that_is_placed_waits_for_nothing() -> None:
    assert woken(pod(), node("a1")) == []


def test_what_helps_although_nobody_wakes_the_pod_says_so() -> None:
    """Two terms of anti-affinity: a pod that matches one of them wakes nobody (`hints.md`, 6.2)."""
    candidate = pod().pod_anti_affinity(
        affinity_term(ZONE, selector(app="db")), affinity_term(ZONE, selector(app="cache"))
    )
    found = woken(candidate.spec(preemption_policy="Never"), node("a1").zone("a"), pod("x").labels(app="db").on("a1"))
    deleted = next(each for each in found if not each.wakes)
    sentence = wake_up_sentence(WakeUpRow(cause=deleted.cause, wakes=False))
    assert sentence == (
        f"1 pod matching app=db in {ZONE}=a is deleted"
        " (it would help, but no event of it wakes the pod: the scheduler notices by the flush only)"
    )


def test_a_pod_kept_out_by_others_anti_affinity_is_not_woken_by_a_node() -> None:
    candidate, objects, _ = CASES["anti-affinity of others"]
    assert not any(isinstance(each.cause, NodeAdded) for each in woken(candidate, *objects))


def test_what_is_not_enough_by_itself_says_so() -> None:
    found = woken(pod().cpu("5"), node("a1").taint("x").allocatable(cpu="4"), node("a2"))
    taint = next(each for each in found if not each.enough)
    row = WakeUpRow(cause=taint.cause, plugin=taint.plugin, enough=False)
    assert (
        wake_up_sentence(row) == "taint x:NoSchedule is removed from a1 (wakes it; something else keeps it out as well)"
    )


def _hinted(state: State, candidate: PodBuilder, rejectors: set[str], old: object, new: object) -> bool:
    info = candidate.info()
    return any(
        each.plugin in rejectors
        and each.event.matches(event)
        and (each.hint is None or each.hint(info, old, new, state.cluster) is QUEUE)
        for event in cluster_events(old, new, state.cluster)  # type: ignore[arg-type]
        for each in registrations(default_profile())
    )


@pytest.mark.parametrize("case", CASES)
def test_after_what_is_enough_the_pod_fits_and_was_woken(case: str) -> None:
    """For the causes that one object stands for: a node comes, pods go."""
    candidate, objects, _ = CASES[case]
    state = snapshot(*objects)
    profile = default_profile()
    failed = attempt(profile, candidate.info(), state)
    rejectors = set(failed.cycle.unschedulable_plugins)
    for each in wake_ups(failed):
        fork = state.fork()
        if isinstance(each.cause, NodeAdded) and each.enough:
            new = ideal_node(candidate.build(), each.cause.name or "new")
            fork.apply(Upsert(replace(new, metadata=replace(new.metadata, labels={**new.metadata.labels, ZONE: "z"}))))
            assert _hinted(fork, candidate, rejectors, None, new)
            assert attempt(profile, candidate.info(), fork).scores is not None
        keys: tuple[str, ...] = ()
        if isinstance(each.cause, VictimsEnd):
            keys = each.cause.pods
        elif isinstance(each.cause, RoomFreed | PodDeleted) and each.enough:
            keys = each.cause.pods[:1] if isinstance(each.cause, RoomFreed) else (each.cause.pod,)
        if keys:
            gone = [state.pods[key].pod for key in keys]
            fork.apply(*map(Delete.of, gone))
            assert any(_hinted(fork, candidate, rejectors, old, None) for old in gone)
            assert attempt(profile, candidate.info(), fork).scores is not None


def test_an_ideal_node_has_what_the_pod_asks_for() -> None:
    wanted = term(requirement("cores", "Gt", "8"), requirement("gpu", "Exists"), requirement("arm", "DoesNotExist"))
    made = ideal_node(pod().cpu("2").node_affinity(wanted).node_selector(disk="ssd").build(), "n")
    assert isinstance(made, Node)
    assert made.metadata.labels == {"cores": "9", "gpu": "new", "disk": "ssd"}
    assert made.status.allocatable == {"pods": "110", "cpu": "2000m"}
