"""Every case in `fixtures/karpenter`, decided by Karpenter's own packages."""

from collections import defaultdict

import pytest

from tests.karpenter.judge import Case, agrees, stored_cases

CASES: dict[str, list[Case]] = defaultdict(list)
for _case in stored_cases():
    CASES[_case["case"].partition("/")[0]].append(_case)


@pytest.mark.parametrize("family", sorted(CASES))
def test_nodes_come_and_go_as_karpenter_decides(family: str) -> None:
    assert not [case["case"] for case in CASES[family] if not agrees(case, case["outcomes"])]
