"""Manifests as plain data: annotations, templates inside custom resources, and HorizontalPodAutoscalers.

The latter are validated as the API server does it (`pkg/apis/autoscaling/validation/validation.go`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.errors import Problem
from kwhatif.kube.model.bystanders import CustomResource, HorizontalPodAutoscaler
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import ObjectMeta
from kwhatif.questions.manifests.applied import Applied
from kwhatif.sources.decoding.kinds import group_of
from kwhatif.sources.decoding.lenient import shown_name
from kwhatif.sources.decoding.strict import repeated_fields
from kwhatif.sources.text.documents import Document
from kwhatif.sources.text.problems import FieldPath, ObjectProblems, Place
from kwhatif.workloads.counts import bounded, target_of
from kwhatif.workloads.expand import replicas_of


class Outline(NamedTuple):
    """One object of a document as plain data, and where it stands."""

    data: Mapping[str, Any]
    place: Place

    @property
    def kind(self) -> str:
        """Its kind; "" where it has none."""
        kind = self.data.get("kind")
        return kind if isinstance(kind, str) else ""

    @property
    def version(self) -> str:
        """Its `apiVersion`; "" where it has none."""
        version = self.data.get("apiVersion")
        return version if isinstance(version, str) else ""

    @property
    def entry(self) -> dict[str, str]:
        """What its entries are, if it is a list of one kind."""
        return {"apiVersion": self.version, "kind": self.kind.removesuffix("List")}

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Its metadata."""
        return _map(self.data, "metadata")

    @property
    def name(self) -> str:
        """`Kind namespace/name`, as far as the manifest says."""
        return shown_name(self.kind, self.metadata)

    @property
    def annotations(self) -> dict[str, str]:
        """Its annotations."""
        annotations = _map(self.metadata, "annotations")
        return {name: value for name, value in annotations.items() if isinstance(value, str)}

    def at(self, path: Sequence[str]) -> object:
        """The value of a field; None where there is none."""
        value: object = self.data
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        return value

    def custom_resource(self, default_namespace: str, template_paths: Sequence[str]) -> CustomResource:
        """The object as a resource of which only its pod templates are known."""
        meta = self.metadata
        name, namespace = str(meta.get("name") or ""), str(meta.get("namespace") or default_namespace)
        data = {**self.data, "metadata": {**meta, "namespace": namespace}}
        return CustomResource(self.kind, ObjectMeta(name=name, namespace=namespace), data, tuple(template_paths))


def outlines(document: Document) -> Iterator[Outline]:
    """The objects of a document, those of lists one by one; entries of a `DeploymentList` need not say their kind."""
    yield from _outlines(msgspec.json.decode(document.json), document.place, {})


def _outlines(data: object, place: Place, inherited: Mapping[str, str]) -> Iterator[Outline]:
    if not isinstance(data, Mapping):
        return
    outline = Outline({**inherited, **data}, place)
    items = data.get("items")
    if not (outline.kind.endswith("List") and isinstance(items, list)):
        yield outline
        return
    entry = {} if outline.kind == "List" else outline.entry
    for index, item in enumerate(items):
        yield from _outlines(item, place.item(index), entry)


def _map(data: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    value = data.get(field)
    return value if isinstance(value, Mapping) else {}


def repeats_by_object(document: Document, found: Sequence[Outline]) -> dict[str, list[FieldPath]]:
    """The repeated fields of each object, by its pointer; its paths begin at the object.

    A key that a list repeats, outside of its entries, counts for the first of them.
    """
    repeats: dict[str, list[FieldPath]] = {}
    for path in repeated_fields(document):
        inside = [one for one in found if path[: len(one.place.path)] == one.place.path]
        if inside:
            place = inside[0].place
            repeats.setdefault(place.origin.pointer, []).append(path[len(place.path) :])
    return repeats


KIND = HorizontalPodAutoscaler.__name__
_MOST, _LEAST = ("spec", "maxReplicas"), ("spec", "minReplicas")
#: Without it, no autoscaler may scale to 0.
_TO_ZERO = "HPAScaleToZero"


def is_autoscaler(outline: Outline) -> bool:
    """Whether the object is one, in any version."""
    return outline.kind == KIND and group_of(outline.version) == "autoscaling"


def read_autoscaler(outline: Outline, namespace: str, problems: ObjectProblems) -> HorizontalPodAutoscaler | None:
    """The autoscaler, in `namespace` if it names none; None where something is wrong with it."""
    try:
        found = msgspec.convert(dict(outline.data), HorizontalPodAutoscaler)
    except msgspec.ValidationError as wrong:
        problems.add(str(wrong))
        return None
    wrong_fields = list(_wrong(found))
    for message, path in wrong_fields:
        problems.add(message, path)
    meta = replace(found.metadata, namespace=found.metadata.namespace or namespace)
    return None if wrong_fields else replace(found, metadata=meta)


def _wrong(scaler: HorizontalPodAutoscaler) -> Iterator[tuple[str, tuple[str, ...]]]:
    spec = scaler.spec
    least, most = spec.min_replicas, spec.max_replicas or 0
    for field, given in (("kind", spec.scale_target_ref.kind), ("name", spec.scale_target_ref.name)):
        if not given:
            yield "is required", ("spec", "scaleTargetRef", field)
    if least is not None and least < 0:
        yield f"{least} must be greater than or equal to 1", _LEAST
    if most < 1:
        yield f"{most} must be greater than 0", _MOST
    elif least is not None and least > most:
        yield f"{most} must be greater than or equal to minReplicas, which is {least}", _MOST


def refused_zeros(applied: Sequence[Applied], cluster: Cluster) -> Iterator[Problem]:
    """Autoscalers that may scale to 0, where the API server does not take that."""
    for each in applied:
        scaler, source = each.object, each.source
        if (
            not isinstance(scaler, HorizontalPodAutoscaler)
            or scaler.spec.min_replicas != 0
            or _TO_ZERO in cluster.facts.gates
        ):
            continue
        known = cluster.get(HorizontalPodAutoscaler, key_of(scaler))
        if _TO_ZERO not in cluster.facts.gates and (known is None or known.spec.min_replicas != 0):
            yield Problem(
                f"{source.file}, line {source.line} ({source.object})" if source.line else source.file,
                "0 must be greater than or equal to 1",
                field=".".join(_LEAST),
                hint=f"the feature gate {_TO_ZERO} is off in Kubernetes 1.{cluster.facts.minor}",
                file=source.file,
                line=source.line or 0,
                object=source.object,
            )


def scaled_workloads(applied: Sequence[Applied], cluster: Cluster) -> Iterator[Applied]:
    """Workloads that the manifests lack, and whose number of pods their autoscalers change."""
    given = {each.source.object for each in applied}
    for each in applied:
        scaler = each.object
        if not isinstance(scaler, HorizontalPodAutoscaler) or scaler.target in given:
            continue
        target = target_of(scaler, cluster)
        replicas = 0 if target is None else bounded(replicas_of(target), scaler)
        if target is not None and replicas != replicas_of(target):
            given.add(scaler.target)
            source = replace(each.source, object=scaler.target)
            yield Applied(replace(target, spec=replace(target.spec, replicas=replicas)), source, each.ignore)
