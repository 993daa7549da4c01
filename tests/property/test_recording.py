"""The law of recordings: what is read back of each moment is what a snapshot saved at that moment holds."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from hypothesis import given, settings

import kwhatif
from kwhatif.sources.dumps.recording import Recording
from kwhatif.sources.saving.record import Recorder
from kwhatif.sources.saving.save import Moment, saved_objects
from tests.examples import examples
from tests.property.test_watched_cluster import answers, form
from tests.property.worlds import RANDOMS
from tests.watching import Watched, World

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


def rfc(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _known(objects: Iterable[bytes]) -> list[Any]:
    return sorted(map(json.loads, objects), key=lambda each: (each["kind"], json.dumps(each["metadata"])))


@given(RANDOMS)
@settings(max_examples=examples(60))
def test_each_moment_is_read_back(random: Random) -> None:
    world, now = World(), START
    for _ in range(random.randrange(20)):
        world.change(random)
    watched, saved = Watched(world.all_listed()), dict[datetime, list[bytes]]()
    with TemporaryDirectory() as folder:
        recorder = Recorder(folder, every=60, keep=1e9, images=True)
        for _ in range(random.randrange(1, 10)):
            collected = watched.as_read(rfc(now))
            recorder.note(collected, rfc(now), is_known=random.randrange(3) > 0)
            what = saved_objects(collected, taken_at=Moment(rfc(now)), images=True, anonymize=False)
            saved[now] = [msgspec.json.encode(each) for each in what.objects]
            watched.take([event for event in (world.change(random) for _ in range(random.randrange(6))) if event])
            now += timedelta(seconds=random.choice((1, 60, 2000)))
            if random.randrange(5) == 4:
                recorder = Recorder(folder, every=60, keep=1e9, images=True)
        for moment, objects in saved.items():
            assert _known(Recording(folder, rfc(moment)).objects()) == _known(objects)


@given(RANDOMS)
@settings(max_examples=examples(15))
def test_answers_are_those_of_the_watched_cluster(random: Random) -> None:
    world = World()
    for _ in range(20):
        world.change(random)
    watched, known = Watched(world.all_listed()), dict[datetime, tuple[Any, Any]]()
    with TemporaryDirectory() as folder:
        recorder = Recorder(folder, every=60, keep=1e9, images=True)
        for number in range(4):
            now = START + timedelta(minutes=number)
            recorder.note(watched.as_read(rfc(now)), rfc(now), is_known=True)
            session = watched.session
            known[now] = form(session), answers(session)
            watched.take([event for event in (world.change(random) for _ in range(5)) if event])
        for moment, (was, said) in known.items():
            session = kwhatif.load(folder, at=moment, kubernetes_version="1.36")
            read = form(session)
            for name in ("nodes", "live", "pending", "nominated", "strays", "images", "gone", "events"):
                assert read[name] == was[name], name
            assert [each["decisions"] for each in answers(session)] == [each["decisions"] for each in said]
