"""Every case in `fixtures/cluster_autoscaler`, decided by the Cluster Autoscaler's own packages."""

from collections import defaultdict

import pytest

from kwhatif.scheduler.framework.reference import use_reference
from tests.cluster_autoscaler.play import Json, agrees, stored_cases

CASES: dict[str, list[Json]] = defaultdict(list)
for _case in stored_cases():
    CASES[_case["case"].partition("/")[0]].append(_case)


@pytest.mark.parametrize("family", sorted(CASES))
@pytest.mark.parametrize("plainly", [False, True], ids=["fast", "plainly"])
def test_nodes_come_and_go_as_the_autoscaler_decides(family: str, *, plainly: bool) -> None:
    use_reference(on=plainly)
    try:
        assert not [case["case"] for case in CASES[family] if not agrees(case)]
    finally:
        use_reference(on=False)
