"""`kwhatif watch`: a line for each change, JSON Lines, what cannot be watched, and how it ends."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from tests.cli.running import Ran, run
from tests.http.conftest import kubeconfig_writer
from tests.http.fake_api import FakeAPI, answer, status

PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "new", "namespace": "default"},
    "spec": {
        "nodeSelector": {"kubernetes.io/hostname": "roomy"},
        "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
    },
}


def a_node(cpu: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
    meta = {"name": "roomy", "labels": {"kubernetes.io/hostname": "roomy"}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta,
        "spec": {},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


class Running:
    """A command that runs, and the lines that it prints."""

    def __init__(self, argv: list[str], tmp_path: Path) -> None:
        environ = os.environ | {"HOME": str(tmp_path), "COLUMNS": "200"}
        environ.pop("KWHATIF_KUBERNETES_VERSION", None)  # the server says it
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kwhatif", *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(iter(self.process.stdout.readline, ""))

    def line(self, number: int, seconds: float = 60) -> str:
        end = time.monotonic() + seconds
        while len(self.lines) <= number:
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < end, self.lines
            time.sleep(0.02)
        return self.lines[number]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def interrupt(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(20)
        assert self.process.stderr is not None
        return code, self.process.stderr.read()


@contextmanager
def running(api: FakeAPI, tmp_path: Path, *argv: str) -> Iterator[Running]:
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(json.dumps(POD))
    with api.serve() as url:
        kubeconfig = kubeconfig_writer(tmp_path, url)()
        words = [str(manifest) if word == "POD" else word for word in argv]
        one = Running([*words, "--kubeconfig", kubeconfig], tmp_path)
        try:
            yield one
        finally:
            one.close()


@pytest.fixture
def api() -> FakeAPI:
    return FakeAPI()


def test_a_line_for_each_change(api: FakeAPI, tmp_path: Path) -> None:
    with running(api, tmp_path, "watch", "--min-interval", "0", "schedule", "POD") as command:
        assert command.line(0).endswith("Z  default/new: stays pending\n")
        api.change(NODES, a_node("4"))
        assert command.line(1).endswith("Z  default/new: stays pending → fits on roomy\n"), command.lines
        api.change(NODES, a_node("500m"))
        assert "→ stays pending" in command.line(2)
        api.always["/version"] = answer(200, {"major": "1", "minor": "35", "gitVersion": "v1.35.0"})
        api.cut()
        assert command.line(3).endswith("Z  kube-scheduler 1.36 → 1.35: the cluster is of that release now\n")
        assert command.interrupt() == (130, "")


def test_json_lines(api: FakeAPI, tmp_path: Path) -> None:
    with running(api, tmp_path, "watch", "--min-interval", "0", "schedule", "POD", "-o", "json") as command:
        first = json.loads(command.line(0))
        assert (first["kind"], first["changes"], first["age"] < 60) == ("Answer", [], True)
        assert first["report"]["decisions"][0]["outcome"] == "Unschedulable"
        api.change(NODES, a_node("4"))
        second = json.loads(command.line(1))
        assert second["report"]["decisions"][0]["node"] == "roomy"
        assert len(second["changes"]) >= 1


def test_it_says_what_it_waits_for_and_goes_on(api: FakeAPI, tmp_path: Path) -> None:
    with running(api, tmp_path, "watch", "--min-interval", "0", "schedule", "POD") as command:
        command.line(0)
        api.always[NODES] = answer(500, status(500, "InternalError", "etcd is away"))
        api.cut()
        api.change(NODES, a_node("4"))
        time.sleep(1)
        assert len(command.lines) == 1
        del api.always[NODES]
        assert "roomy" in command.line(1)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("watch", "schedule", "POD", "-o", "yaml"), "there is no yaml of an answer that changes"),
        (("watch", "schedule", "-"), "it can be read only once"),
        (("watch", "--min-interval", "soon", "queue"), "--min-interval"),
    ],
)
def test_what_cannot_be_watched(api: FakeAPI, tmp_path: Path, argv: tuple[str, ...], said: str) -> None:
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(json.dumps(POD))
    with api.serve() as url:
        words = (str(manifest) if word == "POD" else word for word in argv)
        done = _asked(*words, "--kubeconfig", kubeconfig_writer(tmp_path, url)())
    assert (done.code, said in done.stderr) == (2, True), done.stderr


def test_a_dump_is_not_watched(tmp_path: Path) -> None:
    dump = tmp_path / "cluster.yaml"
    dump.write_text("{apiVersion: v1, kind: List, items: []}")
    done = _asked("watch", "queue", "--from", str(dump))
    assert done.code == 2
    assert "a live cluster is watched: leave it out" in done.stderr


def test_no_cluster_is_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", "")
    done = _asked("watch", "queue")
    assert done.code == 4
    assert done.stderr.startswith("error: no cluster to read")


def test_a_snapshot_follows_the_cluster(api: FakeAPI, tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    argv = ("snapshot", "save", str(file), "--follow", "--every", "0.1s")
    with running(api, tmp_path, *argv) as command:
        assert command.process.stderr is not None
        assert "objects saved to" in command.process.stderr.readline()
        before = kwhatif.load(file)
        assert "roomy" not in before.state.by_name
        api.change(NODES, a_node("4"))
        assert "objects saved to" in command.process.stderr.readline()
        after = kwhatif.load(file)
        kubeconfig = str(tmp_path / "config")
        live = kwhatif.load_live(kubeconfig=kubeconfig)
        assert kwhatif.preempt(after).decisions == kwhatif.preempt(live).decisions
        assert list(after.state.by_name) == list(live.state.by_name)
        assert after.caveats[: len(live.caveats)] == live.caveats


def test_a_recording_is_read_at_any_moment(api: FakeAPI, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    argv = ("snapshot", "save", "--record", str(folder), "--every", "1s")
    with running(api, tmp_path, *argv) as command:
        assert command.process.stderr is not None
        assert command.process.stderr.readline().endswith(f" objects recorded in {folder}\n")
        before = datetime.now(UTC)
        api.change(NODES, a_node("4"))
        while not command.process.stderr.readline().startswith("1 "):
            assert command.process.poll() is None
        assert command.interrupt()[0] == 130
    dump = ("--from", str(folder), "-o", "json")
    then = _asked("schedule", str(tmp_path / "pod.yaml"), *dump, "--at", before.isoformat())
    now = _asked("schedule", str(tmp_path / "pod.yaml"), *dump)
    assert then.code == 1
    assert now.code == 0
    assert json.loads(now.stdout)["decisions"][0]["node"] == "roomy"
    assert json.loads(then.stdout)["snapshot"]["takenAt"] <= before.strftime("%Y-%m-%dT%H:%M:%SZ")
    aged = _asked("deschedule", "--strategy", "PodLifeTime", *dump, "--at", before.strftime("%Y-%m-%dT%H:%M:%SZ"))
    assert aged.code == 0, aged.stderr
    early = _asked("snapshot", "info", str(folder), "--at", "1h")
    assert early.code == 3
    assert "the recording begins at" in early.stderr


def _asked(*argv: str) -> Ran:
    return run(shlex.join(("kwhatif", *argv)))


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("queue", "--at", "2026-01-31T14:05Z"), 2, "it is about a recording: name it with --from"),
        (
            ("queue", "--from", "CLUSTER", "--at", "2026-01-31T14:05"),
            2,
            "it has no time zone: 2026-01-31T14:05Z is one",
        ),
        (("queue", "--from", "CLUSTER", "--at", "noon"), 2, "'noon' is not a time"),
        (("queue", "--from", "CLUSTER", "--at", "90m"), 3, "only a recording has several moments"),
        (("snapshot", "info", "CLUSTER", "--at", "90m"), 3, "only a recording has several moments"),
        (("snapshot", "save"), 2, "name the file to write, or a folder with --record"),
        (("snapshot", "save", "--record", "here", "--anonymize"), 2, "every moment would have other names"),
        (("snapshot", "save", "--record", "CLUSTER"), 3, "cannot be written"),
        (("snapshot", "save", "--record", "here", "--from", "CLUSTER"), 2, "a live cluster is followed"),
        (("watch", "queue", "--at", "90m"), 2, "a live cluster is watched: leave it out"),
    ],
)
def test_what_cannot_be_recorded_or_read(tmp_path: Path, argv: tuple[str, ...], code: int, said: str) -> None:
    dump = tmp_path / "cluster.yaml"
    dump.write_text("{apiVersion: v1, kind: Namespace, metadata: {name: a}}")
    named = {"CLUSTER": str(dump), "here": str(tmp_path / "here")}
    done = _asked(*(named.get(word, word) for word in argv))
    assert (done.code, said in " ".join(done.stderr.split())) == (code, True), done.stderr
    assert not (tmp_path / "here").exists()
