"""Which budgets select a pod: one index, which callers narrow down."""

import pytest
from msgspec.structs import replace

from kwhatif.kube.matching.budgets import budget_index
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.policy import PodDisruptionBudget
from tests.builders import budget, cluster, requirement, selector

WEB = {"app": "web", "tier": "x"}
SELECTORS: dict[str, tuple[LabelSelector | None, dict[str, str], bool]] = {
    "a label": (selector(app="web"), WEB, True),
    "another value": (selector(app="db"), WEB, False),
    "an expression": (selector(requirement("app", "NotIn", "db")), WEB, True),
    "an expression, no labels": (selector(requirement("app", "NotIn", "db")), {}, True),
    "empty": (selector(), WEB, True),
    "empty, no labels": (selector(), {}, True),
    "missing": (None, WEB, False),
    "invalid": (selector(requirement("app", "Near", "web")), WEB, False),
}


@pytest.mark.parametrize(("given", "labels", "selects"), SELECTORS.values(), ids=SELECTORS.keys())
def test_which_pods_a_selector_means(given: LabelSelector | None, labels: dict[str, str], *, selects: bool) -> None:
    index = budget_index(cluster(budget("b", 1, given)))
    assert index.of("default", labels) == (("default/b",) if selects else ())
    assert index.of("shop", labels) == ()


def test_budgets_come_in_the_order_of_the_cluster() -> None:
    made = cluster(budget("b", 1, selector(app="web")), budget("c", 1, selector()), budget("a", 1, selector(tier="x")))
    made.add(budget("0", 1, selector(tier="x")))
    index = budget_index(made)
    assert index.of("default", WEB) == ("default/a", "default/b", "default/c", "default/0")
    assert index.of("default", {"app": "web", "tier": "y"}) == ("default/b", "default/c")


def test_the_index_is_kept_while_the_selectors_stay() -> None:
    made = cluster(budget("b", 1, selector(app="web")))
    index = budget_index(made)
    made.add(budget("b", 0, selector(app="web"), disrupted=["p"]))
    spec = made.all(PodDisruptionBudget)["default/b"].spec
    made.add(replace(budget("b", 0, selector(app="web")), spec=replace(spec, max_unavailable=2)))
    assert budget_index(made) is index
    made.add(budget("b", 0, selector(app="db")))
    assert (index.of("default", WEB), budget_index(made).of("default", WEB)) == (("default/b",), ())
    made.discard(PodDisruptionBudget, "default/b")
    assert not budget_index(made)
