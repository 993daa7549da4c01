"""What Kubernetes' own library says of selectors, word for word (`tests/oracle/selectors` wrote it down).

What does not compile there is not stored by any API server, so it may compile here.
"""

import json

import pytest

from kwhatif.cel import CelRuntimeError, DeviceView, Semver, compile_device_selector, program
from kwhatif.cel.cost import COST_LIMIT, bound
from kwhatif.kube.model.quantity import parse_quantity
from tests import FIXTURES

ANSWERS = [
    entry for entry in json.loads((FIXTURES / "cel" / "selectors.json").read_text("utf-8")) if "refused" not in entry
]
#: What an evaluation cost, and what the API server estimates.
COSTS = ("cost", "estimate")
ATTRIBUTES: dict[str, int | str | Semver] = {
    "model": "A100",
    "index": 3,
    "healthy": True,
    "other.example.com/rack": "r1",
}
DEVICE = DeviceView(
    driver="gpu.example.com",
    allow_multiple_allocations=False,
    attributes={**ATTRIBUTES, "version": Semver.parse("1.2.3")},
    capacity={"memory": parse_quantity("40Gi")},
)


def answer(expression: str) -> dict[str, object]:
    try:
        return {"match": compile_device_selector(expression).matches(DEVICE)}
    except CelRuntimeError as error:
        return {"error": error.message}


@pytest.mark.parametrize("start", range(0, len(ANSWERS), 100))
def test_selectors_say_what_upstream_says(start: int) -> None:
    asked = [{key: value for key, value in entry.items() if key not in COSTS} for entry in ANSWERS[start : start + 100]]
    assert [{"expression": entry["expression"], **answer(entry["expression"])} for entry in asked] == asked


@pytest.mark.parametrize("start", range(0, len(ANSWERS), 100))
def test_no_selector_costs_more_than_its_bound(start: int) -> None:
    for entry in ANSWERS[start : start + 100]:
        most = bound(program._check(entry["expression"]), DEVICE.size())
        assert most >= entry["cost"], entry
        assert (most > COST_LIMIT) is (entry["cost"] > COST_LIMIT), entry
