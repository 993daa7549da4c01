"""Stories played to a real control plane with all of its controllers: they end as `kwhatif simulate` said before."""

import json
import os
from pathlib import Path

import pytest
import yaml

from tests import FIXTURES
from tests.e2e.conftest import PROGRAMS, command_line, let_kwhatif_read
from tests.e2e.control_plane import control_plane
from tests.e2e.ending import beginning, ending
from tests.e2e.stage import stage_of
from tests.stories.scenario import differences, scenario

FOLDER = Path(os.environ.get("KWHATIF_E2E_FOLDER") or FIXTURES / "stories")
#: One of each kind: a rollout whose pod is preempted, a drain that a budget blocks, an outage with taint eviction,
#: the ranking of a scale-down, a StatefulSet with zonal claims, a Job whose pods are evicted.
CHOSEN = (
    "083-preempt-during-rollout",
    "013-drain-stuck-half",
    "071-out-of-service",
    "033-scale-down",
    "021-sts-zonal-parallel",
    "025-job-recreated",
)
NAMES = os.environ.get("KWHATIF_E2E_STORIES", "").split() or CHOSEN


def _all() -> list[str]:
    return sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", _all() if NAMES == ["all"] else NAMES)
def test_a_story_ends_as_predicted(name: str, run_folder: Path) -> None:
    folder = run_folder / name
    folder.mkdir()
    action = yaml.safe_load((FOLDER / name / "action.yaml").read_text())
    objects = list(yaml.safe_load_all((FOLDER / name / "cluster.yaml").read_text()))
    steps = folder / "scenario.json"
    steps.write_text(json.dumps(scenario(action), default=str))
    with (
        control_plane(Path(PROGRAMS), folder, objects) as plane,
        stage_of(plane, action.get("kcm", ()), **action.get("kubelet", {})) as stage,
    ):
        let_kwhatif_read(plane)
        kwhatif = command_line(plane, {})
        stage.settle(5)  # the controllers find everything in order
        stage.play({"steps": action.get("setup", ())})
        if any(not pod["spec"].get("nodeName") for pod in stage.pods.there()):
            pytest.skip("pods wait already: how often each was tried, and so whose turn it is, is nowhere to be seen")
        before = folder / "before.json"
        kwhatif("snapshot", "save", before)
        predicted = json.loads(kwhatif("simulate", "--from", before, "--scenario", steps, "-o", "json").stdout)
        first = beginning(plane.api, stage.pods)
        drains = stage.play(action)
        real = ending(plane.api, stage.pods, first, drains)
    (folder / "predicted.json").write_text(json.dumps(predicted, indent=1))
    (folder / "real.json").write_text(json.dumps(real, indent=1))
    assert list(differences(real, predicted["story"])) == []
