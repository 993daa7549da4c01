"""Which pods may be moved when a node is removed (`simulator/drainability/rules/`), and which pods block that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import msgspec

from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.autoscaler.cluster_autoscaler.pods import is_daemon, is_long_terminating, is_mirror
from kwhatif.kube.matching.budgets import Names, budget_index
from kwhatif.kube.model.cluster import Cluster, lacks
from kwhatif.kube.model.meta import OwnerReference, controller_of, parse_time
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from kwhatif.state.pod_info import PodInfo

_SYSTEM_NAMESPACE = "kube-system"
_REPLICATED = frozenset({"ReplicationController", "Job", "ReplicaSet", "StatefulSet"})
#: Kinds of owners that are looked up, with the API group that they must have ("": any), and the kind that creates them:
#: if the input has objects of the creating kind only, the owners' kind was not read.
_OWNERS: Mapping[str, tuple[type, str, type | None]] = {
    "ReplicationController": (ReplicationController, "", None),
    "ReplicaSet": (ReplicaSet, "", Deployment),
    "StatefulSet": (StatefulSet, "apps", None),
    "Job": (Job, "", CronJob),
    "DaemonSet": (DaemonSet, "apps", None),
}


class Outcome(Enum):
    """The outcome for a pod when its node is removed."""

    MOVES = "moves"
    #: The pod is removed with the node, or is already being deleted.
    SKIPPED = "skipped"
    #: The node is not deleted before the pod has ended.
    WAITED_FOR = "waited for"
    BLOCKS = "blocks"


class Drainability(NamedTuple):
    """The outcome, and why, in the words of upstream's BlockingPodReason."""

    outcome: Outcome
    reason: str = ""


def _blocks(reason: str) -> Drainability:
    return Drainability(Outcome.BLOCKS, reason)


MOVES, SKIPPED, WAITED_FOR = map(Drainability, (Outcome.MOVES, Outcome.SKIPPED, Outcome.WAITED_FOR))
NOT_SAFE = _blocks("NotSafeToEvictAnnotation")


class Budgets:
    """Disruption budgets, counted down as pods are moved (`core/scaledown/pdb/basic.go`)."""

    def __init__(self, cluster: Cluster) -> None:
        self._index = budget_index(cluster)
        self.allowed = {
            key: 0 if budget.status is None else budget.status.disruptions_allowed
            for key, budget in cluster.all(PodDisruptionBudget).items()
        }

    def of(self, pod: Pod) -> Names:
        """The budgets that select the pod, as `namespace/name`."""
        return self._index.of(pod.metadata.namespace, pod.metadata.labels)

    def remove(self, pods: Iterable[PodInfo]) -> None:
        """Count the pods as disrupted."""
        for pod in pods:
            for key in self.of(pod.pod):
                self.allowed[key] -= 1


class MovedPods(msgspec.Struct, frozen=True):
    """The pods of a node by outcome. If one of them blocks the node, the others do not matter."""

    pods: Sequence[PodInfo] = ()
    #: Pods that the node's deletion waits for.
    awaited: Sequence[PodInfo] = ()
    blocking: PodInfo | None = None
    reason: str = ""


class Rules:
    """The rules with these flags, at one moment, in one cluster."""

    def __init__(self, cluster: Cluster, flags: Flags, budgets: Budgets, now: int) -> None:
        self._cluster, self._flags, self.budgets, self._now = cluster, flags, budgets, now
        skips_custom = flags.skip_nodes_with_custom_controller_pods
        self._rules: Sequence[Callable[[Pod], Drainability | None]] = [
            lambda pod: SKIPPED if is_mirror(pod) else None,
            lambda pod: SKIPPED if is_long_terminating(pod, now) else None,
            *([self._replica_count] if skips_custom else ()),
            lambda pod: MOVES if is_daemon(pod) else None,
            lambda pod: MOVES if pod.metadata.annotations.safe_to_evict == "true" else None,
            self._terminal,
            lambda pod: WAITED_FOR if pod.metadata.annotations.safe_to_evict == "on-completion" else None,
            self._replicated,
            *([self._system] if flags.skip_nodes_with_system_pods else ()),
            lambda pod: NOT_SAFE if pod.metadata.annotations.safe_to_evict == "false" else None,
            *([self._local_storage] if flags.skip_nodes_with_local_storage else ()),
            self._budget,
        ]

    def of(self, pod: Pod) -> Drainability:
        """The verdict of the first rule that has one (`Rules.Drainable`)."""
        verdicts = (rule(pod) for rule in self._rules)
        return next((each for each in verdicts if each is not None), MOVES)

    def moved(self, pods: Iterable[PodInfo]) -> MovedPods:
        """The pods of a node that must move (`GetPodsToMove`)."""
        moving: list[PodInfo] = []
        awaited: list[PodInfo] = []
        for info in pods:
            outcome, reason = self.of(info.pod)
            if outcome is Outcome.BLOCKS:
                return MovedPods(blocking=info, reason=reason)
            if outcome is Outcome.WAITED_FOR:
                awaited.append(info)
            elif outcome is Outcome.MOVES and not is_daemon(info.pod):
                moving.append(info)
        return MovedPods(moving, awaited)

    # --- owners ----------------------------------------------------------------------------------------------------

    def _replica_count(self, pod: Pod) -> Drainability | None:
        """`replicacount`: the owner exists, and has at least `--min-replica-count` replicas."""
        owner = controller_of(pod.metadata)
        if owner is None:
            return None
        if is_daemon(pod) and owner.kind != "ReplicationController":
            return self._found(pod, owner) if owner.kind == "DaemonSet" else None
        return None if owner.kind == "DaemonSet" else self._found(pod, owner)

    def _found(self, pod: Pod, owner: OwnerReference) -> Drainability | None:
        kind, group, maker = _OWNERS.get(owner.kind, (None, "", None))
        if kind is None or (group and owner.api_version.partition("/")[0] != group):
            return None
        found = self._cluster.all(kind).get(f"{pod.metadata.namespace}/{owner.name}")
        if found is None:
            return None if self._is_unknown(kind, maker) else _blocks("ControllerNotFound")
        wanted = getattr(found.spec, "replicas", None)
        counts = kind in (ReplicaSet, ReplicationController)
        if counts and wanted is not None and wanted < self._flags.min_replica_count:
            return _blocks("MinReplicasReached")
        return None

    def _is_unknown(self, kind: type, maker: type | None) -> bool:
        """Whether the kind was not read, so that a missing object may exist.

        It was read if the input has owners of other kinds; but not if it has the creating kind and none of this kind.
        """
        if not lacks(kind, self._cluster):
            return False
        others = (other for other, _, _ in _OWNERS.values() if other is not kind)
        has_maker = maker is not None and bool(self._cluster.all(maker))
        return has_maker or kind.__name__ in self._cluster.facts.unread or not any(map(self._cluster.all, others))

    # --- pods that are moved in any case ----------------------------------------------------------------------------

    def _terminal(self, pod: Pod) -> Drainability | None:
        phase, policy = pod.status.phase, pod.spec.restart_policy
        has_ended = phase == "Failed" or (phase == "Succeeded" and policy in ("Never", "OnFailure"))
        return MOVES if has_ended else None

    # --- pods that block -------------------------------------------------------------------------------------------

    def _replicated(self, pod: Pod) -> Drainability | None:
        owner = controller_of(pod.metadata)
        skips_custom = self._flags.skip_nodes_with_custom_controller_pods
        is_replicated = owner is not None and (owner.kind in _REPLICATED or not skips_custom)
        return None if is_replicated else _blocks("NotReplicated")

    def _system(self, pod: Pod) -> Drainability | None:
        """A pod in kube-system without a budget blocks its node for a while."""
        if pod.metadata.namespace != _SYSTEM_NAMESPACE or self.budgets.of(pod):
            return None
        created = pod.metadata.creation_timestamp
        timeout = self._flags.blocking_system_pod_distruption_timeout
        is_old = created is not None and self._now > parse_time(created) + timeout
        return MOVES if is_old else _blocks("UnmovableKubeSystemPod")

    def _local_storage(self, pod: Pod) -> Drainability | None:
        safe = frozenset(pod.metadata.annotations.safe_volumes.split(","))
        return _blocks("LocalStorageRequested") if any(name not in safe for name in _local_volumes(pod)) else None

    def _budget(self, pod: Pod) -> Drainability | None:
        short = any(self.budgets.allowed[key] < 1 for key in self.budgets.of(pod))
        return _blocks("NotEnoughPdb") if short else None


def _local_volumes(pod: Pod) -> Iterator[str]:
    """Volumes on the node itself; memory does not count."""
    for volume in pod.spec.volumes:
        is_on_disk = volume.empty_dir is not None and volume.empty_dir.medium != "Memory"
        if volume.host_path is not None or is_on_disk:
            yield volume.name
