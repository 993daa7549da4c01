"""From workloads to their pods: planned as their controllers would, then admitted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

import msgspec
from msgspec.structs import replace

from kwhatif.admission.changes import ChangeRow
from kwhatif.admission.defaults import default_object
from kwhatif.admission.injection import injection_of
from kwhatif.admission.new_pod import admit_replicas, stored_pod
from kwhatif.admission.new_workload import check_workload
from kwhatif.admission.outcome import Denied
from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.workloads import ReplicasKept, UnknownController
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.injection import KnownInjection
from kwhatif.kube.model.meta import LabelSelector, controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import Deployment, PodSource, ReplicaSet, ReplicaSetMeta, ReplicaSetSpec
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.claims import NewClaims
from kwhatif.questions.manifests.injected import injected
from kwhatif.workloads.applied_object import Merged, merged, noted
from kwhatif.workloads.autoscaling import autoscaled
from kwhatif.workloads.comparison import Rollout, WorkloadUpdate, plan_merged, plan_update, restart, unstarted
from kwhatif.workloads.custom import pods_from_template_path
from kwhatif.workloads.expand import expand, named
from kwhatif.workloads.expansion import Expansion, ReplicaGroup
from kwhatif.workloads.generated import uid_of
from kwhatif.workloads.many import beyond, capped, keeps_number, most_pods
from kwhatif.workloads.owners import pods_controlled_by, reference_to
from kwhatif.workloads.pod_claims import ephemeral_claims, owns_claims, with_resource_claims
from kwhatif.workloads.replicas import HASH_LABEL, free_names


class PlannedPod(msgspec.Struct, frozen=True):
    """A pod that would be created: as the API server stores it, or refused."""

    pod: Pod
    changes: tuple[ChangeRow, ...] = ()
    refusal: str = ""


class Planner:
    """Turns workloads into candidates, in order; the cluster and the usage of quotas are updated with each."""

    def __init__(
        self,
        cluster: Cluster,
        rollout: Rollout,
        template_paths: Mapping[str, Sequence[str]],
        *,
        admission: bool = True,
        most: int | None = None,
    ) -> None:
        self.cluster = cluster
        self._rollout = rollout
        self._template_paths = template_paths
        #: The most pods of a workload to create one by one; passed in where many planners share one cluster.
        self.most = most_pods(cluster) if most is None else most
        #: Otherwise pods are taken as the API server has stored them.
        self._admission = admission
        #: Names of candidates, by namespace.
        self._names: dict[str, set[str]] = {}
        #: The usage of quotas so far.
        self.usage = QuotaUsage(cluster)
        self.claims = NewClaims(cluster, self.usage, admission=admission)
        #: What webhooks add to planned pods, by workload.
        self._injections: dict[str, KnownInjection] = {}

    @property
    def caveats(self) -> Mapping[Caveat, None]:
        """Assumptions about pods and claims."""
        return self.claims.caveats | dict.fromkeys(map(injected, self._injections.values()))

    def plan(self, applied: Applied) -> WorkloadUpdate:
        """What applying the workload changes; quotas no longer count the pods that go.

        Raises:
            TemplatePathError: a custom resource has no pod template where it should have one.
        """
        obj = applied.object
        if isinstance(obj, CustomResource):
            update = self._custom(obj)
        else:
            found = self._as_applied(named(cast("PodSource", obj), self.cluster), restarted=applied.restarted)
            obj, update = found.object, self._in_bounds(found, restarted=applied.restarted)
        if update.denied is not None:
            return update
        for pod in update.removed:
            self.usage.release(pod)
        if not isinstance(obj, Pod | CustomResource):
            self.cluster.add(default_object(obj))
        return update

    def _as_applied(self, workload: PodSource, *, restarted: bool) -> Merged:
        """The workload once it is applied; a restarted one is the cluster's own."""
        known = None if restarted or isinstance(workload, Pod) else self.cluster.get(type(workload), key_of(workload))
        found = Merged(noted(workload)) if known is None else merged(workload, known)
        return found._replace(object=autoscaled(found.object, self.cluster))

    def expand(self, applied: Applied) -> WorkloadUpdate:
        """The pods that would be created in addition to existing ones; nothing is removed.

        Raises:
            TemplatePathError: a custom resource has no pod template where it should have one.
        """
        obj = applied.object
        if isinstance(obj, CustomResource):
            return self._custom(obj)
        workload = named(cast("PodSource", obj), self.cluster)
        if isinstance(workload, Pod):
            return WorkloadUpdate(
                "new", added=expand(unstarted(workload) if applied.restarted else workload, self.cluster)
            )
        workload = self._as_applied(workload, restarted=applied.restarted).object
        denied = check_workload(workload, self.cluster) if self._admission else None
        self.cluster.add(default_object(workload))
        made = expand(capped(workload, self.most), self.cluster)
        return WorkloadUpdate("new", added=made, left_out=beyond(workload, self.most), denied=denied)

    def _in_bounds(self, new: Merged, *, restarted: bool) -> WorkloadUpdate:
        """The update with at most `most` pods, and the number left out."""
        workload: PodSource = new.object
        most, known = self.most, self.cluster.get(type(workload), key_of(workload))
        before = beyond(known, most)
        if known is not None and (smaller := capped(known, most)) is not known:
            self.cluster.add(smaller)
        few = capped(workload, most)
        update = restart(few, self.cluster) if restarted else self._known(new._replace(object=few))
        if isinstance(update.caveat, ReplicasKept):
            update = replace(update, caveat=replace(update.caveat, replicas=update.caveat.replicas + before))
        after = before if keeps_number(workload) else beyond(workload, most)
        if update.kind in ("unchanged", "scaled"):
            after = max(0, after - before)
        return replace(update, left_out=after) if after else update

    def _known(self, new: Merged) -> WorkloadUpdate:
        workload: PodSource = new.object
        denied = None if isinstance(workload, Pod) else check_workload(workload, self.cluster)
        if denied is not None:
            return WorkloadUpdate("changed", denied=denied)
        if isinstance(workload, Pod) or self.cluster.get(type(workload), key_of(workload)) is None:
            return plan_update(workload, self.cluster, self._rollout)
        return plan_merged(new, self.cluster, self._rollout)

    def _custom(self, resource: CustomResource) -> WorkloadUpdate:
        """Its controller is not known, so there is nothing to compare: what runs of it is replaced."""
        groups: tuple[ReplicaGroup, ...] = ()
        left_out = 0
        running = tuple(pods_controlled_by(resource.kind, resource.metadata, self.cluster))
        paths = self._template_paths[resource.kind]
        for path in paths:
            kept = len(running) if len(paths) == 1 else 0
            found = pods_from_template_path(resource.data, path, self.cluster, kept)
            groups, left_out = groups + found.groups, left_out + found.left_out
        added = Expansion(groups)
        if not running:
            return WorkloadUpdate("new", added=added, left_out=left_out)
        caveat = UnknownController(workload=f"{resource.kind} {key_of(resource)}")
        return WorkloadUpdate("changed", running, added, left_out=left_out, caveat=caveat)

    def admit(self, applied: Applied, groups: Iterable[ReplicaGroup]) -> Iterator[PlannedPod]:
        """The pods of these groups, created in order."""
        if isinstance(applied.object, Pod) and (applied.restarted or not self._admission):
            for group in groups:
                for candidate in map(self._stored, group.pods()):
                    self.usage.charge(candidate.pod)  # it gave back what it had used
                    yield candidate
            return
        for group in groups:
            if isinstance(applied.object, Deployment):
                self._add_replica_set(applied.object, group.pod)
            refusal = self._refused_claim(group.claims)
            if refusal:
                yield from (PlannedPod(pod, refusal=refusal) for pod in group.pods())
                continue
            if self._admission:
                yield from self._admit_group(self._named(group))
            else:
                yield from map(self._stored, group.pods())

    def admit_one(self, applied: Applied, group: ReplicaGroup) -> PlannedPod:
        """The first pod of the group, as if it were the only one to be created: quotas do not count it afterwards."""
        one = ReplicaGroup(group.pod, group.names[:1], group.claims)
        (candidate,) = self.admit(applied, [one])
        if self._admission and not candidate.refusal:
            self.usage.release(candidate.pod)
        return candidate

    def _stored(self, pod: Pod) -> PlannedPod:
        stored = stored_pod(pod, self.cluster)
        return PlannedPod(pod, refusal=stored.message) if isinstance(stored, Denied) else PlannedPod(stored)

    def _named(self, group: ReplicaGroup) -> ReplicaGroup:
        """The group with other names, where pods before it have got the same: stand-ins know the cluster only."""
        used = self._names.setdefault(group.pod.metadata.namespace, set())
        if group.pod.metadata.generate_name and not used.isdisjoint(group.names):
            group = ReplicaGroup(group.pod, free_names(group.pod, len(group.names), self.cluster, used))
        used.update(group.names)
        return group

    def _admit_group(self, group: ReplicaGroup) -> Iterator[PlannedPod]:
        known = injection_of(group.pod, self.cluster)
        if known is not None:
            self._injections[known.workload] = known
        results = admit_replicas(group.pod, group.names, self.cluster, self.usage)
        for pod, result in zip(group.pods(), results, strict=True):
            if isinstance(result, Denied):
                yield PlannedPod(pod, refusal=result.message)
                continue
            yield PlannedPod(self._created(result.object), result.changes)

    def _created(self, pod: Pod) -> Pod:
        """The pod once it exists, with the claims that are made for it."""
        meta = pod.metadata
        uid = meta.uid if owns_claims(pod, self.cluster) else uid_of("Pod", meta.namespace, meta.name)
        pod = replace(pod, metadata=replace(meta, uid=uid))
        for claim in ephemeral_claims(pod, self.cluster):
            self.claims.create(claim)  # of one that is refused, the scheduler says that the pod waits for it
        if pod.spec.resource_claims:
            pod, claims = with_resource_claims(pod, self.cluster)
            for made in claims:
                self.cluster.add(default_object(made))
        return pod

    def _refused_claim(self, claims: Iterable[PersistentVolumeClaim]) -> str:
        """Make the claims; the first refusal, if there is one."""
        refusals = [refusal.message for refusal in map(self.claims.create, claims) if refusal is not None]
        return refusals[0] if refusals else ""

    def _add_replica_set(self, deployment: Deployment, pod: Pod) -> None:
        """The scheduler reads the selector of the set that controls a pod, so a new one must be there."""
        owner = controller_of(pod.metadata)
        key = f"{pod.metadata.namespace}/{owner.name}" if owner else ""
        if owner is None or self.cluster.get(ReplicaSet, key) is not None:
            return
        spec = deployment.spec
        selector = spec.selector or LabelSelector()
        labels = {**selector.match_labels, HASH_LABEL: pod.metadata.labels.get(HASH_LABEL, "")}
        self.cluster.add(
            ReplicaSet(
                metadata=ReplicaSetMeta(
                    name=owner.name,
                    namespace=pod.metadata.namespace,
                    uid=owner.uid,
                    labels=labels,
                    owner_references=(reference_to(deployment, self.cluster),),
                ),
                spec=ReplicaSetSpec(
                    replicas=spec.replicas,
                    selector=replace(selector, match_labels=labels),
                    template=spec.template,
                ),
            )
        )
