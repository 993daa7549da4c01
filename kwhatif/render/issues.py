"""The findings of a gate, one by one, as tools need them: level, place, text, and a stable identity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Literal, NamedTuple
from urllib.parse import quote

from kwhatif.render.safe import safe
from kwhatif.render.verdict import did_you_mean, why
from kwhatif.report import Report
from kwhatif.report.decision import Decision, FindingRow
from kwhatif.report.inputs import ProblemRow, SourceRow
from kwhatif.report.risks import AuditFindingRow

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
    #: Its place; "" and 0 if that is not known.
    file: str
    line: int
    #: The same in each run, as long as rule, workload and file are.
    fingerprint: str
    #: Why it is suppressed, if so; and whether the reason is in the manifest.
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
        # The most useful reason instead of the scheduler's words, which are with the evidence.
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
    """The issues; those that only differ in subject and place are together, in the order of the first."""
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
