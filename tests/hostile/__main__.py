"""`python -m tests.hostile`: what do commands make of input that nobody meant?"""

import argparse
import atexit
import collections
import functools
import multiprocessing
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tests import ROOT
from tests.differential.dice import Dice
from tests.hostile.asking import Answer, Worker
from tests.hostile.cases import make
from tests.hostile.faults import faults
from tests.hostile.laws import broken_laws
from tests.hostile.layout import Files, write
from tests.hostile.shrink import shrink, shrink_parts

SAVED = ROOT / "build" / "hostile"
#: Cases that a process is given at once, and how many of a kind of fault are made small and kept.
BATCH, KEPT = 25, 3
_CAME_OUT = {0: "answered", 1: "answered", 2: "refused", 3: "refused", 4: "refused", None: "ended"}
#: One case in so many is also asked in other layouts.
LAWS_EVERY = 10


class Found(NamedTuple):
    """A fault."""

    kind: str
    seed: int
    case: int
    done: str
    command: list[str]
    files: Files
    answer: Answer | None


class Batch(NamedTuple):
    """Which cases to try."""

    seed: int
    first: int
    cases: int


class Tally(NamedTuple):
    """What came of a batch: how often each exit code, and the faults."""

    codes: dict[str, int]
    found: list[Found]


def try_batch(batch: Batch) -> Tally:
    """Try the cases of a batch in the worker of this process."""
    codes: collections.Counter[str] = collections.Counter()
    found: list[Found] = []
    worker = own_worker()
    for index in range(batch.first, batch.first + batch.cases):
        case = make(batch.seed, index)
        answer = worker.ask(case.command, case.files)
        codes[_CAME_OUT.get(answer.code, "other")] += 1
        kinds = faults(case.command, case.files, answer)
        found += [Found(kind, batch.seed, index, case.done, case.command, case.files, answer) for kind in kinds]
        if index % LAWS_EVERY == 0 and answer.code is not None:
            for broken in broken_laws(Dice(f"laws/{batch.seed}/{index}"), case, worker):
                found.append(Found(broken.law, batch.seed, index, case.done, broken.command, broken.files, None))
    return Tally(dict(codes), found)


@functools.cache
def own_worker() -> Worker:
    """One for as long as the process lives: what a command leaves behind must not harm the next one."""
    worker = Worker()
    atexit.register(worker.end)
    return worker


def main(arguments: Sequence[str] | None = None) -> int:
    """0: nothing was found; 1: something was, and is kept in build/hostile."""
    options = _options(arguments)
    start = time.monotonic()
    batches = [
        Batch(options.seed, first, min(BATCH, options.cases - first)) for first in range(0, options.cases, BATCH)
    ]
    codes: collections.Counter[str] = collections.Counter()
    found: list[Found] = []
    print(f"seed {options.seed}, {options.cases} cases", flush=True)
    for done, tally in enumerate(_tallies(batches, options.jobs), 1):
        codes.update(tally.codes)
        found += tally.found
        for one in tally.found:
            print(f"  {one.case}: {one.kind}: {one.done}: kwhatif {shlex.join(one.command)}", flush=True)
        if done % 40 == 0:
            print(f"  {done * BATCH} cases, {len(found)} faults", flush=True)
    for kind, count in sorted(codes.items()):
        print(f"{kind:10} {count:>7}")
    for kind, count in collections.Counter(one.kind for one in found).most_common():
        print(f"FAULT {kind}: {count}")
    _keep(found, options.seed)
    print(f"{options.cases} cases in {time.monotonic() - start:.0f} s, {len(found)} faults; seed {options.seed}")
    return 1 if found else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed gives the same cases")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    return parser.parse_args(arguments)


def _tallies(batches: list[Batch], jobs: int) -> Iterator[Tally]:
    if jobs == 1:
        yield from map(try_batch, batches)
        return
    # Each runs a worker of its own, so it must not be a daemon.
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        yield from pool.map(try_batch, batches)


def _keep(found: list[Found], seed: int) -> None:
    """Save a few faults of each kind, made small, each with the command that shows it."""
    kept: collections.Counter[str] = collections.Counter()
    worker = own_worker()
    for one in found:
        kept[one.kind] += 1
        if kept[one.kind] > KEPT:
            continue

        def shows(files: Files, one: Found = one) -> bool:
            return one.kind in faults(one.command, files, worker.ask(one.command, files))

        slow = one.answer is None or one.answer.code is None
        files = one.files if slow else _smaller(one, shows)
        folder = SAVED / f"{seed}-{one.case}-{one.kind.replace(' ', '-').replace(':', '')}"
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        text = f"# {one.kind}: {one.done}\nkwhatif {shlex.join(one.command)}\n"
        if one.answer is not None:
            text += f"# code {one.answer.code}\n# {one.answer.stderr[:2000]}\n"
        (folder / "case.sh").write_text(text, errors="backslashreplace")
        print(f"  {one.kind}: {folder}\n    {one.done}: kwhatif {shlex.join(one.command)}")


def _smaller(one: Found, shows: Callable[[Files], bool]) -> Files:
    """The files of a fault, made small by their structure if they have one."""
    case = make(one.seed, one.case)
    if case.parts is None or case.files != one.files:
        return shrink(one.files, shows)
    return write(shrink_parts(case.parts, lambda parts: shows(write(parts, case.forms))), case.forms)


if __name__ == "__main__":
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "SOURCE_DATE_EPOCH": "1795245600"}
    for _name in ("KUBECONFIG", "FORCE_COLOR", "GITHUB_ACTIONS"):
        os.environ.pop(_name, None)
    sys.exit(main())
