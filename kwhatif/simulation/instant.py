"""`InstantEngine`: the engine without simulated time.

Pods are tried once: as their controllers create them, in the order of the scheduler's queue (`schedule`), or in a given
order (`run`), members of groups with their group. A pod that gets a node runs there and is ready at once; one that
evicts others goes to its node at once, and their controllers do not see it. A pod that a controller deletes is gone at
once. Nothing is retried: `Engine` does that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.contract import Controller, Remove
from kwhatif.kube.model.cluster import KubernetesObject, identity, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup, group_of, has_groups
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.attempt import run_pre_enqueue
from kwhatif.scheduler.framework.profile import Profile, profile_of, scheduler_of
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.scheduler.pod_groups.cycle import GroupOutcome, GroupPreemption, GroupResult
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


class GroupTurn(NamedTuple):
    """A group that was tried as a whole."""

    #: Of the last attempt.
    result: GroupResult
    #: Key of a member -> the node on which it now runs.
    nodes: Mapping[str, str]
    #: What it has evicted before that; None: nothing.
    evicted: GroupPreemption | None = None

    @property
    def victims(self) -> Sequence[PodInfo]:
        """The pods that it has evicted."""
        return () if self.evicted is None else self.evicted.pods

    def of(self, members: Iterable[PodInfo]) -> Iterator[ScheduleResult]:
        """The result for each of these members, with the message of the pod's condition."""
        tried = {each.pod.key: each for each in self.result.results}
        for info in members:
            node = self.nodes.get(info.key)
            if node is None:
                yield self.result.failure_of(info, tried.get(info.key))
            else:
                yield ScheduleResult(info, "Placed" if self.evicted is None else "Preempts", node)


def in_group_order(members: Iterable[PodInfo]) -> list[PodInfo]:
    """The members of a group that was not tried yet, in the order in which they are tried."""
    return sorted(members, key=lambda each: (-each.priority, each.pod.metadata.creation_timestamp or "", each.key))


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
        evicts: bool = True,
    ) -> None:
        """Set up.

        Args:
            state: is changed: pass a fork if it is still needed.
            profiles: scheduler name -> profile.
            controllers: in the order in which they act.
            clock: which stands still; None: its date does not matter.
            is_ready: whether a pod is ready as soon as it has a node; otherwise it is not ready at all.
            counts_budgets: whether budgets are counted after every eviction, not only when all pods have been tried.
            evicts: whether pods in `run` may evict others; without, those that find no node stay as they are.
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
        self._counts_budgets, self._evicts = counts_budgets, evicts
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
        #: What became of groups, by key, and the members that got a node, by UID.
        self.group_outcomes: dict[str, GroupOutcome] = {}
        self.group_placed: set[str] = set()
        #: Called with the key of a group that was tried, or that is kept out of the queue.
        self.group_watchers: list[Callable[[str], None]] = []
        #: Key of a member -> its result.
        self._of_members: dict[str, ScheduleResult] = {}
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
            self.api_server.assume(Upsert(unbound(pod)))
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

    # --- in a given order ----------------------------------------------------------------------------

    def run(
        self,
        pods: Iterable[PodInfo],
        on_result: Callable[[ScheduleResult], object],
        on_member: Callable[[ScheduleResult], object],
    ) -> None:
        """Try pending pods in this order, each in the cluster as those before it leave it.

        A group is tried when the first of its pods has its turn, and only then.

        Args:
            pods: those that are gone when it is their turn are left out.
            on_result: called with the result of each pod that is tried by itself, before anything changes.
            on_member: called with the result of each pod that is tried with its group, when it is carried out.
        """
        for info in pods:
            if info.key not in self.api_server.state.pods:
                continue
            of_member = self._of_member(info)
            if of_member is not None:
                on_member(of_member)
                continue
            result = self.attempt(info)
            on_result(result)
            if self._evicts or result.outcome == "Placed":
                self.carry_out(info, result)

    def _of_member(self, info: PodInfo) -> ScheduleResult | None:
        """The result of the pod with its group; None: it has no group that the scheduler places as a whole."""
        key, cluster = group_of(info.pod), self.api_server.state.cluster
        if not key or not has_groups(cluster) or profile_of(info.pod, self._profiles) is None:
            return None
        if info.key not in self._of_members:
            members, group = self._waiting(key), cluster.get(PodGroup, key)
            gated = self._gate_of(members)
            if gated is not None:
                self._of_members.update((each.key, ScheduleResult(each, "Gated", gated=gated)) for each in members)
                self._see_group(key)
            elif group is None:
                return None
            else:
                turn = self.try_group(group, members, evicts=lambda _: self._evicts)
                self._of_members.update((each.pod.key, each) for each in turn.of(members))
        return self._of_members[info.key]

    def forget_groups(self) -> None:
        """Groups that were tried may have another turn."""
        self._of_members.clear()

    def gated(self, info: PodInfo) -> ScheduleResult | None:
        """That the pod's group is kept out of the queue; None: it is not."""
        key = group_of(info.pod)
        gated = self._gate_of(self._waiting(key))
        if gated is None:
            return None
        self._see_group(key)
        return ScheduleResult(info, "Gated", gated=gated)

    def _waiting(self, group: str) -> list[PodInfo]:
        """The members that wait for a node, in the queue's order."""
        members = self.api_server.state.members_of(group).values()
        return in_group_order(
            each for each in members if not each.pod.spec.node_name and profile_of(each.pod, self._profiles) is not None
        )

    def _gate_of(self, members: Iterable[PodInfo]) -> Verdict | None:
        """What keeps the first of them out of the queue that is kept out, and so all of them."""
        profiles, state = self._profiles, self.api_server.state
        gates = (run_pre_enqueue(profiles[scheduler_of(info.pod)], info, state) for info in members)
        return next(filter(None, gates), None)

    def _see_group(self, key: str) -> None:
        for watcher in self.group_watchers:
            watcher(key)

    def try_group(
        self,
        group: PodGroup,
        members: Sequence[PodInfo],
        evicts: Callable[[GroupPreemption], bool] = lambda _: True,
    ) -> GroupTurn:
        """Try the group, and once more when what it evicts is gone; its members run on their nodes, if it is placed.

        Args:
            group: the group.
            members: those that wait, in the queue's order; none of them is kept out of the queue.
            evicts: whether it may evict these pods.
        """
        key = key_of(group)
        result = self._attempts.attempt_group(group, members)
        before = self.group_outcomes.get(key)
        evicting = () if before is None else before.evicting
        evicted = result.preemption
        if evicted is None or not evicted.victims or not evicts(evicted):
            evicted = None
        else:
            evicting, budgets = (*evicting, result), Budgets(self.api_server.state.cluster)
            victims = evicted.pods
            self._evict([Victim(pod, budgets.of(pod), tuple(evicted.breaking.get(pod.key, ()))) for pod in victims])
            result = self._attempts.attempt_group(group, members)
        nodes: dict[str, str] = {}
        for each in result.placed if result.is_placed else ():
            if each.node is not None:
                nodes[each.pod.key] = each.node
                self.carry_out(each.pod, each)
        self.group_outcomes[key] = GroupOutcome(result, "" if result.is_placed else result.status.message, evicting)
        self.group_placed.update(identity(info.pod) for info in members if info.key in nodes)
        self._see_group(key)
        return GroupTurn(result, nodes, evicted)

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

    def _evict(self, victims: Sequence[Victim]) -> None:
        """The victims are gone at once; controllers do not see it."""
        self._evicted.update(victim.pod.key for victim in victims)
        self.api_server.assume(*(Evict(victim.pod.key, "PreemptionByScheduler") for victim in victims))
        if self._counts_budgets:
            disrupt(self.api_server.state, victims)

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
            self.api_server.assume(Upsert(unbound(info.pod)))
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
            self.api_server.assume(Upsert(placed))
