"""`Course`: one object of the manifests in a simulation: how it is applied, and which pods are made for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.new_pod import stored_pod
from kwhatif.admission.outcome import Denied
from kwhatif.controllers.contract import Create, DeletePod, Remove, Update
from kwhatif.controllers.progress import progress_of
from kwhatif.controllers.stateful_set import moves_of
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, key_of
from kwhatif.kube.model.job import CronJob, Job, JobStatus
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kwhatif.questions.decisions.decide import denied
from kwhatif.questions.judging.planned import HOLDS_UP, Planned, waiting_for
from kwhatif.questions.manifests.candidates import PlannedPod
from kwhatif.questions.rows import decision_about
from kwhatif.questions.story.simulate import USER
from kwhatif.questions.story.writes import as_applied
from kwhatif.report.decision import Decision
from kwhatif.report.workload import RolloutRow
from kwhatif.simulation.reactions import Reactions
from kwhatif.simulation.world import World
from kwhatif.workloads.applied_object import applied_object
from kwhatif.workloads.autoscaling import autoscaled
from kwhatif.workloads.controllers.deployment import RECREATE
from kwhatif.workloads.generated import uid_of
from kwhatif.workloads.job import run_of
from kwhatif.workloads.many import capped
from kwhatif.workloads.owners import reference_to
from kwhatif.workloads.pod_claims import owns_claims
from kwhatif.workloads.removal import active
from kwhatif.workloads.rolling.update import Rollout
from kwhatif.workloads.rollout import unstarted
from kwhatif.workloads.stateful_set import is_ordered


class Course:
    """What has become of one object's pods so far."""

    def __init__(self, planned: Planned) -> None:
        self.planned = planned
        self._object: Any = planned.object
        #: The pods that it is sure to get, where it does not roll.
        self.expected = list(planned.expected)
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
        if isinstance(obj, CronJob):
            yield f"Job {key_of(run_of(obj))}"
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
            _apply_workload(applied_object(obj, before), world)

    def apply_at_once(self, before: Cluster, world: World, rollout: Rollout) -> Sequence[KubernetesObject]:
        """Apply the object where no time passes: what makes way is gone.

        Args:
            before: the cluster in which nothing is applied.
            world: where it is applied.
            rollout: which moment of its rollout is asked for: in the end the old pods are gone, and new ones come at
                once.

        Returns:
            What controllers are to look at though it stays as it is.
        """
        planned, obj = self.planned, self._object
        if planned.update == "unchanged" or planned.is_refused:
            return ()
        if planned.applied.anew and not isinstance(obj, CustomResource):
            return self._start_again(world)
        if isinstance(obj, Pod | CustomResource):
            _remove(planned.removed, world)
            for pod in self.expected:
                world.write(Create(_as_new(pod, world)), USER, None)
            return ()
        merged = autoscaled(applied_object(obj, before), world.state.cluster)
        if isinstance(merged, Deployment) and rollout == "final":
            strategy = replace(merged.spec.strategy, type=RECREATE, rolling_update=None)
            merged = replace(merged, spec=replace(merged.spec, strategy=strategy))
        _apply_workload(merged, world)
        if rollout == "final" and not isinstance(merged, StatefulSet):  # its pods keep their order all the same
            _remove(planned.removed, world)
        if isinstance(merged, CronJob):
            _run_once(merged, world)
        return ()

    def _start_again(self, world: World) -> Sequence[KubernetesObject]:
        """The pods go, and come again: a pod under its name, as it was before it was scheduled."""
        planned, obj = self.planned, self._object
        if isinstance(obj, Pod):
            stored = stored_pod(unstarted(obj), world.state.cluster)
            if isinstance(stored, Denied):
                _remove(planned.removed, world)
                self.refused = obj, stored.message
            else:
                world.put(stored, None)
            return ()
        _remove(planned.removed, world)
        if isinstance(obj, Job):
            world.write(Remove(Job, key_of(obj)), USER, None)
            world.memory(Job.__name__, key_of(obj)).clear()
            world.write(Create(replace(obj, status=JobStatus())), USER, None)
        elif isinstance(obj, CronJob):
            _run_once(obj, world)
        return obj, *world.owned(obj, ReplicaSet)

    # --- the end -------------------------------------------------------------------------------------

    @property
    def has_all(self) -> bool:
        """Whether all pods are made that applying it brings; others that lack today are not asked about."""
        return self.planned.update == "scaled" and len(self.made) >= len(self.expected)

    def missing(self, world: World, reactions: Reactions) -> Iterator[Decision]:
        """Pods that there should be, and are not: refused, or not made before another one runs."""
        planned, obj = self.planned, self._object
        if self.refused is None:
            self.refused = self._refused_claim(reactions)
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
                own = message.replace(f'"{pod.metadata.name}"', f'"{each.metadata.name}"')
                yield denied(PlannedPod(each, refusal=own), world.state.cluster)
            missing = others
        if isinstance(obj, StatefulSet) and missing[:count]:
            first = planned.held_up or self._late(world)
            yield from (waiting_for(pod, first) for pod in missing[:count] if first is not None)

    def _late(self, world: World) -> Decision | None:
        """The pod that a StatefulSet waits for, though it was there before."""
        known = world.state.cluster.get(StatefulSet, key_of(self._object))
        ordinal = None if known is None else moves_of(known, world).waits_for
        pod = None if known is None else world.state.cluster.get(Pod, f"{key_of(known)}-{ordinal}")
        return None if pod is None else decision_about(pod, "Waits")

    def was_refused(self, pod: Pod, message: str) -> None:
        """The API server does not take one of its pods."""
        if self._is_retried or self.refused is None:
            self.refused = pod, message

    def was_admitted(self) -> None:
        """One of its pods is created: its controller has got over a refusal, where there was one."""
        if self._is_retried:
            self.refused = None

    @property
    def _is_retried(self) -> bool:
        return not isinstance(self._object, Pod | CustomResource)

    def _refused_claim(self, reactions: Reactions) -> tuple[Pod, str] | None:
        """The first pod that is not made since the API server refuses a claim of its own."""
        there, names = set(self.made.values()), set(self.roots())
        for refusal in reactions.refusals.values():
            if refusal.actor in names and isinstance(refusal.obj, PersistentVolumeClaim):
                missing = (pod for pod in self.expected if key_of(pod) not in there)
                return next(((pod, refusal.message) for pod in missing), None)
        return None

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


def _remove(pods: Sequence[Pod], world: World) -> None:
    for pod in pods:
        world.write(Remove(Pod, key_of(pod)), USER, None)


def _run_once(cron_job: CronJob, world: World) -> None:
    """Its time comes: the Job of one run."""
    if not cron_job.spec.suspend:
        run = capped(run_of(cron_job), world.limits.most)
        meta = replace(run.metadata, owner_references=(reference_to(cron_job, world.state.cluster),))
        world.write(Create(_with_uid(replace(run, metadata=meta))), USER, None)


def _with_uid(obj: Any) -> Any:
    """With the UID that it gets, whatever its manifest says."""
    meta = obj.metadata
    return replace(obj, metadata=replace(meta, uid=uid_of(type(obj).__name__, meta.namespace, meta.name)))


def _as_new(pod: Pod, world: World) -> Pod:
    """With another UID than one that was written down, unless its claims are there; without a name that is made up."""
    meta = pod.metadata
    if meta.generate_name:
        return replace(pod, metadata=replace(meta, uid="", name=""))
    return pod if owns_claims(pod, world.state.cluster) else cast("Pod", _with_uid(pod))


def _apply_workload(merged: Any, world: World) -> None:
    made = obj = default_object(capped(merged, world.limits.most))
    known = world.state.cluster.get(type(obj), key_of(obj))
    if known is None:
        made = _with_uid(made)
    world.write(Create(made) if known is None else Update(as_applied(made, known)), USER, None)


def _unbound(pod: Pod) -> Pod:
    """It is judged as if it were pending, even where its manifest names a node."""
    return replace(pod, spec=replace(pod.spec, node_name="")) if pod.spec.node_name else pod
