"""`kwhatif queue` in blocks: the queue as a table, and what would wake the pods that were asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kwhatif.render.blocks import Block, Cell, Item, Listing, Row, Sentence, Table, Tone, Verdict, name, number, words
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import verb
from kwhatif.render.verdict import verdict
from kwhatif.render.wakeups import wake_up_sentence
from kwhatif.report import Report
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.queue import AfterEditsRow, Flush, QueuedPodRow, QueueRow, QueueState, WakeUpRow
from kwhatif.words.amounts import age, plural, some

#: How many rows of a queue are shown, unless it is wide.
_MOST_ROWS = 100
#: The tone of what becomes of a pod.
_TONES: Mapping[Outcome, Tone] = {
    "Placed": "good",
    "Preempts": "warn",
    "Unschedulable": "bad",
    "Gated": "warn",
    "Denied": "bad",
    "Ignored": "faint",
    "Waits": "faint",
}

_STATES: dict[QueueState, str] = {
    "Active": "active",
    "BackingOff": "backing off",
    "Unschedulable": "unschedulable",
    "Gated": "gated",
    "OtherScheduler": "another scheduler's",
    "New": "new",
}


def queue(report: Report, row: QueueRow, detail: Detail) -> Iterator[Block]:
    """The line that sums it up, the table, and what would wake the pods."""
    if not row.pods:
        yield Verdict("No pod is pending: the queue is empty.", tone="faint")
        return
    edited = any(pod.after is not None for pod in row.pods)
    yield Verdict(headline_after(row) if edited else headline(row), tone="strong")
    if detail.quiet:
        return
    yield _table_after(row.pods) if edited else _table(row.pods, detail)
    decisions = {decision.pod: decision for decision in report.decisions}
    for pod in row.pods[: detail.rows(_MOST_ROWS)]:
        if pod.wake_ups is not None and _still_waits(pod):
            yield from _explained(pod, decisions[pod.pod], report, detail)


def _still_waits(pod: QueuedPodRow) -> bool:
    """Not for pods that edits delete or help."""
    return pod.after is None or (pod.after.fate != "Gone" and pod.after.node is None)


def headline(row: QueueRow) -> str:
    """`5 pods are pending: 1 active, 3 unschedulable, 1 gated; tried now, 2 fit`."""
    count = len(row.pods)
    states = Counter(_STATES[pod.state] for pod in row.pods)
    parts = ", ".join(f"{number:,} {state}" for state, number in states.items())
    of = (
        f"{count:,} of {plural(row.pending, 'pending pod')}"
        if count < row.pending
        else f"{plural(count, 'pod')} pending"
    )
    fit = sum(pod.outcome in ("Placed", "Preempts") for pod in row.pods)
    return f"{of}: {parts}; tried now, {fit or 'none'} would get a node"


def _table(rows: Sequence[QueuedPodRow], detail: Detail) -> Table:
    has_events = any(row.attempts for row in rows)
    columns = (
        number("#"),
        name("Pod"),
        number("Priority"),
        words("Age"),
        *([words("Tried")] if has_events else []),
        words("State"),
        words("Rejected by"),
        words("Now"),
    )
    made = [
        (
            row.position,
            row.pod,
            str(row.priority),
            age(row.created, detail.now),
            *([_tried(row, detail.now)] if has_events else []),
            _STATES[row.state],
            ", ".join(row.rejected_by),
            Cell(_now(row), _TONES.get(row.outcome, ""), row.outcome),
        )
        for row in rows
    ]
    return Table(columns, made, _MOST_ROWS)


def _tried(row: QueuedPodRow, now: int) -> str:
    """`40s (x17)`, as kubectl shows Events: the last attempt that is known, and how many there were."""
    return f"{age(row.last_attempt, now)} (x{row.attempts})" if row.attempts else ""


def _history(row: QueuedPodRow, now: int) -> str:
    """What Events say of its attempts, in sentences."""
    evicted = f"It has evicted {some(row.evicted)}." if row.evicted else ""
    if not row.attempts:
        return evicted
    times = "once" if row.attempts == 1 else f"{row.attempts} times"
    last = f"{age(row.last_attempt, now)} ago"
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


def _table_after(rows: Sequence[QueuedPodRow]) -> Table:
    columns = (number("Turn"), name("Pod"), number("Priority"), words("Before"), words("Woken by"), words("Then"))
    return Table(columns, [_after(row, row.after) for row in rows if row.after is not None], _MOST_ROWS)


def _after(row: QueuedPodRow, after: AfterEditsRow) -> Row:
    outcome: Outcome = "Preempts" if after.fits_but_is_not_requeued else after.outcome
    before = "new" if row.state == "New" else _now(row)
    return (
        after.turn,
        row.pod,
        str(row.priority),
        before,
        _woken_by(after),
        Cell(_then(after), _TONES.get(outcome, "")),
    )


def _woken_by(after: AfterEditsRow) -> str:
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


def _then(after: AfterEditsRow) -> str:
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


def _now(row: QueuedPodRow) -> str:
    """What becomes of it if it is tried now, in a few words."""
    match row.outcome:
        case "Placed":
            return f"fits on {row.node}"
        case "Preempts":
            return f"evicts pods on {row.node}"
        case outcome:
            return verb(outcome, 1)


def _worth_saying(wake_ups: Sequence[WakeUpRow]) -> list[WakeUpRow]:
    """Without those after which the pod does not fit all the same, where there are others."""
    enough = any(row.enough for row in wake_ups)
    return [row for row in wake_ups if row.enough or not enough or isinstance(row.cause, Flush)]


def _explained(row: QueuedPodRow, decision: Decision, report: Report, detail: Detail) -> Iterator[Block]:
    yield replace(verdict(decision, report), minor=True)
    if said := _history(row, detail.now):
        yield Sentence(said, "faint", depth=1)
    if row.wake_ups:
        yield Sentence("What would wake it, the most likely first:", depth=1)
        yield Listing([Item(wake_up_sentence(each), depth=1) for each in _worth_saying(row.wake_ups)])
