"""`edit_session`: a session of the cluster as it would be after edits. Nobody reacts, but what edits say is complete.

So a workload that is scaled has its pods: new ones wait for a node, and those go that its controller deletes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kwhatif.admission.changes import changes_between
from kwhatif.admission.load import fill_budgets
from kwhatif.edits.edit import Edit, Resolved
from kwhatif.edits.resolve import NotResolved, resolve
from kwhatif.errors import InputError, Problem
from kwhatif.model.caveat import Caveat, NoNodes
from kwhatif.model.cluster import key_of
from kwhatif.model.pod import Pod
from kwhatif.report import ChangeRow, EditRow, SourceRow, TouchedRow
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.state import State
from kwhatif.whatif.applied import Applied
from kwhatif.whatif.candidates import Planner
from kwhatif.whatif.session import Session


class Given(NamedTuple):
    """An edit, and where somebody has written it: `--if 'cordon a1'`."""

    where: str
    edit: Edit


def edit_session(
    session: Session, edits: Sequence[Given], *, namespace: str | None = None, problems: Sequence[Problem] = ()
) -> Session:
    """The session after these edits, one after another; the session itself stays as it is.

    Args:
        session: the cluster.
        edits: what holds there.
        namespace: of objects that name none; else the session's.
        problems: what is known to be wrong with other edits.

    Raises:
        InputError: with everything that is wrong with any of them.
    """
    found = list(problems)
    state = session.snapshot.fork()
    rows: list[EditRow] = []
    caveats: dict[Caveat, None] = {}
    for where, edit in edits:
        try:
            resolved = resolve(edit, state, namespace=namespace or session.namespace)
        except NotResolved as wrong:
            found.extend(Problem(where, each.message, hint=each.hint) for each in wrong.mistakes)
            continue
        before = state.fork()
        made = _Made(state, edit, resolved)
        found.extend(Problem(where, message) for message in made.refusals)
        caveats |= made.caveats
        touched = tuple(_touched(before, state, edit))
        rows.append(EditRow(edit=edit.text, touched=touched, notes=(*resolved.notes, *made.notes)))
    if found:
        raise InputError(found)
    if not state.nodes:
        caveats[NoNodes()] = None
    return session.after_edits(state, rows, caveats)


class _Made:
    """One edit, made in a state."""

    def __init__(self, state: State, edit: Edit, resolved: Resolved) -> None:
        self.refusals: list[str] = []
        self.notes: list[str] = []
        self.caveats: dict[Caveat, None] = dict.fromkeys(resolved.caveats)
        planner = Planner(state.cluster, "final", {})
        workloads = [Applied(obj, SourceRow(file=edit.text)) for obj in resolved.workloads]
        keys = {(type(obj), key_of(obj)) for obj in resolved.workloads}
        # Before workloads, what their pods may need: priority classes, claims.
        state.apply(
            *(
                change
                for change in resolved.changes
                if not (isinstance(change, Upsert) and (type(change.obj), key_of(change.obj)) in keys)
            )
        )
        state.apply(*resolved.follow)
        for applied in workloads:
            self._replace_pods(applied, planner, state)
        self.caveats |= planner.claims.caveats
        self.caveats |= dict.fromkeys(fill_budgets(state.cluster))

    def _replace_pods(self, applied: Applied, planner: Planner, state: State) -> None:
        """Its controller makes new pods, which wait for a node, and deletes others."""
        update = planner.plan(applied)
        if update.caveat is not None:
            self.caveats[update.caveat] = None
        if update.denied is not None:
            self.refusals.append(update.denied.message)
            return
        state.apply(*map(Delete.of, update.removed))
        refused: dict[str, int] = {}
        for candidate in planner.admit(applied, update.added.groups):
            if candidate.refusal:
                refused[candidate.refusal] = refused.get(candidate.refusal, 0) + 1
            else:
                state.apply(Upsert(candidate.pod))
        for message, count in refused.items():
            if isinstance(applied.object, Pod):
                self.refusals.append(message)
            else:
                self.notes.append(f"the API server refuses {count} of its pods: {message}")
        if update.added.left_out:
            self.notes.append(f"{update.added.left_out} more pods are not made: no node has room for so many")


def _touched(before: State, after: State, edit: Edit) -> Iterator[TouchedRow]:
    """Every object that is not what it was."""
    verb = edit.text.split(maxsplit=1)[0]
    for kind in sorted(after.cluster.counts().keys() | before.cluster.counts().keys(), key=lambda kind: kind.__name__):
        if after.cluster.generation(kind) == before.cluster.generation(kind):
            continue
        was: Mapping[str, Any] = before.cluster.all(kind)
        now: Mapping[str, Any] = after.cluster.all(kind)
        for key in (*was, *(key for key in now if key not in was)):
            old, new = was.get(key), now.get(key)
            if old is not new and old != new:
                yield _row(f"{kind.__name__} {key}", old, new, verb)


def _row(name: str, old: Any, new: Any, verb: str) -> TouchedRow:
    if old is None or new is None:
        return TouchedRow(object=name, change="created" if old is None else "deleted")
    fields = tuple(
        ChangeRow(by=change.by, field=change.field, before=change.before, after=change.after)
        for change in changes_between(verb, old, new)
    )
    return TouchedRow(object=name, change="changed", fields=fields)
