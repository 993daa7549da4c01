"""What kube-scheduler of other releases answers to the stored cases: `fixtures/conformance/releases/1.35.json`.

`python -m tests.conformance.releases 1.35` asks the judge of that release (`make oracle RELEASE=1.35`) and writes the file.
"""

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from tests import FIXTURES
from tests.conformance.compare import PLACEMENT
from tests.differential import oracle

Json = dict[str, Any]
CASES = FIXTURES / "conformance"
FOLDER = CASES / "releases"


def all_cases() -> list[Path]:
    """The folders of the stored cases."""
    return sorted(path.parent for path in CASES.glob("*/*/expected.json"))


def name_of(case: Path) -> str:
    """`FAMILY/NNN`."""
    return f"{case.parent.name}/{case.name}"


def stored(case: Path) -> Json:
    """The answer of the release in `tests/oracle/go.mod`."""
    answer: Json = json.loads((case / "expected.json").read_text())
    return answer


def recorded() -> list[str]:
    """Releases that have a file."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@cache
def differing(release: str) -> dict[str, Json]:
    """The whole answers of that release, by name of the case, where they are not the stored ones."""
    patches: dict[str, Json] = json.loads((FOLDER / f"{release}.json").read_text())["cases"]
    return {name: merged(stored(CASES / name), patch) for name, patch in patches.items()}


def merged(old: Any, patch: Any) -> Any:
    """The JSON after a merge patch (RFC 7386): null takes a field away, objects are entered, all else is replaced."""
    if not isinstance(patch, dict):
        return patch
    kept = dict(old) if isinstance(old, dict) else {}
    for field, value in patch.items():
        if value is None:
            kept.pop(field, None)
        else:
            kept[field] = merged(kept.get(field), value)
    return kept


def patch_between(old: Json, new: Json) -> Json:
    """The merge patch that makes the one of the other; empty where they are equal."""
    patch: Json = {field: None for field in old if field not in new}
    for field, value in new.items():
        was = old.get(field)
        if isinstance(value, dict) and isinstance(was, dict):
            if inner := patch_between(was, value):
                patch[field] = inner
        elif was != value:
            patch[field] = value
    return patch


def settled(answer: Json) -> Json:
    """The answer without what is left to chance: of equally good nodes, a text of 1.37 names any, here the first."""
    event, chosen = answer.get("event") or "", (answer.get("preemption") or {}).get("chosen")
    found = PLACEMENT.search(event)
    if not (found and chosen):
        return answer
    victims = next(row["victims"] for row in answer["preemption"]["candidates"] if row["node"] == chosen[0])
    settled_words = found[0].replace(f"{found[1]}, preempting {found[2]}", f"{chosen[0]}, preempting {len(victims)}")
    return {**answer, "event": event.replace(found[0], settled_words)}


def _without_zeros(answer: Json) -> Json:
    """A plugin's score of 0 is the same as none."""
    scores = {
        node: {**score, "plugins": {plugin: points for plugin, points in score["plugins"].items() if points}}
        for node, score in (answer.get("scores") or {}).items()
    }
    return {**answer, "scores": scores} if scores else answer


def record(release: str) -> int:
    """Ask the judge, and write the file; returns how many answers differ."""
    cases = all_cases()
    with oracle.Oracle(release) as judge:
        answers = judge.ask(cases)
    patches = {}
    for case, answer in zip(cases, answers, strict=True):
        text = json.dumps(settled(answer)).replace(f"{case}/", "")
        if patch := patch_between(_without_zeros(stored(case)), _without_zeros(json.loads(text))):
            patches[name_of(case)] = patch
    head = f'{{"kubernetes": "{oracle.version(release)}", "cases": {{\n'
    rows = (f"{json.dumps(name)}: {json.dumps(patch, ensure_ascii=False)}" for name, patch in patches.items())
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{release}.json").write_text(head + ",\n".join(rows) + "\n}}\n")
    return len(patches)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(f"{each}: {record(each)} of {len(all_cases())} answers differ")
