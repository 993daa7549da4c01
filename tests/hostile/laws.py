"""What must hold for every input: how the same objects are laid out never changes the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.differential.dice import Dice
from tests.hostile.asking import Answer, Worker
from tests.hostile.layout import PACKED, PLAIN, Files

#: Parts of a report that a layout may change: names of files, lines.
_PLACES = frozenset({"source", "sources", "where", "line", "file", "takenAt"})


def essence(answer: Answer) -> Any:
    """What the layout must not change: of a refusal its code, of an answer all but the places."""
    if answer.code not in (0, 1):
        return answer.code
    report = json.loads(answer.stdout)
    return answer.code, _without_places({key: report.get(key) for key in ("decisions", "workloads")})


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_places(inner) for key, inner in value.items() if key not in _PLACES}
    return [_without_places(inner) for inner in value] if isinstance(value, list) else value


def broken_laws(dice: Dice, parts: dict[str, list[Any]], worker: Worker) -> Iterator[tuple[str, list[str], Files]]:
    """The laws that two layouts of the input break, with the command and files of the second."""
    cluster, manifests = parts["cluster"], parts["manifests"]
    if not all(isinstance(obj, dict) for obj in (*cluster, *manifests)):
        return
    verb = dice.pick("schedule", "gate")
    names = {part: dice.one(list(PLAIN)) for part in ("cluster", "manifests")}

    def ask(forms: dict[str, str], objects: dict[str, list[Any]]) -> tuple[Answer, list[str], Files]:
        files = {}
        for part, form in forms.items():
            suffix, write = (PLAIN | PACKED)[form]
            files[part + suffix] = write(objects[part])
        first, second = files
        command = [verb, second, "--from", first, "-o", "json"]
        return worker.ask(command, files), command, files

    plain = {"cluster": cluster, "manifests": manifests}
    expected = essence(ask(names, plain)[0])
    shuffled = plain | {"cluster": dice.sample(cluster, len(cluster))}
    other = {"cluster": dice.one([*PLAIN, *PACKED]), "manifests": dice.one(list(PLAIN))}
    for law, forms, objects in (("order of documents", names, shuffled), ("layout", other, plain)):
        answer, command, files = ask(forms, objects)
        if answer.code is not None and essence(answer) != expected:
            yield f"law: {law}", command, files
