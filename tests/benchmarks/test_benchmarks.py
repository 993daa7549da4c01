"""The harness runs, on clusters so small that its figures mean nothing."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from benchmarks import process
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.context import Context, cluster_of
from benchmarks.document import Section, document
from benchmarks.dump import Generator
from benchmarks.rows import Row, at_least, at_most, times


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in BENCHMARKS if find_spec(f"benchmarks.{name}")])
def test_every_benchmark_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    if name == "process":  # two dozen processes, of which a few are enough
        real = process.cost_of
        monkeypatch.setattr(
            process, "cost_of", lambda argv: real(argv) if _is_new(asked, argv) else process.Cost(1.0, 0.1)
        )
    benchmark = import_module(f"benchmarks.{name}")
    rows = list(benchmark.rows(Context(tmp_path, quick=True)))
    assert benchmark.TITLE
    assert rows
    assert all(row.figure > 0 for row in rows if row.unit != "ms")


def _is_new(asked: list[str], argv: Sequence[object]) -> bool:
    """Whether it is the first run of a command: `json`, `yaml`, `schedule`, `gate`, …"""
    command = str(argv[3])
    asked.append(command)
    return asked.count(command) == 1


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (None, None),
        (at_most(3), True),
        (at_most(2.9), False),
        (at_least(3), True),
        (at_least(3.1), False),
        (times(1.5), True),
        (times(1.4), False),
    ],
)
def test_targets(target: object, met: bool | None) -> None:
    assert Row("x", 3.0, "s", "y", 2.0, target).met is met  # type: ignore[arg-type]


def test_the_document() -> None:
    rows = [Row("a", 0.1234, "s", "b", 0.0617, times(2.5)), Row("pace", 1999.6, "pods/s", target=at_least(2_500))]
    text = document("# On {machine}: {targets}\n", [Section("One", rows)])
    assert "1 of 2; not met: pace" in text
    assert "| a | 0.123 s | 2 | b: 0.0617 s | ≤ 2.5 times | yes |" in text
    assert "| pace | 2,000 pods/s |  |  | ≥ 2,500 pods/s | **no** |" in text


def test_both_dumps_hold_the_same(tmp_path: Path) -> None:
    shape = cluster_of(3)
    items = list(Generator(shape).objects())
    for path in (Context(tmp_path).json(shape), Context(tmp_path).yaml(shape)):
        with path.open() as file:
            assert yaml.load(file, yaml.CSafeLoader) == {"apiVersion": "v1", "items": items, "kind": "List"}


def test_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--quick", "speed"])
    assert stop.value.code == 2
    assert "no such benchmark: speed" in capsys.readouterr().err
