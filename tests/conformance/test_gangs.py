"""What `schedule` makes of groups of pods against what kube-scheduler 1.37 did: `fixtures/gangs/README.md`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.saving.formats import format_of
from kwhatif.sources.saving.save import Moment, saved_objects

Json = dict[str, Any]

FOLDER = Path(__file__).parents[2] / "fixtures" / "gangs"
CASES = [
    pytest.param(json.loads(line), id=f"{path.stem}/{json.loads(line)['case']}")
    for path in sorted(FOLDER.glob("*.jsonl"))
    for line in path.read_text().splitlines()
]


@pytest.mark.parametrize("case", CASES)
def test_groups_fare_as_with_kube_scheduler(case: Json, tmp_path: Path) -> None:
    got = compared(answer(case, written(case["cluster"], tmp_path / "cluster.json"), tmp_path))
    assert got in [compared(outcome) for outcome in case["outcomes"]]


@pytest.mark.parametrize("case", CASES[::8])
def test_a_saved_snapshot_gives_the_answer_of_its_source(case: Json, tmp_path: Path) -> None:
    source = written(case["cluster"], tmp_path / "cluster.json")
    saved = saved_objects(collect_dump([source], stdin=io.BytesIO()), taken_at=Moment(""), images=True, anonymize=False)
    (tmp_path / "snapshot.json").write_bytes(b"".join(format_of("snapshot.json").encode(saved.objects)))
    assert answer(case, str(tmp_path / "snapshot.json"), tmp_path) == answer(case, source, tmp_path)


def answer(case: Json, cluster: str, folder: Path) -> Json:
    """What the report says about groups of pods."""
    session = kwhatif.load(cluster, kubernetes_version="1.37", feature_gates=case["gates"])
    report = kwhatif.schedule(session, written(case["manifest"], folder / "manifest.json"))
    groups: Json = json.loads(report.to_json())["podGroups"]
    return groups


def written(objects: list[Json], path: Path) -> str:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def compared(groups: Json) -> Json:
    """What has to agree. The later sentences of a message depend on how often a pod was tried."""
    return {
        "groups": {row["group"]: (row["outcome"], first(row.get("message"))) for row in groups["groups"]},
        "pods": {
            row["pod"]: (row.get("node") or None, "" if row.get("node") else first(row.get("message")))
            for row in groups["pods"]
        },
        "victims": sorted(json.dumps(victim, sort_keys=True) for victim in groups.get("victims") or ()),
    }


def first(message: str | None) -> str:
    return (message or "").split(", pod group preemption")[0].split(". ")[0].rstrip(".")
