"""A pod that is being deleted is deleted again: that can only shorten its time."""

from __future__ import annotations

import pytest

from kwhatif.controllers.contract import DeletePod
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.pod import Pod
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.clock import Clock
from kwhatif.simulation.parameters import Chance
from kwhatif.state.state import State
from tests.builders import cluster, node, pod

KEY = "default/p"
EARLIER, NOW, LATER = "2025-12-31T23:59:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"


def after(grace: float | None, end: str) -> tuple[str | None, int]:
    """When a pod that was to be gone at `end` is to be gone once it has been deleted again (None: it is gone).

    And how many events that are.
    """
    dying = pod("p").on("a").status(phase="Running").meta(deletion_timestamp=end)
    api_server = ApiServer(State(cluster(node("a"), dying)), Clock(parse_time(NOW)), Chance())
    api_server.write(DeletePod(KEY, "Deleted", grace=grace), "user", None)
    found = api_server.state.cluster.get(Pod, KEY)
    return None if found is None else found.metadata.deletion_timestamp, len(api_server.history.events)


@pytest.mark.parametrize("end", [EARLIER, NOW, LATER])
def test_by_force_it_goes_whenever_its_time_would_have_ended(end: str) -> None:
    assert after(0, end)[0] is None


@pytest.mark.parametrize(
    ("grace", "end", "expected"),
    [
        (10, LATER, "2026-01-01T00:00:10Z"),
        (1, LATER, "2026-01-01T00:00:01Z"),
        (None, LATER, "2026-01-01T00:00:30Z"),  # what the pod says
        (300, LATER, LATER),
        (301, LATER, LATER),
        (30, NOW, NOW),
        (30, EARLIER, EARLIER),
    ],
)
def test_the_shorter_time_counts_and_nothing_happens_where_that_is_so_already(
    grace: float | None, end: str, expected: str
) -> None:
    assert after(grace, end) == (expected, int(expected != end))
