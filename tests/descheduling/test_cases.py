"""Every case in `fixtures/descheduler`, decided by the descheduler's own packages."""

import io
import json
import lzma
from collections import defaultdict
from typing import Any

import msgspec
import pytest

from kwhatif.descheduler.attempt import DeschedulingCycle, EvictionAttempt
from kwhatif.kube.matching.field_errors import aggregate
from kwhatif.sources.dumps.dump import collect_dump
from kwhatif.sources.saving.save import Moment, saved_objects
from tests import FIXTURES
from tests.descheduling.play import play

_FILE = FIXTURES / "descheduler" / "cases.jsonl.xz"


class _Name(msgspec.Struct):
    case: str


def _stored() -> dict[str, list[bytes]]:
    """Family -> its cases, as text: for the names, nothing else of them has to be decoded."""
    decode = msgspec.json.Decoder(_Name).decode
    found: dict[str, list[bytes]] = defaultdict(list)
    for line in lzma.decompress(_FILE.read_bytes()).splitlines():
        found[decode(line).case.rpartition("/")[0]].append(line)
    return found


CASES = _stored()
FAMILIES = sorted(CASES)


def cases_of(family: str, limit: int | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in CASES[family][:limit]]


def attempt_row(attempt: EvictionAttempt) -> dict[str, Any]:
    return {
        "pod": attempt.pod,
        "node": attempt.node,
        "profile": attempt.profile,
        "plugin": attempt.plugin,
        "by": attempt.by,
        "message": attempt.message,
    }


def in_any_order(rows: list[Any]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def check_attempts(cycle: DeschedulingCycle, want: dict[str, Any]) -> None:
    made = list(map(attempt_row, cycle.attempts))
    match want["semantics"]:
        case "exact":
            assert made == want["attempts"]
        case "set":
            assert in_any_order(made) == in_any_order(want["attempts"])
        case _:
            results = [(row["pod"], row["plugin"], row["by"] or "evicted") for row in made]
            assert sorted(results) in [
                sorted((row["pod"], row["plugin"], row["result"]) for row in outcome) for outcome in want["outcomes"]
            ]


def check_plugins(cycle: DeschedulingCycle, want: dict[str, Any]) -> None:
    for run, expected in zip(cycle.plugins, want["plugins"], strict=True):
        made = {
            "profile": run.profile,
            "plugin": run.plugin,
            "extensionPoint": run.extension_point,
            "evicted": run.evicted,
            "refused": run.refused,
            **({"error": run.error} if run.error else {}),
        }
        assert made == {name: value for name, value in expected.items() if name != "notes"}
        said = [note["message"] for note in expected.get("notes", ())]
        assert sorted(note.partition(":")[0] for note in run.notes) == sorted(said)


def check_spared(cycle: DeschedulingCycle, want: dict[str, Any]) -> None:
    spared = [
        {"profile": row.profile, "pod": row.pod, "stage": row.stage, "reason": aggregate(row.reasons)}
        for row in cycle.spared
    ]
    assert in_any_order(spared) == in_any_order(want["protected"])


def check_classes(cycle: DeschedulingCycle, want: dict[str, Any]) -> None:
    made = [
        {
            "profile": row.profile,
            "plugin": row.plugin,
            "node": row.node,
            "class": row.node_class,
            "percent": {name: int(percent + 0.5) for name, percent in row.percent.items()},
        }
        for row in cycle.classes
    ]
    assert in_any_order(made) == in_any_order(want.get("nodeClasses", []))


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    for case in cases_of(family):
        want, cycle = case["expected"], play(case)
        if "error" in want:
            assert isinstance(cycle, str)
            assert want["error"] in cycle
            continue
        assert isinstance(cycle, DeschedulingCycle), (case["case"], cycle)
        assert bool(cycle.skipped) == ("skipped" in want)
        if cycle.skipped:
            assert cycle.skipped == want["skipped"]
            continue
        check_attempts(cycle, want)
        if want["semantics"] != "one-of":
            check_plugins(cycle, want)
            check_spared(cycle, want)
            check_classes(cycle, want)


def test_there_are_369() -> None:
    assert sum(map(len, CASES.values())) == 369


@pytest.mark.parametrize("family", FAMILIES)
def test_of_a_snapshot_it_is_the_same(family: str) -> None:
    for case in cases_of(family, 6):
        dump = io.BytesIO(json.dumps({"apiVersion": "v1", "kind": "List", "items": case["cluster"]}).encode())
        saved = saved_objects(
            collect_dump(["-"], stdin=dump), taken_at=Moment(case["now"]), images=True, anonymize=False
        )
        assert play({**case, "cluster": msgspec.to_builtins(saved.objects)}) == play(case), case["case"]


def test_what_is_measured_is_anonymized_as_what_it_is_about() -> None:
    case = cases_of(next(family for family in FAMILIES if "metrics" in family), 1)[0]
    dump = io.BytesIO(json.dumps({"apiVersion": "v1", "kind": "List", "items": case["cluster"]}).encode())
    saved = saved_objects(collect_dump(["-"], stdin=dump), taken_at=Moment(case["now"]), images=False, anonymize=True)
    names: dict[str, set[str]] = {}
    for obj in msgspec.to_builtins(saved.objects):
        names.setdefault(obj["kind"], set()).add(f"{obj['metadata'].get('namespace')}/{obj['metadata']['name']}")
    assert names["PodMetrics"] <= names["Pod"]
    assert names["NodeMetrics"] <= names["Node"]
    before = {obj["metadata"]["name"] for obj in case["cluster"] if obj["kind"] in ("PodMetrics", "NodeMetrics")}
    assert not before & {key.partition("/")[2] for keys in names.values() for key in keys}
