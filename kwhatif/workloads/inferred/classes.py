"""Classes that the input lacks, and that pods name: what admission has made of them is in the pods."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.kube.model.cluster import Cluster, lacks
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.policy import PriorityClass, RuntimeClass, RuntimeClassOverhead

_DEFAULT_POLICY = "PreemptLowerPriority"


def missing_classes(cluster: Cluster) -> Iterator[PriorityClass | RuntimeClass]:
    """PriorityClasses and RuntimeClasses, as the pods show them that name them."""
    if lacks(PriorityClass, cluster):
        yield from _priority_classes(cluster)
    if lacks(RuntimeClass, cluster):
        yield from _runtime_classes(cluster)


def _priority_classes(cluster: Cluster) -> Iterator[PriorityClass]:
    found: dict[str, Pod] = {}
    for pod in cluster.all(Pod).values():
        name = pod.spec.priority_class_name
        if name and name not in found and pod.spec.priority is not None:
            found[name] = pod
    for name, pod in sorted(found.items()):
        if cluster.get(PriorityClass, name) is None:
            yield PriorityClass(
                api_version="scheduling.k8s.io/v1",
                metadata=ObjectMeta(name=name),
                value=pod.spec.priority or 0,
                preemption_policy=pod.spec.preemption_policy or _DEFAULT_POLICY,
            )


def _runtime_classes(cluster: Cluster) -> Iterator[RuntimeClass]:
    found: dict[str, Pod] = {}
    for pod in cluster.all(Pod).values():
        if pod.spec.runtime_class_name:
            found.setdefault(pod.spec.runtime_class_name, pod)
    for name, pod in sorted(found.items()):
        overhead = None if pod.spec.overhead is None else RuntimeClassOverhead(pod_fixed=pod.spec.overhead)
        yield RuntimeClass(api_version="node.k8s.io/v1", metadata=ObjectMeta(name=name), overhead=overhead)
