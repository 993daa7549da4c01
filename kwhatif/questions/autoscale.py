"""`kwhatif autoscale` and `kwhatif consolidate`: what an autoscaler of nodes would add, and what it would remove."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from kwhatif.autoscaler.cluster_autoscaler.autoscaler import ClusterAutoscaler, scale_down
from kwhatif.autoscaler.cluster_autoscaler.groups import NodeGroups, arguments_of, observed_groups
from kwhatif.autoscaler.cluster_autoscaler.pods import is_expendable
from kwhatif.autoscaler.contract import Autoscaler, Destination, NewNode, ScalingPlan, ScalingRound
from kwhatif.autoscaler.karpenter.instance_types import InstanceType
from kwhatif.autoscaler.karpenter.karpenter import Karpenter, disruption
from kwhatif.autoscaler.karpenter.settings import settings_of
from kwhatif.autoscaler.loop import AutoscalerLoop
from kwhatif.controllers.contract import Create, Remove
from kwhatif.controllers.drain import KubectlDrain
from kwhatif.controllers.drain_filters import WITH_FLAGS
from kwhatif.kube.model.bystanders import NodeClaim, NodePool
from kwhatif.kube.model.caveat import Caveat, merged
from kwhatif.kube.model.caveat.autoscaling import (
    AutoscalerDisagrees,
    AutoscalerSettingsAssumed,
    AutoscalerSettingsRead,
    CloudCapacityUnknown,
    PodsLeftByAutoscaler,
)
from kwhatif.kube.model.caveat.scheduling import PendingAsleep
from kwhatif.kube.model.caveat.workloads import NodesNotAdded
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_unschedulable
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups
from kwhatif.questions.judging.judge import judge
from kwhatif.questions.judging.pending_pods import in_queue_order
from kwhatif.questions.judging.question import Question
from kwhatif.questions.manifests.applied import with_groups
from kwhatif.questions.manifests.daemons import arrive
from kwhatif.questions.manifests.new_pods import NewPods
from kwhatif.questions.session.node_autoscalers import Scaling
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.settled_cluster import SettledCluster
from kwhatif.report import Report
from kwhatif.report.deciders import AutoscaleRow, ConsolidateRow, DrainedRow, LandedRow, MovedGroupRow
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.instant import InstantEngine
from kwhatif.simulation.parameters import Parameters
from kwhatif.state.change import Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State


def rounds_of(
    state: State, profiles: Mapping[str, Profile], scaling: Scaling, limit: int
) -> tuple[tuple[ScalingRound, ...], tuple[Caveat, ...]]:
    """The rounds until nothing more is added, up to a limit, and caveats about them.

    A last round that only repeats what is refused is left out. The state stays as it is.
    """
    loop = AutoscalerLoop(scaling.autoscaler)
    while len(loop.rounds) < limit:
        loop, found = loop.look(state, profiles, scaling.at)
        if not found.nodes:
            break
        engine = InstantEngine(state.fork(), profiles, evicts=False)
        state = engine.api_server.state
        arrive(NewPods(engine.api_server), found.nodes, profiles)
        placed = _placed(engine)
        loop = replace(loop.placing(placed), autoscaler=loop.autoscaler.with_nodes(found.nodes))
        if not placed and not any(_waits_for_others(info, state) for info in state.pending.values()):
            break
    left = () if len(loop.rounds) == limit else tuple(_left(state, loop))
    if left and any(each.new_nodes or each.scale_up for each in loop.rounds):
        return loop.rounds, (*loop.caveats, PodsLeftByAutoscaler(pods=left))
    return loop.rounds, loop.caveats


def _left(state: State, loop: AutoscalerLoop) -> Iterator[str]:
    """The waiting pods about which no round gives a reason."""
    explained = loop.refused | {row.pod for found in loop.rounds for row in found.ignored}
    return (key for key, info in state.pending.items() if is_unschedulable(info.pod) and key not in explained)


def _waits_for_others(info: PodInfo, state: State) -> bool:
    """Whether the pod waits for others of its group: nodes that are added for those may still help."""
    return has_groups(state.cluster) and group_of(info.pod) in state.cluster.all(PodGroup)


def _placed(engine: InstantEngine) -> tuple[Destination, ...]:
    """Give the pending pods their nodes, as the scheduler does; those that would have to evict others go on waiting.

    The scheduler places a group of pods as a whole, though no autoscaler knows of groups.
    """
    state, placed = engine.api_server.state, list[Destination]()

    def note(result: ScheduleResult) -> None:
        if result.outcome == "Placed" and result.node is not None:
            placed.append(Destination(pod=result.pod.key, node=result.node))

    engine.run(in_queue_order(state.pending.values(), state.cluster.facts.scheduling_events), note, note)
    return tuple(placed)


#: How many times an autoscaler looks, unless it adds nothing.
_ROUNDS = 10
#: With `auto`, the cluster shows which one runs.
AutoscalerChoice = Literal["auto", "cluster-autoscaler", "karpenter"]


class AutoscalerQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Which autoscaler, with which settings, and when."""

    autoscaler: AutoscalerChoice = "auto"
    #: The node groups of the Cluster Autoscaler; None: those that labels of nodes show.
    groups: NodeGroups | None = None
    #: Karpenter's catalogue; None: not given.
    instance_types: Sequence[InstanceType] | None = None
    #: The moment, RFC 3339.
    at: str
    #: How many rounds, unless nothing more is added.
    rounds: int = _ROUNDS
    #: How many seconds a node takes from being asked for until it is ready.
    startup: float = 90.0
    #: The name of the only node that is to be explained; None: all are.
    explain: str | None = None
    caveats: Sequence[Caveat] = ()


def scaling_of(session: Session, question: AutoscalerQuestion) -> Scaling:
    """The autoscaler that the question means, with its settings as files and the cluster show them."""
    asked = _which(session, question)
    return Scaling(
        autoscaler=(
            Karpenter.of(session.state, question.instance_types)
            if asked == "karpenter"
            else ClusterAutoscaler.of(_groups_of(session, question), session.state, question.at)
        ),
        at=question.at,
        startup=question.startup,
        caveats=tuple(_caveats_of(session, question, asked)),
    )


def ask_autoscale(session: Session, question: AutoscalerQuestion, applied: Question | None = None) -> Report:
    """What would be added for the pods that are marked unschedulable, or are once this is applied?"""
    if applied is not None:
        session, objects = with_groups(session, applied.applied)
        applied = replace(applied, applied=objects)
    scaling, report = scaling_of(session, question), None
    state = session.state
    if applied is not None:
        answer = judge(session, applied)
        # These caveats do not apply: nodes are added for pending pods.
        answer.caveats = {each: None for each in answer.caveats if not isinstance(each, NodesNotAdded | PendingAsleep)}
        state, report = _having_waited(answer.marked(), session.state), answer.report(session, "autoscale")
    rounds, caveats = rounds_of(state, session.profiles, scaling, question.rounds)
    all_caveats = (*scaling.caveats, *caveats, *_adding(rounds))
    row = AutoscaleRow(autoscaler=scaling.autoscaler.name, at=question.at, rounds=rounds)
    if report is None:
        return replace(_report(session, "autoscale", all_caveats), autoscaler=row)
    return replace(report, autoscaler=row, caveat_details=merged((*report.caveat_details, *all_caveats)))


def _having_waited(state: State, before: State) -> State:
    """The state in which pods created here count as old enough for the autoscaler: they have no age."""
    new = [info.pod for key, info in state.pending.items() if key not in before.pods]
    state.apply(*(Upsert(replace(pod, metadata=replace(pod.metadata, creation_timestamp=None))) for pod in new))
    return state


def ask_consolidate(session: Session, question: AutoscalerQuestion) -> Report:
    """Which nodes would be removed now?"""
    autoscaler = _which(session, question)
    plan: ScalingPlan
    cutoff = None
    if autoscaler == "karpenter":
        plan, made, caveats = disruption(session.state, question.instance_types, question.at)
        # The nodes of a command can be drained even if a type is unknown.
        steps = [Step(row.nodes, nodes) for row, nodes in zip(plan.commands, made, strict=True)]
    else:
        groups = _groups_of(session, question)
        plan, caveats = scale_down(session.state, session.profiles, groups, question.at)
        steps = [Step((row.node,)) for row in plan.nodes if row.removable]
        cutoff = groups.flags.expendable_pods_priority_cutoff
    if question.explain is not None:  # what comes before it counts, and nothing behind it
        last = max((index for index, step in enumerate(steps) if question.explain in step.nodes), default=-1)
        steps = steps[: last + 1]
    saved = [*(row.saved for row in plan.commands), *(row.saved for row in plan.nodes if row.removable)]
    row = ConsolidateRow(
        autoscaler=autoscaler,
        at=question.at,
        nodes=plan.nodes,
        commands=plan.commands,
        kept=plan.kept,
        drains=tuple(proven(session, steps, cutoff)),
        saved=None if None in saved or not saved else round(sum(filter(None, saved)), 6),
    )
    row = row if question.explain is None else _about(row, question.explain)
    all_caveats = (*_caveats_of(session, question, autoscaler), *caveats)
    return replace(_report(session, "consolidate", all_caveats), consolidate=row)


def with_rounds(report: Report, session: Session, scaling: Scaling) -> Report:
    """The report of another question, with what the autoscaler adds for the pods that wait in the cluster."""
    rounds, caveats = rounds_of(session.state, session.profiles, scaling, _ROUNDS)
    row = AutoscaleRow(autoscaler=scaling.autoscaler.name, at=scaling.at, rounds=rounds)
    known = (each for each in report.caveat_details if not isinstance(each, NodesNotAdded))
    return replace(
        report, autoscaler=row, caveat_details=merged((*known, *scaling.caveats, *caveats, *_adding(rounds)))
    )


def _about(row: ConsolidateRow, node: str) -> ConsolidateRow:
    """The parts of the row about the node."""
    return replace(
        row,
        explained=node,
        nodes=tuple(each for each in row.nodes if each.node == node),
        commands=tuple(each for each in row.commands if node in each.nodes),
        kept=tuple(each for each in row.kept if each.node == node),
        drains=tuple(each for each in row.drains if node in each.nodes),
        saved=None,
    )


def _report(session: Session, command: str, caveats: Iterable[Caveat]) -> Report:
    return session.report(command, (), dict.fromkeys((*session.caveats, *caveats, *session.remarks())))


def _which(session: Session, question: AutoscalerQuestion) -> Autoscaler:
    """The autoscaler that is asked about; else the one that the settings are for, or that the cluster shows."""
    if question.autoscaler != "auto":
        return question.autoscaler
    if question.groups is not None:
        return "cluster-autoscaler"
    has_pools = bool(session.cluster.all(NodePool) or session.cluster.all(NodeClaim))
    return "karpenter" if has_pools or question.instance_types is not None else "cluster-autoscaler"


def _groups_of(session: Session, question: AutoscalerQuestion) -> NodeGroups:
    """The given node groups; else those that labels of nodes and the arguments of the autoscaler's workload show."""
    if question.groups is not None:
        return question.groups
    observed, read = observed_groups(session.state), arguments_of(session.cluster)
    return observed if read is None else read.apply(observed)


def _caveats_of(session: Session, question: AutoscalerQuestion, asked: Autoscaler) -> Iterator[Caveat]:
    yield from question.caveats
    yield from session.of_autoscalers
    if asked == "karpenter":
        settings = settings_of(session.cluster)
        if settings.source:
            yield AutoscalerSettingsRead(autoscaler="Karpenter", source=settings.source, flags=settings.given)
        else:
            yield AutoscalerSettingsAssumed(autoscaler="Karpenter")
    elif question.groups is None:
        read = arguments_of(session.cluster)
        if read is None:
            yield AutoscalerSettingsAssumed(autoscaler="the Cluster Autoscaler")
        else:
            yield AutoscalerSettingsRead(source=read.source, flags=read.given)
    has_pools, has_groups = bool(session.cluster.all(NodePool)), bool(observed_groups(session.state).groups)
    if asked == "cluster-autoscaler" and has_pools:
        yield AutoscalerDisagrees(asked="the Cluster Autoscaler", other="Karpenter")
    elif asked == "karpenter" and has_groups and has_pools:
        yield AutoscalerDisagrees(asked="Karpenter", other="the Cluster Autoscaler")


def _adding(rounds: Iterable[ScalingRound]) -> Iterator[Caveat]:
    if any(found.scale_up or found.new_nodes for found in rounds):
        yield CloudCapacityUnknown()


_ACTOR = "autoscaler"


class Step(msgspec.Struct, frozen=True):
    """Nodes that are removed together, and the nodes that are added first."""

    nodes: tuple[str, ...]
    replacements: tuple[NewNode, ...] = ()


def proven(session: Session, steps: Sequence[Step], cutoff: int | None = None) -> Iterator[DrainedRow]:
    """The result of draining the nodes of each step, after the earlier steps.

    `cutoff`: pods of a lower priority may lose their room; None: no pod may.
    """
    if not steps:
        return
    base = SettledCluster(session, Parameters())
    engine = base.fork()
    for step in steps:
        yield _drained(engine, step, cutoff)
    engine.end()


def _drained(engine: Engine, step: Step, cutoff: int | None) -> DrainedRow:
    api_server = engine.api_server
    engine.perform(lambda api_server: _come(api_server, step.replacements))
    engine.settle()
    waiting, known = set(api_server.state.pending), len(api_server.history.events)
    groups = dict(_running_groups(step.nodes, api_server.state))
    options = msgspec.structs.replace(WITH_FLAGS, parallel=len(step.nodes))  # what it evicts, it has found movable
    drain = KubectlDrain(step.nodes, options)
    engine.ask()
    engine.evict(drain)
    engine.settle()
    pending = {key: info.pod for key, info in api_server.state.pending.items() if key not in waiting}
    expendable = [key for key, pod in pending.items() if cutoff is not None and is_expendable(pod, cutoff)]
    bound = (event.node for event in api_server.history.events[known:] if event.verb == "bound" and event.node)
    stays = () if drain.done and drain.ok else tuple(_still_on(step.nodes, drain, engine))
    if not stays:
        engine.perform(lambda api_server: _go(api_server, step.nodes))
        engine.settle()
    return DrainedRow(
        nodes=step.nodes,
        added=tuple(node.row for node in step.replacements),
        landed=tuple(LandedRow(node=node, pods=count) for node, count in sorted(Counter(bound).items())),
        pending=tuple(key for key in pending if key not in expendable),
        expendable=tuple(expendable),
        stays=stays,
        preempted=sum(event.verb == "preempted" for event in api_server.history.events[known:]),
        groups=tuple(
            MovedGroupRow(group=key, min_count=min_count, before=before, after=_running(key, api_server.state))
            for key, (min_count, before) in sorted(groups.items())
        ),
    )


def _running_groups(nodes: Sequence[str], state: State) -> Iterator[tuple[str, tuple[int, int]]]:
    """The groups that run, and have pods on the nodes: by key, how many pods each needs, and how many have a node."""
    known = state.cluster.all(PodGroup) if has_groups(state.cluster) else {}
    there = (info for name in nodes if (info := state.node(name)) is not None) if known else ()
    for key in {group_of(pod.pod) for info in there for pod in info.pods} & known.keys():
        running = _running(key, state)
        if running >= known[key].min_count:
            yield key, (known[key].min_count, running)


def _running(group: str, state: State) -> int:
    """How many pods of the group have a node."""
    return sum(bool(info.pod.spec.node_name) for info in state.members_of(group).values())


def _come(api_server: ApiServer, nodes: Iterable[NewNode]) -> None:
    for node in nodes:
        for obj in (node.claim, node.node, *node.besides):
            if obj is not None:
                api_server.write(Create(obj, stored=isinstance(obj, Pod)), _ACTOR, None)


def _go(api_server: ApiServer, nodes: Iterable[str]) -> None:
    for name in nodes:
        api_server.write(Remove(Node, name), _ACTOR, None)


def _still_on(nodes: Sequence[str], drain: KubectlDrain, engine: Engine) -> Iterator[str]:
    """The pods that the drain did not remove."""
    for name in nodes:
        info = engine.api_server.state.node(name)
        there = {} if info is None else {pod.key: None for pod in info.pods}
        yield from (key for key in drain.log.refusals if key in there)
