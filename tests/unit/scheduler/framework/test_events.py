"""Which cluster events a change of an object gives, and which registrations they reach."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta
from kwhatif.kube.model.pod import PodResourceClaimStatus, PodStatus
from kwhatif.kube.model.storage import CSIDriver
from kwhatif.kube.model.workload import Service
from kwhatif.scheduler.framework.events import (
    ASSIGNED_POD_ADD,
    FORCE_ACTIVATE,
    UNSCHEDULABLE_TIMEOUT,
    ActionType,
    ClusterEvent,
    EventResource,
    cluster_events,
    node_events,
    pod_events,
)
from tests.builders import NodeBuilder, PodBuilder, node, pod

A, R = ActionType, EventResource


def labels(events: Iterable[ClusterEvent]) -> list[str]:
    return [event.label for event in events]


NODE_UPDATES = [
    ("nothing", node("n"), node("n"), []),
    ("cordoned", node("n"), node("n").cordoned(), []),
    ("uncordoned", node("n").cordoned(), node("n"), ["NodeUpdateNodeTaint"]),
    ("allocatable", node("n"), node("n").allocatable(cpu="8"), ["NodeUpdateNodeAllocatable"]),
    ("the same amount", node("n").allocatable(cpu="4"), node("n").allocatable(cpu="4000m"), []),
    ("labels", node("n"), node("n").labels(disk="ssd"), ["NodeUpdateNodeLabel"]),
    ("taints", node("n"), node("n").taint("k"), ["NodeUpdateNodeTaint"]),
    ("features", node("n"), node("n").features("F"), ["NodeUpdateNodeDeclaredFeature"]),
    (
        "all, in order",
        node("n").cordoned(),
        node("n").allocatable(cpu="8").labels(disk="ssd").taint("k").features("F").meta(annotations={"a": "b"}),
        [
            *("NodeUpdateNodeTaint", "NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel", "NodeUpdateNodeTaint"),
            *("NodeUpdateNodeAnnotation", "NodeUpdateNodeDeclaredFeature"),
        ],
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "wanted"), [row[1:] for row in NODE_UPDATES], ids=[row[0] for row in NODE_UPDATES]
)
def test_updates_of_nodes(old: NodeBuilder, new: NodeBuilder, wanted: list[str]) -> None:
    assert labels(node_events(old.build(), new.build())) == wanted


POD_UPDATES = [
    ("nothing that matters", pod(), pod(), ["UnschedulablePodUpdate"]),
    ("of an assigned pod", pod().on("n"), pod().on("n"), ["AssignedPodUpdate"]),
    ("labels", pod(), pod().labels(app="a"), ["UnschedulablePodUpdatePodLabel"]),
    ("less cpu", pod().cpu("2"), pod().cpu("1"), ["UnschedulablePodUpdatePodScaleDown"]),
    ("more cpu", pod().cpu("1"), pod().cpu("2"), ["UnschedulablePodUpdate"]),
    ("no memory any more", pod().memory("1Gi"), pod(), ["UnschedulablePodUpdatePodScaleDown"]),
    ("the last gate", pod().gates("a"), pod(), ["UnschedulablePodUpdatePodSchedulingGatesEliminated"]),
    ("one gate of two", pod().gates("a", "b"), pod().gates("b"), ["UnschedulablePodUpdate"]),
    ("a toleration", pod(), pod().toleration("k"), ["UnschedulablePodUpdatePodToleration"]),
    ("another toleration in its place", pod().toleration("k"), pod().toleration("l"), ["UnschedulablePodUpdate"]),
]


@pytest.mark.parametrize(
    ("old", "new", "wanted"), [row[1:] for row in POD_UPDATES], ids=[row[0] for row in POD_UPDATES]
)
def test_updates_of_pods(old: PodBuilder, new: PodBuilder, wanted: list[str]) -> None:
    assert labels(pod_events(old.build(), new.build())) == wanted


def test_a_generated_claim_is_an_event_of_its_own() -> None:
    before = pod().build()
    statuses = (PodResourceClaimStatus(name="x", resource_claim_name="pod-x"),)
    after = replace(before, status=PodStatus(resource_claim_statuses=statuses))
    assert labels(pod_events(before, after)) == ["UnschedulablePodUpdatePodGeneratedResourceClaim"]


def announced(old: KubernetesObject | None, new: KubernetesObject | None) -> list[ClusterEvent]:
    return cluster_events(old, new, Cluster())


def test_what_concerns_all_pods_that_wait() -> None:
    waiting, assigned = pod().build(), pod().on("n").build()
    ended = replace(assigned, status=PodStatus(phase="Succeeded"))
    assert announced(None, waiting) == announced(waiting, waiting) == announced(waiting, None) == []
    assert announced(None, assigned) == announced(waiting, assigned) == [ASSIGNED_POD_ADD]
    assert labels(announced(assigned, ended)) == labels(announced(assigned, None)) == ["AssignedPodDelete"]
    assert announced(ended, None) == announced(None, ended) == []
    assert labels(announced(None, node().build())) == ["NodeAdd"]
    assert labels(announced(node().build(), None)) == ["NodeDelete"]


def test_other_kinds_are_added_updated_and_deleted() -> None:
    driver = CSIDriver(metadata=ObjectMeta(name="d"))
    assert labels(announced(driver, driver)) == ["storage.k8s.io/CSIDriverUpdate"]
    assert labels(announced(None, driver)) == ["storage.k8s.io/CSIDriverAdd"]
    assert announced(None, Service(metadata=AnnotatedMeta(name="s"))) == []


MATCHES = [
    (R.NODE, A.UPDATE, R.NODE, A.UPDATE_NODE_LABEL, True),
    (R.NODE, A.UPDATE_NODE_LABEL, R.NODE, A.UPDATE, False),
    (R.NODE, A.ADD | A.UPDATE_NODE_LABEL, R.NODE, A.ADD, True),
    (R.NODE, A.ADD | A.UPDATE_NODE_LABEL, R.NODE, A.DELETE, False),
    (R.POD, A.DELETE, R.ASSIGNED_POD, A.DELETE, True),
    (R.POD, A.UPDATE_POD_LABEL, R.UNSCHEDULABLE_POD, A.UPDATE_POD_LABEL, True),
    (R.POD, A.DELETE, R.NODE, A.DELETE, False),
    (R.POD, A.ALL, R.ASSIGNED_POD, A.UPDATE, True),
    (R.WILDCARD, A.ALL, R.NODE, A.ADD, True),
]


@pytest.mark.parametrize(("resource", "action", "came", "what", "wanted"), MATCHES)
def test_registrations_match_what_is_no_more_general(
    resource: EventResource, action: ActionType, came: EventResource, what: ActionType, wanted: bool
) -> None:
    assert ClusterEvent(resource, action).matches(ClusterEvent(came, what)) is wanted


def test_wildcards_reach_nobody_who_registered_for_something() -> None:
    assert UNSCHEDULABLE_TIMEOUT.is_wildcard
    assert FORCE_ACTIVATE.label == "ForceActivate"
    assert not ClusterEvent(R.NODE, A.ALL).matches(UNSCHEDULABLE_TIMEOUT)


def test_a_registration_for_several_actions_has_the_name_of_each() -> None:
    assert ClusterEvent(R.NODE, A.ADD | A.UPDATE_NODE_LABEL).labels == ("NodeAdd", "NodeUpdateNodeLabel")
    assert ClusterEvent(R.NODE, A.UPDATE).labels == ("NodeUpdate",)
    assert ClusterEvent(R.NODE, A.ADD).labels == ("NodeAdd",)
