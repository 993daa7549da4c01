"""From workloads to their pods: planned as their controllers would, then admitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.new_objects import check_workload
from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat.workloads import ReplicasKept, UnknownController
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import PodSource
from kwhatif.questions.manifests.applied import Applied
from kwhatif.state.change import Upsert
from kwhatif.state.state import State
from kwhatif.workloads.applied_object import Merged, merged, noted
from kwhatif.workloads.autoscaling import autoscaled
from kwhatif.workloads.comparison import Rollout, WorkloadUpdate, plan_merged, plan_update, restart
from kwhatif.workloads.custom import pods_from_template_path
from kwhatif.workloads.expansion import Expansion, ReplicaGroup
from kwhatif.workloads.many import beyond, capped, keeps_number, most_pods
from kwhatif.workloads.owners import pods_of_custom


class Planner:
    """Turns workloads into candidates, in order; the cluster and the usage of quotas are updated with each."""

    def __init__(
        self,
        state: State,
        rollout: Rollout,
        template_paths: Mapping[str, Sequence[str]],
        *,
        most: int | None = None,
    ) -> None:
        self.state = state
        self._rollout = rollout
        self._template_paths = template_paths
        #: The most pods of a workload to create one by one; passed in where many planners share one cluster.
        self.most = most_pods(state.cluster) if most is None else most
        #: The usage of quotas so far.
        self.usage = QuotaUsage(state.cluster)

    def plan(self, applied: Applied) -> WorkloadUpdate:
        """What applying the workload changes; quotas no longer count the pods that go.

        Raises:
            TemplatePathError: a custom resource has no pod template where it should have one.
        """
        obj = applied.object
        if isinstance(obj, CustomResource):
            update = self.pods_of_custom(obj)
        else:
            found = self.as_applied(cast("PodSource", obj), restarted=applied.restarted)
            obj, update = found.object, self._in_bounds(found, restarted=applied.restarted)
        if update.denied is not None:
            return update
        for pod in update.removed:
            self.usage.release(pod)
        if not isinstance(obj, Pod | CustomResource):
            self.state.apply(Upsert(default_object(obj)))
        return update

    def as_applied(self, workload: PodSource, *, restarted: bool) -> Merged:
        """The workload once it is applied; a restarted one is the cluster's own."""
        known = (
            None if restarted or isinstance(workload, Pod) else self.state.cluster.get(type(workload), key_of(workload))
        )
        found = Merged(noted(workload)) if known is None else merged(workload, known)
        return found._replace(object=autoscaled(found.object, self.state.cluster))

    def _in_bounds(self, new: Merged, *, restarted: bool) -> WorkloadUpdate:
        """The update with at most `most` pods, and the number left out."""
        workload: PodSource = new.object
        most, known = self.most, self.state.cluster.get(type(workload), key_of(workload))
        before = beyond(known, most)
        if known is not None and (smaller := capped(known, most)) is not known:
            self.state.apply(Upsert(smaller))
        few = capped(workload, most)
        update = restart(few, self.state.cluster) if restarted else self._known(new._replace(object=few))
        if isinstance(update.caveat, ReplicasKept):
            update = replace(update, caveat=replace(update.caveat, replicas=update.caveat.replicas + before))
        after = before if keeps_number(workload) else beyond(workload, most)
        if update.kind in ("unchanged", "scaled"):
            after = max(0, after - before)
        return replace(update, left_out=after) if after else update

    def _known(self, new: Merged) -> WorkloadUpdate:
        workload: PodSource = new.object
        denied = None if isinstance(workload, Pod) else check_workload(workload, self.state.cluster)
        if denied is not None:
            return WorkloadUpdate("changed", denied=denied)
        if isinstance(workload, Pod) or self.state.cluster.get(type(workload), key_of(workload)) is None:
            return plan_update(workload, self.state.cluster, self._rollout)
        return plan_merged(new, self.state.cluster, self._rollout)

    def pods_of_custom(self, resource: CustomResource) -> WorkloadUpdate:
        """Its controller is not known, so there is nothing to compare: what runs of it is replaced."""
        groups: tuple[ReplicaGroup, ...] = ()
        left_out = 0
        running = tuple(pods_of_custom(resource, self.state.cluster))
        paths = self._template_paths[resource.kind]
        for path in paths:
            kept = len(running) if len(paths) == 1 else 0
            found = pods_from_template_path(resource.data, path, self.state.cluster, kept)
            groups, left_out = groups + found.groups, left_out + found.left_out
        added = Expansion(groups)
        if not running:
            return WorkloadUpdate("new", added=added, left_out=left_out)
        caveat = UnknownController(workload=f"{resource.kind} {key_of(resource)}")
        return WorkloadUpdate("changed", running, added, left_out=left_out, caveat=caveat)
