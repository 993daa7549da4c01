"""`SimulatedAttempts`: the scheduling cycles of all profiles, on the state of a simulated world."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from kwhatif.scheduler.batch.cache import BatchCache, Cycles
from kwhatif.scheduler.batch.result import ScheduleResult
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.simulation.world import World
from kwhatif.state.pod_info import PodInfo


class SimulatedAttempts:
    """Results for pods of a signature are kept, and shared by forks."""

    def __init__(self, world: World, profiles: Mapping[str, Profile], *, scored: bool, gated: bool = False) -> None:
        """`scored`: see `BatchCache`; `gated`: whether PreEnqueue runs, for pods that were not popped."""
        self._world = world
        self._cycles = Cycles()
        #: PreEnqueue does not run again for a pod that was popped.
        self._caches = {
            name: BatchCache(
                profile if gated else replace(profile, pre_enqueue=()),
                world.state,
                self._cycles,
                scored=scored,
                choose=self._choose,
            )
            for name, profile in profiles.items()
        }

    def fork(self, world: World) -> SimulatedAttempts:
        """An independent copy that works in a fork of the world."""
        other = SimulatedAttempts.__new__(SimulatedAttempts)
        other._world, other._cycles = world, Cycles()
        other._cycles.number = self._cycles.number
        other._caches = {
            name: cache.fork(world.state, other._cycles, choose=other._choose) for name, cache in self._caches.items()
        }
        return other

    def keep(self, nodes: int) -> None:
        """Limit the verdicts that are kept, here and in forks, to this number of nodes (`BatchCache.kept_nodes`)."""
        for cache in self._caches.values():
            cache.kept_nodes = nodes

    def end(self) -> None:
        """Drop the results kept for signatures, which refer to this object."""
        self._caches.clear()

    def attempt(self, pod: PodInfo) -> ScheduleResult:
        """The result of a scheduling cycle for the pod."""
        return self._caches[pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER].attempt(pod)

    def _choose(self, result: ScheduleResult) -> ScheduleResult:
        """Choose one of the nodes with equal scores; if devices were allocated on one of them, that one."""
        if not result.tied or result.node is None or result.pod.pod.spec.resource_claims:
            return result
        chance = self._world.chance
        chance.note("nodes" if result.outcome == "Placed" else "evictions")
        if chance.is_convention:
            return result
        node = chance.pick(result.ties)
        if result.outcome == "Placed":
            return replace(result, node=node)
        return result.elsewhere(node) or result
