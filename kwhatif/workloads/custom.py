"""Pod templates inside custom resources, found by a path such as `.spec.template`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import ObjectMeta, OwnerReference
from kwhatif.kube.model.pod import PodSpec, PodTemplateSpec
from kwhatif.kube.model.quantity import amounts
from kwhatif.workloads.applied_template import without_nulls
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


class CustomTemplates(NamedTuple):
    """The pod templates of a custom resource, and what controls their pods: the resource itself."""

    owner: OwnerReference
    #: Each with the number called `replicas` beside it; None: it has no such number.
    templates: tuple[tuple[PodTemplateSpec, int | None], ...]


def templates_of(resource: CustomResource) -> CustomTemplates:
    """The pod templates at its paths.

    Raises:
        TemplatePathError: a path is malformed, leads nowhere, or to something else.
    """
    data = resource.data
    owner = _convert(without_nulls({key: data.get(key) for key in ("apiVersion", "kind", "metadata")}), _Owner, "")
    meta = owner.metadata
    uid = meta.uid or uid_of(owner.kind, meta.namespace, meta.name)
    found = (place for path in resource.template_paths for place in _follow(data, _steps(path)))
    return CustomTemplates(
        OwnerReference(kind=owner.kind, name=meta.name, uid=uid, api_version=owner.api_version, controller=True),
        tuple((_template(place, value), _replicas(parent)) for place, parent, value in found),
    )


def _template(place: str, value: Any) -> PodTemplateSpec:
    template: PodTemplateSpec = _convert(without_nulls(value), PodTemplateSpec, place)
    if not template.spec.containers:
        raise TemplatePathError(f"{place} is not a pod template: it has no spec.containers")
    _check_quantities(template.spec, place)
    return template


def pods_of_templates(resource: CustomResource, cluster: Cluster, running: int = 0) -> Expansion:
    """The pods of a custom resource, one sort for each of its pod templates.

    Its controller is not known here. Assumed is what is common: the pods are controlled by the resource itself, and
    there are as many as a number called `replicas` beside the template says. Where one template has no such number, it
    has the rest of those that run, else one: what a manifest leaves out stays as it is.

    Args:
        resource: with paths that lead to templates.
        cluster: where the pods will be.
        running: how many of its pods run.
    """
    owner, templates = templates_of(resource)
    groups: list[ReplicaGroup] = []
    most, left_out = most_pods(cluster), 0
    used: set[str] = set()
    given = [number for _, number in templates]
    is_sure = len(resource.template_paths) == 1 and given.count(None) == 1
    left = max(1, running - sum(number or 0 for number in given)) if is_sure else 1
    for template, number in templates:
        pod = pod_of(template, resource.metadata.namespace, owner)
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


def _convert(value: Any, kind: type[Any], place: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise TemplatePathError(f"{place or 'the object'} cannot be read: {error}") from None
