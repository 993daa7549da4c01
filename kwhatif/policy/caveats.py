"""The level of each caveat in a policy: a failure, a warning, or only a line in the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.kube.matching.field_errors import Issue
from kwhatif.kube.matching.names import hinted, is_like
from kwhatif.kube.model.caveat import CODES, Caveat
from kwhatif.kube.model.caveat.reading import StaleSnapshot
from kwhatif.kube.model.duration import parse_duration
from kwhatif.policy.names import CAVEATS
from kwhatif.policy.rules import Violation
from kwhatif.policy.schema import Level, Policy
from kwhatif.report.policy import JudgedWorkload


def level_of(caveat: Caveat, policy: Policy, *, strict: bool) -> Level:
    """The level of a caveat: as the policy says; else, with `strict`, missing information fails; else its own.

    If several patterns match, the exact code wins, then the first pattern.
    """
    if caveat.code in policy.caveats:
        return policy.caveats[caveat.code]
    for pattern, level in policy.caveats.items():
        if is_like(caveat.code, pattern):
            return level
    bounded = isinstance(caveat, StaleSnapshot) and policy.snapshot is not None
    if bounded or (strict and caveat.missing):
        return "fail"
    return "warn" if caveat.level == "warn" else "pass"


def doubts(
    caveats: Sequence[Caveat], workloads: Sequence[JudgedWorkload], policy: Policy, *, strict: bool
) -> Iterator[Violation]:
    """The caveats that fail or warn; those about workloads, workload by workload."""
    for caveat in caveats:
        level = level_of(caveat, policy, strict=strict)
        if level not in ("fail", "warn"):
            continue
        found = Violation(f"{CAVEATS}/{caveat.code}", level, pods=caveat.pods, caveat=caveat)
        concerned = [found._replace(workload=each, pods=pods) for each, pods in _concerned(caveat, workloads)]
        yield from concerned or [found]


def _concerned(caveat: Caveat, workloads: Sequence[JudgedWorkload]) -> Iterator[tuple[JudgedWorkload, tuple[str, ...]]]:
    about = frozenset(caveat.pods)
    for workload in workloads:
        pods = tuple(decision.pod for decision in workload.decisions if decision.pod in about)
        if pods or (caveat.subject and caveat.subject == workload.row.name):
            yield workload, pods


def max_age(policy: Policy) -> int | None:
    """The maximum age of a dump, in seconds; None: the policy does not say."""
    return None if policy.snapshot is None else parse_duration(policy.snapshot.max_age) // 1_000_000_000


def mistakes(policy: Policy) -> Iterator[Issue]:
    """Codes that do not exist, and an invalid age."""
    for pattern in policy.caveats:
        if not any(is_like(code, pattern) for code in CODES):
            yield f"caveats.{pattern}", hinted(f"there is no caveat {pattern!r}", pattern, CODES)
    if policy.snapshot is None:
        return
    try:
        if parse_duration(policy.snapshot.max_age) <= 0:
            yield "snapshot.maxAge", "must be more than 0"
    except ValueError:
        yield "snapshot.maxAge", f"{policy.snapshot.max_age!r} is not a duration such as 6h or 90m"
