"""Every case in `fixtures/karpenter`, decided by Karpenter's own packages."""

from __future__ import annotations

import json
import lzma
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.karpenter.play import canonical, play

_FOLDER = Path(__file__).parents[2] / "fixtures" / "karpenter"


def _stored() -> dict[str, list[dict[str, Any]]]:
    """Family -> its cases."""
    types = json.loads((_FOLDER / "types.json").read_text())
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lzma.decompress((_FOLDER / "cases.jsonl.xz").read_bytes()).splitlines():
        case = json.loads(line)
        case["types"] = [
            _with_offerings(types[name], rows) | {"name": name} for name, rows in case.pop("offerings").items()
        ]
        found[case["case"].partition("/")[0]].append(case)
    return found


def _with_offerings(type_: dict[str, Any], rows: list[list[Any]]) -> dict[str, Any]:
    fields = ("capacityType", "zone", "price", "available")
    return type_ | {"offerings": [dict(zip(fields, row, strict=True)) for row in rows]}


CASES = _stored()


@pytest.mark.parametrize("family", sorted(CASES))
def test_nodes_come_and_go_as_karpenter_decides(family: str) -> None:
    wrong = []
    for case in CASES[family]:
        made = canonical(case["ask"], play(case))
        if made not in [canonical(case["ask"], each) for each in case["outcomes"]]:
            wrong.append(case["case"])
    assert not wrong
