"""`Engine`: the phases of every moment, until nothing is left to happen.

Each moment: kubelets, then clocks, then controllers until they have nothing to do, then evictors, then the scheduler,
pod by pod, with controllers reacting after each; finally pods whose end all controllers have seen are removed.
The reason: in a real cluster controllers and the scheduler take milliseconds, kubelets seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy

from kwhatif.controllers.contract import Controller, earliest
from kwhatif.controllers.node_lifecycle import returned
from kwhatif.errors import OutOfTime
from kwhatif.kube.model.cluster import KubernetesObject, ObjectRef
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import has_groups
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.clock import Clock
from kwhatif.simulation.evictors import Evictor, Evictors
from kwhatif.simulation.groups import GroupCycle
from kwhatif.simulation.kubelets import Kubelets
from kwhatif.simulation.loops import EndlessLoop, Loops
from kwhatif.simulation.parameters import Chance, Parameters, SchedulerOptions
from kwhatif.simulation.reactions import LivelockError, Reactions
from kwhatif.simulation.scheduler import Scheduler
from kwhatif.simulation.tally import WorkloadTally
from kwhatif.state.state import State

#: The disruption controller's name: it counts while the scheduler continues, so a burst of pods is not counted.
BUDGETS = ("PodDisruptionBudget",)
#: Controllers that sync periodically, and autoscalers of nodes: their next action may be later than the question's.
LATE = ("HorizontalPodAutoscaler", "ClusterAutoscaler", "Karpenter")
#: How many seconds after the last other event a deadline is still waited for: as long as a Deployment may go without
#: progress before it counts as failed (the default of `progressDeadlineSeconds`).
NEAR = 600.0
#: More attempts at one moment than this times the number of pods never end.
_TOO_MANY = 10


def is_always_awaited() -> bool:
    """For simulations that run to their end, however long that takes."""
    return True


class Engine:
    """A simulation."""

    def __init__(  # noqa: PLR0913 - all that a simulation starts from
        self,
        state: State,
        profiles: Mapping[str, Profile],
        controllers: Sequence[Controller],
        clock: Clock,
        parameters: Parameters,
        chance: Chance | None = None,
        *,
        scheduling: SchedulerOptions = SchedulerOptions(),  # noqa: B008 - frozen
        evicting: int | None = None,
    ) -> None:
        """Set up.

        Args:
            state: is changed: pass a fork if it is still needed.
            profiles: scheduler name -> profile.
            controllers: in the order in which they act at each moment.
            clock: has the start.
            parameters: how long things take.
            chance: decides between equal choices; by default, the convention.
            scheduling: how the scheduler runs.
            evicting: how many pods of a workload may evict others; None: any number.
        """
        self.parameters = parameters
        self.clock = clock
        self.api_server = ApiServer(state, clock, chance or Chance(), evicting).prepare()
        groups = GroupCycle() if has_groups(state.cluster) else None
        self.scheduler = Scheduler(self.api_server, profiles, groups, scheduling)
        self.kubelets = Kubelets(self.api_server, parameters)
        self.reactions = Reactions(self.api_server, controllers)
        self.loops = Loops(self.api_server)
        self.tally = WorkloadTally(self.api_server)
        self.evictors = Evictors(self.api_server)
        #: The endless loop that was found.
        self.cycle: EndlessLoop | None = None
        self.is_over_horizon = False
        #: When the simulation gives up.
        self._horizon = parameters.horizon
        self._is_awaited: Callable[[], bool] = is_always_awaited
        #: The number of events before the first action.
        self.first_event = 0
        #: Controllers whose timers are not waited for before the first action.
        self._not_waited_for: Sequence[str] = ()

    def fork(self, is_awaited: Callable[[], bool] | None = None) -> Engine:
        """An independent simulation with the same past; it is cheap for a cluster of any size.

        Only between two moments.

        Args:
            is_awaited: called at each moment; once it returns False, the simulation is given up (`OutOfTime`). Forks of
                this one call it, too. None: that of this simulation.
        """
        other = copy(self)
        other._is_awaited = is_awaited or self._is_awaited
        other.api_server = api_server = self.api_server.fork()
        other.clock = api_server.clock
        other.scheduler = self.scheduler.fork(api_server)
        other.kubelets = self.kubelets.fork(api_server)
        other.reactions = self.reactions.fork(api_server)
        other.loops = self.loops.fork(api_server)
        other.tally = self.tally.fork(api_server)
        other.evictors = self.evictors.fork(api_server)
        return other

    def end(self) -> None:
        """This simulation is finished: break reference cycles, which the garbage collector would find too late."""
        self.api_server.watchers.clear()
        self.scheduler.end()

    # --- for callers ---------------------------------------------------------------------------------

    def begin(self, edited: Iterable[tuple[KubernetesObject | None, KubernetesObject]] = ()) -> None:
        """Let all controllers sync, until nothing happens any more.

        `edited`: objects that the controllers have not seen yet, before and after.
        """
        self.reactions.start(edited)
        self._moment()
        self.scheduler.begin()
        self._not_waited_for = LATE
        self._run()
        self._not_waited_for = ()
        self.first_event = len(self.api_server.history.events)

    def ask(self) -> None:
        """The question starts now: it gets the whole horizon again."""
        self._horizon = self.clock.now + self.parameters.horizon
        self.is_over_horizon = False

    def perform(self, *commands: Callable[[ApiServer], None]) -> None:
        """Run commands now, with all reactions: controllers after each command, everything else at the end."""
        self.loops.forget()
        self._moment(commands)

    def evict(self, evictor: Evictor) -> None:
        """Start an evictor."""
        self.loops.forget()
        self.evictors.begin(evictor)
        self._moment()

    def silence(self, node: str) -> None:
        """The node's kubelet stops reporting."""

        def silenced(api_server: ApiServer) -> None:
            event = api_server.note(None, f"kubelet {node}", "fell silent", ObjectRef("Node", node))
            self.kubelets.silence(node)
            self.reactions.look_at(api_server.state.cluster.get(Node, node), event)

        self.perform(silenced)

    def recover(self, node: str) -> None:
        """The node's kubelet reports again."""

        def recovered(api_server: ApiServer) -> None:
            event = api_server.note(None, f"kubelet {node}", "came back", ObjectRef("Node", node))
            self.kubelets.wake(node)
            for write in returned(node, api_server):
                api_server.write(write, f"kubelet {node}", event)
            self.reactions.look_at(api_server.state.cluster.get(Node, node), event)

        self.perform(recovered)

    def settle(self) -> None:
        """Run until nothing is due that changes anything.

        Waits for a near deadline if it makes room for a pod.
        """
        self._run()
        while self._goes_on() and (due := self._deadline_with_room()) is not None:
            while self._goes_on() and (until := self.reactions.next_deadline()) is not None and until <= due:
                self._go_to(until)
                self._run()

    def _run(self) -> None:
        """Run until nothing but deadlines is due that changes anything."""
        while self._goes_on():
            due = self._next()
            if due is None:
                prove_rest(self)
                return
            self._go_to(due)

    def _deadline_with_room(self) -> float | None:
        """The near deadline that makes room for a pending pod, if any: found by looking ahead."""
        due, last = self.reactions.next_deadline(), min(self.clock.now + NEAR, self._horizon)
        if due is None or due > last or not _is_any_pod_waiting(self.api_server, self.reactions):
            return None
        ahead = self._look_ahead()
        try:
            while ahead._goes_on() and (due := ahead.reactions.next_deadline()) is not None and due <= last:
                ahead._go_to(due)
                ahead._run()
                if _has_got_room(self.api_server, self.reactions, ahead.api_server):
                    return due
        finally:
            ahead.end()
        return None

    def _look_ahead(self) -> Engine:
        """A fork to look ahead; the past does not count for loops there."""
        ahead = self.fork()
        ahead.loops.forget()
        return ahead

    def wait(self, seconds: float) -> None:
        """Run for this long, whatever happens."""
        end = self.clock.now + seconds
        while self._goes_on():
            due = self.next_of_all()
            if due is None or due > end:
                break
            self._go_to(due)
        if self._goes_on():
            self._go_to(end)

    def next_of_all(self) -> float | None:
        """When the next item is due, including items that change nothing."""
        scheduler, reactions = self.scheduler, self.reactions
        return earliest(self.kubelets.next(), reactions.next_of_all(), scheduler.next_flush(), self.evictors.next())

    @property
    def under_way(self) -> str:
        """An unfinished item, such as a terminating pod; "" if no item is due that may change anything."""
        if self.kubelets.next() is not None:
            return self.kubelets.next_pod()
        return self.reactions.next_key() or next(iter(self.evictors.names), "")

    # --- time ----------------------------------------------------------------------------------------

    def _goes_on(self) -> bool:
        return self.cycle is None and not self.is_over_horizon

    def _next(self) -> float | None:
        """When the next item is due that may change anything."""
        reactions = self.reactions.next(self._not_waited_for)
        others = earliest(self.kubelets.next(), reactions, self.scheduler.next_flush())
        # If nothing else will happen, a retry helps only after a change, or to reach a timeout.
        due = earliest(others, self.evictors.next(alone=others is None))
        return None if due is None else earliest(due, self.reactions.next_deadline())

    def _go_to(self, time: float) -> None:
        if time > self._horizon:
            self.clock.now = self._horizon
            self.is_over_horizon = True
            return
        since, self.clock.now = self.clock.now, max(time, self.clock.now)
        if self.clock.now > since:
            self.scheduler.flush(since)
        self._moment()

    # --- one moment ----------------------------------------------------------------------------------

    def _moment(self, commands: Sequence[Callable[[ApiServer], None]] = ()) -> None:
        """Run all phases of this moment, until nothing more is due now.

        Raises:
            OutOfTime: nothing waits for it any more.
        """
        if not self._is_awaited():
            raise OutOfTime(f"it was given up at second {self.clock.now:g} of what is simulated")
        try:
            for number, command in enumerate(commands):
                if number:
                    self.reactions.react()
                command(self.api_server)
            goes_on = True
            while goes_on:
                self.kubelets.act()
                self.reactions.tick()
                self.reactions.react()
                self.evictors.act()
                self.reactions.react()
                self._schedule()
                goes_on = self.kubelets.finish() or self._is_due_now()
            self.reactions.react()
        except LivelockError as endless:
            self.cycle = EndlessLoop.at_one_moment(self.api_server, str(endless))
            return
        self.tally.look()
        found = self.loops.look(self.evictors.left, self._is_due_since)
        if found is not None and not self.loops.is_waiting and not self._comes_back():
            self.loops.forget()
            return
        self.cycle = found

    def _comes_back(self) -> bool:
        """Whether a suspected loop returns once more to exactly the same picture (see `loops`)."""
        ahead = self._look_ahead()
        try:
            ahead.loops.wait_for_return()
            ahead._horizon = ahead.clock.now + self.parameters.horizon
            ahead._run()
            return ahead.cycle is not None
        finally:
            ahead.end()

    def _is_due_since(self, time: float) -> bool:
        return self.kubelets.is_due_since(time) or self.reactions.is_due_since(time)

    def _is_due_now(self) -> bool:
        due = self.next_of_all()
        return due is not None and due <= self.clock.now

    def _schedule(self) -> None:
        """Schedule all pods in the queue as one burst: budgets are counted only after it."""
        scheduler, reactions = self.scheduler, self.reactions
        left = _TOO_MANY * len(self.api_server.state.pods) + 1000
        while burst := scheduler.waiting():
            while burst and (tried := scheduler.schedule_one()) is not None:
                burst.discard(tried)
                reactions.react(BUDGETS)
                left -= 1
                if left < 0:
                    raise LivelockError("pods are tried again and again, and no time passes")
            reactions.react()


# --- proof that it is over ---------------------------------------------------------------------------
# A simulation ends although keys and pods are due for a retry, if nothing has changed since they failed. In the
# reference mode they are retried anyway.


class NotAtRestError(AssertionError):
    """A bug: a skipped retry would have changed something."""


def prove_rest(engine: Engine) -> None:
    """In the reference mode: run all skipped retries on a fork.

    Raises:
        NotAtRestError: one changes something.
    """
    if not is_reference():
        return
    found = list(_what_comes_of_it(engine.fork()))
    if found:
        raise NotAtRestError(f"it was not over at {engine.clock.now} s: {'; '.join(found[:3])}")


def _what_comes_of_it(fork: Engine) -> Iterator[str]:
    scheduler, events = fork.scheduler, fork.api_server.history.events
    known = len(events)
    # Pods whose attempts end with an error, and that are not waited for: whether another attempt differs.
    for info in scheduler.queue.backoff.pod_error_backoff.list():
        result = scheduler.attempts.attempt(info.pod_info)
        if not result.failed or result.message != scheduler.messages.get(info.uid):
            yield f"Pod {info.key}: {result.outcome} {result.message}"
    fork.reactions.retry()
    yield from (f"{event.actor} {event.verb} {event.object}" for event in events[known:] if event.verb != "was refused")
    fork.end()


# --- deadlines that are waited for -------------------------------------------------------------------
# A Job may run until its `activeDeadlineSeconds`; how long its pods run is not known. So a deadline is waited for only
# if it makes room for a pod that is pending, or that a quota does not let its controller create.


def _is_any_pod_waiting(api_server: ApiServer, reactions: Reactions) -> bool:
    """Whether a pod is pending, or its creation was refused."""
    return bool(api_server.state.pending) or any(isinstance(each.obj, Pod) for each in reactions.refusals.values())


def _has_got_room(now: ApiServer, refused: Reactions, later: ApiServer) -> bool:
    """Whether a pod that is pending or refused now is bound or created later."""
    pods = (later.state.pods.get(key) for key in now.state.pending)
    if any(info is not None and info.pod.spec.node_name for info in pods):
        return True
    actors = {each.actor for each in refused.refusals.values() if isinstance(each.obj, Pod)}
    events = later.history.events[len(now.history.events) :] if actors else ()
    return any(event.verb == "created" and event.actor in actors for event in events)
