"""Evaluates the policy for decisions and caveats, and applies suppressions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

import msgspec

from kwhatif.kube.matching.field_errors import hinted, is_like
from kwhatif.kube.model.caveat import Caveat
from kwhatif.policy.aftermath import Audited, Fragile, violation_of, violations_after, violations_of_audit
from kwhatif.policy.build import Rulebook
from kwhatif.policy.rules import Hit, Labels, Rule, Violation, doubts
from kwhatif.policy.schema import CAVEATS, KINDS, ExceptionRule, all_names, matches, unknown_rule
from kwhatif.report.decision import ANNOTATION, FindingRow, JudgedWorkload, PolicyRow, PolicyVerdict
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
        *(each for rule in book.rules(labels) for each in _violations(rule, workloads, reacted)),
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
    found = list(rule.find(workloads))
    known = set(map(_gist, found))
    found += [
        hit._replace(message=f"once all have reacted, {hit.message}")
        for hit in rule.find(reacted)
        if _gist(hit) not in known
    ]
    return (Violation(rule.name, rule.level, hit.message, hit.workload, hit.pods) for hit in found)


def _gist(hit: Hit) -> tuple[str, str]:
    """The subject and the message, without the scheduler's message after a colon."""
    return hit.workload.row.name, hit.message.partition(": ")[0]


def _verdict(findings: Sequence[FindingRow]) -> PolicyVerdict:
    levels = {finding.level for finding in findings if finding.suppressed is None}
    return "fail" if "fail" in levels else "warn" if levels else "pass"


def _finding(book: Rulebook, today: date, found: Violation, by_name: Mapping[str, JudgedWorkload]) -> FindingRow:
    """A finding, suppressed if its workload or the policy says so; one about all workloads by exceptions for `*`."""
    names = (found.workload.row.name,) if found.workload else found.names or ("",)
    workload = found.workload or by_name.get(names[0])
    ignore = workload.ignore if workload else ""
    annotation = excused_by_annotation(found.rule, ignore, today, book.policy.annotations.allow)
    exception = excused_by_policy(found.rule, names, book.policy.exceptions, today)
    return FindingRow(
        rule=found.rule,
        level="fail" if found.level == "fail" else "warn",
        message=found.message,
        workload=names[0],
        pods=found.pods,
        source=workload.row.source if workload else None,
        suppressed=annotation if annotation is not None else exception,
        suppressed_by="annotation" if annotation is not None else "exception" if exception is not None else None,
        caveat=found.caveat,
    )


def _annotations(
    book: Rulebook, workloads: Sequence[JudgedWorkload], found: Sequence[FindingRow], today: date
) -> Iterator[FindingRow]:
    """Problems of annotations: entries that are not valid, expired, or not allowed."""
    allow = book.policy.annotations.allow
    for workload in workloads:
        if not workload.ignore:
            continue
        row = workload.row
        said = [("annotation", complaint) for complaint in complaints(workload.ignore)]
        said += [
            ("expiredException", f"{ANNOTATION}: expired on {excuse.until}: {excuse.reason}")
            for excuse in excuses(workload.ignore)
            if excuse.has_expired(today)
        ]
        said += [
            ("annotation", f"{ANNOTATION}: the policy does not let an annotation suppress {rule}")
            for rule in dict.fromkeys(finding.rule for finding in found if finding.workload == row.name)
            if wants_excuse(rule, workload.ignore) and excused_by_annotation(rule, f"{rule}: -", today, allow) is None
        ]
        for rule, message in said:
            yield FindingRow(rule=rule, level="warn", message=message, workload=row.name, source=row.source)


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


def _unknown_names(book: Rulebook, known: KnownNames) -> Iterator[FindingRow]:
    """Names in rules that do not exist in the cluster; patterns may match future names."""
    named: dict[tuple[str, str], None] = {}
    for rule, kind, names in book.names():
        there = known.namespaces if kind == "namespace" else known.priority_classes
        for name in names:
            if there is not None and name not in there and not set(name) & set("*?["):
                named[rule, hinted(f"{rule} names {kind} {name}, which the cluster does not have", name, there)] = None
    for _, message in named:
        yield FindingRow(
            rule="unknownName",
            level="warn",
            message=message,
            source=SourceRow(file=book.source) if book.source else None,
        )


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
            yield f"{ANNOTATION}: {excuse}"


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
