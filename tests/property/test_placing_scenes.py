"""Placing many pods on the scenes of the differential tests, which have something of every plugin and configuration."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

import kwhatif
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.session.session import Session, keep_queued
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from tests.asking import stored_pods
from tests.differential.dice import Dice
from tests.differential.files import write
from tests.differential.generate import FAMILIES, generate
from tests.placing import Placing
from tests.property.test_placing import as_plain, contents
from tests.reference import placing as plain

SEED = 36
#: Scenes of each family.
SCENES = 10


def replicas(template: Pod, dice: Dice) -> Iterator[PodInfo]:
    for number in range(dice.randint(2, 7)):
        name = f"{template.metadata.name}-{number}"
        yield PodInfo(replace(template, metadata=replace(template.metadata, name=name, uid=name)))


def again(pod: Pod, dice: Dice) -> Pod:
    """A running pod as the template of further ones, now and then more important ones."""
    raised = dice.pick(0, 100, 1_000_000)
    return replace(
        pod,
        metadata=replace(pod.metadata, deletion_timestamp=None),
        spec=replace(pod.spec, node_name="", priority=(pod.spec.priority or 0) + raised),
        status=replace(pod.status, start_time=None),
    )


def waiting(session: Session, candidate: Pod, dice: Dice) -> list[PodInfo]:
    running = [info.pod for info in session.state.pods.values()]
    templates = [candidate, *(again(pod, dice) for pod in dice.some(running, 0, 2))]
    scheduler = candidate.spec.scheduler_name
    pods = [pod for template in templates for pod in replicas(template, dice)]
    return [info for info in pods if info.pod.spec.scheduler_name == scheduler]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_fast_way_equals_the_plain_one(family: str, tmp_path: Path) -> None:
    for index in range(SCENES):
        case = generate(family, SEED, index)
        folder = write(case, tmp_path)
        config = folder / "config.yaml"
        session = kwhatif.load(folder / "cluster.yaml", scheduler_config=config if case.config else None)
        (candidate,) = stored_pods(session, folder / "pod.yaml")
        profile = session.profiles.get(candidate.spec.scheduler_name or DEFAULT_SCHEDULER)
        if profile is None:
            continue
        pods = waiting(session, candidate, Dice(case.name))
        placer = Placing(session.profiles, session.state.fork())
        by_itself = State(session.cluster.fork())
        keep_queued(by_itself, session.profiles)
        expected = plain.place(profile, by_itself, pods)
        assert [as_plain(result) for result in placer.place_all(pods)] == expected, case.name
        assert contents(placer.state) == contents(by_itself), case.name
