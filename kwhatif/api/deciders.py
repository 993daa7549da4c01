"""Decisions of other components than the scheduler: `kwhatif.autoscale`, `consolidate`, `deschedule` and `resize`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, Unpack

from msgspec.structs import replace

from kwhatif.api.arguments import (
    ManifestOptions,
    read_manifests,
    require_known,
    require_no_autoscaler,
    require_no_problems,
    require_session,
)
from kwhatif.api.options import Times
from kwhatif.api.pages import answered
from kwhatif.api.refusals import check_autoscaler, check_descheduler
from kwhatif.api.simulate import parameters_of, seconds_of
from kwhatif.edits.edit import Resize, Wrong
from kwhatif.edits.words import reference
from kwhatif.errors import InputError, Problem
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.matching.field_errors import did_you_mean, nearest
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.meta import parse_time
from kwhatif.kube.model.node import Node
from kwhatif.questions.autoscale import (
    AutoscalerChoice,
    AutoscalerQuestion,
    ask_autoscale,
    ask_consolidate,
    scaling_of,
)
from kwhatif.questions.judging.question import Question
from kwhatif.questions.resize import ask_resize, ask_updater
from kwhatif.questions.session.session import Session, moment_of
from kwhatif.report import Report
from kwhatif.sources.manifests.edits import read_edits
from kwhatif.sources.manifests.given import Source, named_input, named_inputs
from kwhatif.sources.text.files import standard_input


def autoscale(
    session: Session,
    *manifests: Source,
    autoscaler: AutoscalerChoice = "auto",
    node_groups: Source | None = None,
    instance_types: Source | None = None,
    at: str | None = None,
    rounds: int = 10,
    now: datetime | None = None,
    **options: Unpack[ManifestOptions],
) -> Report:
    """Which nodes would the autoscaler add for pods that find no room: those that wait, and those of the manifests?

    Args:
        session: the cluster.
        manifests: what is applied first, as for `schedule`; none: only the cluster's own pods are asked about.
        autoscaler: "cluster-autoscaler" or "karpenter"; "auto": the one that the cluster shows.
        node_groups: the Cluster Autoscaler's groups and settings; without it the groups that the nodes' labels show.
        instance_types: the types that Karpenter chooses from; without it those that run in the cluster.
        at: the moment that ages count to (RFC 3339); without it, when the cluster was read.
        rounds: how many times it looks, unless it adds nothing.
        now: what a live cluster's ages count to, instead of now.
        options: how the manifests are read, see `ManifestOptions`.

    Raises:
        InputError: with everything that is wrong with the files and manifests.
        ValueError: `at` is not a time; a file belongs to the other autoscaler.
    """
    require_session(session, "autoscale")
    require_no_autoscaler(session, "autoscale")
    require_known(options, ManifestOptions, "autoscale")
    session = session.with_owners()
    question = replace(_question(session, autoscaler, node_groups, instance_types, at, now), rounds=rounds)
    applied = None
    if manifests:
        asked = read_manifests(session, named_inputs(manifests, "manifest"), options)
        asked.require_sound()
        applied = Question(applied=asked.applied, caveats=asked.caveats)
    with rare_garbage_collection():
        report = answered(ask_autoscale(session, question, applied), session)
    require_no_problems(report)
    return report


def with_autoscaler(
    session: Session,
    *,
    autoscaler: AutoscalerChoice = "auto",
    node_groups: Source | None = None,
    instance_types: Source | None = None,
    at: str | None = None,
    node_startup: str = "90s",
    now: datetime | None = None,
) -> Session:
    """The cluster with an autoscaler: questions about it get the nodes that it adds for pods that find no room.

    This holds for `schedule`, `preempt`, `gate`, `advise`, `pending`, `capacity`, `simulate`, `drain`, `outage` and
    `audit`; the others refuse it.

    Args: as of `autoscale`; `node_startup`: how long a node takes from being asked for until it is ready.

    Raises:
        InputError: with everything that is wrong with the files; `node_startup` is not a duration.
        ValueError: as of `autoscale`.
    """
    require_session(session, "with_autoscaler")
    startup = seconds_of("node-startup", node_startup)
    question = _question(session, autoscaler, node_groups, instance_types, at, now)
    return session.with_scaling(scaling_of(session, replace(question, startup=startup)))


def consolidate(
    session: Session,
    *,
    autoscaler: AutoscalerChoice = "auto",
    node_groups: Source | None = None,
    instance_types: Source | None = None,
    at: str | None = None,
    explain: str | None = None,
    now: datetime | None = None,
) -> Report:
    """Which nodes would the autoscaler remove now, and what keeps the others?

    Args: as of `autoscale`; `explain`: only about this node, such as "node/general-a1".

    Raises:
        InputError: with everything that is wrong with the files; there is no such node.
        ValueError: as of `autoscale`.
    """
    require_session(session, "consolidate")
    require_no_autoscaler(session, "consolidate")
    question = _question(session, autoscaler, node_groups, instance_types, at, now)
    name = None if explain is None else explain.removeprefix("nodes/").removeprefix("node/").removeprefix("no/")
    if name is not None and session.state.node(name) is None:
        hint = did_you_mean(nearest(name, session.cluster.all(Node)))
        raise InputError([Problem("--explain", f"there is no node {name}", hint=hint)])
    with rare_garbage_collection():
        return answered(ask_consolidate(session, replace(question, explain=name)), session)


def ages_count_to(session: Session, at: str | None, now: datetime | None) -> tuple[str, Sequence[Caveat]]:
    """The moment for which ages are computed, and caveats about it; `now`: for a live cluster, instead of the clock."""
    return moment_of(session, at, (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"))


def _question(
    session: Session,
    autoscaler: AutoscalerChoice,
    node_groups: Source | None,
    instance_types: Source | None,
    at: str | None,
    now: datetime | None,
) -> AutoscalerQuestion:
    from kwhatif.sources.autoscaler import read_instance_types, read_node_groups

    check_autoscaler(autoscaler, node_groups, instance_types)
    groups = types = None
    if node_groups is not None:
        groups = read_node_groups(named_input(node_groups, "node groups"), session.cluster, stdin=standard_input())
    if instance_types is not None:
        types = read_instance_types(named_input(instance_types, "instance types"), stdin=standard_input())
    moment, caveats = ages_count_to(session, at, now)
    return AutoscalerQuestion(autoscaler=autoscaler, groups=groups, instance_types=types, at=moment, caveats=caveats)


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
    from kwhatif.sources.descheduler_policy import DeschedulerPolicyFile, read_descheduler_policy

    check_descheduler(policy, strategy)
    if policy is not None:
        file = read_descheduler_policy(named_input(policy, "policy"), session.cluster, stdin=standard_input())
    else:
        file = DeschedulerPolicyFile(f"strategy {strategy}", strategy_policy(str(strategy)), [])
    moment, caveats = ages_count_to(session, at, now)
    question = DescheduleQuestion(
        policy=file.policy, name=file.name, at=moment, rounds=rounds, caveats=(*file.caveats, *caveats)
    )
    with rare_garbage_collection():
        return answered(ask_deschedule(session, question), session)


def resize(
    session: Session,
    pod: str,
    *,
    requests: Mapping[str, str] | Literal["vpa"] | None = None,
    limits: Mapping[str, str] | None = None,
    container: str = "",
    namespace: str | None = None,
    now: datetime | None = None,
    **options: Unpack[Times],
) -> Report:
    """Is this pod resized in place, deferred, or refused; does it restart, and what follows?

    Args:
        session: the cluster; it stays as it is.
        pod: "pod/shop/web-0", or without the kind.
        requests: new requests: `{"cpu": "2"}`; or "vpa": what the pod's VerticalPodAutoscaler recommends, and then the
            answer is what that does about it.
        limits: new limits.
        container: which container; "": the pod has only one.
        namespace: of a pod that names none; else that of the live cluster's context, or `default`.
        now: what a live cluster's ages count to, instead of now.
        options: how long things take, see `Times`.

    Raises:
        InputError: there is no such pod or container, an amount is none, or nothing is recommended.
        TypeError: `requests` is "vpa", and there are limits or a container.
    """
    require_session(session, "resize")
    require_no_autoscaler(session, "resize")
    require_known(options, Times, "resize")
    where = namespace or session.namespace
    if requests == "vpa":
        if limits or container:
            raise TypeError("resize() takes requests='vpa' without limits and container: all are recommended")
        at, assumed = ages_count_to(session, None, now)
        try:
            subject = reference(pod, "pod")
        except Wrong as wrong:
            raise InputError([Problem(pod, wrong.message, hint=wrong.hint)]) from wrong
        owned = session.with_owners()
        dated = replace(owned, caveats=(*owned.caveats, *assumed))
        with rare_garbage_collection():
            return answered(ask_updater(dated, subject, parameters_of(options), where, parse_time(at)), session)
    if isinstance(requests, str):
        raise TypeError(f"requests is a mapping, or 'vpa', not {requests!r}")
    content = {"object": pod, "requests": dict(requests or {}), "limits": dict(limits or {})}
    given = {"resize": content | ({"container": container} if container else {})}
    read = read_edits(
        [given], namespace=where, stdin=standard_input(), minor=session.cluster.facts.minor, option="resize"
    )
    if read.problems:
        raise InputError([problem._replace(where=pod) for problem in read.problems])  # the user wrote no edit
    edit = read.edits[0].edit
    assert isinstance(edit, Resize), "nothing else was written"
    with rare_garbage_collection():
        return answered(ask_resize(session, edit, parameters_of(options), where), session)
