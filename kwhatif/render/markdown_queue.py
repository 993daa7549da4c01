"""The scheduling queue in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.render.markdown_text import MAX_ROWS, SIGNS, cell, code, prose, rows_of
from kwhatif.render.queue import (
    STATES,
    headline,
    headline_after,
    history,
    now,
    still_waits,
    then,
    woken_by,
    worth_saying,
)
from kwhatif.render.wakeups import wake_up_sentence
from kwhatif.report.queue import AfterEditsRow, QueuedPodRow, QueueRow


def queue_parts(row: QueueRow) -> Iterator[str]:
    """A heading, a table, and what would wake whom."""
    edited = any(pod.after is not None for pod in row.pods)
    head = headline_after(row) if edited else headline(row)
    yield f"### {prose(head) if row.pods else 'No pod is pending'}"
    if not row.pods:
        return
    yield ""
    header = ("", "Turn", "Pod", "Priority", "Before", "Woken by", "Then")
    header = header if edited else ("", "#", "Pod", "Priority", "State", "Rejected by", "Now")
    yield from rows_of(header, (_after(pod, pod.after) if pod.after else _before(pod) for pod in row.pods))
    for pod in row.pods[:MAX_ROWS]:
        if pod.wake_ups and still_waits(pod):
            if said := history(pod):
                yield from ("", f"{code(pod.pod)}: {prose(said)}")
            yield from ("", f"What would wake {code(pod.pod)}, the most likely first:", "")
            yield from (f"- {prose(wake_up_sentence(wake_up))}" for wake_up in worth_saying(pod.wake_ups))


def _before(pod: QueuedPodRow) -> tuple[str, ...]:
    place = "" if pod.position is None else str(pod.position)
    said = (STATES[pod.state], prose(", ".join(pod.rejected_by)), prose(now(pod)))
    return (SIGNS[pod.outcome], place, cell(pod.pod), str(pod.priority), *said)


def _after(pod: QueuedPodRow, after: AfterEditsRow) -> tuple[str, ...]:
    turn, before = str(after.turn or ""), "new" if pod.state == "New" else now(pod)
    said = (prose(text) for text in (before, woken_by(after), then(after)))
    return (SIGNS[after.outcome], turn, cell(pod.pod), str(pod.priority), *said)
