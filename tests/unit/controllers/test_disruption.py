"""The disruption controller: which budgets it recounts, and when."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers.disruption import Disruption, budget_pods
from kwhatif.controllers.eviction import EvictionApi, EvictionGranted
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, Requirement
from kwhatif.kube.model.pod import Pod, PodCondition
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from tests.builders import PodBuilder, node, pod, selector
from tests.fake_cluster import START, FakeCluster

WEB = selector(app="web")


def web(name: str, *, ready: bool = True) -> PodBuilder:
    condition = PodCondition(type="Ready", status=str(ready))
    return pod(name, "shop").labels(app="web").on("n1").status(phase="Running", conditions=(condition,))


def budget(
    name: str = "web", label_selector: LabelSelector | None = WEB, status: dict[str, Any] | None = None, **spec: Any
) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace="shop"),
        spec=PodDisruptionBudgetSpec(selector=label_selector, **spec),
        status=None if status is None else PodDisruptionBudgetStatus(**status),
    )


def world(*objects: Any) -> FakeCluster:
    return FakeCluster([Disruption()], node("n1"), *objects)


def status(at: FakeCluster, name: str = "web") -> PodDisruptionBudgetStatus:
    found = at.state.cluster.all(PodDisruptionBudget)[f"shop/{name}"].status
    assert found is not None
    return found


def test_a_pod_that_gets_ready_counts_at_once() -> None:
    at = world(web("a"), web("b", ready=False), budget(min_available=1, status={"current_healthy": 1}))
    at.put(web("b").build()).settle()
    assert status(at) == PodDisruptionBudgetStatus(
        current_healthy=2, desired_healthy=1, expected_pods=2, disruptions_allowed=1
    )


def test_new_and_gone_pods_count() -> None:
    at = world(web("a"), budget(min_available=1))
    at.put(web("b").build()).settle()
    assert status(at).expected_pods == 2
    at.gone("shop/b").settle()
    assert (status(at).expected_pods, status(at).disruptions_allowed) == (1, 0)


def test_a_budget_without_pods_has_a_status_too() -> None:
    at = world()
    at.put(budget(min_available=1)).settle()
    assert status(at) == PodDisruptionBudgetStatus(desired_healthy=1)


def test_a_changed_spec_has_been_seen() -> None:
    at = world(web("a"))
    at.put(replace(budget(min_available=0), metadata=ObjectMeta(name="web", namespace="shop", generation=2))).settle()
    assert (status(at).disruptions_allowed, status(at).observed_generation) == (1, 2)


def test_only_the_first_of_several_budgets_is_recounted() -> None:
    at = world(web("a"), budget("all", LabelSelector(), min_available=0), budget(min_available=0))
    at.put(web("b").build()).settle()
    assert status(at, "all").expected_pods == 2
    assert at.state.cluster.all(PodDisruptionBudget)["shop/web"].status is None


def test_where_counting_fails_nothing_is_allowed_and_the_numbers_stay() -> None:
    before = {"current_healthy": 3, "desired_healthy": 2, "expected_pods": 3, "disruptions_allowed": 1}
    at = world(budget(max_unavailable=1, status=before))
    at.put(web("a").owner("ReplicaSet", "rs").build()).settle()
    assert status(at) == PodDisruptionBudgetStatus(current_healthy=3, desired_healthy=2, expected_pods=3)


def test_a_pod_whose_eviction_was_granted_counts_as_gone_for_two_minutes() -> None:
    at = world(web("a"), web("b"), budget(min_available=1, status={"disrupted_pods": {"a": START}}))
    at.ask("shop/web")
    assert (status(at).current_healthy, status(at).disrupted_pods) == (1, {"a": START})


def test_after_two_minutes_it_counts_again() -> None:
    at = world(web("a"), web("b"), budget(min_available=1, status={"disrupted_pods": {"a": START}}))
    at.ask("shop/web")
    at.until(119)
    assert status(at).disruptions_allowed == 0
    at.until(120)
    assert (status(at).disruptions_allowed, status(at).disrupted_pods) == (1, {})
    assert not at.timers


def test_once_it_is_being_deleted_the_entry_goes() -> None:
    at = world(web("a"), web("b"), web("c"), budget(min_available=1, status={"disruptions_allowed": 2}))
    granted = EvictionApi(at).evict("shop/a")
    assert isinstance(granted, EvictionGranted)
    at.write(*granted.writes)
    assert status(at) == PodDisruptionBudgetStatus(
        current_healthy=2, desired_healthy=1, expected_pods=3, disruptions_allowed=1
    )


@pytest.mark.parametrize(
    "given",
    [None, LabelSelector(match_expressions=(Requirement(key="app", operator="Is"),))],
    ids=["missing", "invalid"],
)
def test_selectors_that_select_nothing(given: LabelSelector | None) -> None:
    at = world(web("a"), budget(label_selector=given, min_available=1))
    assert list(budget_pods(at.state.cluster).pods_of("shop/web")) == []


def test_what_is_kept_up_is_what_would_be_found() -> None:
    at = world(web("a"), pod("x", "shop"), web("b"), budget(min_available=1), budget("all", LabelSelector()))
    fork = at.state.fork()
    budget_pods(at.state.cluster)
    relabelled = web("a").labels(app="other").build()
    bare = pod("x", "shop").build()
    at.put(relabelled, web("c").build(), replace(bare, metadata=replace(bare.metadata, labels={"app": "web"}))).settle()
    at.gone("shop/b").settle()
    assert sorted(budget_pods(at.state.cluster).pods_of("shop/web")) == ["shop/c", "shop/x"]
    assert sorted(budget_pods(at.state.cluster).pods_of("shop/all")) == ["shop/a", "shop/c", "shop/x"]
    assert sorted(budget_pods(fork.cluster).pods_of("shop/web")) == ["shop/a", "shop/b"]
    assert budget_pods(at.state.cluster).budgets_of(at.state.cluster.all(Pod)["shop/c"]) == ("shop/all", "shop/web")


def test_a_pod_that_no_budget_selects_changes_nothing() -> None:
    at = world(web("a"), budget(min_available=1))
    index, bare = budget_pods(at.state.cluster), pod("x", "shop").build()
    assert index.updated(None, bare) is index
    assert index.updated(bare, None) is index
