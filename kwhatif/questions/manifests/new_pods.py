"""New pods: `Planner` says which pods a workload needs, and `NewPods` creates and admits them one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.new_objects import check_workload
from kwhatif.admission.outcome import Admitted, ChangeRow, Denied
from kwhatif.admission.quota import QuotaAdmission
from kwhatif.controllers.claims import BINDING_CLAIMS, FOR_CLAIMS, caveat_of
from kwhatif.controllers.contract import Create, Remove
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import ClaimUnbound
from kwhatif.kube.model.caveat.workloads import (
    ContainerRequests,
    Injected,
    RecommendationIgnored,
    ReplicasKept,
    UnknownController,
)
from kwhatif.kube.model.cluster import KubernetesObject, ObjectRef, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.pod_spec import Container, ResourceRequirements, Toleration
from kwhatif.kube.model.policy import KnownInjection
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import Deployment, PodSource, ReplicaSet
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.writes import USER
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.simulation.api_server import ApiServer
from kwhatif.simulation.reactions import Reactions
from kwhatif.state.change import Delete, Upsert
from kwhatif.state.state import State
from kwhatif.workloads.applied_object import Merged, merged, noted
from kwhatif.workloads.claims import owns_claims
from kwhatif.workloads.comparison import Rollout, WorkloadUpdate, plan_merged, plan_update, restart
from kwhatif.workloads.counts import autoscaled, beyond, capped, keeps_number, most_pods
from kwhatif.workloads.custom import pods_of_templates
from kwhatif.workloads.deployment import HASH_LABEL, replica_set_of
from kwhatif.workloads.names import with_made_up_uid
from kwhatif.workloads.owners import pods_of_custom, reference_to
from kwhatif.workloads.template import Expansion, ReplicaGroup


def assumed_of_new(api_server: ApiServer) -> Iterator[Caveat]:
    """Assumptions about the pods and claims that were created in the simulation."""
    yield from caveats_of_claims(api_server)
    yield from caveats_of_webhooks(api_server)


def caveats_of_webhooks(api_server: ApiServer) -> Iterator[Caveat]:
    """Caveats about what webhooks add to the created pods, or would add if they were registered."""
    yield from map(injected, api_server.injections.values())
    if api_server.unrecommended:
        yield RecommendationIgnored(workloads=tuple(api_server.unrecommended))


def caveats_of_claims(api_server: ApiServer) -> Iterator[Caveat]:
    """Assumptions about claims that were created or bound; or why they are not bound."""
    for kind, key in api_server.history.touched():
        caveat = caveat_of(key, api_server) if kind == PersistentVolumeClaim.__name__ else None
        is_there = api_server.state.cluster.get(PersistentVolumeClaim, key) is not None
        if caveat is not None and (is_there or not isinstance(caveat, ClaimUnbound)):
            yield caveat


def injected(known: KnownInjection) -> Injected:
    """The caveat about what webhooks add to new pods of the workload, and how that is known."""
    injection = known.injection
    containers = (
        *(*injection.init_containers.first, *injection.init_containers.last),
        *(*injection.containers.first, *injection.containers.last),
    )
    return Injected(
        workload=known.workload,
        containers=tuple(map(_container, containers)),
        changed=tuple(_requests(name, injection.resources[name]) for name in sorted(injection.resources)),
        volumes=tuple(volume.name for volume in injection.volumes),
        tolerations=tuple(map(_toleration, injection.tolerations)),
        node_selector=tuple(f"{key}={value}" for key, value in sorted(injection.node_selector.items())),
        seen=known.pods,
        like=known.like,
        marks=known.marks,
        differ=known.differ,
        missing=known.differ,
    )


def _container(container: Container) -> ContainerRequests:
    return _requests(container.name, container.resources)


def _requests(name: str, resources: ResourceRequirements) -> ContainerRequests:
    return ContainerRequests(name=name, requests=tuple((key, str(text)) for key, text in resources.requests.items()))


def _toleration(toleration: Toleration) -> str:
    """The toleration in the notation of taints: `dedicated=db:NoSchedule`, without empty parts."""
    value = f"={toleration.value}" if toleration.value else ""
    effect = f":{toleration.effect}" if toleration.effect else ""
    return f"{toleration.key}{value}{effect}" or "every taint"


class Planner:
    """Says what applying workloads changes, in order; the state is updated with each."""

    def __init__(self, state: State, rollout: Rollout, *, limit: int | None = None) -> None:
        self.state = state
        self._rollout = rollout
        #: The most pods of a workload to create one by one.
        self.limit = most_pods(state.cluster) if limit is None else limit
        self._quotas = QuotaAdmission()

    def plan(self, applied: Applied) -> WorkloadUpdate:
        """What applying the workload changes; quotas no longer count the pods that go."""
        obj = applied.object
        if isinstance(obj, CustomResource):
            update = self.pods_of_custom(obj)
        else:
            found = self.as_applied(cast("PodSource", obj), restarted=applied.restarted)
            obj, update = found.object, self._in_bounds(found, restarted=applied.restarted)
        if update.denied is not None:
            return update
        self.release(update.removed)
        if not isinstance(obj, Pod | CustomResource):
            self.state.apply(Upsert(default_object(obj)))
        return update

    def release(self, pods: Iterable[Pod]) -> None:
        """Quotas no longer count these pods."""
        for pod in pods:
            if released := self._quotas.release(pod, self.state.cluster):
                self.state.apply(*map(Upsert, released))

    def as_applied(self, workload: PodSource, *, restarted: bool) -> Merged:
        """The workload once it is applied; a restarted one is the cluster's own."""
        known = (
            None if restarted or isinstance(workload, Pod) else self.state.cluster.get(type(workload), key_of(workload))
        )
        found = Merged(noted(workload)) if known is None else merged(workload, known)
        return found._replace(object=autoscaled(found.object, self.state.cluster))

    def _in_bounds(self, new: Merged, *, restarted: bool) -> WorkloadUpdate:
        """The update with at most `limit` pods, and the number left out."""
        workload: PodSource = new.object
        limit, known = self.limit, self.state.cluster.get(type(workload), key_of(workload))
        before = beyond(known, limit)
        if known is not None and (smaller := capped(known, limit)) is not known:
            self.state.apply(Upsert(smaller))
        few = capped(workload, limit)
        if few is not workload and not isinstance(workload, Pod):
            denied = check_workload(workload, self.state.cluster)
            if denied is not None:  # of the number that is asked for, not of the few
                return WorkloadUpdate("changed", denied=denied)
        update = restart(few, self.state.cluster) if restarted else self._known(new._replace(object=few))
        if isinstance(update.caveat, ReplicasKept):
            update = replace(update, caveat=replace(update.caveat, replicas=update.caveat.replicas + before))
        after = before if keeps_number(workload) else beyond(workload, limit)
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
        """The pods of a custom resource. Its controller is not known: all its running pods are replaced."""
        running = tuple(pods_of_custom(resource, self.state.cluster))
        found = pods_of_templates(resource, self.state.cluster, len(running))
        added = Expansion(found.groups)
        if not running:
            return WorkloadUpdate("new", added=added, left_out=found.left_out)
        caveat = UnknownController(workload=str(ObjectRef.of(resource)))
        return WorkloadUpdate("changed", running, added, left_out=found.left_out, caveat=caveat)


class NewPod(NamedTuple):
    """A pod as the API server would store it, with the changes by admission; or a refused one."""

    pod: Pod
    changes: tuple[ChangeRow, ...] = ()
    refusal: Denied | None = None


class NewPods:
    """Creates pods and their claims at an API server; a pod is stored when it is placed."""

    def __init__(self, api_server: ApiServer, *, admission: bool = True) -> None:
        """`admission`: whether pods and claims are admitted; otherwise they are used as stored by the API server."""
        self.api_server = api_server
        self.admission = admission
        self._reactions = Reactions(api_server, FOR_CLAIMS if admission else BINDING_CLAIMS)
        #: How admission has changed the last pod.
        self._changes: tuple[ChangeRow, ...] = ()
        api_server.admission_watchers.append(self._admitted)

    def fork(self) -> NewPods:
        """The same in a fork of the simulation, for pods that leave no trace here."""
        return NewPods(self.api_server.fork(), admission=self.admission)

    @property
    def caveats(self) -> Iterator[Caveat]:
        """Assumptions about the pods and their claims."""
        return assumed_of_new(self.api_server)

    def apply_claims(self, applied: Sequence[Applied]) -> Iterator[tuple[Applied, Denied]]:
        """Create the claims of the manifests; yields those that the API server refuses."""
        for each in applied:
            claim = each.object
            if not isinstance(claim, PersistentVolumeClaim):
                continue
            # Applying cannot change fields of an existing claim that scheduling reads.
            is_new = self.api_server.state.cluster.get(PersistentVolumeClaim, key_of(claim)) is None
            denied = self.create_claim(claim) if is_new else None
            if denied is not None:
                yield each, denied

    def create_all(
        self, group: ReplicaGroup, workload: KubernetesObject | None = None, *, stored: bool = False
    ) -> Iterator[NewPod]:
        """Create the pods of the group, one at a time, each in the place of a pod of its name.

        Args:
            group: the pods, and the claims that their controller creates for them.
            workload: that they belong to; None: a DaemonSet, or it does not matter.
            stored: whether the API server has admitted them before.
        """
        if isinstance(workload, Deployment):
            self._add_replica_set(workload, group.pod)
        refusal = self._create_claims(group.claims)
        for pod in group.pods():
            yield NewPod(pod, refusal=refusal) if refusal else self._create(pod, stored=stored)

    def create_alone(
        self, group: ReplicaGroup, workload: KubernetesObject, *, stored: bool = False
    ) -> tuple[NewPod, NewPods]:
        """The first pod of the group, and the fork in which it was created; see `create_all`."""
        trial = self.fork()
        return next(trial.create_all(replace(group, names=group.names[:1]), workload, stored=stored)), trial

    def _add_replica_set(self, deployment: Deployment, pod: Pod) -> None:
        """The scheduler reads the selector of the set that controls a pod, so a new one must be there."""
        owner, cluster = controller_of(pod.metadata), self.api_server.state.cluster
        if owner is None or cluster.get(ReplicaSet, f"{pod.metadata.namespace}/{owner.name}") is not None:
            return
        template, hash_ = deployment.spec.template or PodTemplateSpec(), pod.metadata.labels.get(HASH_LABEL, "")
        made = replica_set_of(deployment, template, reference_to(deployment, cluster), owner.name, hash_)
        made = replace(default_object(made), metadata=replace(made.metadata, uid=owner.uid))
        self.api_server.assume(Upsert(made))

    def _create(self, pod: Pod, *, stored: bool) -> NewPod:
        api_server, key = self.api_server, key_of(pod)
        cluster = api_server.state.cluster
        if cluster.get(Pod, key) is not None:
            api_server.write(Remove(Pod, key), USER, None)
        stored = stored or not self.admission
        if not stored and not owns_claims(pod, cluster):
            pod = with_made_up_uid(pod)
        self._changes = ()
        made = api_server.admit(pod, stored=stored)
        if isinstance(made, Denied):
            return NewPod(pod, refusal=made)
        if is_reference() or made.spec.resource_claims or any(volume.ephemeral for volume in made.spec.volumes):
            made = self._with_claims(made)
        return NewPod(made, self._changes)

    def _with_claims(self, pod: Pod) -> Pod:
        """Controllers make the claims of a pod that is there."""
        self.api_server.put(pod, None)
        self._reactions.react()
        made = self.api_server.state.pods[key_of(pod)].pod
        self.api_server.assume(Delete.of(made))
        return made

    def _create_claims(self, claims: Sequence[PersistentVolumeClaim]) -> Denied | None:
        """Create the claims; returns the first refusal, if any."""
        denied = list(map(self.create_claim, claims))
        return next(filter(None, denied), None)

    def create_claim(self, claim: PersistentVolumeClaim) -> Denied | None:
        """Create a claim, which is bound at once if its class does not wait for a pod; returns a refusal."""
        if not claim.metadata.uid:
            claim = with_made_up_uid(claim)
        denied = self.api_server.write(Create(claim, stored=not self.admission), USER, None)
        self._reactions.react()
        return denied

    def _admitted(self, pod: Pod, outcome: Admitted[Pod] | Denied) -> None:
        del pod
        self._changes = () if isinstance(outcome, Denied) else outcome.changes
