"""The baseline of an audit: findings that a team has accepted, and an audit judged by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import Issue, problems, without_nulls
from kwhatif.kube.model.meta import FrozenMeta
from kwhatif.report.risks import AcceptedRow, AuditRow, BaselineRow
from kwhatif.report.row import API_VERSION

KIND = "AuditBaseline"


class _Part(
    msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Base of all parts of a baseline."""


class AcceptedFinding(_Part):
    """One accepted finding: `until` is the last day; without it, it is accepted without end."""

    id: str
    reason: str
    owner: str = ""
    until: date | None = None


class Baseline(_Part):
    """All accepted findings of a cluster, or of a team."""

    api_version: Literal["kwhatif.dev/v1"] = "kwhatif.dev/v1"
    kind: Literal["AuditBaseline"] = "AuditBaseline"
    accepted: tuple[AcceptedFinding, ...] = ()


def build_baseline(given: Mapping[str, Any], source: str) -> Baseline:
    """The baseline that a file holds.

    Raises:
        InputError: with everything that is wrong with it.
    """
    data = without_nulls(given)
    wrong = [*problems(data, Baseline), *_mistakes(data)]
    if (data.get("apiVersion"), data.get("kind")) != (API_VERSION, KIND):
        wrong = [("", f"is not a baseline: expected an object with apiVersion {API_VERSION} and kind {KIND}")]
    if not wrong:
        try:
            return msgspec.convert(data, Baseline)
        except msgspec.ValidationError as failure:
            message, _, place = str(failure).partition(" - at `$")
            wrong = [(place.rstrip("`").lstrip("."), message)]
    raise InputError([Problem(source, message, field=place) for place, message in wrong])


def _mistakes(data: object) -> Sequence[Issue]:
    """Identifiers that are accepted twice, and empty reasons."""
    if not isinstance(data, Mapping) or not isinstance(data.get("accepted"), list):
        return ()
    seen: set[str] = set()
    found: list[tuple[str, str]] = []
    for place, each in enumerate(data["accepted"]):
        if not isinstance(each, Mapping):
            continue
        if each.get("id") in seen:
            found.append((f"accepted[{place}].id", "is accepted already"))
        seen.add(str(each.get("id")))
        if isinstance(each.get("reason"), str) and not each["reason"].strip():
            found.append((f"accepted[{place}].reason", "is empty: say why it is accepted"))
    return found


def accepted_in(row: AuditRow, baseline: Baseline, source: str, today: date) -> AuditRow:
    """The audit with the findings that the baseline of this file accepts today."""
    known = {each.id: each for each in baseline.accepted}
    findings = tuple(
        replace(finding, accepted=_accepted(known[finding.id]))
        if finding.id in known and not _is_over(known[finding.id], today)
        else finding
        for finding in row.findings
    )
    there = {finding.id for finding in row.findings}
    judged = {probe.probe for probe in row.probes if not probe.skipped and probe.judged == probe.scenarios}
    gone = tuple(each.id for each in baseline.accepted if each.id not in there) if judged else ()
    expired = tuple(each.id for each in baseline.accepted if each.id in there and _is_over(each, today))
    return replace(row, findings=findings, baseline=BaselineRow(source=source, gone=gone, expired=expired))


def _is_over(each: AcceptedFinding, today: date) -> bool:
    return each.until is not None and today > each.until


def _accepted(each: AcceptedFinding) -> AcceptedRow:
    return AcceptedRow(
        owner=each.owner, reason=each.reason, until=None if each.until is None else each.until.isoformat()
    )
