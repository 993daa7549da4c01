"""`kwhatif.audit`: what in this cluster will hurt, as a library."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from kwhatif.api.arguments import require_known, require_session
from kwhatif.api.notebook import answered
from kwhatif.api.options import AuditArguments
from kwhatif.api.simulate import parameters_of
from kwhatif.errors import InputError, Problem
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.matching.field_errors import did_you_mean, nearest
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.sources.manifests.given import named_input
from kwhatif.sources.manifests.named import require_namespace
from kwhatif.sources.text.files import standard_input
from kwhatif.sources.timeout import parse_timeout

if TYPE_CHECKING:
    from kwhatif.report.risks import AuditRow, ProbeName


def audit(
    session: Session,
    *,
    namespace: str | None = None,
    today: date | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Unpack[AuditArguments],
) -> Report:
    """What in this cluster will hurt, the worst first, each proven by playing it?

    Args:
        session: the cluster; it stays as it is.
        namespace: only findings about workloads there.
        today: decides which accepted findings have expired.
        progress: is called with how many what-ifs are done, of how many.
        options: what is asked, what is accepted, and who plays the what-ifs, see `AuditArguments`.

    Raises:
        InputError: there is no such kind of what-if, namespace or finding; the baseline is wrong.
        ValueError: a duration is not valid.
    """
    require_session(session, "audit")
    require_known(options, AuditArguments, "audit")
    from kwhatif.api.scenarios import runner
    from kwhatif.questions.audit.audit import AuditQuestion, ask_audit
    from kwhatif.questions.audit.scenario import AuditOutcome
    from kwhatif.sources.baseline import accepted_in, read_baseline

    probes = _probes(options.get("only", ""))
    require_namespace(namespace or "", session.cluster)
    baseline, explain = options.get("baseline", ""), options.get("explain", "")
    accepted = read_baseline(named_input(baseline, "baseline"), stdin=standard_input()) if baseline else None
    question = AuditQuestion(
        probes=probes,
        namespace=namespace or "",
        fixes=options.get("fixes", 10),
        explain=explain,
        owner_label=options.get("owner_label", "team"),
    )
    limit = parse_timeout(options.get("budget", "0"))
    end = time.monotonic() + limit if limit else float("inf")

    def goes_on() -> bool:
        return time.monotonic() < end

    run = runner(options, AuditOutcome, progress, goes_on)
    with rare_garbage_collection():
        report = ask_audit(session, question, parameters_of(options), run, goes_on)
    row = report.audit
    assert row is not None, "it was asked"
    if explain and explain not in (each.id for each in row.findings):
        raise InputError([_no_finding(explain, row)])
    if accepted is not None:
        row = accepted_in(row, accepted, today or datetime.now(UTC).date())
    return answered(replace(report, audit=row), session)


def _probes(only: str) -> tuple[ProbeName, ...]:
    """The probes of these names, in the order in which they are asked; "": all."""
    from kwhatif.questions.audit.probes import PROBES

    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [
        Problem("--only", f"there is no {name!r}", hint=_hint(name, PROBES)) for name in names if name not in PROBES
    ]
    if unknown:
        raise InputError(unknown)
    return tuple(name for name in PROBES if name in names or not names)


def _hint(name: str, known: Iterable[str]) -> str:
    names = list(known)
    return did_you_mean(nearest(name, names)) or f"there are {', '.join(names)}"


def _no_finding(identifier: str, row: AuditRow) -> Problem:
    if row.stopped:
        played, of = (sum(getattr(each, name) for each in row.probes) for name in ("judged", "scenarios"))
        said = f"finding {identifier} was not reached: {played:,} of {of:,} what-ifs were played"
        return Problem("--explain", said, hint="--only asks fewer kinds; a longer --budget, or none, reaches more")
    near = nearest(identifier, [each.id for each in row.findings])
    return Problem("--explain", f"there is no finding {identifier}", hint=did_you_mean(near))
