"""Which group a pod is of."""

from __future__ import annotations

from kwhatif.kube.gates import GROUPS_GATE
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_group import PodGroup

#: The first release whose groups are modelled: up to 1.36 the API is another one.
GROUPS_SINCE = 37


def has_groups(cluster: Cluster) -> bool:
    """Whether the scheduler of the cluster places groups of pods, by the rules that are modelled."""
    return GROUPS_GATE in cluster.gates and cluster.minor >= GROUPS_SINCE


def group_of(pod: Pod) -> str:
    """The key of the PodGroup that the pod names, `namespace/name`; "" if it names none."""
    named = pod.spec.scheduling_group
    return "" if named is None or not named.pod_group_name else f"{pod.metadata.namespace}/{named.pod_group_name}"


def priority_of(pod: Pod, cluster: Cluster) -> int:
    """The priority that counts when others evict the pod: its group's, if there is one (`GetPodPriority`)."""
    key = group_of(pod)
    group = cluster.get(PodGroup, key) if key else None
    return (pod.spec.priority or 0) if group is None else group.priority
