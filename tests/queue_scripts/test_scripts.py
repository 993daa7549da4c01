"""Every stored script gives the states of the real scheduling queue, operation by operation."""

import json
import lzma
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kwhatif.scheduler.queue.hinting import Occurrence, QueueingHints, QueueingStrategy
from kwhatif.scheduler.queue.unschedulable_pods import UnschedulablePods
from tests import FIXTURES, ROOT
from tests.queue_scripts.compare import differences
from tests.queue_scripts.generate import FAMILIES, script
from tests.queue_scripts.play import play

STORED = FIXTURES / "queue" / "scripts.jsonl.xz"


class _Name(msgspec.Struct):
    case: str


@cache
def stored() -> dict[str, bytes]:
    """Name -> the whole case, as text: for the names, nothing else of it has to be decoded."""
    decode = msgspec.json.Decoder(_Name).decode
    return {decode(line).case: line for line in lzma.decompress(STORED.read_bytes()).splitlines()}


@pytest.mark.parametrize("name", sorted(stored()))
def test_the_queue_agrees_with_the_real_one(name: str) -> None:
    case = json.loads(stored()[name])
    states = play(case["script"])
    assert len(states) == len(case["expected"])
    for want, got in zip(case["expected"], states, strict=True):
        assert list(differences(want, got)) == [], f"operation {want['op']}: {case['script']['operations'][want['op']]}"


@pytest.mark.parametrize("family", FAMILIES)
def test_random_scripts_repeat_and_play(family: str) -> None:
    one = script(family, 1)
    assert one == script(family, 1)
    assert one != script(family, 2)
    states = play(one)
    assert [state["op"] for state in states] == list(range(len(one["operations"])))
    assert states == play(one)


@pytest.mark.parametrize("family", FAMILIES)
def test_whom_an_index_leaves_out_would_have_slept_on(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judge_everybody = QueueingHints.judge_pool
    left_out = 0

    def judge_pool(
        self: QueueingHints, pool: UnschedulablePods, occurrence: Occurrence, *, every_pod: bool
    ) -> list[Any]:
        nonlocal left_out
        plain = list(judge_everybody(self, pool, occurrence, every_pod=every_pod))
        fast = list(judge_everybody(self, pool, occurrence, every_pod=False))
        left_out += sum(len(pods) for *_, pods in plain) - sum(len(pods) for *_, pods in fast)
        assert _woken(fast) == _woken(plain)
        return plain

    monkeypatch.setattr(QueueingHints, "judge_pool", judge_pool)
    for seed in range(3, 5):
        play(script(family, seed))
    assert left_out > 0 or family not in ("resources", "nodeaffinity", "spread", "ports", "mixed")


def _woken(judged: list[Any]) -> dict[str, QueueingStrategy]:
    return {
        info.key: strategy for _, strategy, pods in judged for info in pods if strategy is not QueueingStrategy.SKIP
    }


def test_the_command_prints_the_states(tmp_path: Path) -> None:
    case = json.loads(stored()["gates/001"])
    path = tmp_path / "script.json"
    path.write_text(json.dumps(case["script"]))
    done = subprocess.run(
        [sys.executable, "-m", "tests.queue_scripts", path], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == json.loads(json.dumps(play(case["script"])))


def test_a_difference_is_seen() -> None:
    want = {"t": 1, "active": ["d/a"], "pods": {}, "events": []}
    assert list(differences(want, {**want, "active": []})) == [("active", ["d/a"], None)]
    assert list(differences(want, {**want, "t": 2})) == [("t", 1.0, 2.0)]


def test_hints_that_were_asked_have_to_be_given() -> None:
    got = {"t": 1, "events": [{"event": "NodeAdd", "hints": {"d/a": {"P": "QueueSkip", "Q": "Queue"}}}]}
    asked = [{"pod": "d/a", "plugin": "Q", "event": "NodeAdd", "hint": "Queue"}]
    assert list(differences({"t": 1, "asked": asked}, got)) == []
    wrong = [{**asked[0], "hint": "QueueSkip"}]
    assert [aspect for aspect, *_ in differences({"t": 1, "asked": wrong}, got)] == ["asked"]
