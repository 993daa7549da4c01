"""`kwhatif upgrade` in blocks: what another release decides differently, and by which rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kwhatif.render.blocks import Block, Cell, Item, Listing, Sentence, Table, Verdict, name, titled, words
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import verb
from kwhatif.render.qualifiers import qualifier
from kwhatif.report import Report
from kwhatif.report.differences import LandingRow, UpgradeDifference, UpgradedRow, UpgradeRow
from kwhatif.words.amounts import plural, some

#: How many rows are shown, unless it is wide.
_MOST_ROWS = 100


def upgrade(report: Report, row: UpgradeRow, detail: Detail) -> Iterator[Block]:
    """The summary line with what it depends on, the different decisions, and the rules that differ."""
    rows = [
        (each.workload, _cell(each.before, each.after), _cell(each.after, each.before), _why(each))
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


def _why(row: UpgradedRow) -> str:
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
