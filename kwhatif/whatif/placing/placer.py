"""`Placer`: pods placed one after another on one snapshot, which moves on with each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from kwhatif.framework.attempt import Attempt, attempt, held_back
from kwhatif.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.framework.reference import is_reference
from kwhatif.model.caveat import Batching, Caveat
from kwhatif.model.node import Node
from kwhatif.model.pod import Pod
from kwhatif.preemption.disruption import disrupt
from kwhatif.report import Decision
from kwhatif.state.change import Bind, Delete, Evict, Nominate, Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.whatif.caveats import caveats_of, may_be_batched
from kwhatif.whatif.decide import ignored
from kwhatif.whatif.placing.placement import Placement, placement_of
from kwhatif.whatif.placing.replicas import difference
from kwhatif.whatif.placing.run import Move, Run

#: From a whole attempt to a decision that says why.
Describe = Callable[[Attempt], Decision]
#: Whether the placement is to have such a decision, and how it is made.
Wanted = Callable[[Placement], Describe | None]


def _nowhere(placement: Placement) -> None:
    del placement


class Placer:
    """Places pods as if each had reached its node, and its victims were gone, before the next one's turn.

    A replica of the pod before it costs next to nothing; see `Run`.
    """

    def __init__(self, profiles: Mapping[str, Profile], snapshot: State) -> None:
        self._profiles = profiles
        #: Moves on with every pod: give a fork of one that is still needed.
        self.snapshot = snapshot
        #: What the decisions leave out, in the order in which it was noticed.
        self.caveats: dict[Caveat, None] = {}
        self._run: Run | None = None
        self._before: PodInfo | None = None
        self._last_node: str | None = None
        #: What has happened since the run was asked last.
        self._moves: list[Move] = []
        #: Nodes and pods as the run knows them: who else changes any ends it.
        self._known = self._generations()

    def place_all(self, pods: Iterable[PodInfo], in_detail: Wanted = _nowhere) -> Iterator[Placement]:
        """Place the pods in the order of the queue: the highest priority first, then as given."""
        for pod in sorted(pods, key=lambda pod: -pod.priority):
            yield self.place(pod, in_detail)

    def place(self, pod: PodInfo, in_detail: Wanted = _nowhere) -> Placement:
        """Place the next pod; it replaces a pod of its name.

        Args:
            pod: the pod, as the API server would store it.
            in_detail: whether the placement is to have a decision that says why, and how that is made.
        """
        name = pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER
        profile = self._profiles.get(name)
        if profile is None:
            decision = ignored(pod.pod)
            return Placement(pod, "Ignored", message=decision.message, decision=decision)
        self.withdraw(pod.key)
        placement, result = self._judge(profile, pod)
        describe = in_detail(placement)
        if describe is not None:
            decision = describe(result or attempt(profile, pod, self.snapshot))
            placement = replace(placement, decision=decision)
        self._move_on(placement, result)
        self._known = self._generations()
        return placement

    def _generations(self) -> tuple[int, int]:
        cluster = self.snapshot.cluster
        return cluster.generation(Node), cluster.generation(Pod)

    def withdraw(self, key: str) -> None:
        """The pod of that key is gone, if there is one; a run goes on where that cannot matter."""
        if self._known != self._generations():
            self._run = None
        there = self.snapshot.pods.get(key)
        if there is not None:
            if there.pod.spec.node_name in self.snapshot.by_name or there.pod.status.nominated_node_name:
                self._run = None
            self.snapshot.apply(Delete(Pod, key))
            self._known = self._generations()

    def take_back(self, pod: PodInfo) -> None:
        """A pod that was taken to be gone is there after all."""
        self.snapshot.apply(Upsert(pod.pod))
        self._run = None

    def _judge(self, profile: Profile, pod: PodInfo) -> tuple[Placement, Attempt | None]:
        """What becomes of the pod, and the whole attempt where one was made."""
        run, before = (None, None) if is_reference() else (self._run, self._before)
        differs = None if run is None or before is None else difference(before.pod, pod.pod)
        if run is not None and differs is not None:
            gated = held_back(profile, pod, self.snapshot)
            if gated is not None:
                return Placement(pod, "Gated", rejectors=(gated.plugin,), gated=gated), None
            placement = run.place(pod, differs, self._moves)
            self._moves.clear()
            if placement is not None:
                self._say_if_batched(profile, run, placement)
                self._before, self._last_node = pod, placement.node
                return placement, None
        result = attempt(profile, pod, self.snapshot)
        self.caveats.update(dict.fromkeys(caveats_of(result)))
        placement = placement_of(result)
        self._run, self._before, self._last_node = Run(result, placement), pod, placement.node
        self._moves.clear()
        return placement, result

    def _say_if_batched(self, profile: Profile, run: Run, placement: Placement) -> None:
        """The next of equal pods may take the second best node of the one before, which took the last room on its own.

        (`GetNodeHint` in `pkg/scheduler/framework/runtime/batch.go`)
        """
        node = self._last_node
        if Batching() in self.caveats or placement.outcome != "Placed" or node in (None, placement.node):
            return
        if may_be_batched(profile, placement.pod) and run.rejects(node):
            self.caveats[Batching()] = None

    def _move_on(self, placement: Placement, result: Attempt | None) -> None:
        snapshot, pod, node = self.snapshot, placement.pod, placement.node
        if node is None:
            # It is judged as if it were pending, and stays so, even where its manifest names a node.
            spec = pod.pod.spec
            waiting = replace(pod.pod, spec=replace(spec, node_name="")) if spec.node_name else pod.pod
            snapshot.apply(Upsert(waiting), Nominate(pod.key, _nomination(placement, result) or None))
            return
        victims = placement.victims
        snapshot.apply(*(Evict(victim.pod.key, "PreemptionByScheduler") for victim in victims))
        spent = disrupt(snapshot, victims)
        reserved = self._run.reserve(snapshot.by_name[node]) if self._run is not None else ()
        cleared = (Nominate(other.key, None) for other in placement.cleared_nominations)
        snapshot.apply(*cleared, Bind(pod.pod, node, tuple(reserved)))
        bound = snapshot.pods[pod.key]
        self._moves.append(Move(node, bound, tuple(victim.pod for victim in victims), spent))


def _nomination(placement: Placement, result: Attempt | None) -> str:
    """The node that the pod stays nominated to."""
    if result is None or placement.gated is not None:
        return ""
    nominated = result.post_filter.nominated if result.post_filter else None
    return placement.pod.pod.status.nominated_node_name if nominated is None else nominated
