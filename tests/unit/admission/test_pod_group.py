"""What kwhatif makes of new and changed PodGroups and Workloads is what the API server's own packages make of them.

(`bin/gangs --admission` in `tests/oracle/gangs` writes their answers into the file.)
"""

import json
from typing import Any

import msgspec
import pytest

from kwhatif.admission.outcome import Denied
from kwhatif.admission.pod_group import admit_group, admit_workload
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod_group import PodGroup, PodGroupSpec, Workload, WorkloadSpec
from kwhatif.kube.model.policy import PriorityClass
from tests import FIXTURES

CASES: list[dict[str, Any]] = json.loads((FIXTURES / "gangs/admission.json").read_text())
KINDS = {"PodGroup": PodGroup, "Workload": Workload}


def _read(raw: Any, kind: Any) -> Any:
    return msgspec.convert({name: value for name, value in raw.items() if name not in ("kind", "apiVersion")}, kind)


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    kind = KINDS[case["object"]["kind"]]
    cluster = Cluster()
    cluster.update_facts(gates=frozenset(case["gates"]))
    for raw in case.get("classes", ()):
        cluster.add(_read(raw, PriorityClass))
    if "known" in case:
        cluster.add(_read(case["known"], kind))
    obj = _read(case["object"], kind)
    found = admit_group(obj, cluster) if isinstance(obj, PodGroup) else admit_workload(obj, cluster)
    if "message" in case:
        assert isinstance(found, Denied)
        assert found.message == case["message"]
    else:
        assert not isinstance(found, Denied), found
        spec = WorkloadSpec if kind is Workload else PodGroupSpec
        assert found.spec == msgspec.convert(_without_null(case["spec"]), spec)


def _without_null(value: Any) -> Any:
    """As the decoder of dumps leaves it."""
    if isinstance(value, dict):
        return {name: _without_null(each) for name, each in value.items() if each is not None}
    return [_without_null(each) for each in value] if isinstance(value, list) else value
