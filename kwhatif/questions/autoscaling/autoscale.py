"""`kwhatif autoscale` and `kwhatif consolidate`: what an autoscaler of nodes would add, and what it would remove."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from kwhatif.autoscaler import cluster_autoscaler, karpenter
from kwhatif.autoscaler.answer import Autoscaler, Destination, ScalingPlan, ScalingRound
from kwhatif.autoscaler.cluster_autoscaler import scale_up, with_new_nodes
from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroups
from kwhatif.autoscaler.cluster_autoscaler.observed import observed_groups
from kwhatif.autoscaler.karpenter import InstanceType
from kwhatif.kube.model.bystanders import NodeClaim, NodePool
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import AutoscalerDisagrees, CloudCapacityUnknown, ExpanderTied
from kwhatif.questions.placing.pending_pods import in_queue_order
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.report.autoscale import AutoscaleRow, ConsolidateRow
from kwhatif.scheduler.batch import BatchCache
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.state.change import Bind
from kwhatif.state.state import State

# Loop after loop of the Cluster Autoscaler: its nodes come, the scheduler places pods on them, and it looks again.


def rounds_of(
    session: Session, settings: NodeGroups, at: str, most: int
) -> tuple[tuple[ScalingRound, ...], tuple[Caveat, ...]]:
    """What is added until nothing more is, in so many rounds at most, and what is to be said about it.

    A last round that only repeats what is refused is left out.
    """
    state, rounds = session.state, list[ScalingRound]()
    said: dict[Caveat, None] = {}
    while len(rounds) < most:
        found, caveats = scale_up(state, session.profiles, settings, at)
        if rounds and not found.scale_up and {row.pod for row in found.refused} <= _refused(rounds):
            break
        said.update(
            dict.fromkeys(caveats if not rounds else (each for each in caveats if isinstance(each, ExpanderTied)))
        )
        if not found.scale_up:
            rounds.append(found)
            break
        state, settings = with_new_nodes(state, settings, found, at)
        placed = tuple(_placed(state, session.profiles))
        rounds.append(replace(found, placed=placed))
        if not placed:
            break
    return tuple(rounds), tuple(said)


def _refused(rounds: list[ScalingRound]) -> set[str]:
    return {row.pod for found in rounds for row in found.refused}


def _placed(state: State, profiles: Mapping[str, Profile]) -> Iterator[Destination]:
    """Give the pending pods their nodes, as the scheduler does; those that would have to evict others go on waiting."""
    caches = {name: BatchCache(profile, state) for name, profile in profiles.items()}
    for pod in in_queue_order(state.pending.values(), state.cluster.scheduling_events):
        cache = caches.get(pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
        result = None if cache is None else cache.attempt(pod)
        if result is None or result.outcome != "Placed" or result.node is None:
            continue
        state.apply(Bind(pod.key, result.node, tuple(result.reserve(state.by_name[result.node]))))
        yield Destination(pod=pod.key, node=result.node)


#: What `auto` stands for is seen in the cluster.
AutoscalerChoice = Literal["auto", "cluster-autoscaler", "karpenter"]


class AutoscalerQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Which autoscaler, with which settings, and when."""

    autoscaler: AutoscalerChoice = "auto"
    #: Of the Cluster Autoscaler; None: they are read off the labels of nodes.
    groups: NodeGroups | None = None
    #: Karpenter's catalogue; None: not given.
    instance_types: Sequence[InstanceType] | None = None
    #: The moment, RFC 3339.
    at: str
    #: How many rounds of the Cluster Autoscaler, unless nothing more is added.
    rounds: int = 1
    #: The name of the only node that is to be explained; None: all are.
    explain: str | None = None
    caveats: Sequence[Caveat] = ()


def ask_autoscale(session: Session, question: AutoscalerQuestion) -> Report:
    """What would be added for the pods that are marked unschedulable?"""
    autoscaler = _which(session, question)
    rounds: tuple[ScalingRound, ...]
    if autoscaler == "karpenter":
        found, caveats = karpenter.provision(session.state, question.instance_types, question.at)
        rounds = (found,)
    else:
        groups = question.groups or observed_groups(session.state)
        rounds, caveats = rounds_of(session, groups, question.at, question.rounds)
    said = (*_said(session, question, autoscaler), *caveats, *_adding(rounds))
    row = AutoscaleRow(autoscaler=autoscaler, at=question.at, rounds=rounds)
    return replace(_report(session, "autoscale", said), autoscaler=row)


def ask_consolidate(session: Session, question: AutoscalerQuestion) -> Report:
    """Which nodes would be removed now?"""
    autoscaler = _which(session, question)
    plan: ScalingPlan
    if autoscaler == "karpenter":
        plan, caveats = karpenter.disrupt(session.state, question.instance_types, question.at)
    else:
        groups = question.groups or observed_groups(session.state)
        plan, caveats = cluster_autoscaler.scale_down(session.state, session.profiles, groups, question.at)
    row = ConsolidateRow(
        autoscaler=autoscaler, at=question.at, nodes=plan.nodes, commands=plan.commands, kept=plan.kept
    )
    row = row if question.explain is None else _about(row, question.explain)
    said = (*_said(session, question, autoscaler), *caveats)
    return replace(_report(session, "consolidate", said), consolidate=row)


def _about(row: ConsolidateRow, node: str) -> ConsolidateRow:
    """Only what is said about the node."""
    return replace(
        row,
        explained=node,
        nodes=tuple(each for each in row.nodes if each.node == node),
        commands=tuple(each for each in row.commands if node in each.nodes),
        kept=tuple(each for each in row.kept if each.node == node),
    )


def _report(session: Session, command: str, said: Iterable[Caveat]) -> Report:
    return session.report(command, (), dict.fromkeys((*session.caveats, *said, *session.remarks())), groups=False)


def _which(session: Session, question: AutoscalerQuestion) -> Autoscaler:
    """The one that is asked about; else that of the settings given, or of the cluster."""
    if question.autoscaler != "auto":
        return question.autoscaler
    if question.groups is not None:
        return "cluster-autoscaler"
    has_pools = bool(session.cluster.all(NodePool) or session.cluster.all(NodeClaim))
    return "karpenter" if has_pools or question.instance_types is not None else "cluster-autoscaler"


def _said(session: Session, question: AutoscalerQuestion, asked: Autoscaler) -> Iterator[Caveat]:
    yield from question.caveats
    has_pools, has_groups = bool(session.cluster.all(NodePool)), bool(observed_groups(session.state).groups)
    if asked == "cluster-autoscaler" and has_pools:
        yield AutoscalerDisagrees(asked="the Cluster Autoscaler", other="Karpenter")
    elif asked == "karpenter" and has_groups and has_pools:
        yield AutoscalerDisagrees(asked="Karpenter", other="the Cluster Autoscaler")


def _adding(rounds: Iterable[ScalingRound]) -> Iterator[Caveat]:
    if any(found.scale_up or found.new_nodes for found in rounds):
        yield CloudCapacityUnknown()
