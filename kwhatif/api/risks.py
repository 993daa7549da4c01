"""Risks: `kwhatif.audit`, `threats` and `who_fits`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from kwhatif.api.arguments import require_known, require_no_autoscaler, require_session
from kwhatif.api.options import AuditArguments, PodSelection, ThreatsArguments
from kwhatif.api.pages import answered
from kwhatif.api.simulate import parameters_of
from kwhatif.errors import InputError, Problem
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.matching.field_errors import did_you_mean, nearest
from kwhatif.kube.matching.pods import pod_choice
from kwhatif.kube.model.quantity import parse_timeout
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.sources.manifests.given import Source, named_input, require_namespace
from kwhatif.sources.text.files import standard_input

if TYPE_CHECKING:
    from kwhatif.questions.threats.threats import DeschedulerAsked
    from kwhatif.report.risks import AuditRow, ProbeName, ThreatKind


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
    from kwhatif.api.maintenance import runner
    from kwhatif.policy.baseline import accepted_in
    from kwhatif.questions.audit.audit import AuditQuestion, ask_audit
    from kwhatif.questions.audit.scenario import AuditOutcome
    from kwhatif.sources.policy import read_baseline

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
        row = accepted_in(row, *accepted, today or datetime.now(UTC).date())
    return answered(replace(report, audit=row), session)


def _probes(only: str) -> tuple[ProbeName, ...]:
    """The probes with these names, in the order in which they are played; "": all."""
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


def threats(
    session: Session,
    subject: str = "",
    *,
    namespace: str | None = None,
    policy: Source | None = None,
    progress: Callable[[int, int], None] | None = None,
    now: datetime | None = None,
    **options: Unpack[ThreatsArguments],
) -> Report:
    """What could evict these pods, what protects them, and what would protect them?

    Args:
        session: the cluster; it stays as it is.
        subject: "pod/shop/web-0", a workload, "node/a1", or "priorityclass/high": all its running pods. Without a
            subject, `selector` and `field_selector` choose pods.
        namespace: where the subject is, if it names no namespace; of a selector, "" means all.
        policy: a DeschedulerPolicy that runs once; see `kwhatif.Source`.
        progress: is called with how many nodes' losses and drains are done, of how many.
        now: what a live cluster's ages count to, instead of now.
        options: what is asked, how long things take, and which processes play it, see `ThreatsArguments`.

    Raises:
        InputError: there is no such object, none of its pods is on a node, or there is no such kind of threat.
        ValueError: a duration or a selector is not valid.
        TypeError: there is neither a subject nor a selector, or both.
    """
    require_session(session, "threats")
    require_no_autoscaler(session, "threats")
    require_known(options, ThreatsArguments, "threats")
    selectors = options.get("selector", ""), options.get("field_selector", "")
    if bool(subject) is any(selectors):
        raise TypeError("threats() takes one object, or a selector of pods")
    where = session.namespace if namespace is None else namespace
    from kwhatif.api.maintenance import runner
    from kwhatif.questions.threats.nodes import NodeOutcome
    from kwhatif.questions.threats.threats import ThreatsQuestion, ask_threats

    question = ThreatsQuestion(
        subject=subject or " ".join(filter(None, selectors)),
        namespace=where or session.namespace,
        choice=None if subject else pod_choice(where, *selectors),
        kinds=_kinds(options.get("only", "")),
        parameters=parameters_of(options),
    )
    descheduler = None if policy is None else _descheduler(session, policy, now)
    run = runner(options, NodeOutcome, progress)
    with rare_garbage_collection():
        return answered(ask_threats(session, question, run, descheduler), session)


def who_fits(session: Session, node: str, *, namespace: str | None = None, **selection: Unpack[PodSelection]) -> Report:
    """Which pending pods, and which workloads' next pods, does this node take?

    Args:
        session: the cluster; it stays as it is.
        node: its name, "node/NAME", or as reports print it.
        namespace: leave out the pods of all others.
        selection: leave out all other pods.

    Raises:
        InputError: there is no such node, or no such namespace.
        ValueError: a selector is not valid.
    """
    require_session(session, "who_fits")
    require_no_autoscaler(session, "who_fits")
    require_known(selection, PodSelection, "who_fits")
    require_namespace(namespace or "", session.cluster)
    choice = pod_choice(namespace or "", selection.get("selector", ""), selection.get("field_selector", ""))
    from kwhatif.questions.threats.who_fits import ask_who_fits

    with rare_garbage_collection():
        return answered(ask_who_fits(session, node, choice), session)


def _kinds(only: str) -> tuple[ThreatKind, ...]:
    """The kinds with these names, in the order of the answer; "": all."""
    from kwhatif.questions.threats.threats import KINDS

    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        hints = [did_you_mean(nearest(name, KINDS)) or f"there are {', '.join(KINDS)}" for name in unknown]
        raise InputError(
            [Problem("--only", f"there is no {name!r}", hint=hint) for name, hint in zip(unknown, hints, strict=True)]
        )
    return tuple(kind for kind in KINDS if kind in names or not names)


def _descheduler(session: Session, policy: Source, now: datetime | None) -> DeschedulerAsked:
    from kwhatif.api.deciders import ages_count_to
    from kwhatif.questions.threats.threats import DeschedulerAsked
    from kwhatif.sources.descheduler_policy import read_descheduler_policy

    file = read_descheduler_policy(named_input(policy, "policy"), session.cluster, stdin=standard_input())
    at, _ = ages_count_to(session, None, now)
    return DeschedulerAsked(file.policy, file.name, at)
