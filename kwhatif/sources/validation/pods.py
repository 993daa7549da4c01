"""A quick look at the pods of a cluster, of which there are a hundred thousand: most hold nothing new.

What many pods say is thrown together, and then each value that is new is checked once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kwhatif.model.cluster import KubernetesObject
from kwhatif.model.container import ResourceList
from kwhatif.model.meta import LabelSelector
from kwhatif.model.pod import Pod, pod_affinity_terms
from kwhatif.sources.text.paths import FieldPath
from kwhatif.sources.validation import selectors, values

Check = Callable[[Any, FieldPath, Callable[[str, FieldPath], None]], None]


def doubtful(objects: Sequence[KubernetesObject | None]) -> Sequence[int]:
    """The indexes of the objects that must be looked at one by one: those other than pods, and unusual pods.

    Where a value in the usual ones is wrong, all of them.
    """
    usual: list[Pod] = []
    others: list[int] = []
    for index, obj in enumerate(objects):
        if type(obj) is Pod and _is_usual(obj):
            usual.append(obj)
        else:
            others.append(index)
    return others if _are_good(usual) else range(len(objects))


def _is_usual(pod: Pod) -> bool:
    """Whether it has a name, and no parts that few pods have."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    if meta.deletion_timestamp or spec.overhead or spec.resources or status.resources or status.allocated_resources:
        return False
    for volume in spec.volumes:
        if volume.ephemeral is not None:
            return False
    return meta.name != ""


def _are_good(pods: Sequence[Pod]) -> bool:
    """Whether all quantities, times and selectors of these usual pods are."""
    amounts = {amount for each in _resources(pods) for amount in each.values()}
    found = [selector for selector in _selectors(pods) if selector is not None]
    labels = {label for selector in found for label in selector.match_labels.items()}
    return (
        _pass(values.quantity, amounts - values.good_quantities)
        and values.are_times(_times(pods))
        and _pass(selectors.labels, (dict([label]) for label in labels - selectors.good_labels))
        and _pass(selectors.label_selector, (selector for selector in found if selector.match_expressions))
    )


def _pass(check: Check, found: Iterable[object]) -> bool:
    problems: list[str] = []
    for value in found:
        check(value, (), lambda message, _: problems.append(message))
    return not problems


def _resources(pods: Sequence[Pod]) -> list[ResourceList]:
    found: list[ResourceList] = []
    for pod in pods:
        spec, status = pod.spec, pod.status
        for container in spec.containers + spec.init_containers if spec.init_containers else spec.containers:
            resources = container.resources
            found.append(resources.requests)
            found.append(resources.limits)
        granted = status.container_statuses
        for each in granted + status.init_container_statuses if status.init_container_statuses else granted:
            if each.resources is not None:
                found.append(each.resources.requests)
                found.append(each.resources.limits)
            if each.allocated_resources:
                found.append(each.allocated_resources)
    return found


def _times(pods: Sequence[Pod]) -> list[str]:
    """The conditions of a pod mostly change in the same second."""
    found: list[str | None] = []
    for pod in pods:
        status = pod.status
        last = status.start_time
        found.append(pod.metadata.creation_timestamp)
        found.append(last)
        for condition in status.conditions:
            if condition.last_transition_time != last:
                last = condition.last_transition_time
                found.append(last)
        found += [
            each.state.terminated.finished_at
            for each in status.container_statuses + status.init_container_statuses
            if each.state is not None and each.state.terminated is not None
        ]
    return [time for time in found if time is not None]


def _selectors(pods: Sequence[Pod]) -> Iterator[LabelSelector | None]:
    for pod in pods:
        spec = pod.spec
        for constraint in spec.topology_spread_constraints:
            yield constraint.label_selector
        for term in pod_affinity_terms(spec) if spec.affinity is not None else ():
            yield term.label_selector
            yield term.namespace_selector
