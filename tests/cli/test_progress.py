"""What standard error says of the reading: bars on a terminal, stages with `-v`, else nothing."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import kwhatif
from benchmarks.dump import Shape, write_json, write_yaml
from kwhatif.cli import progress
from kwhatif.sources.decoding import decode
from kwhatif.sources.dumps.collected import ReadingStep
from tests.cli.running import run

SHAPE = Shape(nodes=4, budgets=3)
#: Nodes, priority classes, pods, budgets.
OBJECTS = 4 + 3 + 88 + 3


class Terminal(io.StringIO):
    """Standard error that somebody watches."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(decode, "_LARGE", 1)
    path = tmp_path / "cluster.json"
    write_json(path, SHAPE)
    return path


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    screen = Terminal()
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("COLUMNS", "100")
    return screen


def load(dump: Path, terminal: Terminal) -> str:
    """What the terminal shows meanwhile."""
    with redirect_stderr(terminal), progress.reading_progress() as advance:
        kwhatif.load(dump, progress=advance)
    return terminal.getvalue()


@pytest.mark.parametrize(("suffix", "write"), [("json", write_json), ("yaml", write_yaml)])
def test_bytes_and_objects_are_told_as_they_are_read(
    suffix: str, write: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode, "_LARGE", 1)
    monkeypatch.setattr("kwhatif.sources.text.documents.PIECE", 1 << 14)
    path = tmp_path / f"cluster.{suffix}"
    write(path, SHAPE)  # type: ignore[operator]
    steps: list[ReadingStep] = []
    kwhatif.load(path, progress=steps.append)
    of_file = [step for step in steps if step.name == str(path)]
    assert len(of_file) > 5
    assert of_file == sorted(of_file, key=lambda step: (step.read, step.objects))
    last = of_file[-1]
    assert (last.done, last.objects, last.read, last.size) == (True, OBJECTS, path.stat().st_size, path.stat().st_size)
    assert [step.name for step in steps if step.done] == [str(path), "admission", "snapshot"]


def test_a_terminal_sees_a_bar_which_goes_away(dump: Path, terminal: Terminal) -> None:
    shown = load(dump, terminal)
    assert f"{OBJECTS} objects" in shown
    assert "MiB of 0." in shown
    assert shown.endswith("\x1b[2K")  # the last line is erased


def test_no_color(dump: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = load(dump, terminal)
    assert f"{OBJECTS} objects" in shown
    assert not re.search(r"\x1b\[[0-9;]*m", shown)


def test_what_is_quick_needs_no_bar(dump: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 600)
    assert load(dump, terminal) == ""


def test_a_dumb_terminal_sees_nothing(dump: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert load(dump, terminal) == ""


def test_a_pipe_gets_nothing(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0)
    assert run(f"kwhatif preempt --from {dump}").stderr == ""


def test_verbose_tells_time_and_memory_per_stage(dump: Path) -> None:
    ran = run(f"kwhatif preempt -v --from {dump}")
    lines = [re.split(r"\s{2,}", line) for line in ran.stderr.splitlines()]
    assert [line[0] for line in lines] == [str(dump), "admission", "snapshot", "answer", "all"]
    assert all(re.fullmatch(r"[\d.]+ s", line[1]) and re.fullmatch(r"[\d,]+ MiB", line[2]) for line in lines)
    assert lines[0][3].startswith(f"{OBJECTS} objects in 0.")
    assert ran.stdout == run(f"kwhatif preempt --from {dump}").stdout


def test_runs_are_counted_on_a_terminal(terminal: Terminal, tmp_path: Path) -> None:
    dump = tmp_path / "cluster.json"
    write_json(dump, SHAPE)
    counted: list[tuple[int, int]] = []
    kwhatif.simulate(kwhatif.load(dump), runs=3, progress=lambda done, total: counted.append((done, total)))
    assert counted == [(1, 3), (2, 3), (3, 3)]
    with redirect_stderr(terminal), progress.counting_progress("runs") as advance:
        kwhatif.simulate(kwhatif.load(dump), runs=3, progress=advance)
    assert re.search(r"3/3\S* (\x1b\[[0-9;]*m)*runs", terminal.getvalue())


def test_the_command_counts_its_runs(dump: Path, terminal: Terminal) -> None:
    from kwhatif.cli.app import commands

    with redirect_stderr(terminal), redirect_stdout(io.StringIO()):
        commands()(["simulate", "--runs", "2", "--from", str(dump)], prog_name="kwhatif", standalone_mode=False)
    assert "runs" in terminal.getvalue()
