"""`drain`: can these nodes be drained, in which waves, what blocks, and where do the pods land?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import ceil
from typing import Any

from msgspec.structs import replace

from kwhatif.controllers.drain import Drain
from kwhatif.controllers.drain_filters import DrainOptions, joined
from kwhatif.edits.edit import Assignment
from kwhatif.edits.parse import parse_edit
from kwhatif.errors import InputError
from kwhatif.model.kinds import Resource
from kwhatif.report import Report
from kwhatif.simulation.parameters import Parameters
from kwhatif.story import BlockedRow, CommandRow, Story, VerdictRow, WaveRow
from kwhatif.whatif.blocked import blocked_pods
from kwhatif.whatif.edited import Given, edit_session
from kwhatif.whatif.played import Played, pending_words
from kwhatif.whatif.remedies import Remedy, remedies
from kwhatif.whatif.session import Session
from kwhatif.whatif.story_rows import story_of

#: For so many kinds of blocked pods at most a remedy is looked for: each takes a simulation or a few.
_MOST_PROVEN = 8


def drain(session: Session, nodes: tuple[str, ...], options: DrainOptions, parameters: Parameters) -> Report:
    """Drain the nodes, one after another, and play it forward until nothing happens any more.

    Args:
        session: the cluster; it stays as it is.
        nodes: their names.
        options: the flags of the command.
        parameters: how long things take.
    """
    played = Drained(session, nodes, options, parameters)
    blocked = tuple(_with_remedies(played))
    report = session.report("drain", (), (*session.caveats, *session.stale(), *played.caveats()))
    return replace(report, story=played.story(blocked))


class Drained(Played):
    """One simulation of a drain, played to its end."""

    def __init__(self, session: Session, nodes: tuple[str, ...], options: DrainOptions, parameters: Parameters) -> None:
        super().__init__(session, parameters)
        self.options = options
        self.drain = Drain(nodes, options)
        self.engine.evict(self.drain)
        self.engine.settle()
        self.blocked = tuple(blocked_pods(self.drain, self.engine, session.cluster))

    def story(self, blocked: tuple[BlockedRow, ...]) -> Story:
        """The story, with what only a drain has."""
        waves = tuple(
            WaveRow(at=round(at - self.start, 3), pods=tuple(pod for _, pod in granted))
            for at, granted in groupby(self.drain.granted, key=lambda each: each[0])
        )
        story = story_of(self.engine, (self.command,))
        why = self._why(story, blocked)
        verdict = VerdictRow(
            of="drain",
            ok=not why,
            nodes=self.drain.nodes,
            why=why,
            moved=len(self.drain.granted),
            waves=len(waves),
            preempted=self.preempted(story),
            pending=self.pending(story),
            seconds=self.seconds(story),
        )
        return replace(story, waves=waves, blocked=blocked, verdict=verdict)

    @property
    def command(self) -> CommandRow:
        """The command, and what it prints."""
        end = self.engine.ended.get(self.drain.name, self.engine.clock.now)
        errors = [error for failed in self.drain.failures.values() for error in failed]
        return CommandRow(
            command=f"drain {' '.join(self.drain.nodes)}",
            ok=self.drain.ok if self.drain.done else None,
            seconds=round(end - self.start, 3),
            why=joined(errors) if errors else "",
            output=tuple(self.drain.output),
        )

    def _why(self, story: Story, blocked: tuple[BlockedRow, ...]) -> str:
        """What is worst."""
        if not (self.drain.done and self.drain.ok):
            refused = [error for errors in self.drain.failures.values() for error in errors if not self.drain.given_up]
            return joined(refused) if refused else _first(blocked) or "it comes to no end"
        return "it never settles" if self.is_endless(story) else pending_words(self.pending(story))


def _first(blocked: tuple[BlockedRow, ...]) -> str:
    if not blocked:
        return ""
    first = blocked[0]
    more = f", and {len(blocked) - 1} more" if len(blocked) > 1 else ""
    return f"{first.pod} {_SAID.get(first.class_, 'does not go')} ({first.why}){more}"


_SAID = {
    "demands-all": "never may go",
    "many-budgets": "never may go",
    "sync-failed": "never may go",
    "late": "is too late",
    "never-ends": "never ends",
}


# --- remedies ----------------------------------------------------------------------------------------


class _NoFiles:
    """A reader for edits that are made here: they name neither files nor fields that there are not."""

    def objects(self, given: str | Mapping[str, Any]) -> Sequence[Any]:
        """See `edits.parse.Reader`."""
        raise AssertionError(f"no remedy reads {given}")

    def field(self, resource: Resource, path: str, value: Any) -> Assignment:
        """See `edits.parse.Reader`."""
        del resource
        return Assignment(tuple(path.split(".")), value)

    def patch(self, resource: Resource, merge: Any) -> Mapping[str, Any]:
        """See `edits.parse.Reader`."""
        raise AssertionError(f"no remedy patches {resource.kind}: {merge}")


def _with_remedies(played: Drained) -> Iterator[BlockedRow]:
    """The blocked pods, each with the first remedy with which the drain gets rid of it."""
    found: dict[tuple[str, str], str] = {}
    for row in played.blocked:
        kind = row.class_, row.why
        if kind not in found:
            found[kind] = "" if len(found) >= _MOST_PROVEN else _remedy(row, played)
        yield replace(row, remedy=found[kind])


def _remedy(row: BlockedRow, played: Drained) -> str:
    if row.class_ == "late" and played.options.timeout > 0:
        patient = Drained(played.session, played.drain.nodes, replace(played.options, timeout=0.0), played.parameters)
        needed = patient.command.seconds
        return "" if any(other.pod == row.pod for other in patient.blocked) else f"--timeout={ceil(needed + 1)}s"
    for remedy in remedies(row, played.options, played.engine, played.drain.nodes):
        if _helps(remedy, row, played):
            return remedy.text
    return ""


def _helps(remedy: Remedy, row: BlockedRow, played: Drained) -> bool:
    """Ask again with it: is the pod gone then?"""
    session, options = played.session, remedy.with_flag(played.options)
    if not remedy.is_flag:
        edit = parse_edit(remedy.text, _NoFiles())
        try:
            session = edit_session(session, (Given(remedy.text, edit),))
        except InputError:
            return False
    again = Drained(session, played.drain.nodes, options, played.parameters)
    return not any(other.pod == row.pod and _is_same(other, row, remedy) for other in again.blocked)


def _is_same(now: BlockedRow, before: BlockedRow, remedy: Remedy) -> bool:
    """Whether it is still in the way; that it is too late then, or that another flag is missing, is another matter."""
    if now.class_ == "late":
        return before.class_ == "late"
    return not remedy.is_flag or now.why == before.why
