"""What only saves time changes nothing: cycles on random clusters, with fast paths and without."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kwhatif.descheduler.attempt import DeschedulingCycle
from kwhatif.scheduler.framework.reference import use_reference
from tests.descheduling.generate import FAMILIES, generate
from tests.descheduling.play import play

#: Of each family.
_CASES = 12


@pytest.fixture(autouse=True)
def _fast_again() -> Iterator[None]:
    yield
    use_reference(on=False)


def _with_node_fit(policy: dict[str, Any]) -> dict[str, Any]:
    for profile in policy.get("profiles", ()):
        configs = profile.setdefault("pluginConfig", [])
        evictor = next((each for each in configs if each["name"] == "DefaultEvictor"), None)
        if evictor is None:
            evictor = {"name": "DefaultEvictor", "args": {}}
            configs.append(evictor)
        evictor.setdefault("args", {})["nodeFit"] = True
    return policy


@pytest.mark.parametrize("family", FAMILIES)
def test_cycles_are_the_same_without_fast_paths(family: str) -> None:
    cycles = 0
    for number in range(_CASES):
        case = generate(f"fast/{number}", family)
        case["policy"] = json.dumps(_with_node_fit(json.loads(case["policy"])))
        use_reference(on=False)
        fast = play(case)
        use_reference(on=True)
        assert fast == play(case)
        cycles += isinstance(fast, DeschedulingCycle)
    assert cycles > _CASES / 2, "most policies are good"
