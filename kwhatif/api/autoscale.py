"""`kwhatif.autoscale`, `consolidate` and `with_autoscaler`: which nodes an autoscaler adds or removes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Unpack

from msgspec.structs import replace

from kwhatif.api.arguments import require_known, require_no_autoscaler, require_session
from kwhatif.api.manifests import ManifestOptions, read_manifests, require_no_problems
from kwhatif.api.notebook import answered
from kwhatif.api.simulate import seconds_of
from kwhatif.errors import InputError, Problem
from kwhatif.garbage import rare_garbage_collection
from kwhatif.kube.matching.field_errors import did_you_mean, nearest
from kwhatif.kube.model.node import Node
from kwhatif.questions.autoscale import (
    AutoscalerChoice,
    AutoscalerQuestion,
    ask_autoscale,
    ask_consolidate,
    scaling_of,
)
from kwhatif.questions.judging.question import Question
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
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
        asked, paths = read_manifests(session, named_inputs(manifests, "manifest"), options)
        asked.require_sound()
        applied = Question(applied=asked.applied, template_paths=paths, caveats=asked.caveats)
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


def _question(
    session: Session,
    autoscaler: AutoscalerChoice,
    node_groups: Source | None,
    instance_types: Source | None,
    at: str | None,
    now: datetime | None,
) -> AutoscalerQuestion:
    from kwhatif.questions.session.session import moment_of
    from kwhatif.sources.autoscaler import read_instance_types, read_node_groups

    if autoscaler == "karpenter" and node_groups is not None:
        raise ValueError("node groups are the Cluster Autoscaler's: Karpenter has NodePools, which the cluster holds")
    if autoscaler == "cluster-autoscaler" and instance_types is not None:
        raise ValueError("instance types are Karpenter's: the Cluster Autoscaler has node groups")
    if node_groups is not None and instance_types is not None:
        raise ValueError("node groups are the Cluster Autoscaler's, and instance types are Karpenter's: give one")
    groups = types = None
    if node_groups is not None:
        groups = read_node_groups(named_input(node_groups, "node groups"), session.cluster, stdin=standard_input())
    if instance_types is not None:
        types = read_instance_types(named_input(instance_types, "instance types"), stdin=standard_input())
    moment, caveats = moment_of(session, at, (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ"))
    return AutoscalerQuestion(autoscaler=autoscaler, groups=groups, instance_types=types, at=moment, caveats=caveats)
