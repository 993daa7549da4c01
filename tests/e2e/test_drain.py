"""`kubectl drain` itself prints, word for word, what `kwhatif drain` has said of the cluster before."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.conftest import PROGRAMS, Run, command_line, let_kwhatif_read
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.drained_nodes import CASES, Case, cluster
from tests.e2e.stage import Stage, stage_of

#: Nobody collects the pod whose DaemonSet is gone.
_FLAGS = ("--controllers=*,-garbage-collector-controller",)
_TIMES = ("--start=1s", "--readiness=0s", "--termination=2s")


class Scene(NamedTuple):
    """A cluster on which something is drained."""

    plane: ControlPlane
    stage: Stage
    kwhatif: Run


@pytest.fixture(scope="module")
def scene(run_folder: Path) -> Iterator[Scene]:
    folder = run_folder / "drain"
    folder.mkdir()
    with control_plane(Path(PROGRAMS), folder, cluster()) as plane, stage_of(plane, _FLAGS) as stage:
        let_kwhatif_read(plane)
        stage.settle(5)
        yield Scene(plane, stage, command_line(plane, {}))


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join([case.nodes, *case.flags]))
def test_kubectl_drain_does_what_was_predicted(case: Case, scene: Scene) -> None:
    report = json.loads(scene.kwhatif("drain", *case.nodes.split(), *case.flags, *_TIMES, "-o", "json").stdout)
    asked = len(scene.plane.audit())
    ran = scene.stage.kubectl.run("drain", *case.nodes.split(), *case.flags)
    scene.stage.settle(3)
    (command,) = report["story"]["commands"]
    assert _lines(command["output"]) == _lines((ran.out + ran.err).splitlines())
    assert (ran.code == 0, command["ok"]) == (case.ok, case.ok)
    assert _answers(scene.plane, asked) == case.codes


def _answers(plane: ControlPlane, after: int) -> set[int]:
    """With which codes the API server has answered to evictions."""
    return {
        event["responseStatus"]["code"]
        for event in plane.audit()[after:]
        if event.get("objectRef", {}).get("subresource") == "eviction"
    }


def _lines(printed: Iterable[str]) -> Counter[str]:
    """What was printed, whichever of equal pods it was about: kubectl asks for all at once, and lists come out of maps."""
    return Counter(
        " ".join(sorted(re.sub(r"\b(local|web)-\d\b", r"\1-*", line).translate(_LISTS).split())) for line in printed
    )


_LISTS = str.maketrans("", "", "[],;")
