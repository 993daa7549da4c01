"""`SimulatedAttempts`: the scheduling cycles of all profiles, on the state of a simulated cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.scheduler.batch.cache import AttemptOptions, BatchCache, Cycles
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.attempt import attempt
from kwhatif.scheduler.framework.profile import Profile, scheduler_of
from kwhatif.scheduler.pod_groups.attempt import attempt_group
from kwhatif.scheduler.pod_groups.cycle import GroupResult, Try, for_members, group_cycle
from kwhatif.simulation.api_server import ApiServer
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: In clusters with at most this many nodes kube-scheduler checks all of them (`minFeasibleNodesToFind`).
_ALL_LOOKED_AT = 100


class SimulatedAttempts:
    """Results for pods of a signature are kept, and shared by forks."""

    def __init__(
        self,
        api_server: ApiServer,
        profiles: Mapping[str, Profile],
        *,
        score_single_node: bool,
        gated: bool = False,
        ties_by_heap: bool = False,
    ) -> None:
        """Set up.

        Args:
            api_server: has the state.
            profiles: scheduler name -> profile.
            score_single_node: see `AttemptOptions`.
            gated: whether PreEnqueue runs, for pods that were not popped.
            ties_by_heap: whether `_by_heap` chooses among the best nodes for all pods, not only for members of groups.
        """
        self._api_server = api_server
        self._profiles = profiles
        self._cycles = Cycles()
        self._ties_by_heap = ties_by_heap
        #: The results for members of groups, by profile; made when the first group is tried.
        self._of_members: dict[str, BatchCache] = {}
        #: PreEnqueue does not run again for a pod that was popped.
        self._caches = {
            name: BatchCache(
                profile if gated else replace(profile, pre_enqueue=()),
                api_server.state,
                self._cycles,
                AttemptOptions(score_single_node=score_single_node, choose=self._choose),
            )
            for name, profile in profiles.items()
        }

    def fork(self, api_server: ApiServer) -> SimulatedAttempts:
        """An independent copy that works in a fork of the simulation."""
        other = SimulatedAttempts.__new__(SimulatedAttempts)
        other._api_server, other._cycles = api_server, Cycles()
        other._profiles, other._of_members, other._ties_by_heap = self._profiles, {}, self._ties_by_heap
        other._cycles.number = self._cycles.number
        other._caches = {
            name: cache.fork(api_server.state, other._cycles, choose=other._choose)
            for name, cache in self._caches.items()
        }
        return other

    def end(self) -> None:
        """Drop the results kept for signatures, which refer to this object."""
        self._caches.clear()

    def attempt(self, pod: PodInfo, template: bytes = b"") -> ScheduleResult:
        """The result of a scheduling cycle for the pod; `template`: see `BatchCache.attempt`."""
        name = scheduler_of(pod.pod)
        result = self._caches[name].attempt(pod, template)
        return self._by_heap(result, self._profiles[name], self._api_server.state) if self._ties_by_heap else result

    def attempt_group(self, group: PodGroup, members: Sequence[PodInfo]) -> GroupResult:
        """The result of the group's cycle; `members`: its pending pods, in the queue's order."""
        state = self._api_server.state
        name = scheduler_of(members[0].pod)
        profile = self._profiles[name]
        cache = self._of_members.get(name)
        if cache is None:
            cache = self._of_members[name] = BatchCache(for_members(profile), state, options=self._options_of_members())
        base = cache
        alone = for_members(profile)

        def tries(fork: State, some: frozenset[str] | None) -> Try:
            if some is None:
                known = base.fork(fork, Cycles())
            else:
                known = BatchCache(alone, fork, Cycles(), self._options_of_members(some))
            return lambda pod: self._by_heap(known.attempt(pod), alone, fork, some)

        return attempt_group(group_cycle(profile, tries, self._choose_placement), group, members, state)

    def _by_heap(
        self, result: ScheduleResult, profile: Profile, state: State, some: frozenset[str] | None = None
    ) -> ScheduleResult:
        """By convention, the best node that is first in kube-scheduler's heap.

        In larger clusters it looks at some of the nodes only, from any start: there is no such order.
        """
        if not result.tied or result.outcome != "Placed" or result.node is None or profile.extenders:
            return result
        if not self._api_server.chance.is_convention or len(state.nodes) > _ALL_LOOKED_AT:
            return result
        whole = result.whole or attempt(replace(profile, pre_enqueue=()), result.pod, state, placement=some)
        if whole.scores is None:
            return result
        return replace(result, node=whole.scores.first_in_heap(), reserve=whole.cycle.reserve)

    def _options_of_members(self, placement: frozenset[str] | None = None) -> AttemptOptions:
        return AttemptOptions(score_single_node=False, choose=self._choose, placement=placement)

    def _choose_placement(self, names: Sequence[str]) -> str:
        chance = self._api_server.chance
        if len(names) > 1:
            chance.note("nodes")
        return names[0] if len(names) == 1 or chance.is_convention else chance.pick(names)

    def _choose(self, result: ScheduleResult) -> ScheduleResult:
        """Choose one of the nodes with equal scores: the one on which devices were allocated, if any."""
        if not result.tied or result.node is None or result.pod.pod.spec.resource_claims:
            return result
        chance = self._api_server.chance
        chance.note("nodes" if result.outcome == "Placed" else "evictions")
        if chance.is_convention:
            return result
        node = chance.pick(result.ties)
        if result.outcome == "Placed":
            return replace(result, node=node)
        return result.elsewhere(node) or result
