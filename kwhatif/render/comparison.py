"""Two answers side by side: without the edits, and with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from kwhatif.render.capacity_words import fit_number
from kwhatif.render.capacity_words import headline as capacity_headline
from kwhatif.render.data import to_json, to_yaml
from kwhatif.render.edits import edit_lines
from kwhatif.render.markdown_text import cell, limited, prose, rows_of
from kwhatif.render.node_names import NodeNames, nodes_in
from kwhatif.render.outcomes import SIGNS, verb
from kwhatif.render.text import FAINT, GOOD, STRONG, WARN, indented, lines, signed, table, text
from kwhatif.report.capacity import CapacityRow
from kwhatif.report.comparison import Comparison, Difference, FateRow
from kwhatif.report.policy import FindingRow
from kwhatif.words.amounts import plural, some

#: So many rows are shown.
MOST_ROWS = 100
_WORDS: dict[Difference, tuple[str, str]] = {
    "flipped": ("has another outcome", "have another outcome"),
    "victims": ("would evict other pods", "would evict other pods"),
    "moved": ("goes to another node", "go to another node"),
    "new": ("is new", "are new"),
    "gone": ("is gone", "are gone"),
}


def comparison_tables(comparison: Comparison, *, quiet: bool = False) -> Iterator[RenderableType]:
    """The edits, one line that says it all, then what is different."""
    for line in () if quiet else edit_lines(comparison.after):
        yield text(line, FAINT)
    names = NodeNames((*nodes_in(comparison.before), *nodes_in(comparison.after)))
    rows, ends = comparison.difference.pods, comparison.difference.ends
    yield text(headline(comparison), WARN if rows or ends or verdicts(comparison) else GOOD)
    if quiet:
        return
    if names.note and (rows or ends):
        yield text(names.note, FAINT)
    if rows:
        made = table("POD", "WITHOUT", "WITH")
        for row in rows[:MOST_ROWS]:
            made.add_row(text(row.pod, STRONG), _cell(row.before, names), _cell(row.after, names))
        yield made
    if ends:
        made = table("WHAT", "WITHOUT", "WITH")
        for end in ends[:MOST_ROWS]:
            made.add_row(*(text(names.cut(each or "-")) for each in (end.subject, end.before, end.after)))
        yield made
    hidden = max(len(rows) - MOST_ROWS, 0) + max(len(ends) - MOST_ROWS, 0)
    if hidden:
        yield text(f"… {hidden:,} more (-o json)", FAINT)
    for title, items in details(comparison):
        yield text(title, STRONG)
        yield indented(lines([f"• {item}" for item in items]))


def headline(comparison: Comparison) -> str:
    """`With these edits, of 6 pods 2 have another outcome (1 stays pending → fits, 1 would evict → fits)`."""
    counts = Counter(row.difference for row in comparison.difference.pods)
    total = sum(counts.values()) + comparison.difference.unchanged
    said = [f"{count:,} {_WORDS[kind][count > 1]}{_flips(comparison, kind)}" for kind, count in counts.items()]
    verdict = verdicts(comparison)
    after = comparison.after
    if after.capacity is not None:
        return _capacity_headline(comparison, after.capacity)
    if (after.story is not None and not after.is_judged) or after.deschedule is not None:
        differ = len(comparison.difference.ends)
        ends = f"{plural(differ, 'thing ends', 'things end') if differ else 'nothing ends'} differently"
        return f"With these edits, {'; '.join(filter(None, [_evictions(comparison), ends]))}"
    if not said:
        same = "the answer is the same" if total == 1 else f"the answers for all {total:,} pods are the same"
        return f"With these edits, {verdict or same}"
    return f"With these edits, of {plural(total, 'pod')} {'; '.join([', '.join(said), *filter(None, [verdict])])}"


def _capacity_headline(comparison: Comparison, after: CapacityRow) -> str:
    """`With these edits, 9 more pods of Deployment shop/web fit; without them, 7 fit`."""
    now, before = capacity_headline(after)[1], comparison.before.capacity
    if not comparison.difference.ends:
        return f"With these edits, the answer is the same: {now}"
    if before is None or before.best is None:
        kinds = sum(end.subject.startswith("more like ") for end in comparison.difference.ends)
        return f"With these edits, another number of pods fits for {plural(kinds, 'kind')} of pods"
    was, added = _capacity_number(before), before.added_nodes
    if was == _capacity_number(after):
        return f"With these edits, still {now}"
    if added is None:
        return f"With these edits, {now}; without them, {was} {'fits' if was == '1' else 'fit'}"
    return f"With these edits, {now}; without them, {was} such nodes are {'not ' * (added.nodes is None)}enough"


def _capacity_number(row: CapacityRow) -> str:
    """What is asked for: how many fit, or how many nodes that takes."""
    added = row.added_nodes
    if added is not None:
        return f"{added.limit if added.nodes is None else added.nodes:,}"
    return fit_number(row.best) if row.best else ""


def _evictions(comparison: Comparison) -> str:
    """How many pods a descheduler evicts; "" where that is the same, or none is asked about."""
    was, now = (row and len(row.evicted) for row in (comparison.before.deschedule, comparison.after.deschedule))
    if was == now:
        return ""
    return f"{plural(now or 0, 'pod')} {'is' if now == 1 else 'are'} evicted, {was:,} without them"


def _flips(comparison: Comparison, kind: Difference) -> str:
    """From which outcomes to which."""
    rows = [row for row in comparison.difference.pods if row.difference == kind == "flipped"]
    pairs = Counter((row.before.outcome, row.after.outcome) for row in rows if row.before and row.after)
    said = [f"{count:,} {verb(was, count)} → {verb(now, count)}" for (was, now), count in pairs.items()]
    return f" ({', '.join(said)})" if said else ""


def verdicts(comparison: Comparison) -> str:
    """What becomes of a gate's verdict; "" where it is the same, or there is none."""
    before, after = comparison.before.policy, comparison.after.policy
    if before is None or after is None or before.verdict == after.verdict:
        return ""
    words = {"pass": "passes", "warn": "passes with warnings", "fail": "fails"}
    return f"the gate {words[after.verdict]}; without them, it {words[before.verdict]}"


def details(comparison: Comparison) -> Iterator[tuple[str, Sequence[str]]]:
    """Findings and caveats that only one of the answers has, under titles."""
    difference = comparison.difference
    for title, items in (
        ("New findings", list(map(_finding, difference.new_findings))),
        ("Findings that are gone", list(map(_finding, difference.gone_findings))),
        ("New caveats", difference.new_caveats),
        ("Caveats that are gone", difference.gone_caveats),
    ):
        if items:
            yield title, items


def _finding(row: FindingRow) -> str:
    return " ".join(filter(None, (f"{row.rule}:", row.workload, row.message)))


def fate(row: FateRow | None) -> str:
    """What becomes of the pod in a few words."""
    if row is None:
        return "-"
    said = verb(row.outcome, 1)
    if row.outcome == "Placed":
        return f"{said} on {row.node}"
    if row.outcome == "Preempts":
        return f"{said} {some(row.victims)} on {row.node}"
    return said


def _cell(row: FateRow | None, names: NodeNames) -> Text:
    return text("-", FAINT) if row is None else signed(SIGNS[row.outcome], names.cut(fate(row)), "")


def to_markdown(comparison: Comparison) -> str:
    """The edits, the headline, and a table."""
    parts = [f"- {prose(line)}" for line in edit_lines(comparison.after)]
    parts += ["", f"### {prose(headline(comparison))}", ""]
    if comparison.difference.pods:
        rows = ((cell(row.pod), prose(fate(row.before)), prose(fate(row.after))) for row in comparison.difference.pods)
        parts += rows_of(("Pod", "Without", "With"), rows)
    if comparison.difference.ends:
        ends = (
            (cell(row.subject), prose(row.before or "-"), prose(row.after or "-")) for row in comparison.difference.ends
        )
        parts += rows_of(("What", "Without", "With"), ends)
    for title, items in details(comparison):
        parts += ["", f"#### {title}", "", *limited((f"- {prose(item)}" for item in items), len(items))]
    return "\n".join(parts) + "\n"


FORMATS: Mapping[str, Callable[[Comparison], str]] = {"json": to_json, "yaml": to_yaml, "markdown": to_markdown}
