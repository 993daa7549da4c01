"""The Eviction API: who may go, and what is said to the others."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.controllers.contract import DeletePod, Update
from kwhatif.controllers.eviction import EVICTED, EvictionApi, EvictionGranted, EvictionRefused
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta
from kwhatif.kube.model.policy import PodDisruptionBudget
from tests.builders import PodBuilder, pod
from tests.unit.controllers.test_disruption import budget, web, world

VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
FORBIDDEN = 'poddisruptionbudget.policy "web" is forbidden: '
NONE_LEFT = {"current_healthy": 2, "desired_healthy": 2, "expected_pods": 2}
SPARE = {"current_healthy": 3, "desired_healthy": 2, "expected_pods": 3}
SHORT = {"current_healthy": 1, "desired_healthy": 2, "expected_pods": 2}
NOBODY = {"expected_pods": 1}
CHANGED = ObjectMeta(name="web", namespace="shop", generation=2)

# What goes although the budget allows nothing, and does not count.
FREE: dict[str, tuple[PodBuilder, list[PodDisruptionBudget]]] = {
    "no budget": (pod("a", "shop").on("n1"), []),
    "a budget for others": (pod("a", "shop").on("n1").status(phase="Running"), [budget(status=NONE_LEFT)]),
    "succeeded": (web("a").status(phase="Succeeded"), [budget(status=NONE_LEFT)]),
    "failed": (web("a").status(phase="Failed"), [budget(status=NONE_LEFT)]),
    "pending": (web("a").status(phase="Pending"), [budget(status=NONE_LEFT)]),
    "pending, two budgets": (web("a").status(phase="Pending"), [budget(status=NONE_LEFT), budget("b")]),
    "not ready, always allowed": (
        web("a", ready=False),
        [budget(status=SHORT, unhealthy_pod_eviction_policy="AlwaysAllow")],
    ),
    "not ready, enough others are": (web("a", ready=False), [budget(status=NONE_LEFT)]),
    "not ready, enough others are, as said": (
        web("a", ready=False),
        [budget(status=NONE_LEFT, unhealthy_pod_eviction_policy="IfHealthyBudget")],
    ),
}


@pytest.mark.parametrize(("given", "budgets"), FREE.values(), ids=FREE.keys())
def test_goes_without_counting(given: PodBuilder, budgets: list[PodDisruptionBudget]) -> None:
    answer = EvictionApi(world(given, *budgets)).evict("shop/a", 5)
    assert answer == EvictionGranted((DeletePod("shop/a", "Evicted", 5, EVICTED),))


REFUSED: dict[str, tuple[PodBuilder, list[PodDisruptionBudget], int, str, str]] = {
    "two budgets": (
        web("a"),
        [budget(status=SPARE | {"disruptions_allowed": 1}), budget("b", LabelSelector())],
        500,
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        "",
    ),
    "no disruption left": (
        web("a"),
        [budget(status=NONE_LEFT)],
        429,
        VIOLATES,
        "The disruption budget web needs 2 healthy pods and has 2 currently",
    ),
    "the moment after another's eviction": (
        web("a"),
        [budget(status=SPARE)],
        429,
        VIOLATES,
        "The disruption budget web does not allow evicting pods currently",
    ),
    "a status that was never written": (
        web("a"),
        [budget()],
        429,
        VIOLATES,
        "The disruption budget web needs 0 healthy pods and has 0 currently",
    ),
    "not ready while too few are": (
        web("a", ready=False),
        [budget(status=SHORT)],
        429,
        VIOLATES,
        "The disruption budget web needs 2 healthy pods and has 1 currently",
    ),
    "not ready though none need be": (
        web("a", ready=False),
        [budget(status=NOBODY, min_available=0)],
        429,
        VIOLATES,
        "The disruption budget web needs 0 healthy pods and has 0 currently",
    ),
    "an unlabelled pod under an empty selector": (
        pod("a", "shop").on("n1").status(phase="Running"),
        [budget(label_selector=LabelSelector(), status=SHORT)],
        429,
        VIOLATES,
        "The disruption budget web needs 2 healthy pods and has 1 currently",
    ),
    "the budget cannot be counted": (
        web("a").owner("Job", "job", "batch/v1"),
        [budget(max_unavailable=1, status=SPARE)],
        429,
        VIOLATES,
        "The disruption budget web does not allow evicting pods currently because it failed sync: "
        "jobs.batch does not implement the scale subresource",
    ),
    "a spec that the controller has not seen": (
        web("a"),
        [replace(budget(status=SPARE | {"disruptions_allowed": 1}), metadata=CHANGED)],
        429,
        VIOLATES,
        "The disruption budget web is still being processed by the server.",
    ),
    "a negative number": (
        web("a"),
        [budget(status={"disruptions_allowed": -1})],
        403,
        FORBIDDEN + "pdb disruptions allowed is negative",
        "",
    ),
    "too many that nobody has seen go": (
        web("a"),
        [budget(status={"disruptions_allowed": 9, "disrupted_pods": {f"p{n}": "" for n in range(2001)}})],
        403,
        FORBIDDEN + "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        "",
    ),
}


@pytest.mark.parametrize(("given", "budgets", "code", "message", "cause"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(given: PodBuilder, budgets: list[Any], code: int, message: str, cause: str) -> None:
    answer = EvictionApi(world(given, *budgets)).evict("shop/a")
    assert isinstance(answer, EvictionRefused)
    assert (answer.code, answer.message, answer.cause) == (code, message, cause)


def test_a_pod_that_is_not_there() -> None:
    assert EvictionApi(world()).evict("shop/a") == EvictionRefused(404, 'pods "a" not found')


def test_the_call_itself_counts_down_and_the_next_one_sees_it() -> None:
    at = world(web("a"), web("b"), budget(status=SPARE | {"disruptions_allowed": 1}))
    api = EvictionApi(at)
    first, second = api.evict("shop/a"), api.evict("shop/b")
    assert isinstance(first, EvictionGranted)
    update, delete = first.writes
    assert isinstance(update, Update)
    assert (update.obj.status.disruptions_allowed, update.obj.status.disrupted_pods) == (0, {"a": at.stamp(0)})
    assert delete == DeletePod("shop/a", "Evicted", None, EVICTED)
    assert isinstance(second, EvictionRefused)
    assert second.cause == "The disruption budget web does not allow evicting pods currently"


def test_a_pod_that_is_being_deleted_already() -> None:
    at = world(web("a").terminating(), budget(status=NONE_LEFT))
    assert EvictionApi(at).evict("shop/a") == EvictionGranted(())
    assert EvictionApi(at).evict("shop/a", 1) == EvictionGranted((DeletePod("shop/a", "Evicted", 1, EVICTED),))
