"""`kwhatif queue` for people: the queue as a table, and what would wake the pods that were asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import SIGNS, verb
from kwhatif.render.text import FAINT, STRONG, hidden, indented, table, text
from kwhatif.render.verdict import verdict
from kwhatif.render.wakeups import wake_up_sentence
from kwhatif.report import Report
from kwhatif.report.decision import Decision
from kwhatif.report.queue import AfterEditsRow, Flush, QueuedPodRow, QueueRow, QueueState, WakeUpRow
from kwhatif.words.amounts import age, plural, some

#: So many rows of a queue are shown, unless it is wide.
_MOST_ROWS = 100

STATES: dict[QueueState, str] = {
    "Active": "active",
    "BackingOff": "backing off",
    "Unschedulable": "unschedulable",
    "Gated": "gated",
    "OtherScheduler": "another scheduler's",
    "New": "new",
}


def queue(report: Report, row: QueueRow, detail: Detail) -> Iterator[RenderableType]:
    """The line that sums it up, the table, and what would wake whom."""
    if not row.pods:
        yield text("No pod is pending: the queue is empty.", FAINT)
        return
    edited = any(pod.after is not None for pod in row.pods)
    yield text(headline_after(row) if edited else headline(row), STRONG)
    if detail.quiet:
        return
    shown = row.pods if detail.wide else row.pods[:_MOST_ROWS]
    yield (_table_after if edited else _table)(shown, detail)
    yield from hidden(shown, row.pods)
    decisions = {decision.pod: decision for decision in report.decisions}
    for pod in shown:
        if pod.wake_ups is not None and still_waits(pod):
            yield ""
            yield from _explained(pod, decisions[pod.pod], report, detail)


def still_waits(pod: QueuedPodRow) -> bool:
    """Not for pods that edits delete or help."""
    return pod.after is None or (pod.after.fate != "Gone" and pod.after.node is None)


def headline(row: QueueRow) -> str:
    """`5 pods are pending: 1 active, 3 unschedulable, 1 gated; tried now, 2 fit`."""
    count = len(row.pods)
    states = Counter(STATES[pod.state] for pod in row.pods)
    parts = ", ".join(f"{number:,} {state}" for state, number in states.items())
    of = (
        f"{count:,} of {plural(row.pending, 'pending pod')}"
        if count < row.pending
        else f"{plural(count, 'pod')} pending"
    )
    fit = sum(pod.outcome in ("Placed", "Preempts") for pod in row.pods)
    return f"{of}: {parts}; tried now, {fit or 'none'} would get a node"


def _table(rows: Sequence[QueuedPodRow], detail: Detail) -> RenderableType:
    events = any(row.attempts for row in rows)
    heads = ("#", "POD", "PRIORITY", "AGE", *(["TRIED"] if events else []), "STATE", "REJECTED BY", "NOW")
    made = table(*heads, right=("#", "PRIORITY"))
    for row in rows:
        sign, style = SIGNS[row.outcome]
        made.add_row(
            text("-" if row.position is None else row.position),
            text(row.pod),
            text(row.priority),
            text(age(row.created, detail.now)),
            *([text(tried(row, detail.now))] if events else []),
            text(STATES[row.state]),
            text(", ".join(row.rejected_by)),
            text(f"{sign} {detail.names.cut(now(row))}", style),
        )
    return made


def tried(row: QueuedPodRow, now: int) -> str:
    """`40s (x17)`, as kubectl shows Events: the last attempt that is known, and how many there were."""
    return f"{age(row.last_attempt, now)} (x{row.attempts})" if row.attempts else ""


def history(row: QueuedPodRow, now: int | None = None) -> str:
    """What Events say of its attempts, in sentences; with a time instead of an age where there is no clock."""
    evicted = f"It has evicted {some(row.evicted)}." if row.evicted else ""
    if not row.attempts:
        return evicted
    times = "once" if row.attempts == 1 else f"{row.attempts} times"
    last = f"at {row.last_attempt}" if now is None else f"{age(row.last_attempt, now)} ago"
    backoff = f"; it backs off until {row.backoff_ends}" if row.backoff_ends else ""
    return f"Tried at least {times}, the last known attempt {last}{backoff}. {evicted}".rstrip()


def headline_after(row: QueueRow) -> str:
    """`2 of 5 pods are woken, 1 sleeps on though it would get a node; tried then, 3 would get a node`."""
    afters = [pod.after for pod in row.pods if pod.after is not None]
    woken = sum(after.fate == "Woken" for after in afters)
    unnoticed = sum(after.fits_but_is_not_requeued for after in afters)
    served = sum(after.turn is not None and after.node is not None for after in afters)
    woke = f"{woken:,} of {plural(len(afters), 'pod')} {'is' if 1 in (woken, len(afters)) else 'are'} woken"
    slept = "sleeps on though it" if unnoticed == 1 else "sleep on though they"
    unaware = f", {unnoticed:,} {slept} would get a node" if unnoticed else ""
    return f"{woke}{unaware}; tried then, {served or 'none'} would get a node"


def _table_after(rows: Sequence[QueuedPodRow], detail: Detail) -> RenderableType:
    made = table("TURN", "POD", "PRIORITY", "BEFORE", "WOKEN BY", "THEN", right=("TURN", "PRIORITY"))
    for row in rows:
        after = row.after
        if after is None:
            continue
        style = SIGNS["Preempts" if after.fits_but_is_not_requeued else after.outcome][1]
        made.add_row(
            text(after.turn or "-"),
            text(row.pod),
            text(row.priority),
            text("new" if row.state == "New" else now(row)),
            text(detail.names.cut(woken_by(after))),
            text(detail.names.cut(then(after)), style),
        )
    return made


def woken_by(after: AfterEditsRow) -> str:
    """`NodeAdd of Node new-1 (NodeResourcesFit)`; without a hint, why it is tried or not."""
    match after.fate:
        case "Active":
            return "not tried before"
        case "Asleep":
            return "nothing"
        case "Gated" | "OtherScheduler" | "Gone":
            return ""
    plugins: dict[str, list[str]] = {}
    for row in after.woken_by:
        plugins.setdefault(f"{row.event} of {row.object}", []).append(row.plugin)
    return some([f"{event} ({', '.join(names)})" for event, names in plugins.items()], 2)


def then(after: AfterEditsRow) -> str:
    """What becomes of it, in a few words."""
    if after.fate == "Gone":
        return "is deleted"
    if after.fits_but_is_not_requeued:
        would = "fit" if after.outcome == "Placed" else "evict pods"
        return f"sleeps on until the flush, though it would {would} on {after.node}"
    match after.outcome:
        case "Placed":
            return f"fits on {after.node}"
        case "Preempts":
            return f"evicts {some(after.victims)} on {after.node}"
        case "Gated" | "Ignored":
            return verb(after.outcome, 1)
    takes = "takes" if len(after.behind) == 1 else "take"
    behind = f": {some(after.behind)} {takes} the room" if after.behind else ""
    return f"{'sleeps on' if after.fate == 'Asleep' else 'stays pending'}{behind}"


def now(row: QueuedPodRow) -> str:
    """What becomes of it if it is tried now, in a few words."""
    match row.outcome:
        case "Placed":
            return f"fits on {row.node}"
        case "Preempts":
            return f"evicts pods on {row.node}"
        case outcome:
            return verb(outcome, 1)


def worth_saying(wake_ups: Sequence[WakeUpRow]) -> list[WakeUpRow]:
    """Without those after which the pod does not fit all the same, where there are others."""
    enough = any(row.enough for row in wake_ups)
    return [row for row in wake_ups if row.enough or not enough or isinstance(row.cause, Flush)]


def _explained(row: QueuedPodRow, decision: Decision, report: Report, detail: Detail) -> Iterator[RenderableType]:
    yield verdict(decision, report, detail.names)
    if said := history(row, detail.now):
        yield indented(text(said, FAINT))
    if row.wake_ups:
        yield indented(text("What would wake it, the most likely first:"))
        for wake_up in worth_saying(row.wake_ups):
            yield indented(Text.assemble("• ", text(detail.names.cut(wake_up_sentence(wake_up)))), 4)
