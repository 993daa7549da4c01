"""Sequences that kube-scheduler's own framework has placed, as one set of pods of `kwhatif capacity`."""

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.kube.model.workload import DaemonSet
from kwhatif.questions.capacity.filling import CapacityCount, CountedPart
from kwhatif.sources.manifests.applied import read_applied
from tests.conformance.test_sequences import CASES

Json = dict[str, Any]
FITS = {"Placed", "Preempts"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_a_set_is_placed_as_kube_scheduler_does(case: Path) -> None:
    steps: list[Json] = json.loads((case / "expected.json").read_text())["steps"] or []
    config = case / "config.yaml"
    session = kwhatif.load(case / "cluster.yaml", scheduler_config=config if config.exists() else None)
    applied = read_applied(
        [str(case / "manifests.yaml")], session.cluster, stdin=io.BytesIO(), default_namespace="default"
    ).applied
    groups = Counter(step["pod" if step["group"].startswith("Pod/") else "group"] for step in steps)
    parts = [CountedPart(each, groups[_group(each.source.object)]) for each in applied if each.is_workload]
    if any(isinstance(part.applied.object, DaemonSet) for part in parts) or not steps:
        return
    filling = CapacityCount(session, [part for part in parts if part.times], applied)
    fit = filling.fill(1, evicts=True)
    stuck = next((step for step in steps if step["outcome"] not in FITS), None)
    own = {step["pod"] for step in steps}
    if any(victim in own for step in steps for victim in step.get("victims") or ()):
        assert fit.row.sets == 0  # they do not fit together
        return
    if stuck is not None:
        assert fit.row.stop is not None
        assert fit.row.stop.outcome == stuck["outcome"]
        if stuck["outcome"] == "Unschedulable":
            assert fit.row.stop.message == stuck["message"]
        return
    found: Counter[str] = Counter()
    for counted in fit.row.counted:
        found.update(counted.nodes)
    assert found == Counter(step["node"] for step in steps)


def _group(name: str) -> str:
    """How the recording calls the pods of an object; each bare pod has its own name there."""
    kind, _, key = name.partition(" ")
    return key if kind == "Pod" else f"{kind}/{key}"
