"""A cluster that is watched: what an event costs, an answer after it, and the memory, against reading it once.

Without a network: lists and events are the bytes that an API server would send.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Any

import kwhatif
from benchmarks.context import Context
from benchmarks.dump import Generator
from benchmarks.process import costs_of
from benchmarks.rows import Row, at_least, at_most, times
from kwhatif.sources.decoding.kinds import ASKED
from kwhatif.sources.live.lists import PAGE, ListEnded, ListEvent
from kwhatif.sources.live.watches import WatchEvent
from tests.watching import BY_NAME, Watched, page_of, read, read_page

TITLE = "A cluster that is watched"
NOTE = """\
An event is decoded, checked, and made a change of the state; in a busy cluster a hundred come at once, and so they are
taken in. Memory is the peak of a process that has read the cluster, and of one that then takes in many more events and
is asked for a moment after every hundred."""
THIS = (sys.executable, "-m", "benchmarks.watch")
_POD = BY_NAME["Pod"]
_BATCH = 100


def rows(context: Context) -> Iterator[Row]:
    """The large cluster."""
    shape = context.large
    objects = list(Generator(shape).objects())
    pods = [obj for obj in objects if obj["kind"] == "Pod"]
    pages = context.folder / "pages.jsonl"
    pages.write_bytes(b"".join(written(objects)))
    del objects
    watched = Watched(pages_in(pages))
    number = 200 if context.quick else 4_000
    events = changes(pods, number)
    manifest = small(context)
    kwhatif.schedule(watched.session, manifest)
    size = f"{shape.nodes:,} nodes, {len(pods):,} pods"
    taken = min(_seconds(lambda: taking(watched, events)) for _ in range(context.runs)) / number
    yield Row(f"an event, {size}", taken * 1e3, "ms", target=at_most(0.1))
    yield Row("events", 1 / taken, "events/s", target=at_least(2_000))
    alone = [_seconds(lambda event=event: watched.take([event])) for event in changes(pods, 200)]  # type: ignore[misc]
    yield Row("an event alone, just after an answer", sorted(alone)[len(alone) // 2] * 1e3, "ms")
    asked = []
    for event in changes(pods, 5):
        watched.take([event])
        asked.append(_seconds(lambda: kwhatif.schedule(watched.session, manifest, described=5)))
    yield Row("`schedule` after an event", min(asked) * 1e3, "ms", target=at_most(50))
    costs = costs_of(1, {name: (*THIS, name, pages, number * 5) for name in ("read", "watch")})
    yield Row("memory, watched", costs["watch"].peak, "GB", "read once", costs["read"].peak, times(1.2))


def small(context: Context) -> str:
    """A pod that fits anywhere."""
    requests = {"cpu": "10m", "memory": "16Mi"}
    spec = {"containers": [{"name": "main", "image": "x", "resources": {"requests": requests}}]}
    meta = {"name": "candidate", "namespace": "team-1"}
    return str(context.manifest("small.yaml", {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}))


def written(objects: Sequence[dict[str, Any]]) -> Iterator[bytes]:
    """All lists in pages, a line each after the name of the list."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for obj in objects:
        by_kind.setdefault(obj["kind"], []).append(obj)
    for name, asked in BY_NAME.items():
        found = [] if asked.reason else by_kind.pop(asked.kind, [])
        for start in range(0, len(found), PAGE):
            yield name.encode() + b"\n" + page_of(asked, found[start : start + PAGE]).body + b"\n"


def pages_in(path: Path) -> Iterator[ListEvent]:
    """The same, read page by page."""
    with path.open("rb") as file:
        while name := file.readline():
            yield read_page(BY_NAME[name.decode().strip()], file.readline())
    for asked in ASKED:
        yield ListEnded(asked, version=asked.versions[0])


def changes(pods: Sequence[dict[str, Any]], number: int) -> list[WatchEvent]:
    """Kubelets report that pods are ready, or not."""
    random = Random(7)
    found: list[WatchEvent] = []
    for ready in islice(cycle(("True", "False")), number):
        pod = random.choice(pods)
        status = pod["status"] | {"conditions": [{"type": "Ready", "status": ready}], "podIP": str(len(found))}
        found.append(WatchEvent(_POD, "v1", "MODIFIED", json.dumps(pod | {"status": status}).encode()))
    return found


def taking(watched: Watched, events: Sequence[WatchEvent]) -> None:
    """Take the events in as they come in a busy cluster."""
    for start in range(0, len(events), _BATCH):
        watched.take(events[start : start + _BATCH])


def _seconds(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


def _run(name: str, path: Path, number: int) -> None:
    """What a process does whose memory is measured."""
    if name == "read":
        read(pages_in(path))
        return
    watched = Watched(pages_in(path))
    with path.open("rb") as file:
        bodies = (file.readline() for line in iter(file.readline, b"") if line == b"Pod\n" or not file.readline())
        pods = json.loads(next(bodies))["items"]
    events = changes(pods, number)
    for start in range(0, len(events), _BATCH):
        watched.take(events[start : start + _BATCH])
        _ = watched.session


if __name__ == "__main__":
    match sys.argv[1:]:
        case [name, path, number]:
            _run(name, Path(path), int(number))
