"""What comes after a preemption: the pod waits for its victims to end, and then takes their place."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.e2e.api import path_of
from tests.e2e.control_plane import ControlPlane
from tests.e2e.demo import DEMO, Demo
from tests.e2e.outcome import complaints, decide, until


@pytest.mark.parametrize("name", ["checkout", "inference"])
def test_a_preemption_to_its_end(
    name: str, plane: ControlPlane, demo: Demo, report: Callable[..., dict[str, Any]]
) -> None:
    manifest = yaml.safe_load((DEMO / "pods" / f"{name}.yaml").read_text())

    def look() -> dict[str, Any]:
        return plane.api.send("GET", path_of(manifest)).body

    with demo.without_limits():
        with plane.scheduler():
            first = decide(plane.api, manifest)

        (waiting,) = report("preempt")["decisions"]
        with plane.scheduler():  # a new one, which tries all pending pods again
            until(lambda: len(complaints(plane.api, look())) == 2, "the scheduler says why the pod still waits")
        assert waiting["message"] == complaints(plane.api, look())[-1]

        demo.bury(first.victims)
        (fits,) = report("preempt")["decisions"]
        with plane.scheduler():
            until(lambda: "nodeName" in look()["spec"], "the pod takes its victims' place")
        assert (fits["outcome"], fits["ties"]) == ("Placed", [look()["spec"]["nodeName"]])
        assert fits["node"] == first.nominated
