"""Evaluates the policy for decisions and caveats, and applies suppressions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

import msgspec

from kwhatif.kube.matching.field_errors import is_like, nearest
from kwhatif.kube.model.caveat import Caveat
from kwhatif.policy.aftermath import violation_of, violations_after, violations_of_audit
from kwhatif.policy.build import Rulebook
from kwhatif.policy.rules import Hit, Labels, MessageOf, Rule, doubts
from kwhatif.policy.schema import CAVEATS, KINDS, ExceptionRule, all_names, matches, unknown_rule
from kwhatif.policy.violations import (
    AnnotationExpired,
    AnnotationForbidden,
    AnnotationWrong,
    Audited,
    ExceptionExpired,
    Fact,
    Finding,
    Fragile,
    NameUnknown,
    PodsStuck,
    Violation,
)
from kwhatif.report.decision import FindingRow, JudgedWorkload, PolicyRow, PolicyVerdict
from kwhatif.report.inputs import SourceRow
from kwhatif.report.story import Story


class KnownNames(msgspec.Struct, frozen=True):
    """Names that exist in the cluster; None if not known."""

    namespaces: Collection[str] | None = None
    priority_classes: Collection[str] | None = None


def judge(  # noqa: PLR0913 - all that a verdict rests on
    book: Rulebook,
    workloads: Sequence[JudgedWorkload],
    labels: Mapping[str, Labels],
    *,
    today: date,
    message_of: MessageOf,
    reacted: Sequence[JudgedWorkload] = (),
    caveats: Sequence[Caveat] = (),
    strict: bool = False,
    known: KnownNames = KnownNames(),  # noqa: B008 - frozen
    story: Story | None = None,
    fragile: Sequence[Fragile] = (),
    audited: Audited = Audited(),  # noqa: B008 - frozen
) -> PolicyRow:
    """Evaluate the policy for the decisions about these workloads.

    Args:
        book: the policy.
        workloads: the workloads in the order of the manifests.
        labels: the labels of every node, by name.
        today: the date for the expiry of exceptions.
        message_of: the sentence about a workload, which expressions may read.
        reacted: the workloads after all reactions to evictions; empty without reactions.
        caveats: the caveats of the report.
        strict: whether missing information fails, unless the policy says otherwise.
        known: the names that patterns of the policy can match.
        story: the simulated events, if the policy has rules about them.
        fragile: the result of the rule `survives`.
        audited: the findings of an audit that the manifests cause, if the policy has the rule `audit`.
    """
    by_name = {workload.row.name: workload for workload in workloads}
    violations = (
        *(each for rule in book.rules(labels, message_of) for each in _violations(rule, workloads, reacted)),
        *violations_after(book.policy.aftermath, story),
        *map(violation_of, fragile),
        *violations_of_audit(book.policy.audit, audited),
        *doubts(caveats, workloads, book.policy, strict=strict),
    )
    found = [_finding(book, today, each, by_name) for each in violations]
    findings = [
        *found,
        *_annotations(book, workloads, found, today),
        *_expired(book, today),
        *_unknown_names(book, known),
    ]
    order = {workload.row.name: number for number, workload in enumerate(workloads)}
    findings.sort(key=lambda row: (row.level != "fail", order.get(row.workload, len(order))))
    return PolicyRow(verdict=_verdict(findings), source=book.source, findings=tuple(findings))


def _violations(
    rule: Rule, workloads: Sequence[JudgedWorkload], reacted: Sequence[JudgedWorkload]
) -> Iterator[Violation]:
    """The violations of the rule, and further ones after all reactions."""
    known: set[tuple[str, Fact]] = set()
    ends = {workload.row.name: workload for workload in reacted}
    for hit in rule.find(workloads):
        name = hit.workload.row.name
        known.add((name, hit.fact))
        yield _violation(rule, hit)._replace(later=_later(hit, ends.get(name)))
    for hit in rule.find(reacted):
        if (hit.workload.row.name, hit.fact) not in known:
            yield _violation(rule, hit)._replace(reacted=True)


def _later(hit: Hit, end: JudgedWorkload | None) -> tuple[str, ...]:
    """The nodes that pending pods of the hit have at the end."""
    if end is None or not isinstance(hit.fact, PodsStuck) or hit.fact.outcome != "Unschedulable":
        return ()
    names = {decision.pod for decision in hit.decisions}
    return tuple(each.node for each in end.decisions if each.pod in names and each.outcome == "Placed" and each.node)


def _violation(rule: Rule, hit: Hit) -> Violation:
    pods = tuple(decision.pod for decision in hit.decisions)
    return Violation(rule.name, rule.level, hit.fact, hit.workload, hit.decisions, pods, error=hit.error)


def _verdict(findings: Sequence[FindingRow]) -> PolicyVerdict:
    levels = {finding.level for finding in findings if finding.suppressed is None}
    return "fail" if "fail" in levels else "warn" if levels else "pass"


def _finding(book: Rulebook, today: date, found: Violation, by_name: Mapping[str, JudgedWorkload]) -> Finding:
    """A finding, suppressed if its workload or the policy says so; one about all workloads by exceptions for `*`."""
    names = (found.workload.row.name,) if found.workload else found.names or ("",)
    workload = found.workload or by_name.get(names[0])
    ignore = workload.ignore if workload else ""
    annotation = excused_by_annotation(found.rule, ignore, today, book.policy.annotations.allow)
    exception = excused_by_policy(found.rule, names, book.policy.exceptions, today)
    return Finding(
        rule=found.rule,
        level="fail" if found.level == "fail" else "warn",
        message="",
        workload=names[0],
        pods=found.pods,
        source=workload.row.source if workload else None,
        suppressed=annotation if annotation is not None else exception,
        suppressed_by="annotation" if annotation is not None else "exception" if exception is not None else None,
        caveat=found.fact if isinstance(found.fact, Caveat) else None,
        violation=found,
    )


def _warning(rule: str, fact: Fact, source: SourceRow | None, workload: str = "") -> Finding:
    """A finding about the policy itself, or about an annotation; it cannot be suppressed."""
    violation = Violation(rule, "warn", fact)
    return Finding(rule=rule, level="warn", message="", workload=workload, source=source, violation=violation)


def _annotations(
    book: Rulebook, workloads: Sequence[JudgedWorkload], found: Sequence[FindingRow], today: date
) -> Iterator[Finding]:
    """Problems of annotations: entries that are not valid, expired, or not allowed."""
    allow = book.policy.annotations.allow
    for workload in workloads:
        if not workload.ignore:
            continue
        row = workload.row
        for complaint in complaints(workload.ignore):
            yield _warning("annotation", AnnotationWrong(complaint), row.source, row.name)
        for excuse in excuses(workload.ignore):
            if excuse.until is not None and excuse.has_expired(today):
                fact = AnnotationExpired(excuse.until, excuse.reason)
                yield _warning("expiredException", fact, row.source, row.name)
        for rule in dict.fromkeys(finding.rule for finding in found if finding.workload == row.name):
            if wants_excuse(rule, workload.ignore) and excused_by_annotation(rule, f"{rule}: -", today, allow) is None:
                yield _warning("annotation", AnnotationForbidden(rule), row.source, row.name)


def _expired(book: Rulebook, today: date) -> Iterator[Finding]:
    for exception, line in zip(book.policy.exceptions, book.exception_lines, strict=True):
        if has_expired(exception, today):
            source = SourceRow(file=book.source, line=line or None) if book.source else None
            yield _warning("expiredException", ExceptionExpired(exception), source)


def _unknown_names(book: Rulebook, known: KnownNames) -> Iterator[Finding]:
    """Names in rules that do not exist in the cluster; patterns may match future names."""
    source = SourceRow(file=book.source) if book.source else None
    named: dict[NameUnknown, None] = {}
    for rule, kind, names in book.names():
        there = known.namespaces if kind == "namespace" else known.priority_classes
        for name in names:
            if there is not None and name not in there and not set(name) & set("*?["):
                named[NameUnknown(rule, kind, name, tuple(nearest(name, there)[:1]))] = None
    yield from (_warning("unknownName", fact, source) for fact in named)


# --- suppressed findings ---------------------------------------------------------------------------------------------
#
# The annotation `kwhatif.dev/ignore` is `RULE[, RULE…]: REASON`; several entries are on separate lines, or separated
# by `;`. A reason may end with its last day: `(until 2026-12-31)`.


_UNTIL = re.compile(r"\(until\s++([^()]*)\)\s*$")


class Excuse(NamedTuple):
    """Rules that an annotation suppresses, and the reason."""

    rules: tuple[str, ...]
    reason: str
    #: The last day; None: no limit.
    until: date | None = None

    def has_expired(self, today: date) -> bool:
        """Whether the last day is over."""
        return self.until is not None and today > self.until


def excuses(annotation: str) -> Iterator[Excuse]:
    """The valid entries of the annotation; `complaints` are about the others."""
    for text in _entries(annotation):
        excuse = _excuse(text)
        if isinstance(excuse, Excuse):
            yield excuse


def complaints(annotation: str) -> Iterator[str]:
    """The problems of the annotation; invalid entries suppress nothing."""
    for text in _entries(annotation):
        excuse = _excuse(text)
        if isinstance(excuse, str):
            yield excuse


def _entries(annotation: str) -> Iterator[str]:
    return (entry for line in annotation.splitlines() for entry in map(str.strip, line.split(";")) if entry)


def _excuse(text: str) -> Excuse | str:
    names, _, reason = text.partition(":")
    rules = tuple(name.strip() for name in names.split(","))
    # The names that policies give to rules are not known here, so only the kind is checked.
    wrong = next(filter(None, (unknown_rule(rule, [*all_names(), *_kind(rule)]) for rule in rules)), "")
    if wrong:
        return wrong
    if not reason.strip():
        return f"{text!r} gives no reason: write RULE: REASON"
    end = _UNTIL.search(reason)
    try:
        return Excuse(rules, reason.strip(), date.fromisoformat(end[1]) if end else None)
    except ValueError:
        return f"{reason.strip()!r}: write the last day as (until YYYY-MM-DD)"


def _kind(rule: str) -> Sequence[str]:
    """The name itself, if its kind has named rules."""
    kind, slash, _ = rule.partition("/")
    return (rule,) if slash and kind != CAVEATS and any(matches(kind, known) for known in KINDS) else ()


def excused_by_annotation(rule: str, annotation: str, today: date, allowed: Sequence[str] = ("*",)) -> str | None:
    """The reason by which the annotation suppresses the rule today, if the policy allows it; otherwise None."""
    if not annotation or not any(matches(pattern, rule) for pattern in allowed):
        return None
    for excuse in excuses(annotation):
        if not excuse.has_expired(today) and any(matches(pattern, rule) for pattern in excuse.rules):
            return excuse.reason
    return None


def wants_excuse(rule: str, annotation: str) -> bool:
    """Whether the annotation would suppress the rule if it were allowed and not expired."""
    return any(matches(pattern, rule) for excuse in excuses(annotation) for pattern in excuse.rules)


def excused_by_policy(
    rule: str, workloads: Sequence[str], exceptions: Sequence[ExceptionRule], today: date
) -> str | None:
    """The reason of the exception that applies to one of the workloads and the rule today; None if there is none.

    One for a custom resource (`RayCluster ml/ray`) is for all of its parts (`RayCluster ml/ray (cpu)`).
    """
    names = {*workloads, *(workload.partition(" (")[0] for workload in workloads)}
    for exception in exceptions:
        if (
            not has_expired(exception, today)
            and any(matches(pattern, rule) for pattern in exception.rules)
            and any(is_like(name, pattern) for name in names for pattern in exception.workloads)
        ):
            return exception.reason
    return None


def has_expired(exception: ExceptionRule, today: date) -> bool:
    """Whether the exception's last day is over."""
    return today > exception.expires
