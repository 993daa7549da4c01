"""Each pod as if it were the only one: always on the same state, and first in the queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.new_workload import check_workload
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import OneOfEqualPods, TooManyPods
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Deployment, PodSource
from kwhatif.questions.decisions.caveats import caveats_of
from kwhatif.questions.decisions.decide import decide, denied, ignored, refusal
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.candidates import Planner
from kwhatif.questions.manifests.new_pods import NewPod, NewPods
from kwhatif.report.decision import Decision
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.comparison import WorkloadUpdate, unstarted
from kwhatif.workloads.expand import expand
from kwhatif.workloads.expansion import ReplicaGroup
from kwhatif.workloads.many import beyond, capped
from kwhatif.workloads.replicas import free_names


class Alone:
    """Judges each pod alone; adds to `caveats`."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        new_pods: NewPods,
        caveats: dict[Caveat, None],
        *,
        described: int | None,
        admission: bool,
    ) -> None:
        """Set up.

        Args:
            profiles: scheduler name -> profile.
            new_pods: where workloads are applied; pods are created in forks of it.
            caveats: is added to.
            described: how many candidates for eviction a decision describes, best first; None: all.
            admission: otherwise workloads are taken as the API server has stored them.
        """
        self._profiles = profiles
        self._new_pods = new_pods
        self._caveats = caveats
        self._described = described
        self._admission = admission
        #: What had to be assumed of pods and claims.
        self.assumed: dict[Caveat, None] = {}
        #: Names of pods that were judged, by namespace.
        self._names: dict[str, set[str]] = {}

    def judge(self, applied: Applied, planner: Planner) -> Iterator[Decision]:
        """The decisions about the object's pods; of equal ones the first is judged.

        Raises:
            TemplatePathError: a custom resource has no pod template where it should have one.
        """
        update, state = self._apply(applied, planner), self._new_pods.world.state
        if update.denied is not None:
            yield refusal(applied, update.denied.message, state.cluster)
            return
        workload, left_out, groups = applied.source.object, update.left_out, update.added.groups
        for group in groups:
            yield replace(self._decide_first(applied, group), source=applied.source, runs_on=applied.runs_on)
            if len(group.names) > 1:
                count = len(group.names) + (left_out if len(groups) == 1 else 0)
                self._caveats[OneOfEqualPods(workload=workload, count=count)] = None
        if left_out:
            judged = len(update.added.pods)
            self._caveats[TooManyPods(workload=workload, count=judged + left_out, judged=judged)] = None

    def _apply(self, applied: Applied, planner: Planner) -> WorkloadUpdate:
        """The pods that would be created in addition to existing ones; nothing is removed."""
        obj, world = applied.object, self._new_pods.world
        if isinstance(obj, CustomResource):
            return planner.pods_of_custom(obj)
        cluster, workload = world.state.cluster, cast("PodSource", obj)
        if isinstance(workload, Pod):
            return WorkloadUpdate("new", added=expand(unstarted(workload) if applied.restarted else workload, cluster))
        workload = planner.as_applied(workload, restarted=applied.restarted).object
        refused = check_workload(workload, cluster) if self._admission else None
        world.put(default_object(workload), None)
        made, left_out = expand(capped(workload, planner.most), cluster), beyond(workload, planner.most)
        for group in made.groups if isinstance(workload, Deployment) else ():
            self._new_pods.add_replica_set(workload, group.pod)
        return WorkloadUpdate("new", added=made, left_out=left_out, denied=refused)

    def _decide_first(self, applied: Applied, group: ReplicaGroup) -> Decision:
        """The decision about the group's first pod, which leaves no trace."""
        trial = self._new_pods.fork()
        is_stored = isinstance(applied.object, Pod) and applied.restarted
        candidate = trial.create(group if is_stored else self._with_free_name(group), stored=is_stored)
        self.assumed.update(dict.fromkeys(trial.caveats))
        if candidate.refusal:
            return denied(candidate, trial.world.state.cluster)
        return self._decide(candidate, trial.world.state)

    def _with_free_name(self, group: ReplicaGroup) -> ReplicaGroup:
        """With another name, where a pod before it has got the same: stand-ins know the cluster only."""
        used = self._names.setdefault(group.pod.metadata.namespace, set())
        names = group.names[:1]
        if group.pod.metadata.generate_name and not used.isdisjoint(names):
            names = free_names(group.pod, 1, self._new_pods.world.state.cluster, used)
        used.update(names)
        return replace(group, names=names)

    def decide(self, pod: Pod) -> Decision:
        """The decision about a pending pod as if it were the next in the queue."""
        return self._decide(NewPod(pod), self._new_pods.world.state)

    def _decide(self, candidate: NewPod, state: State) -> Decision:
        pod = PodInfo(candidate.pod)
        profile = self._profiles.get(pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER)
        if profile is None:
            return ignored(pod.pod)
        decision, result = decide(profile, pod, state, described=self._described)
        self._caveats.update(dict.fromkeys(caveats_of(result)))
        return replace(decision, changes=candidate.changes)
