"""kube-scheduler itself decides on the demo's pods, one after another, and kwhatif has said before what it would do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.e2e.api import Api, collection, home_of, path_of
from tests.e2e.control_plane import ControlPlane
from tests.e2e.demo import PODS, Demo

#: Seconds: what the scheduler does to the cluster for a pod follows its decision closely, but not at once.
_PATIENCE, _QUIET = 30.0, 2.0


class Outcome(NamedTuple):
    """What became of a pod."""

    placed: str | None = None
    nominated: str | None = None
    victims: frozenset[str] = frozenset()
    #: Of the first FailedScheduling event.
    message: str = ""


@pytest.fixture(scope="module")
def scheduler(plane: ControlPlane, demo: Demo) -> Iterator[None]:
    with demo.without_limits(), plane.scheduler():
        yield


@pytest.mark.parametrize("manifest", PODS, ids=lambda path: path.stem)
def test_the_scheduler_does_what_was_predicted(
    manifest: Path, scheduler: None, plane: ControlPlane, demo: Demo, report: Callable[..., dict]
) -> None:
    (decision,) = report("schedule", manifest)["decisions"]
    try:
        real = _decided(plane.api, yaml.safe_load(manifest.read_text()))
    finally:
        demo.restore()
    assert real in _predicted(decision)


def _predicted(decision: dict[str, Any]) -> list[Outcome]:
    """Every outcome that kwhatif calls equally good."""
    match decision["outcome"]:
        case "Placed":
            return [Outcome(placed=node) for node in decision["ties"]]
        case "Preempts":
            victims = {
                candidate["node"]: frozenset(victim["pod"] for victim in candidate["victims"])
                for candidate in decision["preemption"]["candidates"]
            }
            return [Outcome(None, node, victims[node], decision["message"]) for node in decision["ties"]]
    return [Outcome(message=decision["message"])]


def _decided(api: Api, manifest: dict[str, Any]) -> Outcome:
    """Create a pod, and see what the scheduler does about it, until it does nothing more."""
    pod = api.send("POST", home_of(manifest), manifest).body
    deadline = time.monotonic() + _PATIENCE
    seen, since = Outcome(), time.monotonic()
    while seen == Outcome() or time.monotonic() < since + _QUIET:
        assert time.monotonic() < deadline, f"{path_of(pod)} is left alone by the scheduler, or not left in peace"
        time.sleep(0.1)
        if (now := _look(api, pod)) != seen:
            seen, since = now, time.monotonic()
    return seen


def _look(api: Api, pod: dict[str, Any]) -> Outcome:
    now = api.send("GET", path_of(pod)).body
    pods = api.send("GET", collection("Pod", "v1")).body["items"]
    going = (other["metadata"] for other in pods if "deletionTimestamp" in other["metadata"])
    return Outcome(
        now["spec"].get("nodeName"),
        now["status"].get("nominatedNodeName"),
        frozenset(f"{metadata['namespace']}/{metadata['name']}" for metadata in going),
        _message(api, pod),
    )


def _message(api: Api, pod: dict[str, Any]) -> str:
    """What the scheduler said first; later it tries again, among terminating victims."""
    home = f"/apis/events.k8s.io/v1/namespaces/{pod['metadata']['namespace']}/events"
    notes = [
        (event["eventTime"], event["note"])
        for event in api.send("GET", home).body["items"]
        if event["reason"] == "FailedScheduling" and event["regarding"].get("uid") == pod["metadata"]["uid"]
    ]
    return min(notes)[1] if notes else ""
