"""What must hold for every input: how the same objects are laid out, or named, never changes the answer."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.differential.dice import Dice
from tests.hostile.asking import Answer, Worker
from tests.hostile.cases import Case
from tests.hostile.inputs import Parts
from tests.hostile.layout import PLAIN, Files, choose_form, write

#: Fields of a report that a layout may change: where objects stand, what was read, when.
_PLACES = frozenset({"source", "sources", "where", "line", "file", "document", "takenAt", "snapshot"})
#: A file in a message, and the place in it.
_PLACE = re.compile(
    r"\b(cluster|manifests|policy|config|edits|scenario|descheduler|groups|types)(-\d)?(\.\w+)+(: dump/cluster\.yaml)?"
    r"(, (document \d+|line \d+|items\[\d+\]))*"
)


class Broken(NamedTuple):
    """A law that does not hold, and the command and files that show it."""

    law: str
    command: list[str]
    files: Files


def broken_laws(dice: Dice, case: Case, worker: Worker) -> Iterator[Broken]:
    """The laws that a case breaks."""
    parts = case.parts
    if parts is None or "cluster" not in parts or not all(isinstance(obj, dict) for obj in parts["cluster"]):
        return
    if case.command[0] == "snapshot":
        yield from _anonymized(case, worker)
        return
    if _has_whole_float(parts):  # an integer in YAML, where Go writes it as JSON without its fraction, but not in JSON
        return
    plain = dict.fromkeys(parts, ".yaml")
    expected = _essence(worker.ask(*_laid_out(case, parts, plain)))
    # A policy of the descheduler keeps its form: it reads the fields of JSON in their order, and sorts those of YAML.
    other = {part: choose_form(dice, part) for part in parts} | {
        part: ".yaml" for part in parts if part == "descheduler"
    }
    shuffled = parts | {"cluster": dice.sample(parts["cluster"], len(parts["cluster"]))}
    for law, ask in (
        ("layout", _laid_out(case, parts, other)),
        ("order of documents", _laid_out(case, shuffled, plain)),
        ("order of files", _split(dice, case, parts)),
    ):
        answer = worker.ask(*ask)
        if answer.code is not None and _essence(answer) != expected:
            yield Broken(f"law: {law}", *ask)
    yield from _of_snapshot(case, parts, expected, worker)


def _of_snapshot(case: Case, parts: Parts, expected: Any, worker: Worker) -> Iterator[Broken]:
    """A snapshot of the cluster gives the answer that the cluster gives; only what is wrong with an object is not in it."""
    command, files = _laid_out(case, parts, dict.fromkeys(parts, ".yaml"))
    saved = worker.ask(["snapshot", "save", "s.json", "--images", "--from", "cluster.yaml"], files)
    if saved.code != 0:
        return
    ask = [word.replace("cluster.yaml", "cluster.json") for word in command]
    others = {name: data for name, data in files.items() if name != "cluster.yaml"} | {"cluster.json": saved.saved}
    answer = worker.ask(ask, others)
    if answer.code is not None and _essence(answer) != expected:
        yield Broken("law: snapshot", ask, files | others)


def _has_whole_float(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return any(map(_has_whole_float, value))
    return isinstance(value, float) and value.is_integer() and abs(value) < 2**63


def _laid_out(case: Case, parts: Parts, forms: dict[str, str]) -> tuple[list[str], Files]:
    return _in_json(case, lambda part: [part + forms[part]]), write(parts, forms)


def _split(dice: Dice, case: Case, parts: Parts) -> tuple[list[str], Files]:
    """The cluster as several files, in any order."""
    forms = dict.fromkeys(parts, ".yaml")
    files = write({part: objects for part, objects in parts.items() if part != "cluster"}, forms)
    chunks: list[list[Any]] = [[], [], []]
    for obj in parts["cluster"]:
        dice.one(chunks).append(obj)
    names = []
    for number, chunk in enumerate(chunks):
        if chunk:
            form = dice.one(list(PLAIN))
            names.append(f"cluster-{number}{form}")
            files[names[-1]] = PLAIN[form](chunk)
    return _in_json(case, lambda part: names if part == "cluster" else [part + forms[part]]), files


def _in_json(case: Case, names: Callable[[str], list[str]]) -> list[str]:
    """The case's command with other files, and an answer that can be compared."""
    files = {part + form: names(part) for part, form in case.forms.items()}
    command: list[str] = []
    skip = False
    for word, following in zip(case.command, [*case.command[1:], ""], strict=True):
        stars, _, name = word.rpartition("*") if word.startswith("2*") else ("", "", word)
        if skip or word in ("-o", "--explain"):
            skip = word == "-o"
        elif word == "--from":
            command += [part for name in files[following] for part in ("--from", name)]
            skip = True
        elif name in files:
            command += [f"{stars}*{file}" if stars else file for file in files[name]]
        else:
            command.append(word)
    at = command.index("--") if "--" in command else len(command)
    return [*command[:at], "-o", "json", *command[at:]]


def _essence(answer: Answer) -> Any:
    """What the layout must not change: of a refusal its code, of an answer all but the places."""
    return (answer.code, _without_places(json.loads(answer.stdout))) if answer.code in (0, 1) else answer.code


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_places(inner) for key, inner in value.items() if key not in _PLACES}
    if isinstance(value, str):
        return _PLACE.sub("FILE", value)
    return [_without_places(inner) for inner in value] if isinstance(value, list) else value


def _anonymized(case: Case, worker: Worker) -> Iterator[Broken]:
    """What is decided about the pending pods, one by one, is the same under other names."""
    name, data = next(iter(case.files.items()))
    ask = ["preempt", "--alone", "-o", "json", "--from"]
    expected = worker.ask([*ask, name], case.files)
    # With images: without them, and that is said, ImageLocality scores otherwise.
    saved = worker.ask(["snapshot", "save", "s.json", "--anonymize", "--images", "--from", name], case.files)
    if expected.code not in (0, 1) or saved.code != 0:
        return
    answer = worker.ask([*ask, "s.json"], {"s.json": saved.saved})
    if answer.code != expected.code or _decided(answer) != _decided(expected):
        yield Broken("law: anonymized", [*ask, name], {name: data})


def _decided(answer: Answer) -> list[str]:
    return sorted(json.dumps(_shape(decision)) for decision in json.loads(answer.stdout)["decisions"])


def _shape(decision: dict[str, Any]) -> list[Any]:
    """A decision without names."""
    preemption = decision["preemption"] or {"candidates": [], "eligible": None}
    return [
        decision["outcome"],
        decision["priority"],
        sorted(row["score"] for row in decision["feasible"]),
        sorted([row["code"], row["plugin"]] for row in decision["rejected"]),
        preemption["eligible"],
        sorted([row["pdbViolations"], len(row["victims"])] for row in preemption["candidates"]),
    ]
