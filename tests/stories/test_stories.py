"""Stories that a real control plane played: fixtures/stories. The simulation comes to the same end."""

import json
from pathlib import Path

import msgspec
import pytest
import yaml

import kwhatif
from kwhatif.controllers.catalog import all_controllers
from tests import FIXTURES
from tests.stories.scenario import differences, scenario

FOLDER = FIXTURES / "stories"
STORIES = sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", STORIES)
def test_the_end_is_that_of_the_control_plane(name: str, tmp_path: Path) -> None:
    folder = FOLDER / name
    if "kind: Job" in (folder / "cluster.yaml").read_text() and "Job" not in {one.name for one in all_controllers()}:
        pytest.skip("no controller makes the pods of Jobs yet")
    steps = tmp_path / "scenario.json"
    steps.write_text(json.dumps(scenario(yaml.safe_load((folder / "action.yaml").read_text())), default=str))
    report = kwhatif.simulate(kwhatif.load(folder / "cluster.yaml"), scenario=str(steps))
    assert report.story is not None
    got = msgspec.json.decode(msgspec.json.encode(report.story))
    assert list(differences(json.loads((folder / "outcome.json").read_text()), got)) == []
