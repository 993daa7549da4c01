"""Who is excused: by the annotation `kwhatif.dev/ignore` on the object, or by an exception of the policy.

The annotation says `RULE[, RULE…]: REASON`, several of them on lines of their own or separated by `;`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase
from typing import NamedTuple

from kwhatif.policy.rules import KINDS, matches
from kwhatif.policy.schema import ExceptionRule
from kwhatif.policy.words import ANNOTATION


class Excuse(NamedTuple):
    """Rules that an annotation suppresses, and the reason it gives."""

    rules: tuple[str, ...]
    reason: str


def excuses(annotation: str) -> Iterator[Excuse]:
    """What the annotation suppresses; see `complaints` about the rest of it."""
    for text in _entries(annotation):
        excuse = _excuse(text)
        if isinstance(excuse, Excuse):
            yield excuse


def complaints(annotation: str) -> Iterator[str]:
    """What is wrong with the annotation: such an entry suppresses nothing."""
    for text in _entries(annotation):
        excuse = _excuse(text)
        if isinstance(excuse, str):
            yield f"{ANNOTATION}: {excuse}"


def _entries(annotation: str) -> Iterator[str]:
    return (entry for line in annotation.splitlines() for entry in map(str.strip, line.split(";")) if entry)


def _excuse(text: str) -> Excuse | str:
    names, _, reason = text.partition(":")
    rules = tuple(name.strip() for name in names.split(","))
    unknown = [rule for rule in rules if not any(matches(rule.partition("/")[0], kind) for kind in KINDS)]
    if unknown:
        return f"there is no rule {unknown[0]!r}"
    if not reason.strip():
        return f"{text!r} gives no reason: write RULE: REASON"
    return Excuse(rules, reason.strip())


def excused_by_annotation(rule: str, annotation: str) -> str | None:
    """The reason for which the annotation excuses its object from the rule."""
    for excuse in excuses(annotation) if annotation else ():
        if any(matches(pattern, rule) for pattern in excuse.rules):
            return excuse.reason
    return None


def excused_by_policy(rule: str, workload: str, exceptions: Sequence[ExceptionRule], today: date) -> str | None:
    """The reason for which the policy excuses the workload from the rule today."""
    for exception in exceptions:
        if (
            not has_expired(exception, today)
            and any(matches(pattern, rule) for pattern in exception.rules)
            and any(fnmatchcase(workload, pattern) for pattern in exception.workloads)
        ):
            return exception.reason
    return None


def has_expired(exception: ExceptionRule, today: date) -> bool:
    """Whether the exception's last day is over."""
    return today > exception.expires
