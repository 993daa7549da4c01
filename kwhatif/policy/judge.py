"""From decisions to a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from kwhatif.policy.build import Rulebook
from kwhatif.policy.rules import Hit, Judged, Labels, Rule
from kwhatif.policy.suppression import complaints, excused_by_annotation, excused_by_policy, has_expired
from kwhatif.report import FindingRow, PolicyRow, PolicyVerdict, SourceRow


def judge(
    book: Rulebook,
    workloads: Sequence[Judged],
    labels: Mapping[str, Labels],
    *,
    today: date,
    unknown: Sequence[str] = (),
) -> PolicyRow:
    """What the policy says to the decisions about these workloads.

    Args:
        book: the policy.
        workloads: in the order of the manifests.
        labels: of every node, by name.
        today: tells which exceptions have expired.
        unknown: caveats, where the gate is strict about them.
    """
    findings = [
        *(_finding(book, rule, hit, today) for rule in book.rules(labels) for hit in rule.find(workloads)),
        *(FindingRow(rule="caveats", level="fail", message=caveat) for caveat in unknown),
        *_misunderstood(workloads),
        *_expired(book, today),
    ]
    order = {workload.row.name: number for number, workload in enumerate(workloads)}
    findings.sort(key=lambda finding: (finding.level != "fail", order.get(finding.workload, len(order))))
    return PolicyRow(verdict=_verdict(findings), source=book.source, findings=tuple(findings))


def _verdict(findings: Sequence[FindingRow]) -> PolicyVerdict:
    levels = {finding.level for finding in findings if finding.suppressed is None}
    return "fail" if "fail" in levels else "warn" if levels else "pass"


def _finding(book: Rulebook, rule: Rule, hit: Hit, today: date) -> FindingRow:
    workload = hit.workload.row
    annotation = excused_by_annotation(rule.name, hit.workload.ignore)
    exception = excused_by_policy(rule.name, workload.name, book.policy.exceptions, today)
    return FindingRow(
        rule=rule.name,
        level="fail" if rule.level == "fail" else "warn",
        message=hit.message,
        workload=workload.name,
        pods=hit.pods,
        source=workload.source,
        suppressed=annotation if annotation is not None else exception,
        suppressed_by="annotation" if annotation is not None else "exception" if exception is not None else None,
    )


def _misunderstood(workloads: Sequence[Judged]) -> Iterator[FindingRow]:
    for workload in workloads:
        row = workload.row
        for complaint in complaints(workload.ignore):
            yield FindingRow(rule="annotation", level="warn", message=complaint, workload=row.name, source=row.source)


def _expired(book: Rulebook, today: date) -> Iterator[FindingRow]:
    for exception, line in zip(book.policy.exceptions, book.exception_lines, strict=True):
        if has_expired(exception, today):
            yield FindingRow(
                rule="expiredException",
                level="warn",
                message=f"the exception of {', '.join(exception.workloads)} from {', '.join(exception.rules)} expired"
                f" on {exception.expires}: {exception.reason}",
                source=SourceRow(file=book.source, line=line or None) if book.source else None,
            )
