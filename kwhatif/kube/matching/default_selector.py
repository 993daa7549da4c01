"""The default selector of a pod, from its services and controller (`framework/plugins/helper/spread.go`)."""

from __future__ import annotations

from kwhatif.kube.matching.labels import Selector, SelectorError, compile_selector, selector_of_map
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import ReplicaSet, ReplicationController, Service, StatefulSet


def default_selector(pod: Pod, cluster: Cluster) -> Selector:
    """The combined selectors of the pod's services and its controlling set; empty if it has neither."""
    meta = pod.metadata
    equals: dict[str, str] = {}
    for service in cluster.all(Service).values():
        wanted = service.spec.selector
        if (
            service.metadata.namespace == meta.namespace
            and wanted is not None
            and wanted.items() <= meta.labels.items()
        ):
            equals.update(wanted)
    owner = controller_of(meta)
    if owner is None:
        return selector_of_map(equals)
    key = f"{meta.namespace}/{owner.name}"
    match owner.api_version, owner.kind:
        case "v1", "ReplicationController":
            controller = cluster.get(ReplicationController, key)
            return selector_of_map({**equals, **(controller.spec.selector or {})} if controller else equals)
        case "apps/v1", "ReplicaSet":
            return _and_set(selector_of_map(equals), cluster.get(ReplicaSet, key))
        case "apps/v1", "StatefulSet":
            return _and_set(selector_of_map(equals), cluster.get(StatefulSet, key))
    return selector_of_map(equals)


def _and_set(selector: Selector, owner: ReplicaSet | StatefulSet | None) -> Selector:
    """The selector with the requirements of the owner; a missing or invalid one adds none."""
    if owner is None:
        return selector
    try:
        other = compile_selector(owner.spec.selector)
    except SelectorError:
        return selector
    return selector if other.nothing else selector.and_selector(other)
