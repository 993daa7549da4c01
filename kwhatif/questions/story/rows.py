"""The rows of a story, from a finished simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.drain import KubectlDrain
from kwhatif.kube.matching.field_errors import aggregate
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, pod_condition
from kwhatif.questions.pod_groups import tried_groups
from kwhatif.questions.story.loops_and_rollouts import loop_row
from kwhatif.questions.story.outcome import Ending
from kwhatif.report.story import (
    CommandRow,
    EventRow,
    FactRow,
    GoneRow,
    RunsRow,
    Story,
    StoryBudgetRow,
    StoryNodeRow,
    StoryWorkloadRow,
    What,
)
from kwhatif.scheduler.framework.evidence import taint_text
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.history import Event, Gone, preemptor_text
from kwhatif.simulation.parameters import Parameters
from kwhatif.simulation.resizes import REFUSING_VERBS
from kwhatif.simulation.resizing import PENDING
from kwhatif.simulation.tally import Standing

#: Taints that repeat a node's spec and conditions.
_SAID_ALREADY = (
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)
_NOTHING = Standing()


class QuestionStart(NamedTuple):
    """The time of the question's action: the second of the simulation, and the number of events before."""

    second: float
    events: int


def story_of(ending: Ending, commands: tuple[CommandRow, ...] = (), asked: QuestionStart | None = None) -> Story:
    """All events, and their result.

    Args:
        ending: how the simulation has ended.
        commands: what was run.
        asked: the time of the question's action; None without one.
    """
    engine = ending.engine
    owners = _owners(engine)
    return Story(
        settled=ending.settled,
        caused=None if ending.without is None else ending.caused,
        asked=None if asked is None else round(asked.second, 3),
        first_event=0 if asked is None else asked.events,
        seconds=round(max((event.at for event in engine.api_server.history.events), default=0.0), 3),
        assumptions=(),
        parameters=_parameters(engine.parameters),
        events=tuple(_event(event, owners.get(event.object)) for event in engine.api_server.history.events),
        workloads=tuple(_workloads(ending)),
        pending=ending.pending,
        refused=ending.refused,
        failed=ending.failed,
        gone=tuple(_gone(gone, anyway=ending.is_gone_anyway(uid, gone)) for uid, gone in _all_gone(engine)),
        budgets=tuple(_budgets(ending)),
        nodes=tuple(_nodes(ending)),
        commands=commands,
        under_way=engine.under_way if engine.is_over_horizon else "",
        pod_groups=tried_groups(engine),
        conventions=dict(sorted(engine.api_server.chance.choices.items())),
        cycle=None if engine.cycle is None else replace(loop_row(engine, engine.cycle), anyway=ending.is_cycle_anyway),
    )


def _all_gone(engine: Engine) -> Iterable[tuple[str, Gone]]:
    return engine.api_server.history.gone.items()


def resizes_not_granted(pods: Iterable[str], engine: Engine) -> Iterator[CommandRow]:
    """A row for each resized pod (`namespace/name`) whose resize is not granted."""
    events = engine.api_server.history.events
    for key in pods:
        pod = engine.api_server.state.cluster.get(Pod, key)
        pending = pod and pod_condition(pod, PENDING)
        if not pending:
            continue
        ref = ObjectRef("Pod", key)
        found = (each.detail for each in reversed(events) if each.object == ref and each.verb in REFUSING_VERBS)
        why = next(found, "")
        yield CommandRow(f"resize {ref}", ok=False, seconds=0.0, why=f"{pending.reason}: {why}")


def command_row(drain: KubectlDrain, engine: Engine, start: float) -> CommandRow:
    """The row about a drain that began at that second of the simulation, with its output."""
    end = engine.evictors.ended.get(drain.name, engine.clock.now)
    errors = [error for failed in drain.failures.values() for error in failed]
    return CommandRow(
        command=f"drain {' '.join(drain.nodes)}",
        ok=drain.ok if drain.done else None,
        seconds=round(end - start, 3),
        why=aggregate(errors) if errors else "",
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


def _event(event: Event, workload: str | None) -> EventRow:
    return EventRow(
        id=event.id,
        at=round(event.at, 3),
        because=event.because,
        actor=event.actor,
        verb=event.verb,
        object=str(event.object),
        workload=workload,
        node=event.node,
        detail=event.detail if event.by is None else f"for {preemptor_text(event.by)}",
    )


def _owners(engine: Engine) -> dict[ObjectRef, str]:
    """The workloads of all present and former pods."""
    history = engine.api_server.history
    owners = {ObjectRef("Pod", gone.pod): gone.owner or f"Pod {gone.pod}" for gone in history.gone.values()}
    pods = engine.api_server.state.cluster.all(Pod)
    for ref in history.touched():
        if ref not in owners and ref.kind == Pod.__name__ and ref.key in pods:
            owners[ref] = engine.tally.root(pods[ref.key])
    return owners


def _gone(gone: Gone, *, anyway: bool) -> GoneRow:
    return GoneRow(
        pod=gone.pod,
        owner=gone.owner,
        initial=gone.initial,
        node=gone.node,
        how=gone.earlier or gone.how,
        by=preemptor_text(gone.by),
        at=round(gone.at, 3),
        anyway=anyway,
    )


def _budgets(ending: Ending) -> Iterator[StoryBudgetRow]:
    tally = ending.engine.tally
    for key, each in sorted(tally.budgets.items()):
        yield StoryBudgetRow(
            budget=key,
            before=tally.budgets_before.get(key, 0),
            lowest=each.lowest,
            after=each.allowed,
            overrun=each.overrun,
            overrun_anyway=each.overrun - ending.overruns.get(key, 0) if ending.without is not None else 0,
            anyway=ending.is_budget_so_anyway(key),
            steps=tuple((round(at, 3), allowed) for at, allowed in each.steps),
        )


def _workloads(ending: Ending) -> Iterator[StoryWorkloadRow]:
    tally, missing = ending.engine.tally, Counter[str | None]()
    for row in ending.pending:
        if row.pod.endswith("-"):
            missing[row.owner] += row.count
    for name in sorted(tally.workloads):
        before, after = tally.before.get(name, _NOTHING), tally.workloads[name]
        yield StoryWorkloadRow(
            workload=name,
            before=_counts(before),
            after=_counts(after),
            pending=after.pending + missing[name],
            ready_lowest=after.ready_lowest,
            ready_before=before.ready,
            ready_after=after.ready,
            terminating=after.terminating,
            anyway=ending.fares_so_anyway(name),
        )


def _counts(standing: Standing) -> dict[str, int]:
    return {node: count for node, count in sorted(standing.nodes.items()) if count}


def _nodes(ending: Ending) -> Iterator[StoryNodeRow]:
    engine = ending.engine
    others = {} if ending.without is None else ending.without.api_server.state.cluster.all(Node)
    before, after = engine.tally.nodes_before, engine.api_server.state.cluster.all(Node)
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was is now or (was and now and _state(was) == _state(now)):
            continue
        other = others.get(name)
        yield StoryNodeRow(
            node=name,
            before=None if was is None else node_state(was),
            after=None if now is None else node_state(now),
            anyway=ending.without is not None
            and (other is now or bool(other and now and _state(other) == _state(now))),
        )


def _state(node: Node) -> tuple[object, ...]:
    """The fields that matter to pods: without times of conditions."""
    allocatable = node.status.allocatable, node.status.capacity
    return node_state(node), node.metadata.labels, *allocatable


def node_state(node: Node) -> tuple[str, ...]:
    """The state of a node other than being ready: "cordoned", "not ready", and its other taints."""
    ready = next((each.status for each in node.status.conditions if each.type == "Ready"), "True")
    taints = (taint_text(taint) for taint in node.spec.taints if taint.key not in _SAID_ALREADY)
    cordoned = ("cordoned",) if node.spec.unschedulable else ()
    return (*cordoned, *(() if ready == "True" else ("not ready",)), *sorted(taints))


# --- many runs -----------------------------------------------------------------------------------------------------


class Runs(NamedTuple):
    """The number of runs, and the seed of their choices."""

    number: int
    seed: int
    #: Called with the number done, and the total.
    progress: Callable[[int, int], None] | None = None

    def watched(self, stories: Iterable[Story]) -> Iterator[Story]:
        """The stories of the runs as they come."""
        for done, story in enumerate(stories, 1):
            yield story
            if self.progress is not None:
                self.progress(done, self.number)

    @property
    def seeds(self) -> Iterator[str]:
        """One seed for each run."""
        return (f"{self.seed} {number}" for number in range(self.number))


def compared_runs(runs: Runs, stories: Iterable[Story]) -> RunsRow:
    """What happens in all runs with other choices, and how often other facts occur; the most frequent first."""
    counts = Counter[tuple[What, str]]()
    seconds: list[float] = []
    concerned: set[str] = set()
    ends: list[dict[str, bool]] = []
    for story in runs.watched(stories):
        seconds.append(story.seconds)
        counts.update(set(_facts(story)))
        moved = {row.workload for row in story.workloads if (row.before != row.after or row.pending) and not row.anyway}
        concerned |= moved
        ends.append({row.workload: not row.pending and bool(row.after) for row in story.workloads})
    for end in ends:
        counts.update({("placed", name) for name in concerned if end.get(name)})
    rows = sorted(counts.items(), key=lambda item: (-item[1], _ORDER.index(item[0][0]), item[0][1]))
    return RunsRow(
        runs=runs.number,
        seed=runs.seed,
        seconds_least=min(seconds, default=0.0),
        seconds_most=max(seconds, default=0.0),
        facts=tuple(FactRow(what=what, subject=subject, runs=number) for (what, subject), number in rows),
    )


#: The more important facts come first.
_ORDER: tuple[What, ...] = ("settled", "failed", "placed", "pending", "preempted", "evicted", "overrun")


def _facts(story: Story) -> Iterator[tuple[What, str]]:
    yield "settled", story.outcome
    for command in story.commands:
        if command.ok is False:
            yield "failed", command.command
    yield from (("failed", row.workload) for row in story.failed if not row.anyway)
    yield from (("pending", row.owner or f"Pod {row.pod}") for row in story.pending if not row.anyway)
    for gone in story.gone:
        if not gone.initial or gone.anyway:
            continue
        if gone.how in ("Preempted", "Evicted", "TaintEviction", "DeviceTaintEviction"):
            yield "preempted" if gone.how == "Preempted" else "evicted", gone.owner or f"Pod {gone.pod}"
    for budget in story.budgets:
        if budget.overrun > budget.overrun_anyway:
            yield "overrun", budget.budget
