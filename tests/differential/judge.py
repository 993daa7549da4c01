"""Both sides judge a case, and what becomes of it."""

import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import kwhatif
from kwhatif.errors import ExitCode, InputError
from tests.cli.running import run
from tests.conformance.compare import Difference, differences
from tests.differential.oracle import DEFAULT_RELEASE

Json = dict[str, Any]

#: How often the scheduler is asked again where both sides differ: some of its answers are left to chance.
ASK_AGAIN = 24


class Verdict(NamedTuple):
    """What the comparison of one case came to."""

    #: What the scheduler does: fits, evicts, nowhere, held back, fails, refuses, panics, times out.
    outcome: str
    expected: Json
    differences: list[Difference]
    #: The scheduler's answer changes from time to time; kwhatif's is one of them.
    by_chance: bool = False


def decide(directory: Path, release: str = DEFAULT_RELEASE) -> Json:
    """kwhatif's decision; `{"refused": …}` when it does not accept the input."""
    config = directory / "config.yaml"
    try:
        session = kwhatif.load(
            directory / "cluster.yaml",
            scheduler_config=config if config.exists() else None,
            kubernetes_version=release,
        )
        # The oracle decodes as dumps are read: fields that there are not do not matter.
        report = kwhatif.schedule(session, directory / "pod.yaml", validation="ignore", admission=False)
    except InputError as refused:
        return {"refused": str(refused)}
    (decision,) = json.loads(report.to_json())["decisions"]
    return dict(decision)


def decide_by_command(directory: Path, release: str = DEFAULT_RELEASE) -> Json:
    """The same by the command line: `schedule` and `preempt`, which must say the same."""
    config = directory / "config.yaml"
    arguments = [str(directory / "pod.yaml"), "--from", str(directory / "cluster.yaml"), "-o", "json"]
    arguments += [
        "--fail-on",
        "none",
        "--validate",
        "ignore",
        "--no-admission",
        "--kubernetes-version",
        release,
        *(["--scheduler-config", str(config)] if config.exists() else []),
    ]
    scheduled, preempting = (_run(command, arguments) for command in ("schedule", "preempt"))
    if scheduled != preempting:
        return {"refused": f"`schedule` says {scheduled}, `preempt` {preempting}"}
    return scheduled


def _run(command: str, arguments: list[str]) -> Json:
    ran = run(shlex.join(["kwhatif", command, *arguments]))
    if ran.code == ExitCode.BAD_INPUT:
        return {"refused": ran.stderr}
    assert ran.code == 0, ran
    (decision,) = json.loads(ran.stdout)["decisions"]
    return dict(decision)


_PANIC = "the scheduler panicked"
#: The search for devices took longer than its ten seconds, by the clock.
_TIMED_OUT = "timed out trying to allocate"


def outcome(expected: Json) -> str:
    """What the scheduler does with the pod, in one word."""
    if expected.get("error", "").startswith(_PANIC):
        return "panics"
    if _TIMED_OUT in expected.get("error", ""):
        return "times out"
    if "error" in expected:
        return "refuses" if _is_refusal(expected["error"]) else "fails"
    if expected.get("preEnqueue"):
        return "held back"
    if expected["feasible"]:
        return "fits"
    if (_as_it_happens(expected).get("preemption") or {}).get("chosen"):
        return "evicts"
    return "nowhere"


def compare(expected: Json, decision: Json) -> list[Difference]:
    """Everything in which the two differ."""
    if "refused" in decision:
        return [] if outcome(expected) == "refuses" else [("refused", None, decision["refused"])]
    if outcome(expected) in ("panics", "times out"):
        return []  # a scheduler that falls over, or runs out of time, has said nothing
    if "error" in expected:
        return list(_compare_failure(expected["error"], decision))
    wanted = _as_it_happens(expected)
    event, message = wanted.get("event"), decision["message"]
    if event and _errors_sorted(event) == _errors_sorted(message):
        message = event
    return list(differences(wanted, {**decision, "message": message}))


def _as_it_happens(expected: Json) -> Json:
    """Where DynamicResources ends PostFilter with an error, the oracle tells what eviction could have done."""
    if expected.get("preemption") and expected.get("event") == f"{expected['message']} not found":
        eligible = {"eligible": expected["preemption"]["eligible"], "candidates": [], "chosen": []}
        return {**expected, "preemption": eligible}
    return expected


def _errors_sorted(text: str) -> str:
    """What preemption failed with on each node stands in the message in any order: `[running …, running …]`."""
    before, bracket, errors = text.partition("preemption: [running ")
    return (
        before + bracket + ", running ".join(sorted(errors.removesuffix("]").split(", running "))) if bracket else text
    )


_REFUSALS = ("no PriorityClass with name", "initializing profiles: ")


def _is_refusal(error: str) -> bool:
    """Whether the input was refused, by the API or the configuration: the text names the file, class or profile."""
    return bool(re.match(r"/\S+\.yaml: ", error)) or error.startswith(_REFUSALS)


def _compare_failure(error: str, decision: Json) -> Iterable[Difference]:
    """An attempt that the scheduler ends with an error: kwhatif must say so, in the same words."""
    if error.startswith("profile not found"):
        if decision["outcome"] != "Ignored":
            yield "outcome", "Ignored", decision["outcome"]
    elif _IN_SCORING.match(error) and len(decision["feasible"]) == 1:
        # The scheduler does not score a single node; the oracle always does.
        pass
    elif _words(error) != _words(decision["message"]):
        yield "error", error, decision["message"]


_IN_SCORING = re.compile(r"(running (PreScore|Score) plugin|plugin .* failed with|applying score)")


def _words(text: str) -> str:
    """An error's text without what differs from run to run."""
    return re.sub(r"\s+", " ", text)
