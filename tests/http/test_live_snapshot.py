"""What is saved of a live cluster gives the reports that the cluster gave at that moment, faults included."""

import json
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.sources.live import request
from tests import FIXTURES
from tests.cli.running import run
from tests.http.conftest import WriteKubeconfig
from tests.http.fake_api import FakeAPI, answer, cut, hang, recorded

#: $SOURCE_DATE_EPOCH of the tests: the snapshots are saved then.
NOW = datetime(2026, 11, 21, 7, 20, tzinfo=UTC)
PODS = sorted((FIXTURES / "demo" / "pods").glob("*.yaml"))
FORBIDDEN = answer(403, recorded("forbidden")["body"])
BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(request, "_MAX_PAUSE", 0.001)


def report(session: Any) -> dict[str, Any]:
    classes = "PriorityClass" not in session.cluster.facts.unread
    pods = [pod for pod in PODS if classes or "priorityClassName" not in pod.read_text()]
    assert pods
    made = json.loads(kwhatif.preempt(session, *pods).to_json())
    del made["snapshot"]["sources"], made["snapshot"]["takenAt"]
    return made


@pytest.mark.parametrize(
    "forbidden",
    [(), (BUDGETS,), (CLASSES,), (BUDGETS, CLASSES, "/api/v1/services")],
    ids=["nothing", "budgets", "classes", "more"],
)
@pytest.mark.parametrize("version", ["36", "34"])
def test_a_saved_snapshot_gives_the_report_of_the_live_cluster(
    api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path, forbidden: tuple[str, ...], version: str
) -> None:
    api.always["/version"] = answer(200, {"major": "1", "minor": version})
    api.always |= dict.fromkeys(forbidden, FORBIDDEN)
    ran = run(f"kwhatif snapshot save {tmp_path}/saved.json.gz --images --kubeconfig {kubeconfig()}")
    assert (ran.code, ran.stdout) == (0, "")
    live, saved = kwhatif.load_live(kubeconfig=kubeconfig()), kwhatif.load(tmp_path / "saved.json.gz", now=NOW)
    assert report(saved) == report(live)
    assert set(saved.cluster.facts.unread) == set(live.cluster.facts.unread)
    assert saved.namespace == live.namespace == "shop"


@pytest.mark.parametrize(
    "fault",
    [FORBIDDEN, answer(500, b"{}"), cut({"a": "b" * 1000}), hang],
    ids=["nodes are forbidden", "a server that fails", "an answer cut short", "a server that hangs"],
)
def test_half_a_cluster_is_never_saved(api: FakeAPI, kubeconfig: WriteKubeconfig, tmp_path: Path, fault: Any) -> None:
    path = tmp_path / "saved.yaml"
    path.write_text("before")
    api.always["/api/v1/nodes"] = fault
    ran = run(f"kwhatif snapshot save {path} --request-timeout 1s --kubeconfig {kubeconfig()}")
    assert (ran.code, ran.stdout) == (4, "")
    assert ran.stderr.startswith("error: the cluster could not be read: GET /")
    assert path.read_text() == "before"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["config", "saved.yaml"]


def test_a_live_cluster_is_described(kubeconfig: WriteKubeconfig) -> None:
    ran = run(f"kwhatif snapshot info --kubeconfig {kubeconfig()}")
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.startswith("context demo\n")


def test_the_clients_models_have_no_part_in_it(kubeconfig: WriteKubeconfig) -> None:
    """Neither on this thread nor on those that fetch: not one of their functions is called."""
    called: set[str] = set()

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            called.add(frame.f_code.co_filename.replace("\\", "/"))

    kwhatif.load_live(kubeconfig=kubeconfig())  # what is only done once, at import, is no part of it
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        session = kwhatif.load_live(kubeconfig=kubeconfig())
        kwhatif.schedule(session, PODS[0])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert any(name.endswith("kubernetes/client/configuration.py") for name in called)
    assert any(name.endswith("sources/live/request.py") for name in called)
    assert not {name for name in called if "kubernetes/client/models/" in name or name.endswith("api_client.py")}
