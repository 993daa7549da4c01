"""Which changes between two releases make the other one decide differently: proven by reverting them.

Changes are reverted in turn in the release that is asked about, as long as its answer stays. What is left
is decisive: without any one of these changes the answer would differ.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec.structs import replace

from kwhatif.errors import InputError
from kwhatif.questions.session.session import Session
from kwhatif.scheduler.catalog import Entry
from kwhatif.scheduler.release import Release, find_release
from kwhatif.scheduler.release.changes import ReleaseChange

#: A decision about a pod, as far as it matters here: equal fates are the same answer.
Fate = object
#: Computes the decision about one pod in a session.
Ask = Callable[[Session], Fate]


class Blame:
    """Asks schedulers between two releases."""

    def __init__(self, before: Session, after: Session) -> None:
        self._before, self._after = map(release_of, (before, after))
        self._session = after
        #: By reverted changes. None: that scheduler refuses the configuration.
        self._sessions: dict[frozenset[ReleaseChange], Session | None] = {frozenset(): after}

    def differs(self, change: ReleaseChange) -> bool:
        """Whether the change is one between these two: gates that are set by hand are the same in both."""
        return bool(change.plugin) or (change.what in self._before.gates) != (change.what in self._after.gates)

    def decisive(self, candidates: Sequence[ReleaseChange], fate: Fate, ask: Ask) -> Collection[ReleaseChange]:
        """The changes that decide the answer; none if it is the same without all of them.

        Args:
            candidates: all changes that may matter.
            fate: the answer of the release that is asked about.
            ask: what another session answers.
        """
        taken_back: set[ReleaseChange] = set()
        found: list[ReleaseChange] = []
        for steps in self._subjects(candidates):
            base, last, holds = set(taken_back), fate, True
            for step in steps:
                base.update(step)
                session = self._without(base)
                now = object() if session is None else ask(session)
                if now != last:
                    found += step
                last, holds = now, holds and now == fate
                if holds:
                    taken_back.update(step)
            if last == fate and not holds:  # changed and changed back: the first release decides like the last one
                taken_back.update(base)
                found = [change for change in found if change not in base]
        return found

    def _subjects(self, candidates: Sequence[ReleaseChange]) -> Iterator[list[list[ReleaseChange]]]:
        """What can be reverted by itself: a gate; or a plugin, step by step, from the newest."""
        grouped: dict[object, dict[int, list[ReleaseChange]]] = {}
        for change in candidates:
            subject = (change.plugin, change.of_resizes) if change.plugin else change.what
            grouped.setdefault(subject, {}).setdefault(change.since, []).append(change)
        is_newer = self._after.minor > self._before.minor
        for by_release in grouped.values():
            yield [by_release[since] for since in sorted(by_release, reverse=is_newer)]

    def _without(self, taken_back: Collection[ReleaseChange]) -> Session | None:
        key = frozenset(taken_back)
        if key not in self._sessions:
            try:
                made: Session | None = self._session.for_release(self._between(key))
            except InputError:
                made = None
            if made is not None:
                made.state.prepare()
            self._sessions[key] = made
        return self._sessions[key]

    def _between(self, taken_back: frozenset[ReleaseChange]) -> Release:
        """The release that is asked about, with these changes reverted."""
        before, after = self._before, self._after
        gates = {change.what for change in taken_back if not change.plugin}
        entries = {entry.name: entry for entry in after.entries}
        rules = [change for change in taken_back if change.plugin and not change.of_resizes]
        for plugin in {change.plugin for change in rules}:
            since = [change.since for change in rules if change.plugin == plugin]
            minor = min(since) - 1 if after.minor > before.minor else max(since)
            entries.pop(plugin, None)
            entries.update((entry.name, entry) for entry in find_release(minor).entries if entry.name == plugin)
        resizes = any(change.plugin and change.of_resizes for change in taken_back)
        return replace(
            after,
            entries=tuple(_in_order(entries, after.entries)),
            gates=(after.gates - gates) | (before.gates & gates),
            sums_first=before.sums_first if resizes else after.sums_first,
        )


def _in_order(entries: dict[str, Entry], order: Sequence[Entry]) -> list[Entry]:
    """The entries in the order of a release; at the end those that it lacks."""
    places = {entry.name: place for place, entry in enumerate(order)}
    return sorted(entries.values(), key=lambda entry: (places.get(entry.name, len(places)), entry.name))


def release_of(session: Session) -> Release:
    """The release that its scheduler is, with the feature gates that are set by hand."""
    minor = int(session.scheduler.version.split(".")[1])
    return find_release(minor).with_gates(session.scheduler.feature_gates)
