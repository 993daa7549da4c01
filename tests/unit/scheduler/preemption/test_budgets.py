"""Budgets: who matches, who breaks what, and what is left."""

import pytest

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.policy import PodDisruptionBudget, PodDisruptionBudgetSpec
from kwhatif.scheduler.preemption.budgets import Budgets, BudgetUse
from kwhatif.state.pod_info import PodInfo
from tests.builders import budget, cluster, pod, requirement, selector


def web(name: str, namespace: str = "default", **labels: str) -> PodInfo:
    return pod(name, namespace).labels(app="web", **labels).info()


MATCHES = {
    "labels that the selector asks for": (budget("b", 1, selector(app="web")), web("p"), ("default/b",)),
    "expressions": (budget("b", 1, selector(requirement("app", "In", "web"))), web("p"), ("default/b",)),
    "other labels do not": (budget("b", 1, selector(app="db")), web("p"), ()),
    "another namespace does not": (budget("b", 1, selector(app="web"), namespace="shop"), web("p"), ()),
    "a pod without labels matches nothing, not even NotIn": (
        budget("b", 1, selector(requirement("app", "NotIn", "db"))),
        pod("p").info(),
        (),
    ),
    "an empty selector matches nothing": (budget("b", 1, selector()), web("p"), ()),
    "a missing selector matches nothing": (budget("b", 1, None), web("p"), ()),
    "an invalid selector matches nothing": (budget("b", 1, selector(requirement("app", "Near", "web"))), web("p"), ()),
    "a pod whose disruption is counted already does not count again": (
        budget("b", 1, selector(app="web"), disrupted=["p"]),
        web("p"),
        (),
    ),
    "its neighbour does": (budget("b", 1, selector(app="web"), disrupted=["p"]), web("q"), ("default/b",)),
}


@pytest.mark.parametrize(("pdb", "candidate", "expected"), MATCHES.values(), ids=MATCHES.keys())
def test_which_budgets_count_a_pod(pdb: KubernetesObject, candidate: PodInfo, expected: tuple[str, ...]) -> None:
    assert Budgets(cluster(pdb)).of(candidate) == expected


def test_pods_that_differ_in_a_selected_label_are_kept_apart() -> None:
    budgets = Budgets(cluster(budget("a", 1, selector(app="web", tier="a")), budget("b", 1, selector(tier="b"))))
    assert [budgets.of(web("p", tier=tier)) for tier in "abc"] == [("default/a",), ("default/b",), ()]


def test_allowances_are_used_up_in_the_order_of_the_pods() -> None:
    pods = [web("first"), web("second"), web("third")]
    split = Budgets(cluster(budget("b", 1, selector(app="web")))).split(pods)
    assert [pod.name for pod in split.others] == ["first"]
    assert [pod.name for pod in split.violating] == ["second", "third"]
    assert dict(split.broken) == {pods[1]: ("default/b",), pods[2]: ("default/b",)}


def test_every_matching_budget_is_charged_even_when_another_is_broken() -> None:
    budgets = Budgets(cluster(budget("strict", 0, selector(app="web")), budget("wide", 1, selector(tier="x"))))
    both, wide = web("both", tier="x"), pod("wide").labels(tier="x").info()
    split = budgets.split([both, wide])
    assert dict(split.broken) == {both: ("default/strict",), wide: ("default/wide",)}


def test_a_budget_without_status_allows_nothing() -> None:
    pdb = PodDisruptionBudget(
        metadata=ObjectMeta(name="b", namespace="default"), spec=PodDisruptionBudgetSpec(selector=selector(app="web"))
    )
    assert len(Budgets(cluster(pdb)).split([web("p")]).violating) == 1


def test_without_budgets_nobody_violates() -> None:
    pods = [web("p"), web("q")]
    split = Budgets(cluster()).split(pods)
    assert (list(split.violating), list(split.others)) == ([], pods)


def test_uses_count_down_from_what_is_allowed() -> None:
    budgets = Budgets(cluster(budget("b", 1, selector(app="web")), budget("a", 5, selector(tier="x"))))
    pods = [web("p"), web("q", tier="x"), web("stays")]
    uses = budgets.split(pods).uses(pods[:2])
    assert uses == (BudgetUse("default/a", 5, 4), BudgetUse("default/b", 1, -1))
