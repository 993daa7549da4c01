"""Single files that other tools export, in shapes of their own; everything else is read as it stands."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder
from kwhatif.sources.decoding.kinds import RESOURCES
from kwhatif.sources.decoding.read import read_text
from kwhatif.sources.dumps.collected import Collected
from kwhatif.sources.dumps.foreign import kwokctl, simulator
from kwhatif.sources.text.problems import Problems

#: How `kubectl cluster-info dump` begins the logs of a container, where it prints everything one after the other.
_LOGS = b"==== START logs for container "


def read_file(
    name: str, text: bytes, decoder: ObjectDecoder, problems: Problems, collected: Collected
) -> Iterator[DecodedBatch]:
    """The objects of a file, whatever has written it; caveats about it go to `collected`."""
    lists = simulator.lists_of(name, text)
    if lists is not None:
        yield from simulator.read_lists(name, lists, decoder, problems)
        collected.caveats += simulator.caveats(lists)
        note_absent(collected, "a kube-scheduler-simulator export", simulator.kinds_of(lists))
    elif kwokctl.is_export(text):
        found = set()
        for batch in read_text(name, kwokctl.with_dates(text), decoder, problems):
            found |= {type(obj).__name__ for obj in batch.objects}
            yield batch
        collected.caveats += kwokctl.caveats(text)
        note_absent(collected, "a kwokctl export", found | kwokctl.EXPORTED)
    else:
        before = len(problems)
        yield from read_text(name, text, decoder, problems)
        if len(problems) > before and _LOGS in text:
            problems.add(
                name, "has logs between its lists", "kubectl cluster-info dump writes files with --output-directory"
            )


def note_absent(collected: Collected, name: str, kinds: set[str]) -> None:
    """Note which kinds a dump of that sort cannot hold."""
    absent = {resource.kind for resource in RESOURCES} - kinds
    collected.cluster.unread |= dict.fromkeys(sorted(absent), f"{name} has no")
    collected.cluster.is_whole = True
