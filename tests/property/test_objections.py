"""All objections to a node: the scheduler's comes first, and a node without any is feasible."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import kwhatif
from kwhatif.scheduler.framework.attempt import Objections
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from tests.asking import stored_pods
from tests.differential.files import write
from tests.differential.generate import FAMILIES, generate

SEED = 12
#: Scenes of each family.
SCENES = 12


def judged(profile: Profile, pod: PodInfo, snapshot: State) -> Cycle | None:
    """The cycle with every node's verdict; None where it does not come to that."""
    cycle = Cycle(profile, pod, snapshot)
    try:
        if not cycle.pre_filter():
            return None
        cycle.filter_nodes()
    except CycleError:
        return None
    return cycle


def without(profile: Profile, plugin: str) -> Profile:
    return replace(
        profile,
        pre_filter=tuple(each for each in profile.pre_filter if each.name != plugin),
        filter=tuple(each for each in profile.filter if each.name != plugin),
        extenders=(),
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_what_objects_next_is_what_objects_without_the_first(family: str, tmp_path: Path) -> None:
    for index in range(SCENES):
        case = generate(family, SEED, index)
        folder = write(case, tmp_path)
        config = folder / "config.yaml"
        session = kwhatif.load(folder / "cluster.yaml", scheduler_config=config if case.config else None)
        (candidate,) = stored_pods(session, folder / "pod.yaml")
        profile = session.profiles.get(candidate.spec.scheduler_name or DEFAULT_SCHEDULER)
        cycle = None if profile is None else judged(profile, PodInfo(candidate), session.state)
        if profile is None or cycle is None:
            continue
        asking = Objections(cycle)
        others: dict[str, Cycle | None] = {}
        for node in session.state.nodes:
            first = cycle.verdict_of(node.name)
            if first is None or not first.plugin:
                continue
            found = asking.on(node, first)
            assert found[0] is first
            if first.plugin not in others:
                others[first.plugin] = judged(without(profile, first.plugin), cycle.pod, session.state)
            other = others[first.plugin]
            if other is None or session.state.nominated or other.node_set != cycle.node_set:
                continue
            assert_next(found, other.verdict_of(node.name), case.name)
        for node in cycle.feasible:
            assert cycle.check(node, cycle.filters) is None


def assert_next(found: tuple[Verdict, ...], expected: Verdict | None, case: str) -> None:
    """The second objection is the first one of a scheduler without the plugin that gave the first."""
    second = found[1] if len(found) > 1 else None
    assert (second and (second.plugin, second.status.reasons)) == (
        expected and (expected.plugin, expected.status.reasons)
    ), case
