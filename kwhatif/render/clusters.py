"""`kwhatif compare` in blocks: what is different between two clusters, and which answers differ because of what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.blocks import Block, Sentence, Table, Verdict, name, titled, words
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import doubted
from kwhatif.render.qualifiers import qualifier
from kwhatif.report import Report
from kwhatif.report.clusters import ClusterAnswerRow, ClusterChangeRow, CompareRow
from kwhatif.words.amounts import plural, some

_PROOFS = {
    "smallest": "",
    "minimal": " (none of these can be left out; smaller sets were not all tried)",
    "none": "not found",
}


def compare(report: Report, row: CompareRow, detail: Detail) -> Iterator[Block]:
    """How much is different, the answers with their causes, and all changes."""
    doubt = qualifier(report)
    sign = doubted("good", doubt) if not row.answers else "doubtful"
    yield Verdict(_headline(row), sign, doubt=doubt)
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
    changes = [(what, list(how)) for what, how in _changes(row.changes)]
    yield from titled("Changes", Table((name("What"), words("How")), changes))
    if row.questions == ("preempt",):
        yield Sentence("Asked: what becomes of the pending pods; --question asks something else", "faint")


def _headline(row: CompareRow) -> str:
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
    said = [f"{what}: {'; '.join(how)}" for what, how in _changes([row.changes[place] for place in answer.because])]
    return [*said[:-1], said[-1] + _PROOFS[answer.proof]]


def _changes(rows: Sequence[ClusterChangeRow]) -> Iterator[tuple[str, Sequence[str]]]:
    """What is changed, and how: all changes of an object together; for new and deleted pods the workload."""
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
