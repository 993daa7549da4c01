"""kube-scheduler itself decides on the demo's pods, one after another, and kwhatif has said before what it would do."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.control_plane import ControlPlane
from tests.e2e.demo import PODS, Demo
from tests.e2e.outcome import Outcome, decide


@pytest.fixture(scope="module")
def scheduler(plane: ControlPlane, demo: Demo) -> Iterator[None]:
    with demo.without_limits(), plane.scheduler():
        yield


@pytest.mark.parametrize("manifest", PODS, ids=lambda path: path.stem)
def test_the_scheduler_does_what_was_predicted(
    manifest: Path, scheduler: None, plane: ControlPlane, demo: Demo, report: Callable[..., dict[str, Any]]
) -> None:
    (decision,) = report("schedule", manifest)["decisions"]
    try:
        real = decide(plane.api, yaml.safe_load(manifest.read_text()))
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
