"""A decoded cluster becomes what the API server would have in store, and the caveats say what was assumed."""

import pytest

from kwhatif.admission.load import admit, is_stored
from kwhatif.kube.model.caveat.reading import UnknownPriorityClass
from kwhatif.kube.model.caveat.scheduling import BudgetComputed, BudgetNotComputed
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import AnnotatedMeta, ObjectMeta
from kwhatif.kube.model.node import Node, NodeStatus
from kwhatif.kube.model.pod import Pod, PodCondition
from kwhatif.kube.model.policy import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
    PriorityClass,
)
from tests.builders import PodBuilder, affinity_term, pod, selector


def raw(name: str, namespace: str = "") -> PodBuilder:
    return pod(name, namespace).spec(scheduler_name="", priority=None, preemption_policy="")


def test_objects_get_their_namespace_and_their_order() -> None:
    cluster = Cluster([raw("b").build(), raw("a", "shop").build(), raw("c", "default").build(), raw("a").build()])
    assert admit(cluster) == []
    assert list(cluster.all(Pod)) == ["default/a", "default/b", "default/c", "shop/a"]


def test_defaults_label_keys_and_priority() -> None:
    high = PriorityClass(metadata=ObjectMeta(name="high"), value=9)
    keyed = affinity_term("zone", selector(app="x"), match_label_keys=("rev",))
    made = raw("p").labels(rev="7").pod_affinity(keyed).spec(priority_class_name="high").build()
    cluster = Cluster([made, high, Node(metadata=AnnotatedMeta(name="n"), status=NodeStatus(capacity={"cpu": "1"}))])
    assert admit(cluster) == []
    spec = cluster.all(Pod)["default/p"].spec
    assert (spec.priority, spec.scheduler_name) == (9, "default-scheduler")
    assert spec.affinity is not None
    assert spec.affinity.pod_affinity is not None
    assert "rev" in str(spec.affinity.pod_affinity.required[0].label_selector)
    assert cluster.all(Node)["n"].status.allocatable == {"cpu": "1"}


def test_a_complete_pod_stays_the_same_object() -> None:
    made = pod("p").spec(restart_policy="Always").build()
    cluster = Cluster([made])
    admit(cluster)
    assert cluster.get(Pod, "default/p") is made


def test_an_unknown_class_is_a_caveat() -> None:
    pods = [raw(name).spec(priority_class_name=asked).build() for name, asked in [("a", "x"), ("b", "x"), ("c", "y")]]
    cluster = Cluster([*pods, raw("d").spec(priority_class_name="x", priority=3).build()])
    assert admit(cluster) == [
        UnknownPriorityClass(name="x", pods=("default/a", "default/b")),
        UnknownPriorityClass(name="y", pods=("default/c",)),
    ]
    assert cluster.all(Pod)["default/a"].spec.priority == 0


def budget(name: str, status: PodDisruptionBudgetStatus | None = None, **spec: object) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace="shop"),
        spec=PodDisruptionBudgetSpec(selector=selector(app="web"), **spec),  # type: ignore[arg-type]
        status=status,
    )


def web(name: str) -> PodBuilder:
    ready = PodCondition(type="Ready", status="True")
    return raw(name, "shop").labels(app="web").owner("ReplicaSet", "web").status(conditions=(ready,))


def test_budgets_without_status_get_one() -> None:
    given = PodDisruptionBudgetStatus(disruptions_allowed=7)
    budgets = [budget("a", min_available=1), budget("b", given), budget("c", max_unavailable=1)]
    cluster = Cluster([*budgets, web("web-1").build(), web("web-2").build()])
    assert admit(cluster) == [
        BudgetComputed(budget="shop/a", allowed=1, expected=2, healthy=2, desired=1),
        BudgetNotComputed(
            budget="shop/c",
            reason='found no controllers for pod "web-1"',
            absent="ReplicaSet shop/web",
            missing=True,
        ),
    ]
    found = {key: pdb.status for key, pdb in cluster.all(PodDisruptionBudget).items()}
    assert found["shop/a"] == PodDisruptionBudgetStatus(
        disruptions_allowed=1, current_healthy=2, desired_healthy=1, expected_pods=2
    )
    assert found["shop/b"] is given
    assert found["shop/c"] == PodDisruptionBudgetStatus()


def test_admitting_twice_changes_nothing() -> None:
    cluster = Cluster([raw("p").build(), budget("a", min_available=1), web("w").build()])
    admit(cluster)
    kinds = (Pod, PodDisruptionBudget, PriorityClass)
    once = {kind: dict(cluster.all(kind)) for kind in kinds}
    assert admit(cluster) == []
    assert {kind: dict(cluster.all(kind)) for kind in kinds} == once


def stored(name: str = "p") -> PodBuilder:
    """As the API server has it."""
    return pod(name).spec(
        scheduler_name="default-scheduler",
        restart_policy="Always",
        priority=0,
        preemption_policy="PreemptLowerPriority",
    )


KEYED = affinity_term("zone", selector(app="x"), match_label_keys=("rev",))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (stored(), True),
        (stored().labels(rev="7").pod_affinity(affinity_term("zone", selector(app="x"))), True),
        (stored().labels(rev="7").pod_affinity(KEYED), False),
        (stored().spec(priority=None), False),
        (stored().spec(preemption_policy=""), False),
        (stored().spec(scheduler_name=""), False),
    ],
    ids=["all there", "affinity", "label keys", "no priority", "no preemption policy", "no scheduler"],
)
def test_pods_that_the_api_server_has_stored_are_found_at_once(made: PodBuilder, expected: bool) -> None:
    found = made.build()
    assert is_stored(found) is expected
    cluster = Cluster([found])
    admit(cluster)
    assert not expected or cluster.all(Pod)["default/p"] is found


def test_only_the_pods_that_are_named_are_looked_at() -> None:
    cluster = Cluster([stored("a").spec(priority=None).build(), stored("b").spec(priority=None).build()])
    admit(cluster, ["default/b"])
    assert [found.spec.priority for found in cluster.all(Pod).values()] == [None, 0]
