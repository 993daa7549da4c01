"""What only a drain or an outage has: the first line, waves, and pods that do not go."""

from __future__ import annotations

from kwhatif.render.blocks import Cell, Span, Table, number, words
from kwhatif.render.outcomes import Quality
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


def waves(story: Story) -> Table:
    """Who goes when; nothing where all go at once."""
    found = story.waves if len(story.waves) > 1 else ()
    rows = [(at, f"{wave.at:g} s", some(wave.pods, _MOST_NAMED)) for at, wave in enumerate(found, 1)]
    return Table((number("Wave"), number("After"), words("Pods")), rows)


def blocked(story: Story) -> Table:
    """The pods that do not go."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in story.blocked:
        groups.setdefault((row.why, row.remedy), []).append(row.pod)
    rows = [(Cell(some(pods), "warn"), Span(why), Span(remedy or "-")) for (why, remedy), pods in groups.items()]
    return Table((words("Blocked"), words("Why"), words("What helps")), rows, most=None)
