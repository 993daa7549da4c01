"""Two answers side by side, in blocks: without and with the edits, before and after a change, or of two clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.amounts import plural, some
from kwhatif.render.blocks import Block, Cell, Item, Listing, Sentence, Table, Verdict, name, titled, words
from kwhatif.render.capacity import fit_number, stop_reasons
from kwhatif.render.capacity import headline as capacity_headline
from kwhatif.render.certainty import qualifier
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import GATE, doubted, verb
from kwhatif.report import Report
from kwhatif.report.capacity import CapacityRow
from kwhatif.report.comparison import Comparison, Difference, FateRow
from kwhatif.report.deciders import Course, DescheduleRow, ReplacementRow
from kwhatif.report.decision import FindingRow
from kwhatif.report.differences import ClusterAnswerRow, ClusterChangeRow, CompareRow

#: How many rows are shown.
_MOST_ROWS = 100
_WORDS: dict[Difference, tuple[str, str]] = {
    "flipped": ("has another outcome", "have another outcome"),
    "victims": ("would evict other pods", "would evict other pods"),
    "moved": ("goes to another node", "go to another node"),
    "new": ("is new", "are new"),
    "gone": ("is gone", "are gone"),
}


def comparison_blocks(comparison: Comparison, detail: Detail) -> Iterator[Block]:
    """One summary line, then the differences."""
    difference = comparison.difference
    is_same = not (difference.pods or difference.ends or _verdicts(comparison))
    yield Verdict(headline(comparison), tone="good" if is_same else "warn")
    if detail.quiet:
        return
    if difference.pods:
        pods = [(row.pod, _cell(row.before), _cell(row.after)) for row in difference.pods]
        yield Table((name("Pod"), words("Without"), words("With")), pods, _MOST_ROWS)
    if difference.ends:
        ends = [(row.subject, row.before, row.after) for row in difference.ends]
        yield Table((words("What"), words("Without"), words("With")), ends, _MOST_ROWS)
    for title, items in (
        ("New findings", map(_finding, difference.new_findings)),
        ("Findings that are gone", map(_finding, difference.gone_findings)),
        ("New caveats", difference.new_caveats),
        ("Caveats that are gone", difference.gone_caveats),
    ):
        yield from titled(title, Listing([Item(said) for said in items]))


def headline(comparison: Comparison) -> str:
    """`With these edits, of 6 pods 2 have another outcome (1 stays pending → fits, 1 would evict → fits)`."""
    counts = Counter(row.difference for row in comparison.difference.pods)
    total = sum(counts.values()) + comparison.difference.unchanged
    said = [f"{count:,} {_WORDS[kind][count > 1]}{_flips(comparison, kind)}" for kind, count in counts.items()]
    verdict = _verdicts(comparison)
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
    """`With these edits, 9 more pods of Deployment shop/web fit; without the edits, 7 fit`."""
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
        return f"With these edits, {now}; without the edits, {was} {'fits' if was == '1' else 'fit'}"
    return f"With these edits, {now}; without the edits, {was} such nodes are {'not ' * (added.nodes is None)}enough"


def _capacity_number(row: CapacityRow) -> str:
    """The number: how many pods fit, or how many nodes are needed."""
    added = row.added_nodes
    if added is not None:
        return f"{added.limit if added.nodes is None else added.nodes:,}"
    return fit_number(row.best) if row.best else ""


def _evictions(comparison: Comparison) -> str:
    """How many pods a descheduler evicts; "" if that is equal, or not asked."""
    was, now = (row and len(row.evicted) for row in (comparison.before.deschedule, comparison.after.deschedule))
    if was == now:
        return ""
    return f"{plural(now or 0, 'pod')} {'is' if now == 1 else 'are'} evicted, {was:,} without them"


def _flips(comparison: Comparison, kind: Difference) -> str:
    """The old and new outcomes."""
    rows = [row for row in comparison.difference.pods if row.difference == kind == "flipped"]
    pairs = Counter((row.before.outcome, row.after.outcome) for row in rows if row.before and row.after)
    said = [f"{count:,} {verb(was, count)} → {verb(now, count)}" for (was, now), count in pairs.items()]
    return f" ({', '.join(said)})" if said else ""


def _verdicts(comparison: Comparison) -> str:
    """The change of a gate's verdict; "" if it is equal, or there is none."""
    before, after = comparison.before.policy, comparison.after.policy
    if before is None or after is None or before.verdict == after.verdict:
        return ""
    return f"the gate {GATE[after.verdict][1]}; without them, it {GATE[before.verdict][1]}"


def _finding(row: FindingRow) -> str:
    return " ".join(filter(None, (f"{row.rule}:", row.workload, row.message)))


def fate(row: FateRow | None) -> str:
    """The outcome of the pod in a few words."""
    if row is None:
        return "-"
    said = verb(row.outcome, 1)
    if row.outcome == "Placed":
        return f"{said} on {row.node}"
    if row.outcome == "Preempts":
        return f"{said} {some(row.victims)} on {row.node}"
    return said


def _cell(row: FateRow | None) -> Cell:
    return Cell(None) if row is None else Cell(fate(row), sign=row.outcome)


# --- results of answers ----------------------------------------------------------------------------------------------


def ends(report: Report) -> Iterator[tuple[str, str]]:
    """The result of a story, a descheduling cycle, or a count of pods, except where the pods are."""
    story = report.story
    if story is not None:
        yield from ((f"{row.workload}, new pods", f"refused: {row.message}") for row in story.refused)
        yield from ((row.workload, f"failed: {row.message}") for row in story.failed)
        for budget in story.budgets:
            yield f"PodDisruptionBudget {budget.budget}", f"{budget.lowest} allowed at the least"
        for command in story.commands:
            yield command.command, {True: "done", False: "failed", None: "not done"}[command.ok]
    if report.deschedule is not None:
        yield from _ends_of_cycles(report.deschedule)
    if report.capacity is not None:
        yield from _counts(report.capacity)


_LATER: Mapping[Course, str] = {"Settles": "settle", "Endless": "never settle", "Open": "are not known to settle"}


def _ends_of_cycles(row: DescheduleRow) -> Iterator[tuple[str, str]]:
    """The outcome of each pod that a descheduler wants to evict, and whether that ends."""
    yield "later runs", _LATER[row.course]
    for evicted in row.evicted:
        landed = evicted.replacement
        yield f"Pod {evicted.pod}", "evicted" if landed is None else f"evicted, {_landed(landed)}"
    for refused in row.refused:
        yield f"Pod {refused.pod}", f"stays ({refused.by})"


def _landed(row: ReplacementRow) -> str:
    match row.landing:
        case "Elsewhere":
            return f"lands on {row.node}"
        case "SameNode":
            return f"lands on {row.node} again"
        case "Preempts":
            return f"fits on {row.node} by evicting others"
        case "Pending":
            return "stays pending"
    return "is not replaced"


def _counts(row: CapacityRow) -> Iterator[tuple[str, str]]:
    """How many more pods fit, at what cost, where, and what stops the next one."""
    for shape in row.shapes:
        yield f"more like {shape.workloads[0]}", fit_number(shape.fit)
    if row.fit is not None:
        yield "without eviction", fit_number(row.fit)
    if row.preempting is not None:
        yield "with preemption", fit_number(row.preempting.fit)
        yield "evicted pods", f"{len(row.preempting.victims):,}"
        yield "violated budgets", ", ".join(row.preempting.violations) or "none"
    if row.added_nodes is not None:
        yield f"nodes like {row.added_nodes.like}", "not enough" if (n := row.added_nodes.nodes) is None else f"{n:,}"
    if row.target is not None:
        yield f"target {row.target.wanted:,}", "met" if row.target.met else f"{row.target.missing:,} missing"
    best = row.best
    if best is None:
        return
    if best.stop is not None:
        yield "stopped by", stop_reasons(best.stop)
    for what in ("zone", "node"):
        for counted in best.counted:
            of = f", {counted.workload}" if len(best.counted) > 1 else ""
            counts = counted.zones if what == "zone" else counted.nodes
            yield from ((f"{what} {name or '<none>'}{of}", f"{number:,}") for name, number in sorted(counts.items()))


# --- one answer after another ----------------------------------------------------------------------------------------


def changes(comparison: Comparison) -> Iterator[str]:
    """The changes in words, the most important first; none if the answers are equal."""
    difference = comparison.difference
    for row in difference.pods:
        yield f"{row.pod}: {fate(row.before)} → {fate(row.after)}"
    for end in difference.ends:
        yield f"{end.subject}: {end.before or '-'} → {end.after or '-'}"
    yield from _scenarios(comparison.before, comparison.after)
    for caveat in difference.new_caveats:
        yield f"now to be known: {caveat}"
    for caveat in difference.gone_caveats:
        yield f"not the case any more: {caveat}"


def _scenarios(before: Report, after: Report) -> Iterator[str]:
    was, now = _scenario_verdicts(before), _scenario_verdicts(after)
    for scenario in {**now, **was}:
        if was.get(scenario) != now.get(scenario):
            yield f"{scenario}: {was.get(scenario, '-')} → {now.get(scenario, '-')}"


def _scenario_verdicts(report: Report) -> Mapping[str, str]:
    return {row.scenario: "yes" if row.verdict.ok else f"no: {row.verdict.why}" for row in report.scenarios}


def summary(report: Report) -> Iterator[str]:
    """The first answer, with a line for each part that may change."""
    if report.command in ("queue", "preempt") and not report.decisions:
        yield "no pod waits for a node"
    yield from (f"{subject}: {said}" for subject, said in answers(report))


def answers(report: Report) -> Iterator[tuple[str, str]]:
    """The outcome of each subject: pods, scenarios, and others."""
    yield from ends(report)
    for decision in report.decisions if report.capacity is None else ():
        victims = tuple(victim.pod for victim in decision.victims)
        yield decision.pod, fate(FateRow(outcome=decision.outcome, node=decision.node, victims=victims))
    yield from _scenario_verdicts(report).items()


# --- two clusters: kwhatif compare -----------------------------------------------------------------------------------


_PROOFS = {
    "smallest": "",
    "minimal": " (none of these can be left out; smaller sets were not all tried)",
    "none": "not found",
}


def compare(report: Report, row: CompareRow, detail: Detail) -> Iterator[Block]:
    """How much is different, the answers with their causes, and all changes."""
    doubt = qualifier(report)
    sign = doubted("good", doubt) if not row.answers else "doubtful"
    yield Verdict(_headline_of_clusters(row), sign, doubt=doubt)
    if detail.quiet:
        return
    several = len(row.questions) > 1
    columns = (
        *([words("Question")] if several else []),
        name("What"),
        words("Before"),
        words("After"),
        words("Because"),
    )
    answers = [
        (*([each.question] if several else []), each.subject, each.before, each.after, _because(each, row))
        for each in row.answers
    ]
    yield from titled("Answers that differ", Table(columns, answers))
    changes = [(what, list(how)) for what, how in _changes_by_object(row.changes)]
    yield from titled("Changes", Table((name("What"), words("How")), changes))
    if row.questions == ("preempt",):
        yield Sentence("Asked: what becomes of the pending pods; --question asks something else", "faint")


def _headline_of_clusters(row: CompareRow) -> str:
    changes = plural(len(row.changes), "change") if row.changes else "no change"
    asked = len(row.answers) + row.unchanged
    if not asked:
        return f"{changes}; there was nothing to ask about"
    if not row.answers:
        same = "the answer is" if asked == 1 else f"all {asked:,} answers are"
        return f"{changes}: {same} the same"
    if asked == 1:
        return f"{changes}: the answer differs"
    return f"{changes}: {len(row.answers):,} of {plural(asked, 'answer')} differ{'s' if len(row.answers) == 1 else ''}"


def _because(answer: ClusterAnswerRow, row: CompareRow) -> Sequence[str]:
    """The changes that make the difference, one below the other."""
    if not answer.because:
        return [_PROOFS["none"] if answer.tried else "not looked for"]
    said = [
        f"{what}: {'; '.join(how)}"
        for what, how in _changes_by_object([row.changes[place] for place in answer.because])
    ]
    return [*said[:-1], said[-1] + _PROOFS[answer.proof]]


def _changes_by_object(rows: Sequence[ClusterChangeRow]) -> Iterator[tuple[str, Sequence[str]]]:
    """The changed objects, each with all its changes; new and deleted pods by workload."""
    for (what, of_pods), found in groupby(rows, lambda row: (row.workload or row.object, bool(row.workload))):
        some_rows = list(found)
        if of_pods and len({each.object for each in some_rows}) > 1:
            yield f"pods of {what}", list(_of_pods(some_rows))
        elif some_rows[0].change == "times":
            yield plural(int(some_rows[0].object), "object"), ["times and identifiers"]
        else:
            yield some_rows[0].object, [_how(each) for each in some_rows]


def _of_pods(rows: Sequence[ClusterChangeRow]) -> Iterator[str]:
    for change in ("added", "removed", "changed"):
        names = list(dict.fromkeys(ObjectRef.parse(each.object).key for each in rows if each.change == change))
        if names:
            yield f"{len(names):,} {change}: {some(names)}"


def _how(row: ClusterChangeRow) -> str:
    if row.change == "scheduler" and not row.fields:
        return "another configuration"
    if row.change != "changed" and not row.fields:
        return row.change
    return ", ".join(f"{each.field or 'it'} {each.before or '-'} → {each.after or '-'}" for each in row.fields)
