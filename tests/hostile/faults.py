"""What must never come out of a command, whatever goes in."""

import json
import re
from collections.abc import Collection, Iterator, Sequence

from tests.hostile.asking import SLOW, Answer
from tests.hostile.layout import Files

_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")
#: How many nodes a step adds.
_COUNT = re.compile(r"\bcount\"?: *(\d{1,6})\b")
#: Answers about that many nodes, or new pods, are quick.
_HANDFUL = 200
#: Exit codes of answers, and of refusals.
_ANSWERS, _REFUSALS = (0, 1), (2, 3, 4)


def faults(command: Sequence[str], files: Files, answer: Answer) -> Iterator[str]:
    """The kinds of what is wrong with an answer; nothing if it is an answer or a clean refusal."""
    if answer.code is None:
        yield answer.stderr
        return
    if answer.code == 70 or "Traceback" in answer.stderr:
        yield "crash"
        return
    if answer.seconds > SLOW * max(1, (_added(files) + _target(command)) / _HANDFUL):
        yield "slow"
    if answer.code not in _ANSWERS + _REFUSALS:
        yield f"exit code {answer.code}"
    if _ACTING.search(answer.stdout) or _ACTING.search(answer.stderr):
        yield "characters that act on a terminal"
    yield from _refusal(command, files, answer) if answer.code in _REFUSALS else _answered(command, answer)


def _added(files: Files) -> int:
    """How many nodes scenarios and edits add: with a thousand more, it is not a handful any longer."""
    texts = [text.decode(errors="replace") for name, text in files.items() if name.startswith(("scenario", "edits"))]
    return sum(int(count) for text in texts for count in _COUNT.findall(text))


def _target(command: Sequence[str]) -> int:
    """How many pods `capacity` is asked for: with a claim of a device each, it tries each of them by itself."""
    after = command[command.index("--target") + 1 :] if "--target" in command else ()
    return int(after[0]) if after and after[0].isdecimal() else 0


def _refusal(command: Sequence[str], files: Collection[str], answer: Answer) -> Iterator[str]:
    # A gate judges the manifests that are fine, and reports the problems of the others among its findings.
    if answer.stdout and command[0] != "gate":
        yield "standard output beside a refusal"
    if not answer.stderr.strip():
        yield "a refusal without a word"
    # A word of the command line is a place, too, and so is the context of a cluster.
    places = [
        *files,
        *(word.partition("=")[0] for word in command if word.startswith("--") or "/" in word or word.endswith(".yaml")),
        *(["NODE"] if command[0] in ("drain", "outage") else []),
        *(command[1:2] if command[0] == "queue" else []),
        *(["context "] if "--kubeconfig" in command else []),
    ]
    for line in answer.stderr.splitlines() if answer.code == 3 else ():
        if line.startswith("error: ") and not any(place in line for place in places):
            yield "a message without a place"
            return


def _answered(command: Sequence[str], answer: Answer) -> Iterator[str]:
    if not answer.stdout.strip() and "save" not in command:
        yield "an answer without a word"
    elif "json" in command:
        try:
            report = json.loads(answer.stdout)
        except ValueError:
            yield "JSON that is not JSON"
        else:
            if not isinstance(report, dict) or not {"kind", "nodes"} & set(report):
                yield "JSON that is not a report"
