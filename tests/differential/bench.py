"""Work through cases in batches: write them, let both sides judge, keep what they disagree about."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance.compare import Difference
from tests.differential import files, judge
from tests.differential.generate import generate
from tests.differential.judge import Json, Verdict
from tests.differential.kinds import kind_of
from tests.differential.oracle import DEFAULT_RELEASE, Oracle
from tests.differential.scene import Case
from tests.differential.shrink import shrink

#: kwhatif's decision about the case in a folder, by the rules of a release.
Decide = Callable[[Path, str], Json]


class Batch(NamedTuple):
    """Which cases to judge at one go."""

    family: str
    seed: int
    first: int
    cases: int
    release: str = DEFAULT_RELEASE
    #: Ask kwhatif by its command line.
    command_line: bool = False


class Disagreement(NamedTuple):
    """A case about which the two sides differ."""

    case: Case
    verdict: Verdict

    def kind(self) -> str:
        """Alike disagreements have the same kind."""
        return kind_of(self.verdict.differences)


class Tally(NamedTuple):
    """What a batch came to."""

    family: str
    cases: int
    #: Outcome -> cases.
    outcomes: Counter[str]
    by_chance: int
    disagreements: list[Disagreement]


class Bench:
    """A folder for cases, and the oracle of a release beside it."""

    def __init__(self, oracle: Oracle, folder: Path, release: str = DEFAULT_RELEASE) -> None:
        self._oracle = oracle
        self._folder = folder
        self._release = release

    def run(self, batch: Batch) -> Tally:
        """Judge a batch."""
        indexes = range(batch.first, batch.first + batch.cases)
        cases = [generate(batch.family, batch.seed, index) for index in indexes]
        verdicts = list(self.judge(cases, judge.decide_by_command if batch.command_line else judge.decide))
        return Tally(
            batch.family,
            len(cases),
            Counter(verdict.outcome for verdict in verdicts),
            sum(verdict.by_chance for verdict in verdicts),
            [Disagreement(case, found) for case, found in zip(cases, verdicts, strict=True) if found.differences],
        )

    def judge(self, cases: list[Case], decide: Decide = judge.decide) -> Iterator[Verdict]:
        """A verdict per case."""
        folders = [files.write(case, self._folder / case.name) for case in cases]
        for folder, expected in zip(folders, self._oracle.ask(folders), strict=True):
            decision = _surviving(decide, folder, self._release)
            found = judge.compare(expected, decision)
            by_chance = bool(found) and self._says_so_at_times(folder, decision)
            yield Verdict(judge.outcome(expected), expected, [] if by_chance else found, by_chance)

    def _says_so_at_times(self, folder: Path, decision: dict[str, Any]) -> bool:
        again = self._oracle.ask([folder] * judge.ASK_AGAIN)
        return any(not judge.compare(expected, decision) for expected in again)

    def shrunk(self, found: Disagreement) -> Disagreement:
        """The same disagreement in a smaller case."""
        kind = found.kind()

        def shows(case: Case) -> bool:
            (verdict,) = self.judge([case])
            return kind_of(verdict.differences) == kind and verdict.outcome == found.verdict.outcome

        small = shrink(found.case, shows)
        (verdict,) = self.judge([small])
        return Disagreement(small, verdict)


def _surviving(decide: Decide, folder: Path, release: str) -> Json:
    try:
        return decide(folder, release)
    except Exception as bug:  # noqa: BLE001 - a crash is a disagreement like any other
        return {"refused": f"crashed: {type(bug).__name__} {bug}"}


_bench: Bench | None = None


def run(batch: Batch) -> Tally:
    """`Bench.run` for the processes of a pool; each keeps an oracle of its own, and is asked about one release."""
    global _bench  # noqa: PLW0603 - a pool's function has nowhere else to keep it
    if _bench is None:
        _bench = Bench(Oracle(batch.release), Path(tempfile.mkdtemp(prefix="differential-")), batch.release)
    return _bench.run(batch)


def as_text(found: list[Difference]) -> str:
    """Differences, one paragraph each."""
    return "\n".join(f"{aspect}\n  scheduler: {wanted}\n  kwhatif:   {got}" for aspect, wanted, got in found)
