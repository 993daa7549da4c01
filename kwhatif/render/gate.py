"""The gate in blocks: verdict, workloads, findings, evidence; and its findings one by one, as tools need them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import takewhile
from typing import Literal, NamedTuple
from urllib.parse import quote

from kwhatif.render.advise import smallest_fixes
from kwhatif.render.amounts import plural, some
from kwhatif.render.blocks import (
    SIGN,
    Block,
    Cell,
    Item,
    Listing,
    Row,
    Sentence,
    Span,
    Table,
    Tone,
    Verdict,
    exact,
    folded,
    number,
    shown,
    signed,
    titled,
    words,
)
from kwhatif.render.certainty import qualifier
from kwhatif.render.decisions import evidence, groups_first, queued_before
from kwhatif.render.detail import MANY, Detail
from kwhatif.render.outcomes import GATE, Quality, sign_of, workload_groups
from kwhatif.render.safe import safe
from kwhatif.render.verdict import did_you_mean, verdict, why
from kwhatif.report import Report
from kwhatif.report.decision import Decision, FindingRow, WorkloadRow
from kwhatif.report.inputs import ProblemRow, SourceRow
from kwhatif.report.risks import AuditFindingRow

#: A longer path leaves no room for the result beside it.
_LONGEST_PATH = 32
#: How many subjects of equal findings a page names, each with its place.
_MOST_SUBJECTS = 5


def gate(report: Report, detail: Detail) -> Iterator[Block]:
    """Verdict, workloads, findings, evidence."""
    # Problems of manifests are on standard error, as for every command; a page is read without it.
    found = [issue for issue in issues(report) if detail.page or issue.rule != MANIFEST]
    own = _verdict(report, [issue for issue in found if issue.rule != MANIFEST], detail)
    yield from groups_first(report.pod_groups, list(own), detail)
    if detail.quiet:
        return
    source = report.policy.source if report.policy else ""
    yield Sentence(f"By the policy in {source}" if source else "By the default policy", "faint")
    counting = [issue for issue in found if issue.suppressed is None]
    suppressed = [issue for issue in found if issue.suppressed is not None]
    if report.workloads:
        yield _workloads(report.workloads, {issue.subject for issue in counting}, detail)
    if detail.page:
        yield from titled("Findings", _list(counting))
        yield from folded("Suppressed findings", _list(suppressed))
    else:
        yield from shown(_findings([*counting, *suppressed]))
    yield from queued_before(report)
    yield from _evidence(counting, report, detail)
    yield from () if report.advise is None else smallest_fixes(report.advise)


def _verdict(report: Report, found: Sequence[Issue], detail: Detail) -> Iterator[Block]:
    verdict = "fail" if report.problems or report.policy is None else report.policy.verdict
    quality, word = GATE[verdict]
    counts = Counter(issue.level for issue in found if issue.suppressed is None)
    said = [f"{plural(len(report.problems), 'problem')} in manifests"] if report.problems else []
    said += [plural(counts["error"], "failure")] if counts["error"] else []
    said += [plural(counts["warning"], "warning")] if counts["warning"] else []
    suppressed = sum(issue.suppressed is not None for issue in found)
    said += [f"{suppressed} suppressed"] if suppressed else []
    pods = sum(row.replicas for row in report.workloads)
    judged = f"{plural(len(report.workloads), 'workload')}, {plural(pods, 'pod')}"
    doubt = qualifier(report) if verdict == "warn" else ""
    said_so = f"passes, but {doubt}" if doubt else word
    counted = "; ".join([judged, *said])
    yield Verdict(f"The gate {said_so}{'' if detail.page else f': {counted}'}", quality)
    if detail.page:
        yield Sentence(f"{counted}.")


def _workloads(rows: Sequence[WorkloadRow], found: Collection[str], detail: Detail) -> Table:
    """The worst first; if there are many, workloads with equal results are one row, unless wide."""
    is_whole = detail.wide or detail.page
    paths = {row.source.file: place(row.source)[0] for row in rows} if is_whole else short_paths(rows)
    groups = workload_groups(rows, len(rows) if detail.wide else MANY)
    columns = (SIGN, words("Workload"), words("Manifest"), number("Placed"), words("Result"))
    return Table(columns, [_workload(group, paths, found) for group in groups], most=None)


_TONES: dict[str, Tone] = {"Unschedulable": "bad", "Preempts": "warn"}


def _workload(group: Sequence[WorkloadRow], paths: dict[str, str], found: Collection[str]) -> Row:
    """A workload, or those with equal results."""
    first, more = group[0], f" and {len(group) - 1:,} more" if len(group) > 1 else ""
    path = paths[first.source.file]
    sign = sign_of(first)
    if sign == "Placed" and any(row.name in found for row in group):
        sign = "Preempts"
    placed, replicas = sum(row.placed for row in group), sum(row.replicas for row in group)
    fits = more and first.placed == first.replicas and replicas
    return (
        signed(sign),
        f"{first.name}{more}" if more else exact(first.name),
        Cell(exact(_location(path, first.source.line or 0)), "faint"),
        f"{placed:,}/{replicas:,}" if replicas else "-",
        Cell("all pods fit" if fits else first.message, _TONES.get(sign, "")),
    )


def short_paths(rows: Sequence[WorkloadRow]) -> dict[str, str]:
    """Paths as the table shows them: if one is long, without their common folders, then each on its own."""
    paths = {row.source.file: row.source.file.split("/") for row in rows}
    if max(map(len, paths)) <= _LONGEST_PATH:
        return {path: path for path in paths}
    folders = zip(*(parts[:-1] for parts in paths.values()), strict=False)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, folders))
    return {path: _shortened("/".join(["…", *parts[shared:]]) if shared else path) for path, parts in paths.items()}


def _shortened(path: str) -> str:
    while len(path) > _LONGEST_PATH and "/" in path.removeprefix("…/"):
        path = f"…/{path.removeprefix('…/').partition('/')[2]}"
    return path


def _findings(found: Sequence[Issue]) -> Table:
    """Equal findings about several workloads are one row."""
    columns = (SIGN, words("Rule"), words("Workload"), words("Finding"))
    return Table(columns, list(map(_finding, grouped(found))), most=None)


def _finding(group: Sequence[Issue]) -> Row:
    issue = group[0]
    subject = issue.subject if len(group) == 1 else some([each.subject for each in group], 1)
    if issue.suppressed is not None:
        where = "annotation" if issue.in_source else "exception"
        why = f"{issue.message} (suppressed by {where}: {issue.suppressed})"
        return signed("Ignored"), Cell(issue.rule, "faint"), Cell(subject, "faint"), Cell(why, "faint")
    sign, tone = _LEVELS[issue.level]
    return signed(sign), Cell(issue.rule, tone), subject, issue.message


_LEVELS: dict[str, tuple[Quality, Tone]] = {"error": ("bad", "bad"), "warning": ("doubtful", "warn")}


def _list(found: Sequence[Issue]) -> Listing:
    """The findings as a list with their places, for a page."""
    return Listing([Item(tuple(_with_places(group)), sign=_LEVELS[group[0].level][0]) for group in grouped(found)])


def _with_places(group: Sequence[Issue]) -> Iterator[str | Span]:
    issue = group[0]
    yield Span(issue.rule, "strong")
    for rank, each in enumerate(group[:_MOST_SUBJECTS]):
        yield from (",",) if rank else ()
        yield from (" ", exact(each.subject)) if each.subject else ()
        yield from (" (", exact(_location(each.file, each.line)), ")") if each.file else ()
    more = len(group) - _MOST_SUBJECTS
    reason = "" if issue.suppressed is None else f" — {issue.suppressed}"
    yield f"{f' and {more:,} more' if more > 0 else ''}: {issue.message}{reason}"


def _location(file: str, line: int) -> str:
    return f"{file}:{line}" if line else file


def _evidence(counting: Sequence[Issue], report: Report, detail: Detail) -> Iterator[Block]:
    """For each finding on a page, folded; elsewhere for each pod, if everything is wanted."""
    if detail.page:
        explained = {issue.decision.pod: issue.decision for issue in counting if issue.decision is not None}
        for decision in explained.values():
            yield from evidence(decision, report, detail)
    for decision in report.decisions if detail.wide else ():
        if decision.rejected:
            yield verdict(decision, report)
            yield from evidence(decision, report, detail)
            hidden = sum(row.alike for row in decision.rejected)
            if hidden:
                yield Sentence(f"Not shown: {plural(hidden, 'node')} with the same reasons", "faint")


# --- findings for tools: level, place, text, and a stable identity ---------------------------------------------------


#: The rule for manifests that could not be read.
MANIFEST = "manifest"
#: Rules whose findings are about whether pods fit.
_WITH_EVIDENCE = frozenset({"unschedulable", "rollout", "preemption", "budgetViolation"})


class Issue(NamedTuple):
    """A finding, or a manifest that could not be read. All texts are inert."""

    rule: str
    level: Literal["error", "warning"]
    #: The subject: the workload, or the place of a broken manifest; may be empty.
    subject: str
    message: str
    #: Its file and line; "" and 0 if they are not known.
    file: str
    line: int
    #: Equal in each run, as long as rule, workload and file are the same.
    fingerprint: str
    #: The reason why it is suppressed, if it is; and whether the reason is in the manifest.
    suppressed: str | None = None
    in_source: bool = False
    #: One of its pods, with the evidence, if any.
    decision: Decision | None = None

    @property
    def text(self) -> str:
        """The whole sentence."""
        return f"{self.subject}: {self.message}" if self.subject else self.message


def issues(report: Report) -> list[Issue]:
    """All issues: broken manifests, then findings, those that fail first."""
    seen: Counter[str] = Counter()
    made: list[Issue] = []
    for issue in _all(report):
        if issue.fingerprint:
            made.append(issue)
            continue
        identity = f"{issue.rule}\0{issue.subject}\0{issue.file}"
        seen[identity] += 1
        digest = sha256(f"{identity}\0{seen[identity]}".encode()).hexdigest()
        made.append(issue._replace(fingerprint=digest))
    return made


def _all(report: Report) -> Iterator[Issue]:
    if report.audit is not None:
        file = next((safe(each) for each in report.snapshot.sources if each not in ("-", "live")), "")
        yield from (_audited(finding, file) for finding in report.audit.findings)
    yield from map(_broken, report.problems)
    if report.policy is not None:
        explained = {decision.pod: decision for decision in report.decisions if decision.rejected or decision.near}
        yield from (_found(finding, explained) for finding in report.policy.findings)


def _audited(finding: AuditFindingRow, file: str) -> Issue:
    """A finding of an audit: it is about the cluster, so its place is the dump."""
    return Issue(
        rule=f"audit/{finding.harm}",
        level="error" if finding.level == "high" else "warning",
        subject=safe(finding.subjects[0]),
        message=safe(finding.message),
        file=file,
        line=0,
        fingerprint=sha256(finding.id.encode()).hexdigest(),
        suppressed=None if finding.accepted is None else safe(finding.accepted.reason),
    )


def _broken(problem: ProblemRow) -> Issue:
    message = f"{problem.field}: {problem.message}" if problem.field else problem.message
    hint = f" ({problem.hint})" if problem.hint else ""
    file, line = place(problem.source)
    subject = safe(problem.source.object if problem.source else problem.where)
    return Issue(MANIFEST, "error", subject, safe(message + hint), file, line, "")


def _found(finding: FindingRow, explained: Mapping[str, Decision]) -> Issue:
    file, line = place(finding.source)
    decision = next((explained[pod] for pod in finding.pods if pod in explained), None)
    message = finding.message
    if finding.rule in {"unschedulable", "rollout"} and decision is not None and decision.message:
        # The most useful reason, instead of the scheduler's message, which is in the evidence.
        message = message.replace(decision.message, why(decision))
    elif finding.rule == "denied" and decision is not None:
        message += did_you_mean(decision)
    return Issue(
        rule=safe(finding.rule),
        level="error" if finding.level == "fail" else "warning",
        subject=safe(finding.workload),
        message=safe(message),
        file=file,
        line=line,
        fingerprint="",
        suppressed=None if finding.suppressed is None else safe(finding.suppressed),
        in_source=finding.suppressed_by == "annotation",
        decision=decision if finding.rule in _WITH_EVIDENCE else None,
    )


def grouped(found: Iterable[Issue]) -> list[list[Issue]]:
    """The issues; issues that only differ in subject and place are grouped, in the order of the first of each."""
    groups: dict[object, list[Issue]] = {}
    for issue in found:
        alike = (issue.rule, issue.level, issue.message, issue.suppressed, issue.in_source)
        groups.setdefault(alike if issue.subject else issue, []).append(issue)
    return list(groups.values())


def place(source: SourceRow | None) -> tuple[str, int]:
    """File and line; the file as tools know it, relative without `./`."""
    if source is None:
        return "", 0
    return safe(source.file.replace("\\", "/").removeprefix("./")), source.line or 0


def as_uri(file: str) -> str:
    """The file as a URI reference."""
    return quote(file, safe="/:" if file.startswith("/") else "/")
