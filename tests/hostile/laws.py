"""What must hold for every input: how the same objects are laid out never changes the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.differential.dice import Dice
from tests.hostile.asking import Answer, Worker
from tests.hostile.layout import PACKED, PLAIN, Files

#: Parts of a report that a layout may change: names of files, lines.
_ANSWERS = ("decisions", "workloads", "queue", "story")
_PLACES = frozenset({"source", "sources", "where", "line", "file", "takenAt"})


def essence(answer: Answer) -> Any:
    """What the layout must not change: of a refusal its code, of an answer all but the places."""
    if answer.code not in (0, 1):
        return answer.code
    report = json.loads(answer.stdout)
    return answer.code, _without_places({key: report.get(key) for key in _ANSWERS})


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_places(inner) for key, inner in value.items() if key not in _PLACES}
    return [_without_places(inner) for inner in value] if isinstance(value, list) else value


def broken_laws(dice: Dice, parts: dict[str, list[Any]], worker: Worker) -> Iterator[tuple[str, list[str], Files]]:
    """The laws that two layouts of the input break, with the command and files of the second."""
    read = {part: parts[part] for part in ("cluster", "manifests") if part in parts}
    if "cluster" not in read or not all(isinstance(obj, dict) for objects in read.values() for obj in objects):
        return
    verb = dice.pick("schedule", "gate", "simulate") if "manifests" in read else "queue"
    names = {part: dice.one(list(PLAIN)) for part in read}

    def ask(forms: dict[str, str], objects: dict[str, list[Any]]) -> tuple[Answer, list[str], Files]:
        files = {}
        for part, form in forms.items():
            suffix, write = (PLAIN | PACKED)[form]
            files[part + suffix] = write(objects[part])
        first, *rest = files
        command = [verb, *rest, "--from", first, "-o", "json"]
        return worker.ask(command, files), command, files

    expected = essence(ask(names, read)[0])
    cluster = read["cluster"]
    shuffled = read | {"cluster": dice.sample(cluster, len(cluster))}
    other = {part: dice.one([*PLAIN, *(PACKED if part == "cluster" else ())]) for part in read}
    for law, forms, objects in (("order of documents", names, shuffled), ("layout", other, read)):
        answer, command, files = ask(forms, objects)
        if answer.code is not None and essence(answer) != expected:
            yield f"law: {law}", command, files
