"""Pod templates inside custom resources, found by a path such as `.spec.template`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import PodSpec, PodTemplateSpec
from kwhatif.kube.model.quantity import amounts
from kwhatif.workloads.counts import most_pods
from kwhatif.workloads.deployment import free_names
from kwhatif.workloads.names import uid_of
from kwhatif.workloads.template import Expansion, ReplicaGroup, pod_of

#: `.name`, `["any name"]`, `[0]`, `[*]` (every entry of a list or map), `.*`.
_STEP = re.compile(
    r"""\.(?P<name>[\w-]+|\*)|\[(?:(?P<index>\d+)|(?P<all>\*)|(?P<quote>['"])(?P<key>.+?)(?P=quote))\]"""
)


class TemplatePathError(ValueError):
    """The path is not one, or what it leads to is not a pod template; the message says which."""


class _Owner(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()


def pods_from_template_path(raw: Mapping[str, Any], path: str, cluster: Cluster, running: int = 0) -> Expansion:
    """The pods of a custom resource, from the pod template (or templates) at `path`.

    Its controller is not known here. Assumed is what is common: the pods are controlled by the resource itself, and
    there are as many as a number called `replicas` beside the template says. Where one template has no such number, it
    has the rest of those that run, else one: what a manifest leaves out stays as it is.

    Args:
        raw: the resource.
        path: where its templates are.
        cluster: where the pods will be.
        running: how many of its pods run.

    Raises:
        TemplatePathError: the path is malformed, leads nowhere, or to something else.
    """
    resource = _convert(_without_nulls({key: raw.get(key) for key in ("apiVersion", "kind", "metadata")}), _Owner, "")
    meta = resource.metadata
    uid = meta.uid or uid_of(resource.kind, meta.namespace, meta.name)
    owner = OwnerReference(
        kind=resource.kind, name=meta.name, uid=uid, api_version=resource.api_version, controller=True
    )
    groups: list[ReplicaGroup] = []
    most, left_out = most_pods(cluster), 0
    used: set[str] = set()
    places = list(_follow(raw, _steps(path)))
    given = [_replicas(parent) for _, parent, _ in places]
    left = max(1, running - sum(count or 0 for count in given)) if given.count(None) == 1 else 1
    for (place, _, found), number in zip(places, given, strict=True):
        template = _convert(_without_nulls(found), PodTemplateSpec, place)
        if not template.spec.containers:
            raise TemplatePathError(f"{place} is not a pod template: it has no spec.containers")
        _check_quantities(template.spec, place)
        pod = pod_of(template, meta.namespace, owner)
        count = left if number is None else number
        left_out += max(0, count - most)
        if names := free_names(pod, min(count, most), cluster, used):
            groups.append(ReplicaGroup(pod, names))
            used.update(names)
    return Expansion(tuple(groups), left_out)


def _steps(path: str) -> list[str | int]:
    """Names, indexes, and "*" for every entry."""
    text = path if path.startswith((".", "[")) else f".{path}"
    steps: list[str | int] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise TemplatePathError(f"{path!r} is not a path of fields such as .spec.template")
        position = match.end()
        steps.append(int(match["index"]) if match["index"] else match["name"] or match["all"] or match["key"])
    return steps


def _follow(raw: Any, steps: list[str | int]) -> Iterator[tuple[str, Any, Any]]:
    """Every place that the steps lead to: its path, what it stands in, and what stands there."""
    places: list[tuple[str, Any, Any]] = [("", None, raw)]
    for step in steps:
        places = [further for place in places for further in _enter(place[0], place[2], step)]
    yield from places


def _enter(path: str, value: Any, step: str | int) -> list[tuple[str, Any, Any]]:
    if step == "*" and isinstance(value, Mapping):
        return [(f"{path}.{key}", value, entry) for key, entry in sorted(value.items())]
    if step == "*" and isinstance(value, list):
        return [(f"{path}[{index}]", value, entry) for index, entry in enumerate(value)]
    if isinstance(step, int) and isinstance(value, list) and step < len(value):
        return [(f"{path}[{step}]", value, value[step])]
    if isinstance(value, Mapping) and value.get(step) is not None:
        return [(f"{path}.{step}", value, value[step])]
    raise TemplatePathError(f"{path or 'the object'} has no {step!r}")


def _replicas(parent: Any) -> int | None:
    replicas = parent.get("replicas") if isinstance(parent, Mapping) else None
    return max(0, replicas) if isinstance(replicas, int) else None


def _check_quantities(spec: PodSpec, place: str) -> None:
    containers = (*spec.containers, *spec.init_containers)
    given = [container.resources for container in containers] + ([spec.resources] if spec.resources else [])
    try:
        for resources in given:
            amounts(resources.requests)
            amounts(resources.limits)
        amounts(spec.overhead)
    except ValueError as error:
        raise TemplatePathError(f"{place} holds what is not a quantity: {error}") from None


def _without_nulls(value: Any) -> Any:
    """What is null is not set, in Go."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(entry) for key, entry in value.items() if entry is not None}
    return [_without_nulls(entry) for entry in value] if isinstance(value, list) else value


def _convert(value: Any, kind: type[Any], place: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise TemplatePathError(f"{place or 'the object'} cannot be read: {error}") from None
