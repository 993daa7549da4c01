"""`kwhatif.deschedule`: what the descheduler would evict."""

from __future__ import annotations

from datetime import UTC, datetime

from kwhatif.api.arguments import require_no_autoscaler, require_session
from kwhatif.api.notebook import answered
from kwhatif.garbage import rare_garbage_collection
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.sources.manifests.given import Source, named_input
from kwhatif.sources.text.files import standard_input


def deschedule(
    session: Session,
    policy: Source | None = None,
    *,
    strategy: str | None = None,
    at: str | None = None,
    rounds: int = 5,
    now: datetime | None = None,
) -> Report:
    """Whom does a descheduler with this policy evict, why, and where do the replacements land?

    Args:
        session: the cluster.
        policy: a DeschedulerPolicy of version descheduler/v1alpha2; see `kwhatif.Source`.
        strategy: instead, the name of a strategy that runs alone, with its defaults: "RemoveDuplicates".
        at: the moment that ages count to (RFC 3339); without it, when the cluster was read.
        rounds: how many cycles to run, unless one evicts nothing.
        now: what a live cluster's ages count to, instead of now.

    Raises:
        InputError: the descheduler refuses the policy; the message is its own.
        ValueError: both policy and strategy are given, or neither; the strategy or the time is not valid.
    """
    require_session(session, "deschedule")
    require_no_autoscaler(session, "deschedule")
    from kwhatif.descheduler.build import strategy_policy
    from kwhatif.questions.deschedule.deschedule import DescheduleQuestion, ask_deschedule
    from kwhatif.questions.session.session import moment_of
    from kwhatif.sources.descheduler_policy import DeschedulerPolicyFile, read_descheduler_policy

    if (policy is None) == (strategy is None):
        raise ValueError("either a policy or a strategy is needed")
    if policy is not None:
        file = read_descheduler_policy(named_input(policy, "policy"), session.cluster, stdin=standard_input())
    else:
        file = DeschedulerPolicyFile(f"strategy {strategy}", strategy_policy(str(strategy)), [])
    moment, caveats = moment_of(session, at, (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"))
    question = DescheduleQuestion(
        policy=file.policy, name=file.name, at=moment, rounds=rounds, caveats=(*file.caveats, *caveats)
    )
    with rare_garbage_collection():
        return answered(ask_deschedule(session, question), session)
