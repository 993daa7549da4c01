"""The story of a simulation for people: how it ends, what is different then, and what happened because of what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kwhatif.render import drain
from kwhatif.render.anyway import anyway_rows, of_question
from kwhatif.render.detail import Detail
from kwhatif.render.drain import waves_and_blocked
from kwhatif.render.outcomes import QUALITIES, Quality, doubted
from kwhatif.render.runs import runs_of
from kwhatif.render.story_rows import (
    FEW,
    course_of,
    different_workloads,
    failed_rows,
    gone_rows,
    is_different,
    kinds_of,
    pending_rows,
    places,
    refused_rows,
)
from kwhatif.render.text import FAINT, STRONG, WARN, hidden, indented, signed, table, text
from kwhatif.render.timeline import seconds, timeline, tree
from kwhatif.report.story import PendingRow, Story, StoryBudgetRow, StoryNodeRow
from kwhatif.words.amounts import but, plural, some, took

#: So many rows of what happens anyway are shown.
_MOST_ANYWAY = 12


def verdict_line(story: Story, doubt: str = "") -> Text:
    """The first line for people."""
    quality, said = first_line(story, doubt)
    return signed(QUALITIES[quality], said)


def first_line(story: Story, doubt: str = "") -> tuple[Quality, str]:
    """How what was asked ends, with what that depends on; of a drain or an outage its verdict."""
    story = of_question(story)
    if story.verdict is not None:
        quality, said = drain.first_line(story, story.verdict)
    else:
        quality, said = _quality(story), _headline(story)
    return doubted(quality, doubt), but(said, doubt)


def _quality(story: Story) -> Quality:
    """Whether it ends well; what is doubtful does not change the exit code."""
    has_failed = story.failed or any(command.ok is False for command in story.commands)
    if has_failed or story.settled not in ("settled", "terminating"):
        return "bad"
    return "doubtful" if story.settled == "terminating" or any(map(_overrun, story.budgets)) else "good"


def _overrun(row: StoryBudgetRow) -> int:
    return row.overrun - row.overrun_anyway


def _headline(story: Story) -> str:
    """How it ends, in one line: commands that failed, and what it came to."""
    failed = (
        f"{command.command} failed{f': {command.why}' if command.why else ''}"
        for command in story.commands
        if command.ok is False
    )
    return "; ".join((*failed, _end(story)))


def _end(story: Story) -> str:
    pods = plural(sum(row.count for row in story.pending), "pod")
    waiting, after = f", {pods} pending" if story.pending else "", took(story.took)
    match story.settled:
        case "settled":
            return f"settled after {after}: {_summary(story)}"
        case "pending":
            return f"settled after {after}, {pods} pending: {_owners(story.pending)}"
        case "terminating":
            return f"settled after {after}, but pods stay terminating for good: {_summary(story)}"
        case "stalled":
            return f"a drain comes to no end: {_summary(story)}"
        case "rollout-stuck" if story.refused:
            who = some([row.workload for row in story.refused])
            return f"settled after {after}{waiting}, but pods are refused: {who}"
        case "rollout-stuck":
            return f"a rollout stands still after {after}{waiting}: {_summary(story)}"
        case "cycling":
            return _endless(story)
        case "horizon":
            return f"it has not settled after {after}: {_summary(story)}"


def _endless(story: Story) -> str:
    cycle = story.cycle
    if cycle is None:
        return "it never settles"
    who = some(cycle.participants)
    again = f"every {seconds(cycle.period)}" if cycle.period else "again and again, and no time passes"
    return f"it never settles: {who} replace each other {again}"


def _owners(pending: Sequence[PendingRow]) -> str:
    counts: dict[str, int] = {}
    for row in pending:
        name = row.owner or f"Pod {row.pod}"
        counts[name] = counts.get(name, 0) + row.count
    return some([f"{name} ({count})" if count > 1 else name for name, count in counts.items()])


def _summary(story: Story) -> str:
    gone = sum(row.initial and row.how != "RolledOut" for row in story.gone)
    changed = [row for row in story.workloads if is_different(row)]
    broken = sum(_overrun(row) > 0 for row in story.budgets)
    rolled = dict.fromkeys(row.owner for row in story.gone if row.how == "RolledOut" and row.owner)
    if not (gone or changed or story.nodes or broken or story.failed or rolled):
        return "nothing is different"
    parts = [f"{plural(len(story.failed), 'Job')} failed"] if story.failed else []
    if rolled and story.settled == "settled":
        parts.append(f"{'the rollout' if len(rolled) == 1 else 'rollouts'} of {some(list(rolled))} completed")
    others = [row for row in changed if row.workload not in rolled]
    course = course_of(others[0]) if len(others) == 1 else ""
    if others:
        parts.append(course or f"{plural(len(others), 'workload')} different")
    if story.nodes:
        parts.append(f"{plural(len(story.nodes), 'node')} different")
    if gone:
        parts.append(f"{plural(gone, 'pod')} gone")
    if broken:
        parts.append(f"{plural(broken, 'budget')} broken")
    return ", ".join(parts)


def story_tables(story: Story, detail: Detail, doubt: str = "") -> Iterator[RenderableType]:
    """The verdict; what is different; who is gone; who waits; what happens anyway; what happened; on what it rests."""
    yield verdict_line(story, doubt)
    if detail.quiet:
        return
    asked = of_question(story)
    yield from waves_and_blocked(asked)
    yield from _workloads(asked, detail)
    yield from counted("GONE", gone_rows(asked))
    yield from counted("PENDING", pending_rows(asked))
    yield from _reasons("REFUSED", refused_rows(asked))
    yield from _reasons("FAILED", failed_rows(asked))
    yield from story_budgets(asked)
    yield from (_nodes(asked) if story.verdict is None else ())
    is_whole = story.verdict is None or detail.wide
    yield from (_commands(asked) if is_whole or detail.explain else ())
    yield from _cycle(asked)
    yield from runs_of(asked)
    yield from happens_anyway(story, detail)
    yield from (tree(story) if detail.explain else timeline(story, detail) if is_whole else ())
    yield text(f"Assumed: {'; '.join(story.assumptions)}.", FAINT)


def happens_anyway(story: Story, detail: Detail) -> Iterator[RenderableType]:
    """What is no harm of what was asked."""
    rows = anyway_rows(story)
    if rows:
        made = table("HAPPENS ANYWAY", "PODS", "WHAT", right=("PODS",))
        shown = rows if detail.wide else rows[:_MOST_ANYWAY]
        for row in shown:
            made.add_row(*(text(each, FAINT) for each in row))
        yield made
        yield from hidden(shown, rows)


def _workloads(story: Story, detail: Detail) -> Iterator[RenderableType]:
    rows, as_before = different_workloads(story)
    if rows or (as_before and detail.wide):
        made = table("WORKLOAD", "BEFORE", "AFTER", "PENDING", "READY", "LOWEST", right=("PENDING", "READY", "LOWEST"))
        for row in (*rows, *(as_before if detail.wide else ())):
            style = WARN if row.pending or row.ready_after < row.ready_before else ""
            cells = (row.workload, *places(row), row.pending or "-", row.ready_after, row.ready_lowest)
            made.add_row(*(text(cell, style) for cell in cells))
        yield made
    if as_before and not detail.wide:
        yield text(f"{kinds_of(as_before)} as before (-o wide)", FAINT)


def counted(title: str, rows: Sequence[tuple[str, int, str]]) -> Iterator[RenderableType]:
    """Rows such as those of `gone_rows`, if there are any."""
    if rows:
        made = table(title, "PODS", "WHY", right=("PODS",))
        for row in rows:
            made.add_row(*map(text, row))
        yield made


def _reasons(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[RenderableType]:
    if rows:
        made = table(title, "WHY")
        for workload, why in rows:
            made.add_row(text(workload, WARN), text(why))
        yield made


def story_budgets(story: Story) -> Iterator[RenderableType]:
    """Budgets that allowed less in between, or allow something else in the end."""
    rows = [row for row in story.budgets if row.before != row.after or row.lowest < row.before or _overrun(row)]
    if not rows:
        return
    made = table(
        "BUDGET", "ALLOWED BEFORE", "LOWEST", "AFTER", "BROKEN BY", right=("ALLOWED BEFORE", "LOWEST", "AFTER")
    )
    for row in rows:
        broken = plural(_overrun(row), "pod") if _overrun(row) else "-"
        cells = (row.budget, row.before, row.lowest, row.after, broken)
        made.add_row(*(text(cell, WARN if _overrun(row) else "") for cell in cells))
    yield made


def _nodes(story: Story) -> Iterator[RenderableType]:
    if story.nodes:
        made = table("NODE", "BEFORE", "AFTER")
        groups: dict[tuple[str, str], list[str]] = {}
        for row in story.nodes:
            groups.setdefault(_states(row), []).append(row.node)
        for (before, after), names in groups.items():
            made.add_row(text(some(names, FEW)), text(before), text(after))
        yield made


def _states(row: StoryNodeRow) -> tuple[str, str]:
    before, after = ("not there" if state is None else ", ".join(state) or "ready" for state in (row.before, row.after))
    return before, f"{after}, other fields changed" if before == after else after


def _commands(story: Story) -> Iterator[RenderableType]:
    for command in story.commands:
        end = "did not end" if command.ok is None else "done" if command.ok else "failed"
        yield text(f"{command.command}: {end} after {seconds(command.seconds)}", STRONG)
        for line in command.output:
            yield indented(text(line, FAINT))


def _cycle(story: Story) -> Iterator[RenderableType]:
    if story.cycle is None:
        return
    yield text("What would end it:", STRONG)
    for remedy in story.cycle.remedies:
        yield indented(text(f"- {remedy}"))
