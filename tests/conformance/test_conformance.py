"""Every case in fixtures/conformance was decided by kube-scheduler 1.36.2 itself; kwhatif must say the same."""

import json
from pathlib import Path

import pytest

import kwhatif
from tests import FIXTURES
from tests.conformance.compare import differences

ROOT = FIXTURES / "conformance"
CASES = sorted(path.parent for path in ROOT.glob("*/*/expected.json"))


def test_every_family_has_cases() -> None:
    families = {case.parent.name for case in CASES}
    assert families >= {"demo", "resources", "taints", "preemption", "volumes", "dra", "config", "mixed"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_kwhatif_decides_what_kube_scheduler_decided(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text())
    config = case / "config.yaml"
    cluster = kwhatif.load(case / "cluster.yaml", scheduler_config=config if config.exists() else None)
    report = json.loads(kwhatif.schedule(cluster, case / "pod.yaml", admission=False).to_json())
    (decision,) = report["decisions"]
    assert list(differences(expected, decision)) == []
