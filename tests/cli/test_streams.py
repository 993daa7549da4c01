"""Closed streams, devices in the place of files, times at the ends of the calendar, and Ctrl-C at any moment."""

import errno
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kwhatif.kube.model.meta import FIRST_SECOND, LAST_SECOND, format_time, parse_time
from tests import FIXTURES
from tests.cli.running import run

DUMP = FIXTURES / "demo" / "cluster.yaml"
POD = FIXTURES / "demo" / "pods" / "inference.yaml"
KWHATIF = Path(sys.executable).parent / "kwhatif"


def shell(arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with its redirections."""
    return subprocess.run(
        ["bash", "-c", f"{shlex.quote(str(KWHATIF))} {arguments}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


CLOSED = {
    "manifests": f"schedule - --from {DUMP}",
    "a dump": "capacity --from -",
    "a policy": f"gate {POD} --from {DUMP} --policy -",
}


@pytest.mark.parametrize("arguments", CLOSED.values(), ids=CLOSED)
def test_standard_input_that_is_closed_is_bad_input(arguments: str) -> None:
    done = shell(f"{arguments} <&-")
    assert done.returncode == 3
    assert "standard input: cannot be read: it is closed" in done.stderr


def test_standard_input_that_is_closed_and_not_asked_for_changes_nothing() -> None:
    closed, usual = (shell(f"schedule {POD} --from {DUMP} {how}") for how in ("<&-", "< /dev/null"))
    assert (closed.returncode, closed.stdout, closed.stderr) == (usual.returncode, usual.stdout, usual.stderr)


@pytest.mark.parametrize("stream", ["2>&-", ">&-"])
def test_output_that_is_closed_does_not_change_the_exit_code(stream: str) -> None:
    assert (
        shell(f"schedule {POD} --from {DUMP} {stream}").returncode == run(f"kwhatif schedule {POD} --from {DUMP}").code
    )
    assert shell(f"schedule {POD} --from nowhere.yaml {stream}").returncode == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the devices of Linux")
@pytest.mark.parametrize("device", ["/dev/full", "/dev/zero"])
def test_a_device_is_not_a_file_to_resume_from(device: str) -> None:
    done = run(f"kwhatif outage --each topology.kubernetes.io/zone --from {DUMP} --resume {device}")
    assert done.code == 3
    assert done.stderr == f"error: --resume: {device}: is neither a file nor a directory\n"


class _OnAFullDisk(io.BytesIO):
    """An empty file that takes nothing."""

    def write(self, _data: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_ends_a_sweep_with_a_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usual = Path.open

    def on_a_full_disk(path: Path, *how: Any, **named: Any) -> Any:
        return _OnAFullDisk() if path.name == "kept" else usual(path, *how, **named)

    monkeypatch.setattr(Path, "open", on_a_full_disk)
    done = run(f"kwhatif outage --each topology.kubernetes.io/zone --from {DUMP} --resume {tmp_path}/kept")
    assert done.code == 3
    assert done.stderr == f"error: --resume: {tmp_path}/kept: cannot be written: No space left on device\n"


TIMES = ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00"]
COMMANDS = [
    f"schedule {POD}",
    "queue",
    "drain general-a1",
    "simulate --then 'cordon general-a1'",
    "outage --each topology.kubernetes.io/zone",
    "deschedule --strategy RemoveDuplicates",
    "upgrade --to 1.37",
]


@pytest.mark.parametrize("moment", TIMES)
def test_times_at_the_ends_of_the_calendar(tmp_path: Path, moment: str) -> None:
    dump = tmp_path / "cluster.yaml"
    dump.write_text(re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", moment, DUMP.read_text()))
    for command in COMMANDS:
        done = run(f"kwhatif {command} --from {dump}")
        assert done.code in (0, 1), f"{command}: {done.stderr}"


def test_seconds_as_times() -> None:
    assert format_time(FIRST_SECOND) == format_time(FIRST_SECOND - 1) == "0001-01-01T00:00:00Z"
    assert format_time(LAST_SECOND) == format_time(LAST_SECOND + 1) == "9999-12-31T23:59:59Z"
    for seconds in (FIRST_SECOND, -1, 0, 1, LAST_SECOND):
        assert parse_time(format_time(seconds)) == seconds * 10**9


@pytest.mark.parametrize("said", ["9" * 30, "999999999999", "²", "-1", ""])
def test_the_clock_of_reproducible_output_may_say_anything(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", said)
    assert run(f"kwhatif queue --from {DUMP}").code in (0, 1)
    assert run(f"kwhatif gate {POD} --from {DUMP}").code in (0, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_an_interrupt_while_it_starts_prints_no_traceback() -> None:
    """From the first line of its own on: that is before anything of the command line is imported."""
    script = (
        "import sys, builtins; usual = builtins.__import__\n"
        "def slowly(name, *rest):\n"
        "    if name.startswith('kwhatif.cli.app'): print('importing', flush=True); import time; time.sleep(5)\n"
        "    return usual(name, *rest)\n"
        "builtins.__import__ = slowly\n"
        "from kwhatif.cli import console; sys.argv = ['kwhatif', '--version']; console()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=10)
    assert stderr == ""
    assert process.returncode == -signal.SIGINT
