"""Which changes of the state a batch can follow."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import LimitRange, PodDisruptionBudget, PriorityClass, ResourceQuota
from kwhatif.kube.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from kwhatif.kube.model.workload import WORKLOADS, Namespace, Service
from kwhatif.scheduler.framework.cycle import Cycle
from kwhatif.scheduler.framework.guard import GuardedPlugin
from kwhatif.state.history import Touched
from kwhatif.state.state import State

#: Kinds that a batch follows, and kinds that no scheduling rule reads or that are part of the signature.
_FOLLOWED = frozenset((Pod, PodDisruptionBudget))
_HARMLESS = _FOLLOWED | {Node, PersistentVolumeClaim, PriorityClass, LimitRange, ResourceQuota, Service, *WORKLOADS}
#: Kinds that matter only to pods with volumes.
_OF_VOLUMES = frozenset((PersistentVolume, StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment))


def followed_kinds(cycle: Cycle) -> frozenset[type]:
    """The kinds whose objects may change."""
    if any(isinstance(plugin, GuardedPlugin) for plugin in cycle.profile.plugins):
        return _FOLLOWED
    return _HARMLESS if cycle.pod.pod.spec.volumes else _HARMLESS | _OF_VOLUMES


def is_followed(touched: Touched, kinds: frozenset[type], cycle: Cycle, origin: State) -> bool:
    """Whether the batch handles all effects of the changes.

    Args:
        touched: what has changed since the batch was up to date.
        kinds: see `followed_kinds`.
        cycle: the cycle of the batch, on the current state.
        origin: the state for which the filters were compiled: some read namespaces of it.
    """
    state = cycle.state
    if touched.reordered or any(kind not in kinds for kind, _ in touched.objects):
        return False
    if not all(_is_mild(before, after) for before, after in touched.changed_nodes):
        return False
    if cycle.pod.pod.spec.volumes and not _only_own_claims(touched, state):
        return False
    return origin is state or origin.cluster.generation(Namespace) == state.cluster.generation(Namespace)


def _is_mild(before: Node, after: Node) -> bool:
    """Whether only what `Incremental.apply_node_change` handles has changed."""
    spec = replace(before.spec, taints=after.spec.taints, unschedulable=after.spec.unschedulable)
    status = replace(before.status, conditions=after.status.conditions)
    return replace(before, spec=spec, status=status) == after


def _only_own_claims(touched: Touched, state: State) -> bool:
    """Whether claims changed only because pods that use them were added: otherwise other volumes may differ."""
    came = (pod for pod, _, amount in touched.moves if amount > 0)
    used = Counter(f"{pod.namespace}/{name}" for pod in came for name in pod.claim_names)
    claims = (key for kind, key in touched.objects if kind is PersistentVolumeClaim)
    return all(state.users_of(key) <= used[key] for key in claims)
