"""Custom resources as the objects that stand for them: decoded as these are, wherever they were read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.errors import Problem
from kwhatif.kube.matching.field_errors import quoted_path
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.autoscaling import UnreadableObject
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.sources.decoding.bystanders import unreadable_object
from kwhatif.sources.decoding.decode import DecodedBatch
from kwhatif.sources.decoding.kinds import group_of
from kwhatif.sources.decoding.lenient import FAILURES, Head, read_leniently, shown_name
from kwhatif.sources.decoding.objects import CANDIDATES, STORED, validate_batch
from kwhatif.sources.decoding.templates import keep_template
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.text.problems import FieldPath, Manifest, ObjectProblems, Origin, Place, Problems
from kwhatif.workloads.adopted import Standing, adopt, free_name
from kwhatif.workloads.applied_template import template_of, with_template
from kwhatif.workloads.custom_kinds import LIKE, Part, StandIn, WorkloadKind, parts_of

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def stand_ins(resource: Mapping[str, Any], entries: Sequence[WorkloadKind], default_namespace: str) -> Iterator[Part]:
    """What stands for a custom resource, as data; with what was applied of it before, where kubectl notes that."""
    meta = resource.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    namespace = meta.get("namespace") or default_namespace
    resource = {**resource, "metadata": {**meta, "namespace": namespace}}
    notes = meta.get("annotations")
    applied = _decoded_map(notes.get(_LAST_APPLIED)) if isinstance(notes, Mapping) else None
    before = (
        {} if applied is None else {part.data["metadata"]["name"]: part.data for part in parts_of(applied, entries)}
    )
    for part in parts_of(resource, entries):
        made = part.data["metadata"]
        if made["name"] in before:
            made["annotations"] = {_LAST_APPLIED: msgspec.json.encode(before[made["name"]]).decode()}
        yield part


def _decoded_map(json: object) -> Mapping[str, Any] | None:
    try:
        found = msgspec.json.decode(json) if isinstance(json, str) else None
    except FAILURES:
        return None
    return found if isinstance(found, Mapping) else None


class _InResource(Problems):
    """What is wrong with an object, as what is wrong with the custom resource that it stands for."""

    def __init__(self, part: Part) -> None:
        super().__init__()
        meta = part.data["metadata"]
        self._name = shown_name(part.entry.kind, {**meta, "name": meta["kwhatif.dev/stands-for"]["name"]})
        self._template = part.template_at

    def at(self, place: Place, name: str = "") -> ObjectProblems:
        """Where to report it; the object's own name does not count."""
        del name
        return _InTemplate(self._found, place, self._name, self._template)


class _InTemplate(ObjectProblems):
    """Fields of the pod template, where they stand in the custom resource."""

    def __init__(self, found: list[Problem], place: Place, name: str, template: FieldPath) -> None:
        super().__init__(found, place, name)
        self._template = template

    def _problem(self, message: str, path: FieldPath, field: str, hint: str) -> Problem:
        if path[:2] == ("spec", "template") and self._template:
            path = (*self._template, *path[2:])
        return super()._problem(message, path, quoted_path(path) if field else "", hint)


def decoded(part: Part, place: Place, problems: Problems, *, stored: bool) -> StandIn | None:
    """The typed object; None after reporting everything that is wrong with it, once of several parts that are equal."""
    json, found = msgspec.json.encode(part.data), _InResource(part)
    head = Head(api_version=part.data["apiVersion"], kind=part.data["kind"], metadata=part.data["metadata"])
    obj: Any = read_leniently(json, part.type, head, found.at(place))
    if obj is not None:
        keep_template(obj, json)
        validate_batch(DecodedBatch(place, -1, (obj,)), found, STORED if stored else CANDIDATES)
    problems.extend(each for each in found.found if each not in problems.found)
    return None if found.found else obj


def stand_in(
    cluster: Cluster, resources: Sequence[tuple[str, str, bytes]], known: KnownKinds, default_namespace: str
) -> Iterator[Caveat]:
    """Let objects stand for the custom resources of a dump, and own their pods; yields what could not be understood.

    Where the controller of a kind makes an object of Kubernetes' own, the dump has that.
    """
    standing: list[Standing] = []
    for api_version, kind, json in sorted(dict.fromkeys(resources)):
        entries = [entry for entry in known.of(api_version, kind) if not entry.makes]
        try:
            resource = msgspec.json.decode(json, type=dict[str, Any]) if entries else {}
        except FAILURES as failure:
            yield unreadable_object(kind, json, failure)
            continue
        for part in stand_ins(resource, entries, default_namespace):
            problems = Problems()
            obj = decoded(part, Place(Origin("")), problems, stored=True)
            if obj is None:
                wrong = problems.found[0]
                yield UnreadableObject(object=wrong.object or kind, field=wrong.field, why=wrong.message)
                continue
            obj = with_template_of(part, obj, (), cluster)
            obj = obj if cluster.get(part.type, key_of(obj)) is None else free_name(obj)
            cluster.add(obj)
            group, entry = group_of(api_version), part.entry
            standing.append(Standing(obj, group, part.controller, part.pods, entry.revision, entry.operated))
    adopt(cluster, standing)


def with_template_of(part: Part, obj: StandIn, objects: Sequence[Any], cluster: Cluster) -> StandIn:
    """The object with the template and the selector of the workload that its custom resource refers to.

    It is one of these objects of manifests, or in the cluster; where it is not, no pods are made.
    """
    if part.template_of is None or part.template_of[0] not in LIKE:
        return obj
    kind, key = LIKE[part.template_of[0]], f"{obj.metadata.namespace}/{part.template_of[1]}"
    itself = (each for each in objects if type(each) is kind and each.metadata.stands_for is None)
    given = (each for each in itself if key_of(each) == key)
    found: Any = next(given, None) or cluster.get(kind, key)
    if found is None:
        return obj
    made: Any = with_template(obj, template_of(found))
    selector = made.spec.selector or found.spec.selector
    filled: StandIn = replace(made, spec=replace(made.spec, selector=selector))
    return filled


def settled(manifests: Sequence[Manifest], cluster: Cluster) -> tuple[Manifest, ...]:
    """Manifests with what only the others of them, or the cluster, show of custom resources: names and templates."""
    objects = [each.object for each in manifests]
    taken = {(type(each.object), key_of(each.object)) for each in manifests if each.part is None}
    return tuple(
        each if each.part is None else replace(each, object=_settled(each.part, each.object, objects, taken, cluster))
        for each in manifests
    )


def _settled(
    part: Part, obj: Any, objects: Sequence[Any], taken: Collection[tuple[type, str]], cluster: Cluster
) -> Any:
    obj = with_template_of(part, obj, objects, cluster)
    if part.entry.makes:
        there = [each for each in cluster.all(part.type).values() if _is_found(each, obj, part)]
        newest = max(there, key=lambda each: (each.metadata.creation_timestamp or "", each.metadata.name), default=None)
        return obj if newest is None else _renamed(obj, newest.metadata.name)
    known = cluster.get(part.type, key_of(obj))
    is_other = known is not None and known.metadata.stands_for is None
    return free_name(obj) if is_other or (part.type, key_of(obj)) in taken else obj


def _is_found(each: StandIn, obj: StandIn, part: Part) -> bool:
    is_here = each.metadata.namespace == obj.metadata.namespace
    return bool(part.found_by) and is_here and part.found_by.items() <= each.metadata.labels.items()


def _renamed(obj: Any, name: str) -> Any:
    return replace(obj, metadata=replace(obj.metadata, name=name))
