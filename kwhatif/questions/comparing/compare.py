"""`compare`: what is different between two clusters, and which answers differ because of which changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy

from msgspec.structs import replace

from kwhatif.questions.comparing.causes import Cause, Causes
from kwhatif.questions.comparing.changes import SingleChange, applied, single_changes
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.clusters import ClusterAnswerRow, CompareRow
from kwhatif.scheduler.release import Release, find_release

#: What a cluster answers: subject -> what it comes to.
Question = Callable[[Session], Mapping[str, str]]


def ask_compare(
    before: Session,
    after: Session,
    questions: Mapping[str, Question],
    *,
    most: int,
    configured: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Report:
    """Ask both clusters, and find out which changes make the answers differ.

    Args:
        before: the first cluster.
        after: the second one.
        questions: by what they are called.
        most: so many sets of changes are asked about for each answer that differs; 0: no cause is looked for.
        configured: whether the two have different scheduler configurations.
        progress: is called with how many answers are explained, of how many.
    """
    changes = single_changes(before, after, configured=configured)
    between = _Between(before, after, changes)
    rows: list[ClusterAnswerRow] = []
    unchanged = 0
    for name, question in questions.items():
        was, now = question(before), question(after)
        differ = [subject for subject in dict.fromkeys((*was, *now)) if was.get(subject) != now.get(subject)]
        unchanged += len({*was, *now}) - len(differ)
        causes = Causes(between.asking(question), between.units, most)
        for done, subject in enumerate(differ):
            progress(done, len(differ))
            cause = causes.of(subject, now.get(subject)) if most else Cause()
            rows.append(
                ClusterAnswerRow(
                    question=name,
                    subject=subject,
                    before=was.get(subject),
                    after=now.get(subject),
                    because=cause.because,
                    proof=cause.proof,
                    tried=cause.tried,
                )
            )
    report = after.report("compare", (), dict.fromkeys((*before.caveats, *after.caveats)))
    row = CompareRow(
        before=before.report("compare", (), ()).snapshot,
        after=report.snapshot,
        before_scheduler=before.scheduler,
        changes=tuple(change.row for change in changes),
        questions=tuple(questions),
        answers=tuple(rows),
        unchanged=unchanged,
    )
    return replace(report, compare=row)


class _Between:
    """Clusters between the two: the first with some of the changes."""

    def __init__(self, before: Session, after: Session, changes: Sequence[SingleChange]) -> None:
        self._before, self._after = before, after
        self._changes = changes
        self.units = [list(_units(change)) for change in changes]
        before.state.prepare()

    def asking(self, question: Question) -> Callable[[frozenset[int]], Mapping[str, str]]:
        """Asks the question about the first cluster with the changes at these places."""
        return lambda some: question(self._session(some))

    def _session(self, some: frozenset[int]) -> Session:
        chosen = [self._changes[place] for place in sorted(some)]
        session = self._before
        if any(change.row.change == "scheduler" for change in chosen):
            session = self._under_the_other_scheduler
        return session.at(applied(session.state, self._after.state, chosen))

    @property
    def _under_the_other_scheduler(self) -> Session:
        release = _release_of(self._after)
        other = copy(self._before if release == _release_of(self._before) else self._before.for_release(release))
        other.profiles, other.scheduler = self._after.profiles, self._after.scheduler
        return other


def _units(change: SingleChange) -> Iterator[str]:
    """What the change belongs to, from the largest unit down: its kind, its object."""
    yield change.row.object.partition(" ")[0] if change.row.change != "times" else "times"
    yield change.row.workload or change.row.object
    yield change.row.object


def _release_of(session: Session) -> Release:
    minor = int(session.scheduler.version.split(".")[1])
    return find_release(minor).with_gates(session.scheduler.feature_gates)
