"""A quick look at the pods of a cluster, of which there are a hundred thousand: most hold nothing new.

What many pods say is thrown together, and then each value that is new is checked once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kwhatif.model.cluster import KubernetesObject
from kwhatif.model.meta import LabelSelector
from kwhatif.model.pod import Pod, PodSpec, PodStatus
from kwhatif.sources.text.paths import FieldPath
from kwhatif.sources.validation import selectors, values

Check = Callable[[Any, FieldPath, Callable[[str, FieldPath], None]], None]


def doubtful(objects: Sequence[KubernetesObject | None]) -> Sequence[int]:
    """The indexes of the objects that must be looked at one by one: those other than pods, and unusual pods.

    Where a value in the usual ones is wrong, all of them.
    """
    pods = [obj for obj in objects if type(obj) is Pod]
    said = _Said(pods)
    unusual = [index for index, obj in enumerate(objects) if type(obj) is not Pod or not said.by(obj)]
    return unusual if said.is_good() else range(len(objects))


class _Said:
    """Distinct values that pods hold."""

    def __init__(self, pods: Sequence[Pod]) -> None:
        #: Conditions of a pod mostly change in the same second.
        self._times = {pod.metadata.creation_timestamp for pod in pods}
        self._times |= {pod.status.start_time for pod in pods}
        self._times |= {row.last_transition_time for pod in pods for row in pod.status.conditions}
        resources = [container.resources for pod in pods for container in pod.spec.containers]
        self._amounts = {amount for each in resources for amount in each.requests.values()}
        self._amounts |= {amount for each in resources for amount in each.limits.values()}
        self._labels: set[tuple[str, str]] = set()

    def by(self, pod: Pod) -> bool:
        """Take note of what else the pod says; False if it has no name, or parts that few pods have."""
        meta, spec, status = pod.metadata, pod.spec, pod.status
        if meta.deletion_timestamp or spec.overhead or spec.resources or status.resources or status.allocated_resources:
            return False
        for volume in spec.volumes:
            if volume.ephemeral is not None:
                return False
        if spec.affinity is not None or spec.topology_spread_constraints:
            for selector in _selectors(spec):
                if selector.match_expressions:
                    return False
                self._labels.update(selector.match_labels.items())
        if spec.init_containers or status.container_statuses or status.init_container_statuses:
            self._note(spec, status)
        return meta.name != ""

    def _note(self, spec: PodSpec, status: PodStatus) -> None:
        for container in spec.init_containers:
            self._amounts.update(container.resources.requests.values(), container.resources.limits.values())
        statuses = status.container_statuses
        for granted in statuses + status.init_container_statuses if status.init_container_statuses else statuses:
            if granted.resources is not None:
                self._amounts.update(granted.resources.requests.values(), granted.resources.limits.values())
            if granted.allocated_resources:
                self._amounts.update(granted.allocated_resources.values())

    def is_good(self) -> bool:
        """Whether nothing of it is wrong."""
        return (
            _are_good(values.quantity, self._amounts - values.good_quantities)
            and values.are_times([time for time in self._times if time is not None])
            and _are_good(selectors.labels, (dict([label]) for label in self._labels - selectors.good_labels))
        )


def _are_good(check: Check, found: Iterable[object]) -> bool:
    problems: list[str] = []
    for value in found:
        check(value, (), lambda message, _: problems.append(message))
    return not problems


def _selectors(spec: PodSpec) -> Iterator[LabelSelector]:
    """The label selectors that the pod holds."""
    found = [constraint.label_selector for constraint in spec.topology_spread_constraints]
    affinity = spec.affinity
    for pods in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity is not None else ():
        if pods is not None:
            for term in (*pods.required, *[weighted.pod_affinity_term for weighted in pods.preferred]):
                found += (term.label_selector, term.namespace_selector)
    return (selector for selector in found if selector is not None)
