"""`InstantEngine`: the engine without simulated time.

Pods appear as their controllers create them, and each is tried once, in the order of the scheduler's queue. A pod that
gets a node runs there and is ready at once; one that evicts others goes to its node at once, and their controllers do
not see it. A pod that a controller deletes is gone at once. Nothing is retried: `Engine` does that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.contract import Controller, Remove
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.profile import Profile, scheduler_of
from kwhatif.scheduler.pod_groups.cycle import GroupResult
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.scheduler.preemption.candidate import Victim, disrupt
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.attempts import SimulatedAttempts
from kwhatif.simulation.clock import Clock
from kwhatif.simulation.parameters import Chance
from kwhatif.simulation.pods import begins_to_go, unbound
from kwhatif.simulation.reactions import Reactions
from kwhatif.state.change import Evict, Nominate, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.removal import as_ready

#: The rank of pods that are already pending: they come before new ones.
WAITING = -1


class _Entry(NamedTuple):
    """A pod in the queue; entries are compared by the three numbers, which are unique."""

    #: Negated.
    priority: int
    #: That of its workload, or `WAITING`.
    rank: int
    number: int
    key: str
    uid: str
    #: The node that its manifest names: the pod is judged as if it were pending.
    node_name: str
    is_asked: bool
    #: Whether controllers see that it got a node.
    is_known: bool


class InstantEngine:
    """One moment."""

    def __init__(
        self,
        state: State,
        profiles: Mapping[str, Profile],
        controllers: Sequence[Controller] = (),
        clock: Clock | None = None,
        is_ready: Callable[[PodInfo], bool] = lambda _: False,
        *,
        counts_budgets: bool = True,
    ) -> None:
        """Set up.

        Args:
            state: is changed: pass a fork if it is still needed.
            profiles: scheduler name -> profile.
            controllers: in the order in which they act.
            clock: which stands still; None: its date does not matter.
            is_ready: whether a pod is ready as soon as it has a node; otherwise it is not ready at all.
            counts_budgets: whether budgets are counted after every eviction, not only when all pods have been tried.
        """
        self.api_server = ApiServer.standing(state) if clock is None else ApiServer(state, clock, Chance())
        if controllers:
            self.api_server.prepare()
        self.reactions = Reactions(self.api_server, controllers)
        #: Called with the result of every attempt before anything changes.
        self.attempt_watchers: list[Callable[[ScheduleResult], None]] = []
        self._profiles = profiles
        self._attempts = SimulatedAttempts(self.api_server, profiles, score_single_node=True, gated=True)
        self._is_ready = is_ready
        self._counts_budgets = counts_budgets
        self._queue: list[_Entry] = []
        self._numbers = 0
        #: By rank, how many pods are in the queue.
        self._queued: Counter[int] = Counter()
        #: How many pods in the queue are asked for.
        self._asked = 0
        #: Keys of the pods to remove.
        self._going: list[str] = []
        #: Keys of evicted pods: their replacements are not tried.
        self._evicted: set[str] = set()
        self.api_server.watchers.append(self._observe)

    def _observe(self, before: KubernetesObject | None, after: KubernetesObject | None, event: int | None) -> None:
        del event
        if isinstance(before, Pod) and isinstance(after, Pod) and begins_to_go(before, after):
            self._going.append(key_of(after))

    # --- the queue -----------------------------------------------------------------------------------

    def enqueue(self, info: PodInfo, rank: int, *, is_asked: bool, is_known: bool = True) -> None:
        """Add an existing pod to the queue.

        Pods of higher priority come first; of equal ones those of lower rank, and then in the order of these calls. A
        controller that creates its pods one by one creates the next one when those before it run. That one does not go
        to the end of the queue: how long a pod takes to be ready is not known.

        Args:
            info: the pod.
            rank: the number of its workload, or `WAITING`.
            is_asked: whether its result is asked for: other pods are tried only if they come before such a pod.
            is_known: whether controllers see that it got a node.
        """
        pod = info.pod
        if info.key in self._evicted:
            return
        if pod.spec.node_name:
            self.api_server.state.apply(Upsert(unbound(pod)))
        self._numbers += 1
        self._queued[rank] += 1
        self._asked += is_asked
        entry = _Entry(-info.priority, rank, self._numbers, info.key, info.uid, pod.spec.node_name, is_asked, is_known)
        heappush(self._queue, entry)

    def schedule(self) -> None:
        """Try the pods in order, until none is left that is asked for."""
        while self._asked:
            entry = heappop(self._queue)
            info = self.api_server.state.pending.get(entry.key)
            if info is not None and info.uid == entry.uid:
                self._try(info, entry)
            self._asked -= entry.is_asked
            self._queued[entry.rank] -= 1
            if entry.is_known and (entry.rank == WAITING or not self._queued[entry.rank]):
                self.react()

    def retry(self) -> None:
        """Let controllers retry what quotas have refused: quota may be free again."""
        self.reactions.retry_refused()
        self.react()

    def react(self) -> None:
        """Let controllers act until they have nothing to do; what they delete is gone at once.

        Raises:
            LivelockError: they never settle.
        """
        self.reactions.react()
        while self._going:
            going, self._going = self._going, []
            for key in going:
                self.api_server.write(Remove(Pod, key), "kubelet", None)
            self.reactions.react()

    # --- an attempt ----------------------------------------------------------------------------------

    def _try(self, info: PodInfo, entry: _Entry) -> None:
        pod, asked = info.pod, info
        if entry.node_name:
            given = replace(pod, spec=replace(pod.spec, node_name=entry.node_name))
            asked = PodInfo(given, self.api_server.state.cluster.facts.resizes)
        result = self.attempt(asked)
        for watcher in self.attempt_watchers:
            watcher(result)
        if result.outcome != "Ignored":
            self.carry_out(info, result, is_known=entry.is_known)
        elif entry.rank != WAITING:
            self._run(info, pod)

    def attempt(self, info: PodInfo) -> ScheduleResult:
        """What the scheduler does with the pending pod if it is tried now; nothing changes."""
        if scheduler_of(info.pod) not in self._profiles:
            return ScheduleResult(info, "Ignored")
        return self._attempts.attempt(info)

    def attempt_group(self, group: PodGroup, members: Sequence[PodInfo]) -> GroupResult:
        """What the scheduler does with the group, whose members that wait are these, in the queue's order."""
        return self._attempts.attempt_group(group, members)

    def evict_for_group(self, result: GroupResult) -> GroupResult:
        """The result of another attempt, once the pods that the group evicts are gone."""
        found, state = result.preemption, self.api_server.state
        assert found is not None, "it evicts"
        budgets = Budgets(state.cluster)
        victims = [Victim(pod, budgets.of(pod), tuple(found.breaking.get(pod.key, ()))) for pod in found.pods]
        self._evict(victims)
        return self.attempt_group(result.group, result.members)

    def _evict(self, victims: Sequence[Victim]) -> None:
        """The victims are gone at once; controllers do not see it."""
        self._evicted.update(victim.pod.key for victim in victims)
        self.api_server.assume(*(Evict(victim.pod.key, "PreemptionByScheduler") for victim in victims))
        if self._counts_budgets:
            disrupt(self.api_server.state, victims)

    def carry_out_group(self, result: GroupResult) -> dict[str, str]:
        """The members run on their nodes, if the group is placed: the nodes by key of the pod."""
        placed = [(each, each.node) for each in result.placed if each.node is not None] if result.is_placed else []
        for each, _ in placed:
            self.carry_out(each.pod, each)
        return {each.pod.key: node for each, node in placed}

    def carry_out(self, info: PodInfo, result: ScheduleResult, *, is_known: bool = False) -> None:
        """The pod runs on its node, and its victims are gone; or it stays pending, perhaps nominated to a node.

        Args:
            info: the pod, pending, or yet to be stored.
            result: of the last attempt, which was about it.
            is_known: whether controllers see that it got a node.
        """
        if result.node is None:
            self.stays(info, result)
        else:
            self._goes(info, result, result.node, is_known=is_known)

    def stays(self, info: PodInfo, result: ScheduleResult) -> None:
        """The pod is pending, perhaps nominated to a node; its victims stay."""
        state, nominated = self.api_server.state, result.nominated or None
        if info.key not in state.pending:
            state.apply(Upsert(unbound(info.pod)))
        if nominated != state.nomination_of(info.key):
            state.apply(Nominate(info.key, nominated))

    def _goes(self, info: PodInfo, result: ScheduleResult, node: str, *, is_known: bool) -> None:
        """The pod runs on its node; its victims are gone."""
        api_server, state = self.api_server, self.api_server.state
        if result.victims:
            self._evict(result.victims)
        if result.cleared_nominations:
            state.apply(*(Nominate(other.key, None) for other in result.cleared_nominations))
        for obj in result.reserve(state.by_name[node]):
            api_server.put(obj, None)
        placed = replace(info.pod, spec=replace(info.pod.spec, node_name=node))
        self._run(info, placed, is_known=is_known)

    def _run(self, info: PodInfo, placed: Pod, *, is_known: bool = True) -> None:
        """The pod runs on its node; a pod of another scheduler is assumed to run somewhere."""
        if self._is_ready(info):
            placed = as_ready(placed)
        if is_known:
            self.api_server.put(placed, None)
        else:
            self.api_server.state.apply(Upsert(placed))
