"""What types cannot say: quantities, times, percentages and selectors must mean something.

A check exists for a type of field, wherever that field stands; per kind the walk to all such fields is compiled once.
What passes here is never refused by a parser further in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.pod import Pod, pod_affinity_terms
from kwhatif.kube.model.pod_spec import (
    NodeSelector,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    ResourceList,
    TopologySpreadConstraint,
)
from kwhatif.kube.model.workload import Service
from kwhatif.sources.decoding import values
from kwhatif.sources.decoding.decode import DecodedBatch
from kwhatif.sources.decoding.values import AddProblem, Check
from kwhatif.sources.text.problems import FieldPath, Problems


def doubtful(objects: Sequence[KubernetesObject | None]) -> Sequence[int]:
    """The indexes of the objects that must be looked at one by one: those other than pods, and unusual pods.

    There may be a hundred thousand pods, and most hold nothing new: their values are collected, and each new one is
    checked once.

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
        and _pass(values.labels, (dict([label]) for label in labels - values.good_labels))
        and _pass(values.label_selector, (selector for selector in found if selector.match_expressions))
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
            if condition.last_transition_time != last:  # most of them are of the same second
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


_TIMES = {
    "allocationTimestamp",
    "creationTimestamp",
    "deletionTimestamp",
    "disruptedPods",
    "finishedAt",
    "lastHeartbeatTime",
    "lastTransitionTime",
    "startTime",
    "timeAdded",
}


#: Found once for all validators: this takes longer than a small cluster's checks.
_fields = cache(msgspec.structs.fields)


class Validator:
    """Checks of objects, put together from checks of the types that they are made of."""

    def __init__(self, checks: Mapping[type, Check]) -> None:
        self._checks = checks
        self._walks: dict[type, Check | None] = {}

    def validate(self, obj: KubernetesObject, add: AddProblem) -> None:
        """Add everything that is wrong with the object, its name aside."""
        kind = type(obj)
        walk = self._struct(kind)
        if walk is not None:
            walk(obj, (), add)

    def _compile(self, type_: Any, field: str = "") -> Check | None:
        """The walk below a field, or None if there is nothing to check."""
        type_ = _bare(type_)
        origin, arguments = get_origin(type_), get_args(type_)
        if origin is tuple:
            return _each(self._compile(arguments[0], field))
        if origin in (dict, Mapping):
            return _every(self._compile(arguments[1], field))
        if origin in (Union, UnionType):
            return self._union(frozenset(map(_bare, arguments)) - {NoneType}, field)
        if type_ is str:
            return values.time if field in _TIMES else None
        return self._struct(type_) if isinstance(type_, type) and issubclass(type_, msgspec.Struct) else None

    def _union(self, options: frozenset[Any], field: str) -> Check | None:
        if options == {int, float, str}:
            return values.quantity
        if options == {int, str}:
            return values.int_or_percent
        return self._compile(next(iter(options)), field) if len(options) == 1 else None

    def _struct(self, kind: type) -> Check | None:
        """The walk of a class; many kinds have parts of the same class."""
        if kind not in self._walks:
            self._walks[kind] = self._made(kind)
        return self._walks[kind]

    def _made(self, kind: type) -> Check | None:
        own = self._checks.get(kind)
        fields = [
            (field.name, field.encode_name, check)
            for field in _fields(kind)
            if (check := self._compile(field.type, field.encode_name)) is not None
        ]
        if own is None and not fields:
            return None

        def walk(value: Any, path: FieldPath, add: AddProblem) -> None:
            if own is not None:
                own(value, path, add)
            for name, step, check in fields:
                below = getattr(value, name)
                if below is not None and below != ():
                    check(below, (*path, step), add)

        return walk


def _bare(type_: Any) -> Any:
    """The type without its range."""
    return get_args(type_)[0] if get_origin(type_) is Annotated else type_


def _each(check: Check | None) -> Check | None:
    if check is None:
        return None

    def walk(items: Any, path: FieldPath, add: AddProblem) -> None:
        for index, item in enumerate(items):
            check(item, (*path, index), add)

    return walk


def _every(check: Check | None) -> Check | None:
    if check is None or check is values.quantity:
        return check and values.quantities

    def walk(entries: Any, path: FieldPath, add: AddProblem) -> None:
        for key, item in entries.items():
            check(item, (*path, key), add)

    return walk


def _service(service: Service, path: FieldPath, add: AddProblem) -> None:
    values.labels(service.spec.selector or {}, (*path, "spec", "selector"), add)


_ALWAYS: dict[type, Check] = {LabelSelector: values.label_selector, Service: _service}

#: For objects of a cluster: the API server has accepted them, and where it is lenient, so is the scheduler.
STORED = Validator(_ALWAYS)
#: For objects that the API server has yet to accept.
CANDIDATES = Validator(
    _ALWAYS
    | {
        NodeSelector: values.node_selector,
        PreferredSchedulingTerm: values.preferred_term,
        PodAffinityTerm: values.pod_affinity_term,
        TopologySpreadConstraint: values.spread_constraint,
    }
)


def validate_batch(batch: DecodedBatch, problems: Problems, validator: Validator) -> None:
    """Add everything that is wrong with objects just decoded."""
    objects = batch.objects
    for index in doubtful(objects) if validator is STORED else range(len(objects)):
        obj = objects[index]
        if obj is None:
            continue
        found: list[tuple[str, FieldPath]] = []
        if not obj.metadata.name and not (validator is CANDIDATES and obj.metadata.generate_name):
            found.append(("is not set", ("metadata", "name")))
        validator.validate(obj, lambda message, path, found=found: found.append((message, path)))  # type: ignore[misc]
        if found:
            report = problems.at(batch.place_of(index), _name(obj))
            for message, path in found:
                report.add(message, path)


def _name(obj: KubernetesObject) -> str:
    name = key_of(obj) if obj.metadata.name else f"{obj.metadata.namespace}/?".lstrip("/")
    return f"{type(obj).__name__} {name}"
