"""What only a drain or an outage has: the first line, waves, and pods that do not go."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from kwhatif.render.outcomes import Quality
from kwhatif.render.text import WARN, table, text
from kwhatif.report.maintenance import VerdictRow
from kwhatif.report.story import Story
from kwhatif.words.amounts import plural, some, took

#: More pods of a wave are counted, not named.
_MOST_NAMED = 4


def first_line(story: Story, verdict: VerdictRow) -> tuple[Quality, str]:
    """It all in one line."""
    said = _of_drain(story, verdict) if verdict.of == "drain" else _of_outage(verdict)
    return "good" if verdict.ok else "bad", said


def _of_drain(story: Story, verdict: VerdictRow) -> str:
    nodes = some(verdict.nodes)
    if verdict.ok:
        return f"{nodes} can be drained: {_course(verdict)}"
    if story.commands and story.commands[0].ok is True:
        return f"{nodes} can be drained, but {verdict.why}: {_course(verdict)}"
    return f"{nodes} cannot be drained: {verdict.why}"


def _of_outage(verdict: VerdictRow) -> str:
    nodes = some(verdict.nodes)
    lost = f"{plural(verdict.moved, 'pod')} lost" if verdict.moved else "no pod is lost"
    turn = f", {plural(verdict.preempted, 'pod')} elsewhere evicted in turn" if verdict.preempted else ""
    if verdict.ok:
        back = f", all back after {took(verdict.seconds)}" if verdict.moved else ""
        return f"{nodes} may fail: {lost}{back}{turn}"
    return f"{nodes} may not fail: {verdict.why}; {lost}{turn}"


def _course(verdict: VerdictRow) -> str:
    if not verdict.moved:
        return "no pod has to go"
    gone = len(verdict.gone)
    counts = {("moves", "move"): verdict.moved - gone, ("goes for good", "go for good"): gone}
    said = [f"{plural(count, 'pod')} {one if count == 1 else many}" for (one, many), count in counts.items() if count]
    parts = [f"{' and '.join(said)} in {plural(verdict.waves, 'wave')}"]
    if verdict.preempted:
        parts.append(f"{plural(verdict.preempted, 'pod')} elsewhere evicted in turn")
    parts.append(f"settled after {took(verdict.seconds)}")
    return ", ".join(parts)


def waves_and_blocked(story: Story) -> Iterator[RenderableType]:
    """Who goes when, and who does not go."""
    if len(story.waves) > 1:
        made = table("WAVE", "AFTER", "PODS", right=("WAVE", "AFTER"))
        for number, wave in enumerate(story.waves, 1):
            made.add_row(text(number), text(f"{wave.at:g} s"), text(some(wave.pods, _MOST_NAMED)))
        yield made
    if story.blocked:
        made = table("BLOCKED", "WHY", "WHAT HELPS")
        groups: dict[tuple[str, str], list[str]] = {}
        for row in story.blocked:
            groups.setdefault((row.why, row.remedy), []).append(row.pod)
        for (why, remedy), pods in groups.items():
            made.add_row(text(some(pods), WARN), text(why), text(remedy or "-"))
        yield made
