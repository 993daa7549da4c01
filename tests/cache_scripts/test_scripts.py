"""Every stored script gives the states of the scheduler's own cache, operation by operation."""

from __future__ import annotations

import json
import lzma
from functools import cache
from typing import Any

import pytest

from tests.cache_scripts.fuzz import STORED, difference
from tests.cache_scripts.generate import FAMILIES, script
from tests.cache_scripts.play import play


@cache
def stored() -> dict[str, dict[str, Any]]:
    with lzma.open(STORED, "rt") as lines:
        return {case["case"]: case for case in map(json.loads, lines)}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_cache_agrees_with_the_real_one(family: str) -> None:
    cases = {name: case for name, case in stored().items() if name.startswith(f"{family}/")}
    assert len(cases) >= 10
    assert {name: difference(case["script"], case["expected"])[1] for name, case in cases.items()} == dict.fromkeys(
        cases, ""
    )


def test_stored_scripts_call_everything() -> None:
    operations = {operation["op"] for case in stored().values() for operation in case["script"]["operations"]}
    assert operations == {
        *("AssumePod", "ForgetPod", "AddPod", "UpdatePod", "RemovePod"),
        *("AddNode", "UpdateNode", "RemoveNode", "UpdateSnapshot"),
    }
    states = [state for case in stored().values() for state in case["expected"]]
    assert any(node.get("imaginary") for state in states for node in state["nodes"])
    assert any(state["snapshots"][1]["newer"] > 1 for state in states)
    errors = {state["error"].partition(" ")[0] for state in states if "error" in state}
    assert errors == {"pod", "assumed", "node"}


@pytest.mark.parametrize("family", FAMILIES)
def test_random_scripts_repeat(family: str) -> None:
    one = script(family, 1)
    assert one == script(family, 1)
    assert one != script(family, 2)
    assert play(one) == play(one)


def test_a_difference_is_seen() -> None:
    one = script("watch", 1)
    wanted = json.loads(json.dumps(play(one)))
    assert difference(one, wanted) == (len(wanted), "")
    wanted[3]["assumed"] = ["somebody"]
    number, text = difference(one, wanted)
    assert number == 3
    assert "scheduler: ['somebody']" in text
