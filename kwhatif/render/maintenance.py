"""Maintenance in blocks: many drains or outages, each alone; another release; a pod that is resized."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kwhatif.autoscaler.vertical_updater import Why
from kwhatif.render.amounts import listed, plural, some, took
from kwhatif.render.audit import command
from kwhatif.render.blocks import (
    Block,
    Cell,
    Heading,
    Item,
    Listing,
    Row,
    Sentence,
    Table,
    Verdict,
    exact,
    folded,
    name,
    node,
    number,
    shown,
    titled,
    verdict,
    words,
)
from kwhatif.render.certainty import of_command, of_story, qualifier
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import Quality, verb
from kwhatif.render.story import aftermath, assumed, blocked, first_line, waves, what_becomes
from kwhatif.render.story_rows import of_question, timeline
from kwhatif.report import Report
from kwhatif.report.deciders import ResizeRow, UpdaterRow
from kwhatif.report.differences import LandingRow, UpgradeDifference, UpgradedRow, UpgradeRow
from kwhatif.report.story import ScenarioRow, Story

# --- drain --each, outage --each -------------------------------------------------------------------------------------


def _summary(rows: Sequence[ScenarioRow], command: str) -> str:
    """The summary: which nodes may be removed, and the worst effect."""
    is_drain = command == "drain"
    may, may_not = ("can be drained", "cannot be drained") if is_drain else ("can fail safely", "cannot fail safely")
    bad, count = [row.scenario for row in rows if not row.verdict.ok], len(rows)
    if not bad:
        return f"{rows[0].scenario} {may}" if count == 1 else f"any one of the {count:,} {may}"
    worst = rows[0].verdict.why or "it does harm"
    if count == 1:
        return f"{rows[0].scenario} {may_not}: {worst}"
    worst = worst if len(bad) == 1 else f"at worst ({rows[0].scenario}), {worst}"
    if len(bad) == count:
        return f"none of the {count:,} {may}: {some(bad)}; {worst}"
    return f"{count - len(bad):,} of the {count:,} {may}, all but {some(bad)}: {worst}"


def scenarios(report: Report, rows: Sequence[ScenarioRow], detail: Detail) -> Iterator[Block]:
    """The summary, all scenarios, and the stories of the worst."""
    is_harmless = all(row.verdict.ok for row in rows)
    quality: Quality = "good" if is_harmless else "bad"
    yield verdict((quality, _summary(rows, report.command)), qualifier(report, of_command(report)))
    if detail.quiet:
        return
    numbers = (number("Pods"), number("Pending"), number("In turn"), number("After"))
    columns = (node("Which"), words("Can go"), *numbers, words("Why not"))
    yield Table(columns, [_scenario(row) for row in rows], most=None)
    for row in rows:
        if row.story is not None and row.story.verdict is not None:
            yield Heading(f"{row.scenario}:")
            yield from _worst(row, row.story, report, detail)
    yield from _others(report, rows, detail)
    explained = next((row.story for row in rows if row.story is not None), None)
    if explained is not None:
        yield assumed(explained)


def _others(report: Report, rows: Sequence[ScenarioRow], detail: Detail) -> Iterator[Block]:
    """The scenarios without a story in the report, and the commands that play them, for a page."""
    others = [row for row in rows if row.story is None and row.command]
    if detail.page and others:
        title = f"{plural(len(others), 'story', 'stories')} not kept here, and the commands that play them"
        commands = [(row.scenario, exact(command(row.command, report))) for row in others]
        columns = node("Which"), words("Command, with the other options of this one")
        yield from folded(title, Table(columns, commands, named=True))


def _scenario(row: ScenarioRow) -> Row:
    """Its name, whether the node may be removed, the numbers, and if not, why."""
    verdict = row.verdict
    numbers = (verdict.moved, len(verdict.pending), verdict.preempted)
    may = Cell("yes", "good") if verdict.ok else Cell("no", "bad")
    return row.scenario, may, *map(str, numbers), took(verdict.seconds), verdict.why or "-"


def _worst(row: ScenarioRow, story: Story, report: Report, detail: Detail) -> Iterator[Block]:
    quality, said = first_line(story)
    if detail.page:
        yield Verdict(said, quality, minor=True, sure=of_story(story, report))
    else:
        yield Listing([Item(said, sign=quality)], "lines")
    asked = of_question(story)
    yield from shown(waves(asked), blocked(asked))
    yield from what_becomes(asked)
    if detail.has_room:
        yield from folded("Timeline", *timeline(story, detail))
        if row.command:
            yield Listing([Item("This command plays it alone:", (command(row.command, report),))])


# --- kwhatif upgrade -------------------------------------------------------------------------------------------------


#: How many rows are shown, unless it is wide.
_MOST_ROWS = 100


def upgrade(report: Report, row: UpgradeRow, detail: Detail) -> Iterator[Block]:
    """The summary line with what it depends on, the different decisions, and the rules that differ."""
    rows = [
        (each.workload, _cell(each.before, each.after), _cell(each.after, each.before), _because(each))
        for each in _ordered(row)
    ]
    doubt = qualifier(report)
    yield Verdict(_headline(row), tone="warn" if rows or doubt else "good", doubt=doubt)
    if detail.quiet:
        return
    if rows:
        releases = (words(f"On {release}") for release in (row.before, row.after))
        yield Table((name("What"), *releases, words("Decided otherwise by")), rows, _MOST_ROWS)
    yield from titled("Rules that differ", Listing([Item(rule) for rule in _rules(row)]))
    yield Sentence(_HOW, "faint")


#: How workloads are judged.
_HOW = "Each workload is judged as if its pods, and no others, were started again; of equal replicas the first."


def _ordered(row: UpgradeRow) -> Sequence[UpgradedRow]:
    """Pending pods, then workloads; those that get worse come first."""
    worse = set(map(id, row.worse))
    return [
        each
        for rows in (row.pending, row.workloads)
        for each in sorted(rows, key=lambda each: (id(each) not in worse, each.difference))
    ]


def _headline(row: UpgradeRow) -> str:
    """`1.37 decides otherwise than 1.35 about 1 of 3 pending pods and 4 of 20 workloads: 4 get other nodes, …`."""
    rows = (*row.pending, *row.workloads)
    if row.before == row.after:
        return f"The rules of {row.before} are asked already: nothing is decided otherwise"
    if not rows:
        pending = f"{plural(row.pending_judged, 'pending pod')} and " if row.pending_judged else ""
        return f"{row.after} decides as {row.before} does about {pending}{plural(row.workloads_judged, 'workload')}"
    kinds = Counter(row.difference for row in rows)
    words: dict[UpgradeDifference, tuple[str, str]] = {
        "flipped": ("has another outcome", "have another outcome"),
        "victims": ("evicts other pods", "evict other pods"),
        "moved": ("gets other best nodes", "get other best nodes"),
    }
    said = ", ".join(f"{kinds[kind]:,} {words[kind][kinds[kind] > 1]}" for kind in words if kinds[kind])
    pending = f"{len(row.pending):,} of {plural(row.pending_judged, 'pending pod')} and " if row.pending_judged else ""
    about = f"{pending}{len(row.workloads):,} of {plural(row.workloads_judged, 'workload')}"
    worse = len(row.worse)
    worsened = f"; {worse:,} {'is' if worse == 1 else 'are'} worse off" if worse else ""
    return f"{row.after} decides otherwise than {row.before} about {about}: {said}{worsened}"


def _rules(row: UpgradeRow) -> Iterator[str]:
    """The rules that cause different decisions."""
    used = {name for each in (*row.pending, *row.workloads) for name in each.rules}
    for rule in row.rules:
        if rule.name in used:
            what = f"the gate {rule.gate} is on" if rule.gate else f"{rule.plugin}: {rule.text}"
            yield f"since {rule.since} {what}"


def _because(row: UpgradedRow) -> str:
    """The rules, or the plugins if no rule is known."""
    return ", ".join(row.rules or row.plugins) or "-"


def _landing(row: LandingRow, other: LandingRow) -> str:
    """The outcome of the pod in a few words; nodes that only this release takes come first."""
    said = verb(row.outcome, 1)
    nodes = [*(node for node in row.nodes if node not in other.nodes), *(n for n in row.nodes if n in other.nodes)]
    if row.outcome == "Placed":
        return f"{said} on {some(nodes)}"
    if row.outcome == "Preempts":
        return f"{said} {some(row.victims)} on {row.nodes[0]}" if row.nodes else said
    return said


def _cell(row: LandingRow, other: LandingRow) -> Cell:
    return Cell(_landing(row, other), sign=row.outcome)


# --- kwhatif resize --------------------------------------------------------------------------------------------------


def resize(report: Report, row: ResizeRow, detail: Detail) -> Iterator[Block]:
    """The decision, who makes it, the obstacles, and what follows."""
    yield verdict(_decision(row), qualifier(report))
    if detail.quiet:
        return
    if row.updater is not None and row.updater.refused:
        yield Sentence(f"The Eviction API: {row.updater.refused}")
    if row.message and _was_asked(row):
        who = "The API server" if row.decision == "Refused" else f"The kubelet of {row.node}"
        yield Sentence(f"{who}: {row.message}")
    if row.decision == "Deferred" and _was_asked(row):
        yield Sentence("The pod keeps what it has, though the scheduler counts what it asks for", "faint")
        gone = Listing([Item(f"Pod {key}") for key in row.in_the_way])
        yield from titled("It fits without", gone)
    if report.story is not None and (row.decision == "Fits" or row.updater is not None):
        yield aftermath(report.story)


def _was_asked(row: ResizeRow) -> bool:
    """Whether a resize is requested: an updater that does nothing, or evicts at once, does not request one."""
    updater = row.updater
    return updater is None or updater.acts == "resizes" or updater.why in ("refused", "deferred", "infeasible")


def _updater(row: ResizeRow, updater: UpdaterRow) -> tuple[Quality, str]:
    """The decision of a VerticalPodAutoscaler about the pod."""
    change, who = f" ({row.change})" if row.change else "", f"VerticalPodAutoscaler {updater.vpa}"
    match updater.acts:
        case "resizes":
            return "good", f"{who} resizes Pod {row.pod} in place on {row.node}{change}{_restarts(row)}"
        case "evicts" if updater.refused:
            return "bad", f"{who} cannot evict Pod {row.pod}{change}: {_why(updater)}"
        case "evicts":
            after = f" after {took(updater.after)}" if updater.after else ""
            return "doubtful", f"{who} evicts Pod {row.pod}{after}{change}: {_why(updater)}"
        case "waits":
            return "bad", f"{who} does nothing about Pod {row.pod} yet{change}: {_why(updater)}"
        case "leaves":
            return "bad", f"{who} leaves Pod {row.pod} alone{change}: {_why(updater)}"


def _why(updater: UpdaterRow) -> str:
    return _REASONS[updater.why].format(
        mode=updater.mode, pods=plural(updater.replicas, "pod"), needed=f"{updater.needed:,}"
    )


_REASONS: Mapping[Why, str] = {
    "": "it has what is recommended",
    "mode": "its updateMode is {mode}",
    "no-controller": "the pod has no controller",
    "within-bounds": "it is within the recommended bounds, and either younger than 12 h or near the target",
    "few-replicas": "its controller has {pods}, and {needed} are needed",
    "group": "{pods} of its controller run, and more than {needed} must",
    "pending": "it does not run yet",
    "in-progress": "a resize of it is in progress",
    "deferred": "its resize is deferred",
    "infeasible": "its resize is infeasible",
    "refused": "the API server refuses the resize",
}


def _restarts(row: ResizeRow) -> str:
    return f", and restarts {listed(row.restarts)}" if row.restarts else ", without a restart"


def _decision(row: ResizeRow) -> tuple[Quality, str]:
    if row.updater is not None:
        return _updater(row, row.updater)
    change = f" ({row.change})" if row.change else ""
    match row.decision:
        case "Fits":
            return "good", f"Pod {row.pod} is resized in place on {row.node}{change}{_restarts(row)}"
        case "Deferred":
            return "bad", f"The resize of Pod {row.pod}{change} is deferred: {row.node} has no room for it now"
        case "Infeasible":
            return "bad", f"The resize of Pod {row.pod}{change} is infeasible: {row.node} never has the room"
        case "Refused":
            return "bad", f"The resize of Pod {row.pod} is refused"
