"""Manifests in fixtures/sequences were placed pod after pod by kube-scheduler 1.36.2's own framework; so must `gate`."""

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from tests import FIXTURES
from tests.conformance.compare import Difference, Json

ROOT = FIXTURES / "sequences"
CASES = sorted(path.parent for path in ROOT.glob("*/*/expected.json"))


def test_every_family_has_sequences() -> None:
    assert len(CASES) >= 78
    assert len({case.parent for case in CASES}) >= 10


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_gate_places_pod_after_pod_as_kube_scheduler_does(case: Path) -> None:
    steps = json.loads((case / "expected.json").read_text())["steps"] or []
    config = case / "config.yaml"
    cluster = kwhatif.load(case / "cluster.yaml", scheduler_config=config if config.exists() else None)
    report = json.loads(kwhatif.gate(cluster, case / "manifests.yaml", rollout="final").to_json())
    assert len(report["decisions"]) == len(steps)
    assert list(chain.from_iterable(_differences(*pair) for pair in _pairs(steps, report))) == []


def _pairs(steps: list[Json], report: Json) -> Iterator[tuple[Json | None, Json | None]]:
    """Each step with its decision. A workload's pods have made-up names: they are paired in the controller's order."""
    bare = {step["pod"]: step for step in steps if step["group"].startswith("Pod/")}
    groups = defaultdict(list)
    for step in steps:
        groups[step["group"]].append(step)
    rest = iter(report["decisions"])
    for workload in report["workloads"]:
        decisions = list(islice(rest, workload["replicas"]))
        kind, _, key = workload["source"]["object"].partition(" ")
        if kind == "Pod":
            yield from ((bare.get(decision["pod"]), decision) for decision in decisions)
        else:
            yield from zip_longest(groups[f"{kind}/{key}"], decisions)
    yield from ((None, decision) for decision in rest)


def _differences(step: Json | None, decision: Json | None) -> Iterator[Difference]:
    if step is None or decision is None:
        yield "pod", step and step["pod"], decision and decision["pod"]
        return
    for aspect, wanted, got in _aspects(step, decision):
        if wanted != got:
            yield f"{step['pod']} {aspect}", wanted, got


def _aspects(step: Json, decision: Json) -> Iterator[tuple[str, Any, Any]]:
    for aspect in ("outcome", "node", "priority"):
        yield aspect, step.get(aspect), decision[aspect]
    yield "ties", step.get("ties") or [], decision["ties"]
    outcome = step["outcome"]
    if outcome == decision["outcome"] == "Placed":
        row: Json = next((row for row in decision["feasible"] if row["node"] == decision["node"]), {})
        yield "scores", _nonzero(step.get("scores")), _nonzero(row.get("scores"))
    if outcome == decision["outcome"] == "Preempts":
        found = decision["preemption"]
        best = next(one for one in found["candidates"] if one["node"] == decision["node"])
        yield "victims", step.get("victims") or [], [victim["pod"] for victim in best["victims"]]
        yield "pdbViolations", step.get("pdbViolations", 0), best["pdbViolations"]
        yield "cleared", step.get("cleared") or [], sorted(found.get("clearedNominations") or [])
    if outcome in {"Unschedulable", "Preempts"}:
        yield "message", step.get("message") or "", decision["message"]


def _nonzero(scores: Json | None) -> dict[str, int]:
    return {plugin: score for plugin, score in (scores or {}).items() if score}
