"""`Placer`: pods placed in order on one state, which is updated with each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.taint_eviction import evicted_after
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import Batching
from kwhatif.kube.model.caveat.workloads import EvictedByTaint
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.decisions.caveats import caveats_of
from kwhatif.questions.decisions.decide import ignored
from kwhatif.questions.decisions.short import in_short
from kwhatif.report.decision import Decision
from kwhatif.scheduler.batch import BatchCache, ScheduleResult
from kwhatif.scheduler.batch.cache import Cycles
from kwhatif.scheduler.framework.attempt import Attempt, attempt
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.scheduler.preemption.disruption import disrupt
from kwhatif.state.change import Bind, Delete, Evict, Nominate, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: From a whole attempt to a decision that says why.
Describe = Callable[[Attempt], Decision]
#: Whether a result is to have such a decision, and how it is made.
Wanted = Callable[[ScheduleResult], Describe | None]


class Placement(NamedTuple):
    """What became of one pod, which is on its node now."""

    result: ScheduleResult
    #: Why, where that was wanted; and of a pod that this scheduler leaves alone.
    decision: Decision | None = None
    #: What it reserves besides room, such as its claims: each object as it was, and as it is now.
    reserved: tuple[tuple[KubernetesObject | None, KubernetesObject], ...] = ()

    @property
    def row(self) -> Decision:
        """The decision that says why; without one, what becomes of the pod in short."""
        return self.decision or in_short(self.result)


def _nowhere(result: ScheduleResult) -> None:
    del result


class Placer:
    """Places pods as if each had reached its node, and its victims were gone, before the next one's turn."""

    def __init__(self, profiles: Mapping[str, Profile], state: State) -> None:
        #: Moves on with every pod: give a fork of one that is still needed.
        self.state = state
        #: What the decisions leave out, in the order in which it was noticed.
        self.caveats: dict[Caveat, None] = {}
        self._profiles = profiles
        cycles = Cycles()
        self._caches = {name: BatchCache(profile, state, cycles) for name, profile in profiles.items()}

    def place(self, pod: PodInfo, in_detail: Wanted = _nowhere, *, evicts: bool = True) -> Placement:
        """Place the next pod; it replaces a pod of its name.

        Args:
            pod: the pod, as the API server would store it.
            in_detail: whether the placement is to have a decision that says why, and how that is made.
            evicts: otherwise a pod that would have to evict others is not placed, and nothing is evicted.
        """
        name = pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER
        cache = self._caches.get(name)
        if cache is None:
            decision = ignored(pod.pod)
            return Placement(ScheduleResult(pod, "Ignored", message=decision.message), decision)
        self.withdraw(pod.key)
        result = cache.attempt(pod)
        if result.whole is not None:
            self.caveats.update(dict.fromkeys(caveats_of(result.whole)))
        if result.hinted:
            self.caveats[Batching()] = None
        if result.outcome == "Placed" and result.node is not None:
            self._look_at_taints(pod, result.node)
        describe = in_detail(result)
        decided = None
        if describe is not None:
            decided = describe(result.whole or attempt(self._profiles[name], pod, self.state))
            if result.hinted:
                decided = replace(decided, ties=result.ties)
        is_out = evicts or result.outcome != "Preempts"
        return Placement(result.settled, decided, self._move_on(result) if is_out else ())

    def _look_at_taints(self, pod: PodInfo, name: str) -> None:
        node = self.state.by_name[name].node
        seconds = evicted_after(pod.pod, node) if node.spec.taints else None
        if seconds is not None:
            self.caveats[EvictedByTaint(seconds=int(seconds), pods=(pod.key,))] = None

    def withdraw(self, key: str) -> None:
        """The pod of that key is gone, if there is one."""
        if key in self.state.pods:
            self.state.apply(Delete(Pod, key))

    def _move_on(self, result: ScheduleResult) -> tuple[tuple[KubernetesObject | None, KubernetesObject], ...]:
        state, pod, name = self.state, result.pod, result.node
        if name is None:
            # It is judged as if it were pending, and stays so, even where its manifest names a node.
            spec = pod.pod.spec
            waiting = replace(pod.pod, spec=replace(spec, node_name="")) if spec.node_name else pod.pod
            state.apply(Upsert(waiting), Nominate(pod.key, result.nominated or None))
            return ()
        victims = result.victims
        if victims:
            state.apply(*(Evict(victim.pod.key, "PreemptionByScheduler") for victim in victims))
            disrupt(state, victims)
        cleared = (Nominate(other.key, None) for other in result.cleared_nominations)
        reserved = result.reserve(state.by_name[name])
        pairs = tuple((state.cluster.get(type(obj), key_of(obj)), obj) for obj in reserved)
        state.apply(*cleared, Bind(pod.pod, name, reserved))
        return pairs
