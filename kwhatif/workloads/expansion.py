"""`Expansion`: the pods of a workload, equal ones together, and the claims that come with them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.storage import PersistentVolumeClaim


class ReplicaGroup(msgspec.Struct, frozen=True):
    """Pods that differ in nothing but their names: what holds for one of them holds for all.

    `pod` has no name where the API server makes it (`generateName`); `names` are the stand-ins then.
    """

    pod: Pod
    names: tuple[str, ...]
    #: What the controller makes before the pods.
    claims: tuple[PersistentVolumeClaim, ...] = ()

    def pods(self) -> Iterator[Pod]:
        """The pods one by one, named; they share all else."""
        meta = self.pod.metadata
        for name in self.names:
            yield self.pod if name == meta.name else replace(self.pod, metadata=replace(meta, name=name))


class Expansion(msgspec.Struct, frozen=True):
    """The pods that a controller would make, in its order."""

    groups: tuple[ReplicaGroup, ...] = ()
    #: How many more there are to be: too many to be made one by one (`workloads.many`).
    left_out: int = 0

    @property
    def pods(self) -> list[Pod]:
        """All pods."""
        return [pod for group in self.groups for pod in group.pods()]
