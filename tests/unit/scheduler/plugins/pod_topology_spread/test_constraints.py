"""What counts as a pod's own kind."""

from typing import Any

import pytest

from kwhatif.kube.model.meta import LabelSelector, ObjectMeta
from kwhatif.kube.model.workload import (
    ReplicaSet,
    ReplicaSetMeta,
    ReplicaSetSpec,
    ReplicationController,
    ReplicationControllerSpec,
    StatefulSet,
    StatefulSetSpec,
)
from kwhatif.scheduler.plugins.pod_topology_spread.constraints import default_selector
from tests.builders import PodBuilder, cluster, pod, requirement, selector, service

OWN = ObjectMeta(name="own", namespace="default")


def replica_set(chosen: LabelSelector | None, meta: ObjectMeta = OWN) -> ReplicaSet:
    metadata = ReplicaSetMeta(name=meta.name, namespace=meta.namespace)
    return ReplicaSet(metadata=metadata, spec=ReplicaSetSpec(selector=chosen))


def web() -> PodBuilder:
    return pod().labels(app="web", tier="front")


APP = selector(app="web")
TIER = {"tier": "front"}
ELSEWHERE = ObjectMeta(name="own", namespace="shop")
MIXED = selector(requirement("app", "In", "web", "api"), tier="front")

#: Labels that must match, and labels that must not.
CASES: dict[str, tuple[PodBuilder, list[Any], list[dict[str, str]], list[dict[str, str]]]] = {
    "a service that selects the pod": (web(), [service("s", {"app": "web"})], [{"app": "web"}], [{}, TIER]),
    "all such services together": (
        web(),
        [service("s", {"app": "web"}), service("t", TIER), service("u", {"app": "db"})],
        [{"app": "web", **TIER}],
        [{"app": "web"}, TIER],
    ),
    "its ReplicaSet": (web().owner("ReplicaSet", "own"), [replica_set(MIXED)], [{"app": "api", **TIER}], [{"app": "api"}]),
    "its StatefulSet": (
        web().owner("StatefulSet", "own"),
        [StatefulSet(metadata=OWN, spec=StatefulSetSpec(selector=APP))],
        [{"app": "web"}],
        [{}],
    ),
    "its ReplicationController": (
        web().owner("ReplicationController", "own", "v1"),
        [ReplicationController(metadata=OWN, spec=ReplicationControllerSpec(selector={"app": "web"}))],
        [{"app": "web"}],
        [{}],
    ),
    "both a service and a set": (
        web().owner("ReplicaSet", "own"), [service("s", TIER), replica_set(APP)], [{"app": "web", **TIER}], [{"app": "web"}, TIER],
    ),
    "a set whose selector is not valid adds nothing": (
        web().owner("ReplicaSet", "own"), [service("s", TIER), replica_set(selector(requirement("app", "In")))], [TIER], [{}],
    ),
    "a set without a selector adds nothing": (
        web().owner("ReplicaSet", "own"), [service("s", TIER), replica_set(None)], [TIER], [{}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("owned", "objects", "matching", "others"), CASES.values(), ids=CASES.keys())
def test_selects(
    owned: PodBuilder, objects: list[Any], matching: list[dict[str, str]], others: list[dict[str, str]]
) -> None:
    chosen = default_selector(owned.build(), cluster(*objects))
    assert not chosen.empty
    assert [chosen.matches(labels) for labels in (*matching, *others)] == [True] * len(matching) + [False] * len(others)


EMPTY = {
    "nothing there": (web(), []),
    "a service of another namespace": (web(), [service("s", {"app": "web"}, "shop")]),
    "a service that selects others": (web(), [service("s", {"app": "web", "tier": "back"})]),
    "a service without a selector": (web(), [service("s", None)]),
    "a service with an empty selector": (web(), [service("s", {})]),
    "a set that is not there": (web().owner("ReplicaSet", "own"), []),
    "a set of another namespace": (web().owner("ReplicaSet", "own"), [replica_set(APP, ELSEWHERE)]),
    "a set of another kind": (web().owner("StatefulSet", "own"), [replica_set(APP)]),
    "a set of another API group": (web().owner("ReplicaSet", "own", "extensions/v1beta1"), [replica_set(APP)]),
    "a controller that is not there": (web().owner("ReplicationController", "own", "v1"), []),
    "a set that owns the pod without controlling it": (pod().labels(app="web"), [replica_set(APP)]),
}


@pytest.mark.parametrize(("alone", "objects"), EMPTY.values(), ids=EMPTY.keys())
def test_selects_nothing_in_particular(alone: PodBuilder, objects: list[Any]) -> None:
    assert default_selector(alone.build(), cluster(*objects)).empty
