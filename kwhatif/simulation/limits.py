"""`PodLimits`: how many pods of one workload a simulation creates."""

from __future__ import annotations

from collections import Counter
from copy import copy
from functools import cached_property

from kwhatif.admission.outcome import Denied, NotSimulated
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, ObjectRef, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import POD_CONTROLLERS, DaemonSet
from kwhatif.simulation.view import SimulatedView
from kwhatif.state.pod_info import PodInfo
from kwhatif.workloads.counts import FEW, most_pods, room_for, wanted


class PodLimits:
    """Refuses pods beyond the number that could change the answer (`workloads/counts.py`); records their workloads."""

    def __init__(self, cluster: Cluster, evicting: int | None) -> None:
        """`cluster`: the objects at the start; `evicting`: see `ApiServer`."""
        self._cluster = cluster
        #: The workloads that ask for more, by kind and key.
        self.short: dict[str, KubernetesObject] = {}
        self._evicting = evicting
        #: Workload -> how many other pods its pods have evicted.
        self._evicted: Counter[str] = Counter()
        #: Workload -> when its limit was computed, and the limit.
        self._known: dict[str, tuple[float, int]] = {}

    @cached_property
    def maximum(self) -> int:
        """The maximum number of pods of a workload."""
        return most_pods(self._cluster)

    def fork(self) -> PodLimits:
        """An independent copy."""
        other = copy(self)
        other.short, other._evicted, other._known = self.short.copy(), self._evicted.copy(), self._known.copy()
        return other

    def has_evicted(self, preemptor: Pod) -> None:
        """Count an eviction for this pod."""
        controller = controller_of(preemptor.metadata)
        if controller is not None:
            self._evicted[f"{controller.kind} {preemptor.metadata.namespace}/{controller.name}"] += 1

    def refuse(self, pod: Pod, view: SimulatedView) -> Denied | None:
        """Refuse a pod that is to be created if its workload has too many."""
        owner = controller_of(pod.metadata)
        kind = POD_CONTROLLERS.get(owner.kind) if owner is not None else None
        if owner is None or kind is None:
            return None
        workload = view.state.cluster.get(kind, f"{pod.metadata.namespace}/{owner.name}")
        if workload is None:
            return None
        count = view.count_pods(workload)
        if count < self.maximum and not self._evicts_too_many(pod, workload, count, view):
            return None
        self.short[f"{owner.kind} {key_of(workload)}"] = workload
        return Denied(f"it has {count:,} pods, and more of one workload are not simulated", NotSimulated())

    def _evicts_too_many(self, pod: Pod, workload: KubernetesObject, count: int, view: SimulatedView) -> bool:
        """Whether one more pod of the workload would have to evict others, and enough have done so already.

        If the pods could never all find a node, it is enough to create those that could evict another pod.
        """
        if self._evicting is None or isinstance(workload, DaemonSet):
            return False
        is_absurd = wanted(workload) > self.maximum
        least = FEW if is_absurd else self._evicting
        if count < least:
            return False
        name = str(ObjectRef.of(workload))
        known = self._known.get(name)
        if known is None or known[0] != view.now:
            nodes = view.state.nodes
            placed = sum(bool(each.spec.node_name) for each in view.pods_of(workload))
            evicting = max(0, self._evicting - self._evicted[name])
            if is_absurd:
                evicting = min(evicting, sum(len(node.pods) for node in nodes) - placed)
            room = room_for(PodInfo(pod, view.state.cluster.facts.resizes), nodes)
            known = self._known[name] = view.now, max(least, placed + room + evicting)
        return count >= known[1]
