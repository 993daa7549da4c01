"""What a team has agreed on, in files: the policy of the gate, and the baseline of an audit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import Issue, problems, without_nulls
from kwhatif.kube.model.meta import FrozenMeta
from kwhatif.policy.build import Rulebook, build_rulebook
from kwhatif.report.risks import AcceptedRow, AuditRow, BaselineRow
from kwhatif.report.row import API_VERSION
from kwhatif.sources.decoding.config_file import read_config
from kwhatif.sources.text.files import exists

NAMES = ("kwhatif.yaml", ".kwhatif.yaml")


def find_policy(folder: Path) -> Path | None:
    """The policy file in the folder, or in the root of the repository that it belongs to."""
    root = next((above for above in (folder, *folder.parents) if exists(str(above / ".git"))), folder)
    places = [place / name for place in dict.fromkeys((folder, root)) for name in NAMES]
    return next((place for place in places if exists(str(place)) and os.path.isfile(place)), None)  # noqa: PTH113 - never raises


def read_policy(path: str, *, stdin: BinaryIO) -> Rulebook:
    """The policy in a file.

    Raises:
        InputError: with everything that is wrong with it, and the lines.
    """
    file = read_config(path, stdin=stdin, kind="Policy")
    try:
        return build_rulebook(file.data, file.name, file.line_of)
    except InputError as failure:
        raise file.located(failure) from None


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


class ReadBaseline(msgspec.Struct, frozen=True):
    """A baseline, and where it was read from."""

    source: str
    baseline: Baseline


def read_baseline(path: str, *, stdin: BinaryIO) -> ReadBaseline:
    """The baseline in a file.

    Raises:
        InputError: with everything that is wrong with it, and the lines.
    """
    file = read_config(path, stdin=stdin, kind=KIND)
    data = without_nulls(file.data)
    wrong = [*problems(data, Baseline), *_mistakes(data)]
    if (data.get("apiVersion"), data.get("kind")) != (API_VERSION, KIND):
        wrong = [("", f"is not a baseline: expected an object with apiVersion {API_VERSION} and kind {KIND}")]
    if not wrong:
        try:
            return ReadBaseline(file.name, msgspec.convert(data, Baseline))
        except msgspec.ValidationError as failure:
            message, _, place = str(failure).partition(" - at `$")
            wrong = [(place.rstrip("`").lstrip("."), message)]
    raise file.located(InputError([Problem(file.name, message, field=place) for place, message in wrong]))


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


def accepted_in(row: AuditRow, read: ReadBaseline, today: date) -> AuditRow:
    """The audit with the findings that the baseline accepts today."""
    known = {each.id: each for each in read.baseline.accepted}
    findings = tuple(
        replace(finding, accepted=_accepted(known[finding.id]))
        if finding.id in known and not _is_over(known[finding.id], today)
        else finding
        for finding in row.findings
    )
    there = {finding.id for finding in row.findings}
    judged = {probe.probe for probe in row.probes if not probe.skipped and probe.judged == probe.scenarios}
    gone = tuple(each.id for each in read.baseline.accepted if each.id not in there) if judged else ()
    expired = tuple(each.id for each in read.baseline.accepted if each.id in there and _is_over(each, today))
    return replace(row, findings=findings, baseline=BaselineRow(source=read.source, gone=gone, expired=expired))


def _is_over(each: AcceptedFinding, today: date) -> bool:
    return each.until is not None and today > each.until


def _accepted(each: AcceptedFinding) -> AcceptedRow:
    return AcceptedRow(
        owner=each.owner, reason=each.reason, until=None if each.until is None else each.until.isoformat()
    )
