"""A quick look at the pods of a cluster, of which there are a hundred thousand: most hold nothing new."""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.model.meta import LabelSelector
from kwhatif.model.pod import Affinity, Container, ContainerStatus, Pod
from kwhatif.sources.validate_selectors import good_labels
from kwhatif.sources.validate_values import good_clocks, good_dates, good_quantities


def is_fine(pod: Pod) -> bool:
    """Whether everything in the pod was found to be good before; False means that it must be looked at."""
    spec, status = pod.spec, pod.status
    if spec.overhead or spec.resources or status.resources or status.allocated_resources:
        return False
    if not (_known_names(pod) and _known_requests(spec.containers) and _known_statuses(status.container_statuses)):
        return False
    if spec.init_containers and not (
        _known_requests(spec.init_containers) and _known_statuses(status.init_container_statuses)
    ):
        return False
    for volume in spec.volumes:
        if volume.ephemeral is not None:
            return False
    for constraint in spec.topology_spread_constraints:
        if not _known_selector(constraint.label_selector):
            return False
    return spec.affinity is None or _known_affinity(spec.affinity)


def _known_names(pod: Pod) -> bool:
    """The name is there, and so are good times."""
    meta = pod.metadata
    for text in (meta.creation_timestamp, pod.status.start_time, meta.deletion_timestamp):
        if text is not None and (text[:10] not in good_dates or text[10:] not in good_clocks):
            return False
    return meta.name != ""


def _known_requests(containers: Iterable[Container]) -> bool:
    known = good_quantities.issuperset
    for container in containers:
        resources = container.resources
        if not (known(resources.requests.values()) and known(resources.limits.values())):
            return False
    return True


def _known_statuses(statuses: Iterable[ContainerStatus]) -> bool:
    known = good_quantities.issuperset
    for status in statuses:
        resources = status.resources
        if resources is not None and not (known(resources.requests.values()) and known(resources.limits.values())):
            return False
        if status.allocated_resources and not known(status.allocated_resources.values()):
            return False
    return True


def _known_selector(selector: LabelSelector | None) -> bool:
    if selector is None:
        return True
    return not selector.match_expressions and good_labels.issuperset(selector.match_labels.items())


def _known_affinity(affinity: Affinity) -> bool:
    for pods in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if pods is None:
            continue
        for term in (*pods.required, *[weighted.pod_affinity_term for weighted in pods.preferred]):
            if not (_known_selector(term.label_selector) and _known_selector(term.namespace_selector)):
                return False
    return True
