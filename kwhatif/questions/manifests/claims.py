"""New PersistentVolumeClaims: admitted, and bound at once if their class does not wait for a pod."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.new_claim import admit_claim, complete_claim
from kwhatif.admission.outcome import Denied
from kwhatif.admission.quota.state import QuotaUsage
from kwhatif.controllers.volume_binder import binding_of, caveat_of
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import ClaimUnbound
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.storage import PersistentVolumeClaim
from kwhatif.simulation.world import World


class NewClaims:
    """Creates claims in a cluster, in order."""

    def __init__(self, cluster: Cluster, usage: QuotaUsage, *, admission: bool = True) -> None:
        self._cluster = cluster
        self._usage = usage
        self._admission = admission
        #: Assumptions about claims.
        self.caveats: dict[Caveat, None] = {}

    def create(self, claim: PersistentVolumeClaim) -> Denied | None:
        """Put the claim into the cluster, with its volume if it gets one; or say why the API server refuses it."""
        if self._admission:
            admitted = admit_claim(claim, self._cluster, self._usage)
            if isinstance(admitted, Denied):
                return admitted
            claim = admitted.object
        else:
            claim = complete_claim(claim, self._cluster)
        claim, volume, caveat = binding_of(claim, self._cluster)
        if volume is not None:
            self._cluster.add(volume)
        if caveat is not None:
            self.caveats[caveat] = None
        self._cluster.add(claim)
        return None


def caveats_of_claims(world: World) -> Iterator[Caveat]:
    """Assumptions about claims that were created or bound; or why they are not bound."""
    touched = dict.fromkeys(event.object for event in world.history.events)
    for name in touched:
        kind, _, key = name.partition(" ")
        caveat = caveat_of(key, world) if kind == PersistentVolumeClaim.__name__ else None
        is_there = world.state.cluster.get(PersistentVolumeClaim, key) is not None
        if caveat is not None and (is_there or not isinstance(caveat, ClaimUnbound)):
            yield caveat
