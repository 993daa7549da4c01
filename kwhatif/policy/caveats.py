"""What a policy makes of caveats: each is a failure, a warning, or nothing but a line in the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from kwhatif.model.caveat import CODES, Caveat, StaleSnapshot
from kwhatif.model.duration import parse_duration
from kwhatif.policy.names import CAVEATS, did_you_mean
from kwhatif.policy.schema import Level, Policy
from kwhatif.report import FindingRow

#: Path and message.
Issue = tuple[str, str]


def level_of(caveat: Caveat, policy: Policy, *, strict: bool) -> Level:
    """The level of a caveat: as the policy says; else `strict` fails what is missing; else its own.

    Of several patterns the code itself comes first, then the first that matches.
    """
    if caveat.code in policy.caveats:
        return policy.caveats[caveat.code]
    for pattern, level in policy.caveats.items():
        if fnmatchcase(caveat.code, pattern):
            return level
    bounded = isinstance(caveat, StaleSnapshot) and policy.snapshot is not None
    if bounded or (strict and caveat.missing):
        return "fail"
    return "warn" if caveat.level == "warn" else "pass"


def findings_of(caveats: Sequence[Caveat], policy: Policy, *, strict: bool) -> Iterator[FindingRow]:
    """A finding for each caveat that does not pass; `render` gives it its words."""
    for caveat in caveats:
        level = level_of(caveat, policy, strict=strict)
        if level in ("fail", "warn"):
            yield FindingRow(
                rule=f"{CAVEATS}/{caveat.code}",
                level="fail" if level == "fail" else "warn",
                message="",
                pods=caveat.pods,
                caveat=caveat,
            )


def max_age(policy: Policy) -> int | None:
    """How old a dump may be, in seconds; None: the policy does not say."""
    return None if policy.snapshot is None else parse_duration(policy.snapshot.max_age) // 1_000_000_000


def mistakes(policy: Policy) -> Iterator[Issue]:
    """Codes that do not exist, and an age that is not one."""
    for pattern in policy.caveats:
        if not any(fnmatchcase(code, pattern) for code in CODES):
            yield f"caveats.{pattern}", f"there is no caveat {pattern!r}{did_you_mean(pattern, CODES)}"
    if policy.snapshot is None:
        return
    try:
        if parse_duration(policy.snapshot.max_age) <= 0:
            yield "snapshot.maxAge", "must be more than 0"
    except ValueError:
        yield "snapshot.maxAge", f"{policy.snapshot.max_age!r} is not a duration such as 6h or 90m"
