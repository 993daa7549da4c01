"""The story of a simulation in blocks: its end, the differences, and the causes of events."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kwhatif.render.amounts import in_seconds, plural, some, took
from kwhatif.render.blocks import (
    Block,
    Cell,
    Item,
    Listing,
    Row,
    Sentence,
    Span,
    Table,
    exact,
    folded,
    name,
    number,
    shown,
    verdict,
    words,
)
from kwhatif.render.certainty import of_command, qualifier
from kwhatif.render.decisions import group_parts
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import Quality
from kwhatif.render.story_rows import (
    FEW,
    anyway_rows,
    course_of,
    different_workloads,
    failed_rows,
    gone_rows,
    is_different,
    kinds_of,
    of_question,
    pending_rows,
    places,
    refused_rows,
    timeline,
    tree,
)
from kwhatif.render.workloads import group_line
from kwhatif.report import Report
from kwhatif.report.pod_groups import GroupRow
from kwhatif.report.story import (
    FactRow,
    RunsRow,
    Story,
    StoryBudgetRow,
    StoryNodeRow,
    StoryWorkloadRow,
    VerdictRow,
    What,
)

#: The maximum number of rows about what happens anyway.
_MOST_ANYWAY = 12


def first_line(story: Story) -> tuple[Quality, str]:
    """The result; for a drain or an outage, its verdict."""
    story = of_question(story)
    if story.verdict is not None:
        quality, said = _of_verdict(story, story.verdict)
        return quality, "; ".join((*map(group_line, _hit(story)[:1]), said))
    return _quality(story), _headline(story)


def _quality(story: Story) -> Quality:
    """Whether it ends well; a doubt does not change the exit code."""
    has_failed = story.failed or any(command.ok is False for command in story.commands)
    if has_failed or story.settled not in ("settled", "terminating"):
        return "bad"
    return "doubtful" if story.settled == "terminating" or any(map(_overrun, story.budgets)) else "good"


def _overrun(row: StoryBudgetRow) -> int:
    return row.overrun - row.overrun_anyway


def _headline(story: Story) -> str:
    """The end in one line: commands that failed, and the result."""
    failed = (
        f"{command.command} failed{f': {command.why}' if command.why else ''}"
        for command in story.commands
        if command.ok is False
    )
    return "; ".join((*failed, *map(group_line, _not_placed(story)[:1]), _end(story)))


def _not_placed(story: Story) -> list[GroupRow]:
    """The groups of pods that do not have a node at the end."""
    groups = () if story.pod_groups is None else story.pod_groups.groups
    return [group for group in groups if group.outcome != "scheduled"]


def _hit(story: Story) -> list[GroupRow]:
    """The groups that lose a pod because of the question, and do not get it back."""
    lost = {row.pod for row in story.pending if not row.anyway} | {row.pod for row in story.gone if not row.anyway}
    members = () if story.pod_groups is None else story.pod_groups.pods
    hit = {row.group for row in members if row.pod in lost}
    return [group for group in _not_placed(story) if group.group in hit]


def _end(story: Story) -> str:
    pods = plural(sum(row.count for row in story.pending), "pod")
    waiting, after = f", {pods} pending" if story.pending else "", took(story.took)
    match story.settled:
        case "settled":
            return f"settled after {after}: {_summary(story)}"
        case "pending":
            return f"settled after {after}, {pods} pending: {_owners(story)}"
        case "terminating":
            return f"settled after {after}, but pods stay terminating for good: {_summary(story)}"
        case "stalled":
            return f"a drain does not end: {_summary(story)}"
        case "rollout-stuck" if story.refused:
            who = some([row.workload for row in story.refused])
            return f"settled after {after}{waiting}, but pods are refused: {who}"
        case "rollout-stuck":
            return f"a rollout stands still after {after}{waiting}: {_summary(story)}"
        case "cycling":
            return _endless(story)
        case "horizon":
            what = f"{story.under_way} is not done; " if story.under_way else ""
            return f"it has not settled within {took(float(story.parameters['horizon']))}: {what}{_summary(story)}"


def _endless(story: Story) -> str:
    cycle = story.cycle
    if cycle is None:
        return "it never settles"
    who = some(cycle.participants)
    again = f"every {in_seconds(cycle.period)}" if cycle.period else "again and again, and no time passes"
    return f"it never settles: {who} replace each other {again}"


def _owners(story: Story) -> str:
    counts: dict[str, int] = {}
    members = {} if story.pod_groups is None else {row.pod: row.group for row in story.pod_groups.pods}
    for row in story.pending:
        group = members.get(row.pod)
        name = f"PodGroup {group}" if group else row.owner or f"Pod {row.pod}"
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


def story_blocks(report: Report, story: Story, detail: Detail) -> Iterator[Block]:
    """The verdict; differences; pods that are gone or pending; what happens anyway; the events; the assumptions."""
    yield verdict(first_line(story), qualifier(report, of_command(report)))
    if detail.quiet:
        return
    asked = of_question(story)
    is_whole = story.verdict is None or detail.wide
    yield from shown(waves(asked), blocked(asked))
    yield from group_parts(story.pod_groups, replace(detail, quiet=not is_whole))
    yield from _workloads(asked, detail)
    yield from what_becomes(asked)
    yield from shown(_nodes(asked)) if story.verdict is None else ()
    yield from _commands(asked) if is_whole or detail.explain else ()
    yield from _cycle(asked)
    yield from runs(asked.runs)
    yield from shown(happens_anyway(story))
    if detail.explain:
        yield tree(story)
    elif is_whole or detail.has_room:
        yield from folded("Timeline", *timeline(story, detail), bare=True)
    yield assumed(story)


def what_becomes(story: Story) -> Iterator[Table]:
    """Pods that are gone, pending or refused, Jobs that have failed, and changes of budgets."""
    for title, counted in (("Gone", gone_rows(story)), ("Pending", pending_rows(story))):
        yield from shown(Table((name(title), number("Pods"), words("Why")), counted, most=None))
    for title, reasons in (("Refused", refused_rows(story)), ("Failed", failed_rows(story))):
        rows = [(Cell(workload, "warn"), why) for workload, why in reasons]
        yield from shown(Table((name(title), words("Why")), rows, most=None))
    yield from shown(_budgets(story))


def assumed(story: Story) -> Sentence:
    """The assumptions of a simulation."""
    return Sentence(f"Assumed: {'; '.join(story.assumptions)}.", "faint")


def happens_anyway(story: Story) -> Table:
    """Events that the question does not cause."""
    columns = (words("Happens anyway"), number("Pods"), words("What"))
    return Table(columns, [[Cell(each, "faint") for each in row] for row in anyway_rows(story)], _MOST_ANYWAY)


def _workloads(story: Story, detail: Detail) -> Iterator[Block]:
    rows, as_before = different_workloads(story)
    numbers = (number("Pending"), number("Ready"), number("Lowest"))
    made = [_workload(row) for row in (*rows, *(as_before if detail.wide else ()))]
    yield from shown(Table((name("Workload"), words("Before"), words("After"), *numbers), made, most=None))
    if as_before and not detail.wide:
        yield Sentence(f"{kinds_of(as_before)} as before{'' if detail.page else ' (-o wide)'}", "faint")


def _workload(row: StoryWorkloadRow) -> Row:
    cells = (row.workload, *places(row), str(row.pending or "-"), str(row.ready_after), str(row.ready_lowest))
    return [Cell(each, "warn" if row.pending or row.ready_after < row.ready_before else "") for each in cells]


def _budgets(story: Story) -> Table:
    """Budgets that allowed fewer disruptions in between, or allow a different number at the end."""
    numbers = (number("Allowed before"), number("Lowest"), number("After"))
    rows = [row for row in story.budgets if row.before != row.after or row.lowest < row.before or _overrun(row)]
    return Table((name("Budget"), *numbers, words("Broken by")), [_budget(row) for row in rows], most=None)


def _budget(row: StoryBudgetRow) -> Row:
    broken = plural(_overrun(row), "pod") if _overrun(row) else "-"
    cells = (row.budget, str(row.before), str(row.lowest), str(row.after), broken)
    return [Cell(each, "warn" if _overrun(row) else "") for each in cells]


def _nodes(story: Story) -> Table:
    groups: dict[tuple[str, str], list[str]] = {}
    for row in story.nodes:
        groups.setdefault(_states(row), []).append(row.node)
    rows = [(some(names, FEW), *states) for states, names in groups.items()]
    return Table((words("Node"), words("Before"), words("After")), rows, most=None)


def _states(row: StoryNodeRow) -> tuple[str, str]:
    before, after = ("not there" if state is None else ", ".join(state) or "ready" for state in (row.before, row.after))
    return before, f"{after}, other fields changed" if before == after else after


def _commands(story: Story) -> Iterator[Block]:
    for command in story.commands:
        end = "did not end" if command.ok is None else "done" if command.ok else "failed"
        first = Item((exact(command.command), f": {end} after {in_seconds(command.seconds)}"), tone="strong")
        yield Listing([first, *(Item((exact(line),), depth=1, tone="faint") for line in command.output)], "lines")


def _cycle(story: Story) -> Iterator[Block]:
    if story.cycle is not None:
        yield Sentence("What would end it:", "strong")
        yield Listing([Item(remedy) for remedy in story.cycle.remedies])


# --- many runs -------------------------------------------------------------------------------------------------------


_WORDS: dict[What, str] = {
    "settled": "it ends {}",
    "failed": "{} fails",
    "placed": "{} has a node for each pod",
    "pending": "{} stays pending",
    "preempted": "{} is preempted",
    "evicted": "{} is evicted",
    "overrun": "budget {} is broken",
}


def runs(row: RunsRow | None) -> Iterator[Block]:
    """How often each outcome occurs, the most certain first."""
    if row is not None:
        yield Sentence(
            f"{plural(row.runs, 'run')} with other choices and times (seed {row.seed}): {_length(row)}", "strong"
        )
        facts = [(_count(fact, row), _WORDS[fact.what].format(fact.subject)) for fact in row.facts]
        yield Table((number("In runs"), words("What")), facts, most=None)


def _count(fact: FactRow, row: RunsRow) -> str:
    return "all" if fact.runs == row.runs else f"{fact.runs} of {row.runs}"


def _length(runs: RunsRow) -> str:
    least, most = took(runs.seconds_least), took(runs.seconds_most)
    return f"{least} long" if least == most else f"{least} to {most} long"


# --- drains and outages ----------------------------------------------------------------------------------------------


#: Further pods of a wave are only counted.
_MOST_NAMED = 4


def _of_verdict(story: Story, verdict: VerdictRow) -> tuple[Quality, str]:
    """The whole verdict in one line."""
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
        return f"{nodes} can fail safely: {lost}{back}{turn}"
    return f"{nodes} cannot fail safely: {verdict.why}; {lost}{turn}"


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
    """When each pod is evicted; nothing if all are evicted at once."""
    found = story.waves if len(story.waves) > 1 else ()
    rows = [(at, f"{wave.at:g} s", some(wave.pods, _MOST_NAMED)) for at, wave in enumerate(found, 1)]
    return Table((number("Wave"), number("After"), words("Pods")), rows)


def blocked(story: Story) -> Table:
    """The pods that are not evicted."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in story.blocked:
        groups.setdefault((row.why, row.remedy), []).append(row.pod)
    rows = [(Cell(some(pods), "warn"), Span(why), Span(remedy or "-")) for (why, remedy), pods in groups.items()]
    return Table((words("Blocked"), words("Why"), words("What helps")), rows, most=None)


# --- what follows another answer -------------------------------------------------------------------------------------


def aftermath(story: Story) -> Listing:
    """The end; the pods that are gone or pending then; changes of budgets."""
    quality, said = first_line(story)
    story = of_question(story)
    budgets = "; ".join(_low_budgets(story)) or "no budget allows less than before"
    items = (Item(f"What follows: {said}", sign=quality), Item(_people(story)), Item(f"Budgets: {budgets}"))
    return Listing(items, "lines")


def _people(story: Story) -> str:
    gone = [f"{who} ({count}, {why})" if count > 1 else f"{who} ({why})" for who, count, why in gone_rows(story)]
    waiting = [f"{who} ({count})" if count > 1 else who for who, count, _ in pending_rows(story)]
    refused = f"; refused: {some([row.workload for row in story.refused])}" if story.refused else ""
    return f"Gone: {some(gone) or 'none'}; pending in the end: {some(waiting) or 'none'}{refused}"


def _low_budgets(story: Story) -> Iterator[str]:
    broken = [f"{row.budget} by {plural(_overrun(row), 'pod')}" for row in story.budgets if _overrun(row)]
    low = [f"{row.budget} {row.before} to {row.lowest}" for row in story.budgets if row.lowest < row.before]
    if broken:
        yield f"broken {some(broken)}"
    if low:
        yield f"lowest {some(low)}"
