"""`NewPods`: pods that are created one by one as they are asked for, beside those that controllers create."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.admission.defaults import default_object
from kwhatif.admission.outcome import Admitted, ChangeRow, Denied
from kwhatif.controllers.catalog import BINDING_CLAIMS, FOR_CLAIMS
from kwhatif.controllers.contract import Create, Remove
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.kube.model.workload import Deployment, ReplicaSet
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.assumed import assumed_of_new
from kwhatif.questions.manifests.writes import USER
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.simulation.reactions import Reactions
from kwhatif.simulation.world import World
from kwhatif.workloads.expansion import ReplicaGroup
from kwhatif.workloads.generated import with_made_up_uid
from kwhatif.workloads.owners import reference_to
from kwhatif.workloads.pod_claims import owns_claims
from kwhatif.workloads.replicas import HASH_LABEL, replica_set_of


class NewPod(NamedTuple):
    """A pod as the API server would store it, and how admission has changed it; or one that it refuses."""

    pod: Pod
    changes: tuple[ChangeRow, ...] = ()
    refusal: str = ""


class NewPods:
    """A world in which pods are created, with their claims; a pod is stored when it is placed."""

    def __init__(self, world: World, *, admission: bool = True) -> None:
        """`admission`: otherwise pods are taken as the API server has stored them, and so are claims."""
        self.world = world
        self._admission = admission
        self._reactions = Reactions(world, FOR_CLAIMS if admission else BINDING_CLAIMS)
        #: How admission has changed the last pod.
        self._changes: tuple[ChangeRow, ...] = ()
        world.admission_watcher = self._admitted
        world.limits.is_lifted = True

    def fork(self) -> NewPods:
        """The same in a fork of the world, for pods that leave no trace here."""
        return NewPods(self.world.fork(), admission=self._admission)

    @property
    def caveats(self) -> Iterator[Caveat]:
        """What had to be assumed of the pods and their claims."""
        return assumed_of_new(self.world)

    def apply_claims(self, applied: Sequence[Applied]) -> Iterator[tuple[Applied, Denied]]:
        """Create the claims of the manifests; yields those that the API server refuses."""
        for each in applied:
            claim = each.object
            if not isinstance(claim, PersistentVolumeClaim):
                continue
            # Of a claim that is there, nothing can change that scheduling reads.
            is_new = self.world.state.cluster.get(PersistentVolumeClaim, key_of(claim)) is None
            denied = self.create_claim(claim) if is_new else None
            if denied is not None:
                yield each, denied

    def add_replica_set(self, deployment: Deployment, pod: Pod) -> None:
        """The scheduler reads the selector of the set that controls a pod, so a new one must be there."""
        owner, cluster = controller_of(pod.metadata), self.world.state.cluster
        if owner is None or cluster.get(ReplicaSet, f"{pod.metadata.namespace}/{owner.name}") is not None:
            return
        template, hash_ = deployment.spec.template or PodTemplateSpec(), pod.metadata.labels.get(HASH_LABEL, "")
        made = replica_set_of(deployment, template, reference_to(deployment, cluster), owner.name, hash_)
        self.world.complete(replace(default_object(made), metadata=replace(made.metadata, uid=owner.uid)))

    def create_all(self, group: ReplicaGroup, *, stored: bool = False) -> Iterator[NewPod]:
        """Create the pods of the group, one at a time; see `create`."""
        refusal = self._create_claims(group.claims)
        for pod in group.pods():
            yield NewPod(pod, refusal=refusal) if refusal else self._create(pod, stored=stored)

    def create(self, group: ReplicaGroup, *, stored: bool = False) -> NewPod:
        """Create the first pod of the group, with the claims that its controller creates for it.

        It takes the place of a pod of its name. `stored`: the API server has admitted it before.
        """
        return next(self.create_all(replace(group, names=group.names[:1]), stored=stored))

    def _create(self, pod: Pod, *, stored: bool) -> NewPod:
        world, key = self.world, key_of(pod)
        cluster = world.state.cluster
        if cluster.get(Pod, key) is not None:
            world.write(Remove(Pod, key), USER, None)
        stored = stored or not self._admission
        if not stored and not owns_claims(pod, cluster):
            pod = with_made_up_uid(pod)
        self._changes = ()
        made = world.created(pod, stored=stored)
        if isinstance(made, Denied):
            return NewPod(pod, refusal=made.message)
        if is_reference() or made.spec.resource_claims or any(volume.ephemeral for volume in made.spec.volumes):
            made = self._with_claims(made)
        return NewPod(made, self._changes)

    def _with_claims(self, pod: Pod) -> Pod:
        """Controllers make the claims of a pod that is there."""
        self.world.put(pod, None)
        self._reactions.react()
        made = self.world.state.pods[key_of(pod)].pod
        self.world.withdraw(made)
        return made

    def _create_claims(self, claims: Sequence[PersistentVolumeClaim]) -> str:
        """Create the claims; returns the first refusal, if there is one."""
        denied = list(map(self.create_claim, claims))
        return next((each.message for each in denied if each is not None), "")

    def create_claim(self, claim: PersistentVolumeClaim) -> Denied | None:
        """Create a claim, which is bound at once if its class does not wait for a pod; or say why it is refused."""
        if not claim.metadata.uid:
            claim = with_made_up_uid(claim)
        denied = self.world.write(Create(claim, stored=not self._admission), USER, None)
        self._reactions.react()
        return denied

    def _admitted(self, pod: Pod, outcome: Admitted[Pod] | Denied) -> None:
        del pod
        self._changes = () if isinstance(outcome, Denied) else outcome.changes
