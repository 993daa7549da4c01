"""A quick look at the pods of a cluster, of which there are a hundred thousand: most hold nothing new.

What many pods say is thrown together, and then each value that is new is checked once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.container import ResourceList
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.pod import Pod, pod_affinity_terms
from kwhatif.sources.validation import selectors, values
from kwhatif.sources.validation.values import Check


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
    resources, times = _said(pods)
    amounts = set(chain.from_iterable(map(dict.values, resources)))
    found = [selector for selector in _selectors(pods) if selector is not None]
    labels = {label for selector in found for label in selector.match_labels.items()}
    return (
        _pass(values.quantity, amounts - values.good_quantities)
        and values.are_times([time for time in times if time is not None])
        and _pass(selectors.labels, (dict([label]) for label in labels - selectors.good_labels))
        and _pass(selectors.label_selector, (selector for selector in found if selector.match_expressions))
    )


def _pass(check: Check, found: Iterable[object]) -> bool:
    problems: list[str] = []
    for value in found:
        check(value, (), lambda message, _: problems.append(message))
    return not problems


def _said(pods: Sequence[Pod]) -> tuple[list[ResourceList], list[str | None]]:
    """All resources and times."""
    resources: list[ResourceList] = []
    times: list[str | None] = []
    for pod in pods:
        spec, status = pod.spec, pod.status
        last = status.start_time
        times.append(pod.metadata.creation_timestamp)
        times.append(last)
        for condition in status.conditions:
            if condition.last_transition_time != last:  # mostly they change in the same second
                last = condition.last_transition_time
                times.append(last)
        for container in spec.containers + spec.init_containers:
            resources.append(container.resources.requests)
            resources.append(container.resources.limits)
        for granted in status.container_statuses + status.init_container_statuses:
            if granted.resources is not None:
                resources.append(granted.resources.requests)
                resources.append(granted.resources.limits)
            if granted.allocated_resources:
                resources.append(granted.allocated_resources)
            if granted.state is not None and granted.state.terminated is not None:
                times.append(granted.state.terminated.finished_at)
    return resources, times


def _selectors(pods: Sequence[Pod]) -> Iterator[LabelSelector | None]:
    for pod in pods:
        spec = pod.spec
        for constraint in spec.topology_spread_constraints:
            yield constraint.label_selector
        for term in pod_affinity_terms(spec) if spec.affinity is not None else ():
            yield term.label_selector
            yield term.namespace_selector
