"""A cluster that is watched for long: its memory does not grow, and at the end it is what reading it then gives.

`make deep` runs it for a tenth of its time; `python -m tests.soak` until a million events are taken in.
"""

import argparse
import gc
import os
import sys
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

import kwhatif
from tests.property.test_watched_cluster import MANIFEST, form, indexes
from tests.valid_state import validate
from tests.watching import BY_NAME, CHANGING, Watched, World, read

MILLION = 1_000_000
#: Events that are taken in at once, as in a busy cluster; and how many such batches there are to a question.
_BATCH, _ASKED_EVERY = 100, 50
#: In so many parts the memory is looked at; the first ones fill what is remembered up to a bound.
_PARTS, _WARM = 20, 4
#: Blocks of memory that are noise: there are some objects more or less in the cluster.
_NOISE = 2_000
#: Bytes of the resident set that are noise.
_SWELLING = 8 << 20


class Sample(NamedTuple):
    """After so many events: the blocks of memory that Python has given out, and the resident set in bytes."""

    events: int
    blocks: int
    resident: int


class Soaked(NamedTuple):
    """What came of it."""

    samples: list[Sample]
    seconds: float

    @property
    def growth(self) -> int:
        """Blocks by which the second half has more than the first, each at its best moment."""
        blocks = [sample.blocks for sample in self.samples[_WARM:]]
        half = len(blocks) // 2
        return min(blocks[half:]) - min(blocks[:half])

    @property
    def swelling(self) -> int:
        """The same of the resident set, in bytes: what is not made of small blocks shows only there."""
        resident = [sample.resident for sample in self.samples[_WARM:]]
        half = len(resident) // 2
        return min(resident[half:]) - min(resident[:half])

    def check(self) -> None:
        """Raises AssertionError where the memory grows."""
        assert self.growth < _NOISE, f"{self.growth:,} blocks more, and growing: {self}"
        assert self.swelling < _SWELLING, f"{self.swelling:,} bytes more, and growing: {self}"

    def __str__(self) -> str:
        last = self.samples[-1]
        parts = ", ".join(f"{sample.blocks:,}" for sample in self.samples)
        resident = [f"{sample.resident / 1e6:.0f}" for sample in (self.samples[_WARM], last)]
        rate = last.events / self.seconds
        return (
            f"{last.events:,} events in {self.seconds:.0f} s ({rate:,.0f} a second, with questions);"
            f" resident {' MB, then '.join(resident)} MB; blocks {parts}"
        )


def soak(events: int, *, seconds: float = float("inf"), seed: int = 7) -> Soaked:
    """Watch a small cluster in which all the time something changes, until one of the two is reached.

    Raises:
        AssertionError: at the end it is not what reading it gives.
    """
    random, world = Random(seed), World()
    watched = Watched(world.all_listed())
    began, samples, taken = time.monotonic(), list[Sample](), 0
    for part in range(1, _PARTS + 1):
        taken += _go_on(random, world, watched, events * part // _PARTS - taken, began + seconds * part / _PARTS)
        gc.collect()
        samples.append(Sample(taken, sys.getallocatedblocks(), _resident()))
    soaked = Soaked(samples, time.monotonic() - began)
    session, anew = watched.session, read(world.all_listed())
    validate(session.state)
    assert form(session) == form(anew)
    assert indexes(session) == indexes(anew)
    return soaked


def _go_on(random: Random, world: World, watched: Watched, events: int, until: float) -> int:
    """Take in so many events, or fewer if it is that time before; returns how many."""
    taken = batches = 0
    while taken < events and time.monotonic() < until:
        wanted = min(_BATCH, events - taken)
        watched.take([event for event in (world.change(random) for _ in range(wanted)) if event is not None])
        taken, batches = taken + wanted, batches + 1
        session = watched.session
        if batches % _ASKED_EVERY == 0:
            kwhatif.schedule(session, MANIFEST)
            watched.take(world.listed(BY_NAME[random.choice(CHANGING)]))  # the watch has expired
    return taken


def _resident() -> int:
    """The resident set of this process, in bytes; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


def main() -> int:
    """Returns 0 where nothing grows, and the state is right; else AssertionError ends it."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--events", type=int, default=MILLION)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after so long, whole or not")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    os.environ["KWHATIF_KUBERNETES_VERSION"] = "1.36"  # its nodes do not say theirs
    soaked = soak(options.events, seconds=options.seconds, seed=options.seed)
    print(f"soak, seed {options.seed}: {soaked}", flush=True)
    soaked.check()
    return 0


if __name__ == "__main__":
    sys.exit(main())
