"""From a simulation that has come to its end to the story of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import asdict

from kwhatif.controllers.drain import KubectlDrain
from kwhatif.controllers.drain_filters import joined
from kwhatif.framework.evidence import taint_text
from kwhatif.model.cluster import key_of
from kwhatif.model.meta import controller_of
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod
from kwhatif.report.story import (
    CommandRow,
    EventRow,
    GoneRow,
    PendingRow,
    Story,
    StoryBudgetRow,
    StoryNodeRow,
    StoryWorkloadRow,
)
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.history import Gone, StoryEvent
from kwhatif.simulation.parameters import Parameters
from kwhatif.simulation.tally import Standing
from kwhatif.whatif.deciding.workload_rows import room_for_pods
from kwhatif.whatif.story.end import loop_row, settled
from kwhatif.whatif.story.failed import failed
from kwhatif.whatif.story.refused import refused
from kwhatif.workloads.many import wanted
from kwhatif.workloads.removal import active

#: Taints that only repeat what a node's spec and conditions say.
_SAID_ALREADY = (
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)


def story_of(engine: Engine, commands: tuple[CommandRow, ...] = ()) -> Story:
    """Everything that has happened, and what it came to."""
    not_made = tuple(_not_made(engine))
    pending = (*_pending(engine), *not_made)
    refusals = refused(engine)
    owners = _owners(engine)
    return Story(
        settled=settled(engine, pending, refusals),
        seconds=round(max((event.at for event in engine.world.history.events), default=0.0), 3),
        assumptions=(),
        parameters=_parameters(engine.parameters),
        events=tuple(_event(event, owners.get(event.object)) for event in engine.world.history.events),
        workloads=tuple(_workloads(engine, not_made)),
        pending=pending,
        refused=refusals,
        failed=failed(engine),
        gone=tuple(_gone(gone) for gone in engine.world.history.gone.values()),
        budgets=tuple(
            StoryBudgetRow(
                budget=key,
                before=engine.tally.budgets_before.get(key, 0),
                lowest=each.lowest,
                after=each.allowed,
                overrun=each.overrun,
            )
            for key, each in sorted(engine.tally.budgets.items())
        ),
        nodes=tuple(_nodes(engine)),
        commands=commands,
        conventions=dict(sorted(engine.world.chance.choices.items())),
        cycle=None if engine.cycle is None else loop_row(engine, engine.cycle, owners),
    )


def command_row(drain: KubectlDrain, engine: Engine, start: float) -> CommandRow:
    """A drain that began at that second of the simulation, and what it prints."""
    end = engine.evictors.ended.get(drain.name, engine.clock.now)
    errors = [error for failed in drain.failures.values() for error in failed]
    return CommandRow(
        command=f"drain {' '.join(drain.nodes)}",
        ok=drain.ok if drain.done else None,
        seconds=round(end - start, 3),
        why=joined(errors) if errors else "",
        output=tuple(drain.log.output),
    )


def _parameters(given: Parameters) -> dict[str, float | str]:
    return {
        "start": given.start,
        "readiness": "probe" if given.readiness is None else given.readiness,
        "termination": "grace" if given.termination is None else given.termination,
        "nodeMonitorGracePeriod": given.node_monitor_grace_period,
        "horizon": given.horizon,
    }


def _owners(engine: Engine) -> dict[str, str]:
    """The workloads of all pods that are there or were, by the names of these in events."""
    owners = {f"Pod {gone.pod}": gone.owner or f"Pod {gone.pod}" for gone in engine.world.history.gone.values()}
    changed = {event.object for event in engine.world.history.events} - owners.keys()
    pods = engine.world.state.cluster.all(Pod)
    for name in changed:
        kind, _, key = name.partition(" ")
        if kind == "Pod" and key in pods:
            owners[name] = engine.tally.root(pods[key])
    return owners


def _event(event: StoryEvent, workload: str | None) -> EventRow:
    return EventRow(**asdict(event) | {"at": round(event.at, 3), "workload": workload})


def _gone(gone: Gone) -> GoneRow:
    return GoneRow(
        pod=gone.pod,
        owner=gone.owner,
        initial=gone.initial,
        node=gone.node,
        how=gone.earlier or gone.how,
        by=gone.by,
        at=round(gone.at, 3),
    )


def _workloads(engine: Engine, not_made: Iterable[PendingRow]) -> Iterator[StoryWorkloadRow]:
    tally, nothing, missing = engine.tally, Standing(), Counter[str | None]()
    for row in not_made:
        missing[row.owner] += row.count
    for name in sorted(tally.workloads):
        before, after = tally.before.get(name, nothing), tally.workloads[name]
        yield StoryWorkloadRow(
            workload=name,
            before=_counts(before),
            after=_counts(after),
            pending=after.pending + missing[name],
            ready_lowest=after.ready_lowest,
            ready_before=before.ready,
            ready_after=after.ready,
            terminating=after.terminating,
        )


def _counts(standing: Standing) -> dict[str, int]:
    return {node: count for node, count in sorted(standing.nodes.items()) if count}


def _pending(engine: Engine) -> Iterator[PendingRow]:
    for key, info in sorted(engine.world.state.pending.items()):
        pod = info.pod
        if pod.metadata.deletion_timestamp is not None:
            continue
        owner = engine.tally.root(pod)
        yield PendingRow(
            pod=key,
            owner=None if controller_of(pod.metadata) is None else owner,
            message=engine.scheduler.messages.get(info.uid, ""),
            nominated_node=pod.status.nominated_node_name or None,
            priority=info.priority,
            initial=engine.world.was_there(pod),
        )


def _not_made(engine: Engine) -> Iterator[PendingRow]:
    """Of workloads that ask for more pods than are made: those that are pending for sure, without being made.

    They are if one like them waits; else those for which all nodes together have no room.
    """
    world = engine.world
    room = room_for_pods(engine.scheduler.profiles, world.state.cluster) if world.limits.short else None
    for short in world.limits.short.values():
        known = world.state.cluster.get(type(short), key_of(short))
        pods = [] if known is None else active(world.pods_of(known))
        if known is None or not pods:
            continue
        waiting = [pod for pod in pods if not pod.spec.node_name]
        count, message = wanted(known) - len(pods), "all nodes together cannot take so many pods"
        if waiting:
            message = engine.scheduler.messages.get(waiting[-1].metadata.uid, "")
        else:
            count -= count if room is None else max(0, room - len(pods))
        if count > 0:
            yield PendingRow(
                pod=f"{key_of(known)}-",
                owner=engine.tally.root(pods[-1]),
                message=message,
                nominated_node=None,
                priority=pods[-1].spec.priority or 0,
                count=count,
            )


def _nodes(engine: Engine) -> Iterator[StoryNodeRow]:
    before, after = engine.tally.nodes_before, engine.world.state.cluster.all(Node)
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was is now or (was and now and _state(was) == _state(now)):
            continue
        yield StoryNodeRow(
            node=name, before=None if was is None else _words(was), after=None if now is None else _words(now)
        )


def _state(node: Node) -> tuple[object, ...]:
    """What makes it another node for pods: not its conditions' times."""
    allocatable = node.status.allocatable, node.status.capacity
    return _words(node), node.metadata.labels, *allocatable


def _words(node: Node) -> tuple[str, ...]:
    ready = next((each.status for each in node.status.conditions if each.type == "Ready"), "True")
    taints = (taint_text(taint) for taint in node.spec.taints if taint.key not in _SAID_ALREADY)
    cordoned = ("cordoned",) if node.spec.unschedulable else ()
    return (*cordoned, *(() if ready == "True" else ("not ready",)), *sorted(taints))
