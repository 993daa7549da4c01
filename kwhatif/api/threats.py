"""`kwhatif.threats` and `kwhatif.who_fits`: who could evict pods, and which pods a node takes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Unpack

from kwhatif.api.arguments import require_known, require_no_autoscaler, require_session
from kwhatif.api.notebook import answered
from kwhatif.api.options import PodSelection, ThreatsArguments
from kwhatif.api.simulate import parameters_of
from kwhatif.errors import InputError, Problem
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.matching.field_errors import did_you_mean, nearest
from kwhatif.kube.matching.pods import pod_choice
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.sources.manifests.given import Source, named_input
from kwhatif.sources.manifests.named import require_namespace
from kwhatif.sources.text.files import standard_input

if TYPE_CHECKING:
    from kwhatif.questions.threats.threats import DeschedulerAsked
    from kwhatif.report.risks import ThreatKind


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
    from kwhatif.api.scenarios import runner
    from kwhatif.questions.threats.nodes import NodeOutcome
    from kwhatif.questions.threats.threats import ThreatsQuestion, ask_threats

    question = ThreatsQuestion(
        subject=subject or " ".join(filter(None, selectors)),
        namespace=where or session.namespace,
        choice=None if subject else pod_choice(where, *selectors),
        kinds=_kinds(options.get("only", "")),
        parameters=parameters_of(options),
    )
    descheduler = None if policy is None else _descheduler(session, policy, now or datetime.now(UTC))
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
    """The kinds of these names, in the order of the answer; "": all."""
    from kwhatif.questions.threats.threats import KINDS

    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        hints = [did_you_mean(nearest(name, KINDS)) or f"there are {', '.join(KINDS)}" for name in unknown]
        raise InputError(
            [Problem("--only", f"there is no {name!r}", hint=hint) for name, hint in zip(unknown, hints, strict=True)]
        )
    return tuple(kind for kind in KINDS if kind in names or not names)


def _descheduler(session: Session, policy: Source, now: datetime) -> DeschedulerAsked:
    from kwhatif.questions.session.session import moment_of
    from kwhatif.questions.threats.threats import DeschedulerAsked
    from kwhatif.sources.descheduler_policy import read_descheduler_policy

    file = read_descheduler_policy(named_input(policy, "policy"), session.cluster, stdin=standard_input())
    moment, _ = moment_of(session, None, now.strftime("%Y-%m-%dT%H:%M:%SZ"))
    return DeschedulerAsked(file.policy, file.name, moment)
