"""`Ending`: how a simulation ended, and what of that is due to the question.

The world without the question is simulated to the same second (`Without`). What fails there as well happens anyway,
and is not harm. New pods differ between the two worlds, so workloads are compared by how many of their pods have each
outcome; pods that existed before, by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal

from msgspec.structs import replace

from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Job
from kwhatif.questions.rows import room_for_pods
from kwhatif.questions.story.loops_and_rollouts import participants, stuck_rollouts, terminating_pods, unavailable_pods
from kwhatif.report.story import FailedRow, PendingRow, RefusedRow, Settled
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.simulation.engine import Engine
from kwhatif.simulation.history import Gone
from kwhatif.simulation.tally import Standing
from kwhatif.workloads.counts import wanted
from kwhatif.workloads.removal import active


class Without:
    """A simulation without the question's actions: the cluster at any later second.

    It runs only as far as needed, and its states are shared: a sweep plays it once.
    """

    def __init__(self, settled: Engine, again: Callable[[], Engine]) -> None:
        """Set up.

        Args:
            settled: the simulation when the question is asked; it stays as it is.
            again: creates it once more, for the reference mode.
        """
        self._again = again
        #: The simulation after each moment at which something was due; the first is the start.
        self._moments = [settled]

    def at(self, second: float) -> Engine:
        """The simulation at that second, after all reactions; read-only.

        An endless loop is not played further: it has no end to compare with.
        """
        if is_reference():
            plain = self._again()
            plain.ask()
            _go_on(plain, second)
            return plain
        while (due := self._moments[-1].next_of_all()) is not None and due <= second:
            last = self._moments[-1]
            if last.cycle is not None:
                break
            last.api_server.state.prepare()
            later = last.fork()
            later.ask()
            _go_on(later, due)
            if later.clock.now <= last.clock.now:
                break
            self._moments.append(later)
        return next(each for each in reversed(self._moments) if each.clock.now <= second or each is self._moments[0])


def _go_on(engine: Engine, second: float) -> None:
    if engine.cycle is None and second > engine.clock.now:
        engine.wait(second - engine.clock.now)


def pending_pods(engine: Engine) -> Iterator[PendingRow]:
    """The existing pods without a node when nothing happens any more."""
    for key, info in sorted(engine.api_server.state.pending.items()):
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
            initial=engine.api_server.was_there(pod),
        )


def not_made(engine: Engine) -> Iterator[PendingRow]:
    """Pods beyond the limit of created ones that are certainly pending.

    All of them are if a created pod of the workload is pending; otherwise those for which all nodes have no room.
    """
    api_server = engine.api_server
    room = room_for_pods(engine.scheduler.profiles, api_server.state.cluster) if api_server.limits.short else None
    for short in api_server.limits.short.values():
        known = api_server.state.cluster.get(type(short), key_of(short))
        pods = [] if known is None else active(api_server.pods_of(known))
        if known is None or not pods:
            continue
        waiting = [pod for pod in pods if not pod.spec.node_name]
        count, message = wanted(known) - len(pods), "all nodes together cannot take this number of pods"
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


def failed(engine: Engine) -> tuple[FailedRow, ...]:
    """The Jobs that have failed since the first action, with the controller's message.

    Jobs at their deadline are left out: they would fail anyway, or would have completed before.
    """
    jobs = engine.api_server.state.cluster.all(Job)
    found: dict[str, FailedRow] = {}
    for event in engine.api_server.history.events[engine.first_event :]:
        job = jobs.get(event.object.key) if event.verb == "failed" and event.object.kind == Job.__name__ else None
        for condition in job.status.conditions if job is not None else ():
            if condition.type == "Failed" and condition.status == "True" and condition.reason != "DeadlineExceeded":
                workload = str(event.object)
                found[workload] = FailedRow(workload=workload, message=condition.message)
    return tuple(found[name] for name in sorted(found))


def refused(engine: Engine) -> tuple[RefusedRow, ...]:
    """The workloads whose pods the API server refuses, with its messages.

    Pods beyond the simulation's limits are left out: only the simulation refuses those.
    """
    found: dict[str, RefusedRow] = {}
    for refusal in engine.reactions.refusals.values():
        if refusal.actor not in engine.api_server.limits.short:
            workload = engine.tally.root(refusal.obj) if isinstance(refusal.obj, Pod) else refusal.actor
            found[workload] = RefusedRow(
                workload=workload,
                message=refusal.denied.message,
                refusal=refusal.denied.cause,
                initial=refusal.since <= engine.first_event,
            )
    return tuple(found[workload] for workload in sorted(found))


_NOTHING = Standing()


class Ending:
    """A finished simulation, compared with the world without the question at that second."""

    def __init__(self, engine: Engine, without: Engine | None = None) -> None:
        """`without`: the simulation without the question; None if the question has no action."""
        self.engine = engine
        self.without = without
        #: The workloads that never settle, with or without the question.
        self.restless = frozenset() if without is None else participants(without)

    # --- pods ----------------------------------------------------------------------------------------

    @cached_property
    def pending(self) -> tuple[PendingRow, ...]:
        """The pods without a node, and the pods that are not created and would be pending."""
        rows = (*pending_pods(self.engine), *not_made(self.engine))
        if self.without is None:
            return rows
        return tuple(self._marked(rows, (*pending_pods(self.without), *not_made(self.without))))

    def _marked(self, rows: Iterable[PendingRow], others: Iterable[PendingRow]) -> Iterator[PendingRow]:
        """Mark pods as pending anyway: as many of each workload as without the question, the same pods first."""
        there, left = set[str](), Counter[str]()
        for row in others:
            there.add(row.pod)
            left[who(row)] += row.count
        found: dict[PendingRow, tuple[int, int]] = {}
        for row in sorted(rows, key=lambda row: (row.pod not in there, not row.initial, row.pod)):
            is_restless = who(row) in self.restless
            count = row.count if is_restless else min(row.count, left[who(row)])
            left[who(row)] -= count
            found[row] = count, row.count - count
        for row in sorted(found, key=lambda row: (row.pod.endswith("-"), row.pod)):
            anyway, caused = found[row]
            if caused:
                yield replace(row, count=caused)
            if anyway:
                yield replace(row, count=anyway, anyway=True)

    @property
    def fallen_short(self) -> tuple[str, ...]:
        """The workloads that stay short of pods: new ones are refused, or Jobs have failed."""
        refused = (row.workload for row in self.refused if not row.anyway)
        return (*refused, *(row.workload for row in self.failed if not row.anyway))

    def is_gone_anyway(self, uid: str, gone: Gone) -> bool:
        """Whether the pod also goes without the question."""
        if self.without is None:
            return False
        return uid in self.without.api_server.history.gone or (gone.owner or f"Pod {gone.pod}") in self.restless

    # --- workloads -----------------------------------------------------------------------------------

    def standing(self, workload: str) -> Standing:
        """The counts of the workload without the question; before it, if there is no action."""
        tally = self.engine.tally
        return (tally.before if self.without is None else self.without.tally.workloads).get(workload, _NOTHING)

    def fares_so_anyway(self, workload: str) -> bool:
        """Whether its end, and its minimum of ready pods, are the same without the question."""
        if self.without is None:
            return False
        after, other = self.engine.tally.workloads.get(workload, _NOTHING), self.standing(workload)
        return workload in self.restless or after is other or _numbers(after) == _numbers(other)

    def lacks(self, workload: str) -> int:
        """How many pods fewer the workload has than without the question."""
        after = self.engine.tally.workloads.get(workload, _NOTHING)
        return max(self.standing(workload).pods - after.pods, 0)

    @cached_property
    def refused(self) -> tuple[RefusedRow, ...]:
        """The workloads whose new pods the API server refuses."""
        rows = refused(self.engine)
        if self.without is None or not rows:
            return rows
        known = {row.workload for row in refused(self.without)}
        return tuple(replace(row, anyway=row.workload in known and not self.lacks(row.workload)) for row in rows)

    @cached_property
    def failed(self) -> tuple[FailedRow, ...]:
        """The Jobs that have failed."""
        rows = failed(self.engine)
        if self.without is None or not rows:
            return rows
        known = {row.workload for row in failed(self.without)}
        return tuple(replace(row, anyway=row.workload in known) for row in rows)

    @cached_property
    def unready(self) -> Mapping[str, tuple[int, int]]:
        """The workloads with fewer ready pods than without the question: how many, of how many."""
        found = {}
        for name, after in self.engine.tally.workloads.items():
            before = self.standing(name)
            if after is not before and after.ready < before.ready and name not in self.restless:
                found[name] = after.ready, before.ready
        return found

    @cached_property
    def overruns(self) -> Mapping[str, int]:
        """How many more healthy pods each budget lacks than without the question."""
        others = {} if self.without is None else self.without.tally.budgets
        found = {}
        for key, each in self.engine.tally.budgets.items():
            more = each.overrun - (others[key].overrun if key in others else 0)
            if more > 0:
                found[key] = more
        return found

    def is_budget_so_anyway(self, key: str) -> bool:
        """Whether the budget has the same counts without the question."""
        return self.without is not None and self.without.tally.budgets.get(key) == self.engine.tally.budgets[key]

    # --- how it ends ---------------------------------------------------------------------------------

    @cached_property
    def participants(self) -> frozenset[str]:
        """The workloads in an endless loop."""
        return participants(self.engine)

    @property
    def is_endless(self) -> bool:
        """Whether it never settles, but does without the question."""
        return self._endless(self.without) is not None

    def _endless(self, without: Engine | None) -> Literal["cycling", "horizon"] | None:
        engine = self.engine
        if engine.is_over_horizon and not (without is not None and _is_over(engine, without)):
            return "horizon"
        if engine.cycle is not None and (without is None or not self.is_cycle_anyway):
            return "cycling"
        return None

    @cached_property
    def settled(self) -> Settled:
        """The worst end, whatever its cause."""
        return self._worst(None)

    @cached_property
    def caused(self) -> Settled:
        """The worst end that the question has caused."""
        return self.settled if self.without is None else self._worst(self.without)

    def _worst(self, without: Engine | None) -> Settled:
        """The worst end that `without` does not have, too."""
        engine, endless = self.engine, self._endless(without)
        if endless is not None:
            return endless
        is_refused = any(without is None or not row.anyway for row in self.refused)
        if is_refused or stuck_rollouts(engine) - (stuck_rollouts(without) if without is not None else frozenset()):
            return "rollout-stuck"
        if engine.evictors.names:
            return "stalled"
        if terminating_pods(engine) - (terminating_pods(without) if without is not None else frozenset()):
            return "terminating"
        if any(without is None or not row.anyway for row in self.pending):
            return "pending"
        others = unavailable_pods(without) if without is not None else Counter[str]()
        late = unavailable_pods(engine) - others
        return "rollout-stuck" if any(name not in self.restless for name in late) else "settled"

    @property
    def is_cycle_anyway(self) -> bool:
        """Whether all workloads in the loop never settle without the question either."""
        return bool(self.restless) and self.participants <= self.restless


def _is_over(engine: Engine, without: Engine) -> bool:
    """Whether the same object is still not finished in both."""
    return engine.under_way == without.under_way


def _numbers(standing: Standing) -> tuple[object, ...]:
    nodes = {node: count for node, count in standing.nodes.items() if count}
    return nodes, standing.pending, standing.ready, standing.ready_lowest, standing.terminating


def who(row: PendingRow) -> str:
    """The workload of the pod; for a bare pod the pod itself."""
    return row.owner or f"Pod {row.pod}"
