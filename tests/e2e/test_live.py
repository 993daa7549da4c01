"""A live cluster, the snapshot saved of it, and the dump that was loaded into it give the same answers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.api import home_of
from tests.e2e.conftest import Run
from tests.e2e.control_plane import ControlPlane
from tests.e2e.demo import CLUSTER, PODS, Demo

Report = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def snapshot(demo: Demo, kwhatif: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "cluster.json.gz"
    kwhatif("snapshot", "save", path, "--images")
    return path


@pytest.mark.parametrize("command", ["schedule", "preempt", "gate"])
def test_live_snapshot_and_dump_agree(command: str, report: Report, snapshot: Path) -> None:
    live, saved, dump = (report(command, *PODS, *source) for source in ((), ("--from", snapshot), ("--from", CLUSTER)))
    for made in (live, saved, dump):
        del made["snapshot"]["takenAt"]  # of a live cluster it is not said
    assert live["snapshot"].pop("sources") == ["context e2e"]
    assert saved["snapshot"].pop("sources") == [str(snapshot)]
    assert dump["snapshot"].pop("sources") == [str(CLUSTER)]
    assert live["snapshot"] == {"nodes": 12, "pods": 49, "podDisruptionBudgets": 5}
    assert live["caveats"] == []
    assert live == saved == dump


def test_images_are_the_only_thing_that_a_snapshot_leaves_out(
    demo: Demo, kwhatif: Run, report: Report, tmp_path: Path
) -> None:
    path = tmp_path / "cluster.yaml"
    kwhatif("snapshot", "save", path)
    live, saved = report("schedule", *PODS), report("schedule", *PODS, "--from", path)
    assert [decision["outcome"] for decision in saved["decisions"]] == [
        decision["outcome"] for decision in live["decisions"]
    ]
    assert len(saved["caveats"]) == 1
    assert "ImageLocality" in saved["caveats"][0]


@pytest.mark.parametrize("manifest", PODS, ids=lambda path: path.stem)
def test_the_gate_refuses_what_the_server_refuses(
    manifest: Path, plane: ControlPlane, demo: Demo, report: Report
) -> None:
    (decision,) = report("gate", manifest)["decisions"]
    pod = yaml.safe_load(manifest.read_text())
    answer = plane.api.send("POST", f"{home_of(pod)}?dryRun=All", pod, accept=(403, 422))
    refused = decision["message"] if decision["outcome"] == "Denied" else ""
    assert _findings(refused) == _findings(answer.body["message"] if answer.status != 201 else "")


def test_long_lists_come_in_pages(plane: ControlPlane, demo: Demo, kwhatif: Run, report: Report) -> None:
    crowd = [_waiting(number) for number in range(960)]
    for pod in crowd:
        plane.api.send("POST", home_of(pod), pod)
    try:
        before = len(plane.audit())
        assert report("schedule", *PODS)["snapshot"]["pods"] == 49 + len(crowd)
        uris = [event["requestURI"] for event in plane.audit()[before:]]
    finally:
        plane.api.send("DELETE", home_of(crowd[0]) + "?labelSelector=crowd", {"gracePeriodSeconds": 0})
    pages = [uri for uri in uris if uri.startswith("/api/v1/pods?")]
    assert len(pages) == 3
    assert sum("continue=" in page for page in pages) == 2


def _findings(message: str) -> list[str]:
    """Of what, and what an error lists, sorted: the server goes over requests as they come out of a map."""
    what, _, listed = message.partition(" is invalid: ")
    return [what, *sorted(listed.replace("[", "").replace("]", "").split(", "))]


def _waiting(number: int) -> dict[str, Any]:
    """A pod that waits for a scheduler that there is not: nothing changes by it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"crowd-{number}", "namespace": "default", "labels": {"crowd": ""}},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "registry.example.com/crowd"}]},
    }
