"""What `schedule` makes of groups of pods against what kube-scheduler 1.37 did: `fixtures/gangs/README.md`."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.saving.formats import format_of
from kwhatif.sources.saving.save import Moment, saved_objects
from tests import FIXTURES
from tests.gangs.play import answer, compared, written

Json = dict[str, Any]

FOLDER = FIXTURES / "gangs"
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
