"""`Course`: one object of the manifests in a simulation: how it is applied, and which pods are made for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.controllers.contract import Create, DeletePod, Remove, Update
from kwhatif.controllers.progress import progress_of
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kwhatif.questions.decisions.decide import denied
from kwhatif.questions.manifests.candidates import PlannedPod
from kwhatif.questions.placing.queue import HOLDS_UP, Planned, waiting_for
from kwhatif.questions.story.simulate import USER
from kwhatif.questions.story.writes import as_applied
from kwhatif.report.decision import Decision
from kwhatif.report.workload import RolloutRow
from kwhatif.simulation.world import World
from kwhatif.workloads.applied_object import applied_object
from kwhatif.workloads.expand import named
from kwhatif.workloads.many import capped
from kwhatif.workloads.removal import active
from kwhatif.workloads.stateful_set import is_ordered


class Course:
    """What has become of one object's pods so far."""

    def __init__(self, planned: Planned) -> None:
        self.planned = planned
        self._object: Any = planned.applied.object
        #: The pods that it is sure to get, where it does not roll.
        self.expected = [pod for stage in planned.stages for group in stage for pod in group.pods()]
        #: By UID the keys of the pods that were made.
        self.made: dict[str, str] = {}
        #: When its controllers have made or deleted pods.
        self.moments: set[float] = set()
        #: The first pod that the API server has refused since it has last admitted one.
        self.refused: tuple[Pod, str] | None = None

    def roots(self) -> Iterator[str]:
        """Under which names its pods are."""
        obj = self._object
        yield f"{obj.kind if isinstance(obj, CustomResource) else type(obj).__name__} {key_of(obj)}"
        yield from (f"Pod {key_of(pod)}" for pod in self.expected if isinstance(obj, Pod))

    # --- applying ------------------------------------------------------------------------------------

    def apply(self, before: Cluster, world: World) -> None:
        """Apply the object; `before`: the cluster in which nothing is applied."""
        planned, obj = self.planned, self._object
        if planned.update == "unchanged" or planned.is_refused:
            return
        for pod in planned.removed if isinstance(obj, CustomResource) else ():
            world.write(DeletePod(key_of(pod), "Deleted"), USER, None)
        if isinstance(obj, Pod | CustomResource):
            for pod in planned.removed if isinstance(obj, Pod) else ():
                world.write(Remove(Pod, key_of(pod)), USER, None)
            for pod in self.expected:
                world.write(Create(_unbound(pod)), USER, None)
        else:
            _apply_workload(named(obj, before), before, world)

    # --- the end -------------------------------------------------------------------------------------

    def missing(self, world: World) -> Iterator[Decision]:
        """Pods that there should be, and are not: refused, or not made before another one runs."""
        planned, obj = self.planned, self._object
        there = set(self.made.values())
        missing = [pod for pod in self.expected if key_of(pod) not in there]
        if planned.rolls:
            count = self._lacking(world) if self.refused else 0
        else:
            count = len(self.expected) - len(planned.decisions)
        if count <= 0:
            return
        if self.refused is not None:
            pod, message = self.refused
            others = [each for each in missing if key_of(each) != key_of(pod)]
            in_order = isinstance(obj, StatefulSet) and is_ordered(obj)
            for each in [pod, *others][: 1 if in_order else count]:
                count -= 1
                yield denied(PlannedPod(each, refusal=message), world.state.cluster)
            missing = others
        if isinstance(obj, StatefulSet) and planned.held_up is not None:
            yield from (waiting_for(pod, planned.held_up) for pod in missing[:count])

    def _lacking(self, world: World) -> int:
        """How many pods a rollout that the API server refuses pods of cannot make now."""
        known: Any = world.state.cluster.get(type(self._object), key_of(self._object))
        if isinstance(known, Deployment):
            sets = world.owned(known, ReplicaSet)
            return max(1, sum(max(0, (each.spec.replicas or 0) - len(active(world.pods_of(each)))) for each in sets))
        return 1

    def rollout(self, world: World) -> RolloutRow:
        """How far the rollout has come, and what it waits for."""
        planned = self.planned
        known = world.state.cluster.get(type(self._object), key_of(self._object))
        assert isinstance(known, Deployment | StatefulSet | DaemonSet), "nothing else rolls"
        progress = progress_of(known, world)
        done = progress.done and not planned.left_out
        late = (decision.pod for decision in planned.decisions.values() if decision and decision.outcome in HOLDS_UP)
        return RolloutRow(
            steps=len(self.moments),
            completed=done,
            wanted=progress.wanted + planned.left_out,
            updated=progress.updated,
            old=progress.old,
            waits_for=None if done else progress.waits_for or next(late, None),
            limit="" if done else progress.limit,
        )


def _apply_workload(obj: Any, before: Cluster, world: World) -> None:
    made = default_object(capped(applied_object(obj, before), world.limits.most))
    known = world.state.cluster.get(type(obj), key_of(obj))
    world.write(Create(made) if known is None else Update(as_applied(made, known)), USER, None)


def _unbound(pod: Pod) -> Pod:
    """It is judged as if it were pending, even where its manifest names a node."""
    return replace(pod, spec=replace(pod.spec, node_name="")) if pod.spec.node_name else pod
