"""Suppression of findings by the annotation `kwhatif.dev/ignore`, or by an exception of the policy.

The annotation is `RULE[, RULE…]: REASON`; several entries are on separate lines or separated by `;`. A reason may end
with its last day: `(until 2026-12-31)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from kwhatif.kube.matching.field_errors import is_like
from kwhatif.policy.names import CAVEATS, KINDS, all_names, matches, unknown_rule
from kwhatif.policy.schema import ExceptionRule
from kwhatif.report.decision import ANNOTATION

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
    # The names that policies give to rules of a kind are not known here: the kind is enough.
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
