"""A cluster that is watched for long takes no more memory than one that is watched for a while."""

from __future__ import annotations

import gc
import tracemalloc
from random import Random

import kwhatif
from tests.examples import examples
from tests.property.test_watched_cluster import POD
from tests.watching import Watched, World

#: Bytes that noise may add: a few objects more or less are in the cluster.
_NOISE = 200_000


def test_memory_does_not_grow() -> None:
    random, world = Random(7), World()
    watched = Watched(world.all_listed())
    manifest = kwhatif.text(POD)

    def go_on(rounds: int) -> int:
        for number in range(rounds):
            events = [event for event in (world.change(random) for _ in range(20)) if event is not None]
            watched.take(events)
            session = watched.session
            if number % 50 == 0:
                kwhatif.schedule(session, manifest)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        go_on(examples(50))
        before = go_on(examples(50))
        after = go_on(examples(250))
    finally:
        tracemalloc.stop()
    assert after - before < _NOISE
