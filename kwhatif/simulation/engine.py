"""`Engine`: the phases of every moment, one moment after another, until nothing is left to happen.

At one moment: kubelets, then clocks, then controllers until they have nothing to do, then evictors, then the scheduler,
pod by pod, with controllers reacting after each; at last the objects go of pods whose end everybody has seen.
Why so: in reality controllers and the scheduler take milliseconds, kubelets seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy

from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.controllers.contract import Controller, earliest
from kwhatif.controllers.node_lifecycle import returned
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.node import Node
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.simulation.chance import Chance
from kwhatif.simulation.clock import Clock
from kwhatif.simulation.deadlines import NEAR, has_got_room, is_anybody_waiting
from kwhatif.simulation.evictors import Evictor, Evictors
from kwhatif.simulation.groups import scheduler_for
from kwhatif.simulation.kubelets import Kubelets
from kwhatif.simulation.loops import EndlessLoop, Loops
from kwhatif.simulation.parameters import Parameters
from kwhatif.simulation.reactions import LivelockError, Reactions
from kwhatif.simulation.tally import WorkloadTally
from kwhatif.simulation.world import World
from kwhatif.state.state import State

#: The disruption controller's name: it counts while the scheduler goes on, so a burst of pods does not see it count.
BUDGETS = ("PodDisruptionBudget",)
#: Controllers that look at things from time to time: what they come to is not known to come before what is asked for.
LATE = ("HorizontalPodAutoscaler",)
#: More attempts at one moment than this times the number of pods come to no end.
_TOO_MANY = 10


class Engine:
    """One simulation."""

    def __init__(  # noqa: PLR0913 - all that a simulation starts from
        self,
        state: State,
        profiles: Mapping[str, Profile],
        controllers: Sequence[Controller],
        clock: Clock,
        parameters: Parameters,
        chance: Chance | None = None,
        asleep: Collection[str] = (),
        *,
        usage: QuotaUsage | None = None,
        scored: bool = False,
    ) -> None:
        """Set up.

        Args:
            state: it moves on: give a fork of one that is still needed.
            profiles: scheduler name -> profile.
            controllers: in the order in which they act at one moment.
            clock: when it starts.
            parameters: how long things take.
            chance: who takes one of several equally good choices; by default, the convention.
            asleep: keys of pending pods that are not tried before they change themselves.
            usage: what is used of quotas; None: what they say themselves.
            scored: whether somebody wants to know the scores of nodes that nobody has to choose between.
        """
        self.parameters = parameters
        self.clock = clock
        self.world = World(state, clock, chance or Chance(), usage)
        self.scheduler = scheduler_for(state.cluster)(self.world, profiles, asleep, scored=scored)
        self.kubelets = Kubelets(self.world, parameters)
        self.reactions = Reactions(self.world, controllers)
        self.loops = Loops(self.world)
        self.tally = WorkloadTally(self.world)
        self.evictors = Evictors(self.world)
        #: Found a round that comes back for ever.
        self.cycle: EndlessLoop | None = None
        self.is_over_horizon = False
        #: When the simulation gives up.
        self._horizon = parameters.horizon
        #: How many events there were before anybody did anything.
        self.first_event = 0
        #: Controllers whose timers nobody waits for before somebody does something.
        self._not_waited_for: Sequence[str] = ()

    def fork(self) -> Engine:
        """An independent simulation with the same past; it costs next to nothing, whatever the size of the cluster.

        Only between two moments: not while one is under way.
        """
        other = copy(self)
        other.world = world = self.world.fork()
        other.clock = world.clock
        other.scheduler = self.scheduler.fork(world)
        other.kubelets = self.kubelets.fork(world)
        other.reactions = self.reactions.fork(world)
        other.loops = self.loops.fork(world)
        other.tally = self.tally.fork(world)
        other.evictors = self.evictors.fork(world)
        return other

    def end(self) -> None:
        """Nobody goes on from here: break circles of references, which the garbage collector would find too late."""
        self.world.watchers.clear()
        self.scheduler.end()

    # --- for those who run it ------------------------------------------------------------------------

    def begin(self, edited: Iterable[tuple[KubernetesObject | None, KubernetesObject]] = ()) -> None:
        """Everybody looks at what there is, until nothing happens any more.

        `edited`: what is not as the controllers left it, before and after.
        """
        self.reactions.start(edited)
        self._moment()
        self.scheduler.begin()
        self._not_waited_for = LATE
        self._run()
        self._not_waited_for = ()
        self.first_event = len(self.world.history.events)

    def ask(self) -> None:
        """What is asked begins now: it has as much time as there was before."""
        self._horizon = self.clock.now + self.parameters.horizon
        self.is_over_horizon = False

    def perform(self, *commands: Callable[[World], None]) -> None:
        """Somebody does something now, and everybody reacts: controllers after each command, all others at the end."""
        self.loops.forget()
        self._moment(commands)

    def evict(self, evictor: Evictor) -> None:
        """Somebody begins to evict."""
        self.loops.forget()
        self.evictors.begin(evictor)
        self._moment()

    def silence(self, node: str) -> None:
        """The node's kubelet is not heard of from now on."""

        def silenced(world: World) -> None:
            event = world.note(None, f"kubelet {node}", "fell silent", f"Node {node}")
            self.kubelets.silence(node)
            self.reactions.look_at(world.state.cluster.get(Node, node), event)

        self.perform(silenced)

    def recover(self, node: str) -> None:
        """The node's kubelet is heard of again."""

        def recovered(world: World) -> None:
            event = world.note(None, f"kubelet {node}", "came back", f"Node {node}")
            self.kubelets.wake(node)
            for write in returned(node, world):
                world.write(write, f"kubelet {node}", event)
            self.reactions.look_at(world.state.cluster.get(Node, node), event)

        self.perform(recovered)

    def settle(self) -> None:
        """Run until nothing is due but clocks that change nothing.

        Deadlines are waited for where a pod gets its place by one of them that is near.
        """
        self._run()
        while self._goes_on() and (due := self._deadline_with_room()) is not None:
            while self._goes_on() and (until := self.reactions.next_deadline()) is not None and until <= due:
                self._go_to(until)
                self._run()

    def _run(self) -> None:
        """Run until nothing is due but deadlines, and clocks that change nothing."""
        while self._goes_on():
            due = self._next()
            if due is None:
                prove_rest(self)
                return
            self._go_to(due)

    def _deadline_with_room(self) -> float | None:
        """The deadline by which a pod that waits gets its place, if it is near: found by looking ahead."""
        due, last = self.reactions.next_deadline(), min(self.clock.now + NEAR, self._horizon)
        if due is None or due > last or not is_anybody_waiting(self.world, self.reactions):
            return None
        ahead = self._look_ahead()
        try:
            while ahead._goes_on() and (due := ahead.reactions.next_deadline()) is not None and due <= last:
                ahead._go_to(due)
                ahead._run()
                if has_got_room(self.world, self.reactions, ahead.world):
                    return due
        finally:
            ahead.end()
        return None

    def _look_ahead(self) -> Engine:
        """A fork to see what comes; what was before does not count as a loop there."""
        ahead = self.fork()
        ahead.loops.forget()
        return ahead

    def wait(self, seconds: float) -> None:
        """Run for so long, whatever happens."""
        end = self.clock.now + seconds
        while self._goes_on():
            due = self.next_of_all()
            if due is None or due > end:
                break
            self._go_to(due)
        if self._goes_on():
            self._go_to(end)

    def next_of_all(self) -> float | None:
        """When the next thing is due, and be it one that changes nothing."""
        scheduler, reactions = self.scheduler, self.reactions
        return earliest(self.kubelets.next(), reactions.next_of_all(), scheduler.next_flush(), self.evictors.next())

    @property
    def under_way(self) -> str:
        """Who is not done, such as a pod that is still to end; "" where nothing is due that may change anything."""
        if self.kubelets.next() is not None:
            return self.kubelets.next_pod()
        return self.reactions.next_key() or next(iter(self.evictors.names), "")

    # --- time ----------------------------------------------------------------------------------------

    def _goes_on(self) -> bool:
        return self.cycle is None and not self.is_over_horizon

    def _next(self) -> float | None:
        """When the next thing is due that may change anything."""
        reactions = self.reactions.next(self._not_waited_for)
        others = earliest(self.kubelets.next(), reactions, self.scheduler.next_flush())
        # Where nothing else will happen, trying again is worth while only after a change, or to come to a timeout.
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

    def _moment(self, commands: Sequence[Callable[[World], None]] = ()) -> None:
        """All phases of the present, until nothing more is due now."""
        try:
            for number, command in enumerate(commands):
                if number:
                    self.reactions.react()
                command(self.world)
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
            self.cycle = EndlessLoop.at_one_moment(self.world, str(endless))
            return
        self.tally.look()
        found = self.loops.look(self.evictors.left, self._is_due_since)
        if found is not None and not self.loops.is_waiting and not self._comes_back():
            self.loops.forget()
            return
        self.cycle = found

    def _comes_back(self) -> bool:
        """Whether what looks like a loop goes round once more, to the very same picture (see `loops`)."""
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
        """Pods that wait together are one burst: budgets are counted only after it."""
        scheduler, reactions = self.scheduler, self.reactions
        left = _TOO_MANY * len(self.world.state.pods) + 1000
        while burst := scheduler.waiting():
            while burst and (tried := scheduler.schedule_one()) is not None:
                burst.discard(tried)
                reactions.react(BUDGETS)
                left -= 1
                if left < 0:
                    raise LivelockError("pods are tried again and again, and no time passes")
            reactions.react()


# --- that it is over ---------------------------------------------------------------------------------
# A simulation ends while keys and pods are still to be tried again, of which it is known that nothing has changed since
# they were tried in vain. In the reference mode they are tried all the same.


class NotAtRestError(AssertionError):
    """A bug: something was given up that would have come to something."""


def prove_rest(engine: Engine) -> None:
    """In the reference mode: let everything that was given up be tried once more, on a fork.

    Raises:
        NotAtRestError: something comes of it.
    """
    if not is_reference():
        return
    found = list(_what_comes_of_it(engine.fork()))
    if found:
        raise NotAtRestError(f"it was not over at {engine.clock.now} s: {'; '.join(found[:3])}")


def _what_comes_of_it(fork: Engine) -> Iterator[str]:
    scheduler, events = fork.scheduler, fork.world.history.events
    known = len(events)
    # Pods whose attempts end with an error, and that are not waited for: what another attempt says otherwise.
    for info in scheduler.queue.backoff.pod_error_backoff.list():
        result = scheduler.attempts.attempt(info.pod_info)
        if not result.failed or result.message != scheduler.messages.get(info.uid):
            yield f"Pod {info.key}: {result.outcome} {result.message}"
    fork.reactions.retry()
    yield from (f"{event.actor} {event.verb} {event.object}" for event in events[known:] if event.verb != "was refused")
    fork.end()
