"""What an expression may cost: harmful ones end at once, with the API server's error, and before anything is made."""

import json
from time import perf_counter
from typing import Any

import pytest

from kwhatif.cel import CelRuntimeError, DeviceView, Program, compile_device_selector, compile_expression
from kwhatif.cel.cost import BUDGET, COST_LIMIT, CostBudget, bound, size_of
from kwhatif.cel.engine import check

TEN = "'aaaaaaaaaa'"
DEVICE = DeviceView("gpu.example.com", allow_multiple_allocations=False, attributes={"model": "a100"}, capacity={})
REFUSED = {
    "a long range": "lists.range(100000000).size() > 0",
    "a range of ranges": "lists.range(5000).all(x, lists.range(5000).all(y, x + y >= 0))",
    "a range as long as something says": "lists.range(int('100000000')).size() > 0",
    "a text that is replaced by longer ones": TEN + f".replace('a', {TEN})" * 9 + ".size() > 0",
    "a text with another between all its letters": TEN + f".replace('', {TEN})" * 9 + ".size() > 0",
    "texts that double": f"[{TEN}]" + ".map(x, x + x + x + x + x + x + x + x + x + x)" * 9 + ".size() > 0",
    "lists that double": "cel.bind(a, [1, 2, 3, 4], " * 1
    + "".join(f"cel.bind(b{n}, {'a' if n == 0 else f'b{n - 1}'} + {'a' if n == 0 else f'b{n - 1}'}, " for n in range(24))
    + "b23.size() > 0"
    + ")" * 25,
    "a long separator": f"lists.range(5000).map(x, 'a').join('{'x' * 5000}').size() > 0",
    "a number of many digits, often": "lists.range(9000).map(x, '%.999f'.format([1.0])).join('').size() > 0",
    "a list in a list in a list": "lists.range(999).map(x, lists.range(999).map(y, lists.range(999))).size() > 0",
    "a map that grows": "lists.range(9999).transformMap(k, v, lists.range(999)).size() > 0",
    "a pattern on a long text": f"lists.range(9000).map(x, 'a').join('').matches('{'(a|b)*' * 200}')",
}  # fmt: skip


@pytest.mark.parametrize("expression", REFUSED.values(), ids=REFUSED)
def test_what_costs_too_much_is_refused_before_it_begins(expression: str) -> None:
    started = perf_counter()
    selector = compile_device_selector(expression)
    assert selector._program is None  # not even loaded: the engine evaluates constants when it loads them
    with pytest.raises(CelRuntimeError) as caught:
        selector.matches(DEVICE)
    assert caught.value.message == "operation cancelled: actual cost limit exceeded"
    with pytest.raises(CelRuntimeError, match="actual cost limit exceeded"):
        compile_expression(expression, {}, result="bool").evaluate({})
    assert perf_counter() - started < 5


#: They are cheap with little data, and not with much.
BY_SIZE = {
    "each with each": ("data.all(x, data.all(y, x.name != y.name))", 100, 2000),
    "each three times": (
        "data.all(x, data.all(y, data.all(z, x.name != y.name || x.name != z.name || true)))",
        10,
        200,
    ),
    "all in one text": ("data.map(x, x.name + x.name).join(',').size() >= 0", 100, 5000),
}


@pytest.mark.parametrize(("expression", "few", "many"), BY_SIZE.values(), ids=BY_SIZE)
def test_it_depends_on_the_data(expression: str, few: int, many: int) -> None:
    program = compile_expression(expression, {"data": "dyn"}, result="bool")

    def data(size: int) -> dict[str, Any]:
        return {"data": [{"name": f"pod-{number}"} for number in range(size)]}

    assert isinstance(program.evaluate(data(few)), bool)
    with pytest.raises(CelRuntimeError, match="operation cancelled: actual cost limit exceeded"):
        program.evaluate(data(many))


ALLOWED = [
    "decision.outcome == 'Fits' || workload.replicas <= 20",
    "node == null || node.labels['topology.kubernetes.io/zone'] != 'eu-west-1c'",
    "decision.nodes.exists(n, n.startsWith('gpu-'))",
    "has(decision.victims) && decision.victims.all(v, v.priority < 1000 && !(v.pod in ['a/b', 'c/d']))",
]


@pytest.mark.parametrize("expression", ALLOWED)
def test_what_policies_ask_is_asked_of_large_reports_too(expression: str) -> None:
    checked = check(expression, {"decision": "dyn", "workload": "dyn", "node": "dyn"})
    assert bound(checked, 5000) <= COST_LIMIT


def test_a_bound_grows_with_the_data() -> None:
    checked = check("data.all(x, x.contains('a'))", {"data": "dyn"})
    bounds = [bound(checked, size) for size in (0, 1, 10, 100, 1000)]
    assert bounds == sorted(bounds)
    assert bounds[0] < 20


def test_the_size_of_data_is_that_of_its_largest_part() -> None:
    assert size_of({}) == 0
    assert size_of({"a": {"b": [1, 2, "four", {"fifteen letters": None}]}}) == 15
    assert size_of(json.loads("[" * 500 + "]" * 500)) == 1
    assert Program("data.size() > 3", {"data": "dyn"}, "bool").evaluate({"data": "abcd"}) is True


def test_what_is_evaluated_about_one_object_shares_a_budget() -> None:
    program = Program("data.all(x, data.all(y, x.name != y.name || true))", {"data": "dyn"}, "bool")
    data = {"data": [{"name": f"pod-{number}"} for number in range(95)]}
    cost = bound(program._guard._checked, size_of(data))
    assert cost <= COST_LIMIT
    budget = CostBudget()
    for _ in range(BUDGET // cost):
        assert program.evaluate(data, budget) is True
    with pytest.raises(CelRuntimeError, match="running out of cost budget, no further validation rules will be run"):
        program.evaluate(data, budget)
    with pytest.raises(CelRuntimeError, match="running out of cost budget"):
        Program("true || data.size() > 3", {"data": "dyn"}, "bool").evaluate(data, budget)
    assert program.evaluate(data, CostBudget()) is True


def test_data_of_little_weight_leaves_the_budget_for_others() -> None:
    program = Program("data.all(x, x.contains('a'))", {"data": "dyn"}, "bool")
    budget = CostBudget(10_000)
    for _ in range(50):
        assert program.evaluate({"data": ["a"]}, budget) is True
    assert 0 < budget._left < 10_000
