"""`kwhatif audit` in blocks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from kwhatif.render.amounts import plural, some, took
from kwhatif.render.blocks import (
    Block,
    Cell,
    Heading,
    Item,
    Listing,
    Sentence,
    Table,
    Tone,
    Verdict,
    folded,
    name,
    number,
    words,
)
from kwhatif.render.certainty import of_finding, qualifier
from kwhatif.render.detail import Detail
from kwhatif.render.harm import event, levels, why
from kwhatif.render.outcomes import Quality, doubted
from kwhatif.report import Report
from kwhatif.report.risks import AuditFindingRow, AuditFixRow, AuditLevel, AuditRow, HarmRow

#: How many findings are on the first screen.
FIRST = 10
#: How many findings have their own section on a page.
_MOST_PARTS = 100
#: How many characters of the fix the table shows.
_MOST_HELP = 66
_TONES: dict[AuditLevel, Tone] = {"high": "bad", "medium": "warn", "low": ""}
_STOPPED = {"budget": "the time of --budget was over", "interrupted": "it was interrupted"}


def audit(report: Report, row: AuditRow, detail: Detail) -> Iterator[Block]:
    """The verdict, a line for each of the worst findings, and unjudged what-ifs; or everything about one finding."""
    if row.explained:
        yield from _explained(report, next(each for each in row.findings if each.id == row.explained))
        return
    yield _verdict(row, qualifier(report))
    if detail.quiet:
        return
    shown = row.counting if detail.wide or detail.page else row.counting[:FIRST]
    if shown:
        yield _table(shown, detail)
    hidden = len(row.counting) - len(shown)
    if hidden:
        yield Sentence(f"{plural(hidden, 'more finding')}: -o wide shows all", "faint")
    if shown and not detail.page:
        yield Sentence(f"--explain {shown[0].id} shows what is behind the first", "faint")
    yield from _unjudged(row)
    yield from _baseline(row)
    for each in shown[:_MOST_PARTS] if detail.page else ():
        yield from _part(report, each)
    beyond = len(shown) - _MOST_PARTS if detail.page else 0
    if beyond > 0:
        said = f"{plural(beyond, 'finding')} of the table have no part here: this shows one of them, by its ID:"
        yield Listing([Item(said, (command("kwhatif audit --explain ID -o html", report),))])
    accepted = [each for each in row.findings if each.accepted is not None]
    if accepted:
        yield from folded("Accepted findings", _accepted(accepted))


def _verdict(row: AuditRow, doubt: str) -> Verdict:
    judged = sum(each.judged for each in row.probes)
    asked = f"{plural(judged, 'what-if')} played"
    counting = row.counting
    accepted = len(row.findings) - len(counting)
    more = f", {accepted:,} accepted" if accepted else ""
    where = f" in namespace {row.namespace}" if row.namespace else ""
    if not judged:
        return Verdict(f"Nothing was judged{where}", "doubtful")
    unjudged = sum(each.scenarios - each.judged for each in row.probes)
    doubts = "; ".join(filter(None, [f"{plural(unjudged, 'what-if')} not reached" if unjudged else "", doubt]))
    if not counting:
        return Verdict(f"Nothing was found{where}{more}: {asked}", doubted("good", doubts), doubt=doubts)
    said = f"{plural(len(counting), 'finding')}{where} ({levels(counting)}{more}): {asked}"
    quality: Quality = "bad" if any(each.level == "high" for each in counting) else "doubtful"
    return Verdict(said, quality, doubt=doubts)


def _table(found: Sequence[AuditFindingRow], detail: Detail) -> Table:
    """A row for each finding. Its fix is below it, and is cut unless everything is wanted."""
    owned = any(each.owner for each in found) and detail.wide
    columns = (words("Level"), words("Finding"), *([words("Owner")] if owned else []), name("ID"))
    rows = [
        (
            Cell(each.level, _TONES[each.level]),
            [each.message, *([f"→ {_cut(helps, detail)}"] if (helps := fix_words(each)) else [])],
            *([each.owner or None] if owned else []),
            each.id,
        )
        for each in found
    ]
    return Table(columns, rows, most=None)


def _cut(text: str, detail: Detail) -> str:
    return text if detail.wide or len(text) <= _MOST_HELP else f"{text[: _MOST_HELP - 1]}…"


def fix_words(finding: AuditFindingRow) -> str | None:
    """The fix in a few words: edits or a flag, and for how many what-ifs it was proven, if not for all.

    If the search would take too long, the reason why there is none.
    """
    fix = finding.fix
    if fix is None and finding.takes is not None:
        return f"fix not looked for (a what-if takes {took(finding.takes)}): --explain does"
    if fix is None:
        return None
    part = "" if fix.is_proven else f" (played for {fix.played} of {fix.of} what-ifs)"
    return " and ".join(fix.edits) + part


def _unjudged(row: AuditRow) -> Iterator[Block]:
    said = [f"{each.probe}: {each.judged:,} of {each.scenarios:,} judged" for each in row.unjudged]
    if said:
        why_ = _STOPPED.get(row.stopped, "")
        yield Sentence(f"Not all was judged{f', as {why_}' if why_ else ''}: {'; '.join(said)}", "warn")
    skipped = [f"{each.probe} ({each.skipped})" for each in row.probes if each.skipped]
    if skipped:
        yield Sentence(f"Not asked: {'; '.join(skipped)}", "faint")


def _baseline(row: AuditRow) -> Iterator[Block]:
    baseline = row.baseline
    if baseline is None:
        return
    if baseline.expired:
        yield Sentence(f"No longer accepted, as the day is over: {some(baseline.expired)}", "warn")
    if baseline.gone:
        yield Sentence(f"Accepted in {baseline.source}, and not found: {some(baseline.gone)}", "faint")


def _accepted(found: Sequence[AuditFindingRow]) -> Table:
    rows = [
        (each.id, each.message, each.accepted.reason, each.accepted.owner or None, each.accepted.until)
        for each in found
        if each.accepted is not None
    ]
    return Table((name("ID"), words("Finding"), words("Why"), words("Owner"), words("Until")), rows)


# --- one finding ---------------------------------------------------------------------------------------------------


def _explained(report: Report, found: AuditFindingRow) -> Iterator[Block]:
    sign: Quality = "bad" if found.level == "high" else "doubtful"
    yield Verdict(found.message, sign, sure=of_finding(found, report))
    yield Sentence(f"{found.id}, level {found.level}{f', owner {found.owner}' if found.owner else ''}", "faint")
    if found.accepted is not None:
        until = f" until {found.accepted.until}" if found.accepted.until else ""
        yield Sentence(f"Accepted{until}: {found.accepted.reason}")
    yield Heading("What shows it")
    yield from _shown_by(found)
    yield Heading("Proof")
    yield Listing([Item("This command shows the same:", (command(found.command, report),))])
    yield Heading("What helps")
    yield _helps(found, report)


def _part(report: Report, found: AuditFindingRow) -> Iterator[Block]:
    """One of the findings on a page."""
    yield Heading(found.id)
    yield Verdict(found.message, minor=True, sure=of_finding(found, report))
    yield from _shown_by(found)
    explain = command(f"kwhatif audit --explain {found.id} -o html", report)
    yield Listing(
        [
            Item(
                "Its story is not kept here. The first of these shows it, the second plays it on a page:",
                (command(found.command, report), explain),
            )
        ]
    )
    if found.fix is not None:
        yield _helps(found, report)


def _shown_by(found: AuditFindingRow) -> Iterator[Block]:
    yield Listing([Item(f"if {event(each)}: {some(each.names, 6, each.count)}") for each in found.shown_by])
    yield Table(
        (words("What-if"), name("Who"), number("Pods"), number("Priority"), words("For"), words("Why")),
        [_harm(each) for each in found.harms],
    )


def _harm(row: HarmRow) -> tuple[str | int | None, ...]:
    how_long = None if row.seconds is None else took(row.seconds)
    return f"{row.probe} {row.scenario}", row.subject, row.pods, row.priority, how_long, row.said or why(row) or None


def _helps(found: AuditFindingRow, report: Report) -> Block:
    if found.fix is None:
        return Sentence(_why_no_fix(found, report))
    if found.fix.kind == "flag":
        return Sentence(f"{found.fix.edits[0]} lets it go")
    said = "With this the finding is gone, as was played:"
    if not found.fix.is_proven:
        what_ifs = plural(found.fix.of, "what-if that shows it", "what-ifs that show it")
        said = f"With this it is gone from all {found.fix.played} that were played again, of {what_ifs}:"
    return Listing([Item(said, (fix_command(found.fix, report),))])


def _why_no_fix(found: AuditFindingRow, report: Report) -> str:
    if found.tried is None:
        stopped = "" if report.audit is None else report.audit.stopped
        return f"Not looked for, as {_STOPPED.get(stopped) or _STOPPED['budget']}"
    if not found.tried:
        return "No change is known that may help"
    return f"Of {plural(found.tried, 'change')} that {'was' if found.tried == 1 else 'were'} tried none helps"


def fix_command(fix: AuditFixRow, report: Report) -> str:
    """The command that simulates the fix."""
    then = " ".join(f"--then {shlex.quote(edit)}" for edit in fix.edits)
    return command(f"kwhatif simulate {then}", report)


def command(said: str, report: Report) -> str:
    """The command, with the edits and the dump that the report is about."""
    if not said.startswith("kwhatif "):
        return said
    sources = () if report.snapshot.sources == ("live",) else report.snapshot.sources
    edits = (f"--if {shlex.quote(each.edit)}" for each in report.changes)
    return " ".join((said, *edits, *(f"--from {shlex.quote(each)}" for each in sources)))
