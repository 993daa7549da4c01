"""The objects that somebody is about to apply, each with the place where it stands."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.model.cluster import key_of
from kwhatif.model.custom import CustomResource
from kwhatif.model.meta import GIVEN_EMPTY, ObjectMeta
from kwhatif.model.missing import Missing
from kwhatif.model.originals import Originals
from kwhatif.model.pod import PodTemplateSpec
from kwhatif.sources.decode import Batch, ObjectDecoder
from kwhatif.sources.documents import Document, documents
from kwhatif.sources.files import find_inputs, read_inputs
from kwhatif.sources.kinds import KINDS, group_of
from kwhatif.sources.origin import Manifest
from kwhatif.sources.outline import Outline, outlines
from kwhatif.sources.problems import Problems
from kwhatif.sources.registry import Registry
from kwhatif.sources.resources import BY_KIND
from kwhatif.sources.unbuilt import BUILD
from kwhatif.sources.validate import CANDIDATES, validate_batch

_AUTOSCALER = "HorizontalPodAutoscaler"
_TEMPLATE_LABELS = ("spec", "template", "metadata", "labels")


class ManifestSet(NamedTuple):
    """What can be judged, what is wrong with the rest, and caveats about what was left out."""

    manifests: tuple[Manifest, ...]
    problems: tuple[Problem, ...] = ()
    caveats: tuple[str, ...] = ()
    #: The kinds of all objects, also of those that are not read.
    kinds: tuple[str, ...] = ()


def read_manifest_set(
    paths: Sequence[str],
    *,
    stdin: BinaryIO,
    default_namespace: str,
    originals: Originals | None = None,
    custom_kinds: Collection[str] = (),
) -> ManifestSet:
    """Read files, directories, globs or "-"; objects that name no namespace get `default_namespace`.

    What is wrong stands beside what is fine; custom resources of `custom_kinds` are read, too. `originals` keeps the
    JSON of pods.

    Raises:
        InputError: nothing could be read, or there is no object in what was.
    """
    problems = Problems()
    inputs = find_inputs(paths, stdin, problems)
    reader = _Reader(problems, ObjectDecoder(problems, default_namespace, originals), custom_kinds, default_namespace)
    was_read = False
    for name, text in read_inputs(inputs, problems):
        was_read = True
        for document in documents(name, text, problems):
            reader.read(document)
    kinds = reader.kinds()
    if not was_read or not (kinds or problems):
        raise InputError(problems.found or [no_pod(paths, kinds)])
    return ManifestSet(tuple(reader.manifests), problems.found, tuple(reader.caveats), kinds)


def no_pod(paths: Sequence[str], kinds: Sequence[str]) -> Problem:
    """What is wrong where no object is a pod or makes pods."""
    found = f"found only {', '.join(kinds)}" if kinds else "found no object at all"
    return Problem(", ".join(paths) or "the input", f"holds no pod: {found}", hint="give a Pod, Deployment, Job, …")


class _Reader:
    """Reads document after document, object after object: what is wrong with one does not spoil the others."""

    def __init__(
        self, problems: Problems, decoder: ObjectDecoder, custom_kinds: Collection[str], namespace: str
    ) -> None:
        self.manifests: list[Manifest] = []
        self.caveats: list[str] = []
        self._problems = problems
        self._decoder = decoder
        self._registry = Registry(problems)
        #: Where in the document objects stand whose version the API server does not serve any more.
        self._dropped: set[str] = set()
        self._custom_kinds = custom_kinds
        self._namespace = namespace

    def kinds(self) -> tuple[str, ...]:
        """The kinds of all objects that there were."""
        skipped = self._decoder.skipped + self._decoder.outdated
        found = [type(manifest.object).__name__ for manifest in self.manifests] + list(skipped)
        return tuple(dict.fromkeys(found))

    def read(self, document: Document) -> None:
        """Take in the objects of a document."""
        known: dict[str, Outline] = {}
        self._dropped.clear()
        for outline in outlines(document):
            if served := _served_version(outline):
                self._refuse(outline, served)
            elif _is_known(outline):
                known[outline.place.origin.pointer] = outline
            else:
                self._read_custom(outline)
        for batch in self._decoder.document(document):
            for single in _one_by_one(batch):
                self._accept(single, known)

    def _accept(self, single: Batch, outlined: Mapping[str, Outline]) -> None:
        """Keep the object if nothing is wrong with it, and if it is not there already."""
        (obj,) = single.objects
        if obj is None or single.place.origin.pointer in self._dropped:
            return
        before = len(self._problems)
        self._registry.add(single)
        validate_batch(single, self._problems, CANDIDATES)
        is_first = self._registry.kinds[type(obj)][key_of(obj)] is obj or not obj.metadata.name
        if is_first and len(self._problems) == before:
            origin = single.place.of()
            outline = outlined.get(origin.pointer)
            annotations = outline.annotations if outline else {}
            self.manifests.append(Manifest(_with_empty_labels(obj, outline), origin, annotations))

    def _refuse(self, outline: Outline, served: str) -> None:
        """In kubectl's words: the API server has dropped that version, though dumps may still have it."""
        self._dropped.add(outline.place.origin.pointer)
        message = f'no matches for kind "{outline.kind}" in version "{outline.version}"'
        self._problems.at(outline.place, outline.name).add(message, hint=f"write {served}")

    def _read_custom(self, outline: Outline) -> None:
        if outline.kind in self._custom_kinds:
            resource = _custom(outline, self._namespace)
            self.manifests.append(Manifest(resource, outline.place.of(), outline.annotations))
        elif outline.kind == "Kustomization" and group_of(outline.version) == "kustomize.config.k8s.io":
            file = outline.place.origin.source
            self.caveats.append(Missing(f"{file} is not built, so what it would change is not judged: {BUILD}"))
        elif outline.kind == _AUTOSCALER:
            self.caveats.append(
                f"{outline.name} is not modelled: what it scales counts with the replicas that it names, or has"
            )
        elif isinstance(outline.at(("spec", "template", "spec", "containers")), list):
            self.caveats.append(
                Missing(
                    f"{outline.name} holds a pod template that was not judged:"
                    f" give --pod-template-path {outline.kind}=.spec.template"
                )
            )


def _with_empty_labels(obj: Any, outline: Outline | None) -> Any:
    """The workload as the API server would show it: labels of its template that are empty are not missing."""
    template = getattr(getattr(obj, "spec", None), "template", None)
    if not isinstance(template, PodTemplateSpec) or outline is None or outline.at(_TEMPLATE_LABELS) != {}:
        return obj
    meta = replace(template.metadata, labels=GIVEN_EMPTY)
    return replace(obj, spec=replace(obj.spec, template=replace(template, metadata=meta)))


def _is_known(outline: Outline) -> bool:
    kind = KINDS.get(outline.kind)
    return kind is not None and kind.reads(outline.version)


def _served_version(outline: Outline) -> str:
    """The version to write instead of one that was dropped; "" where nothing was dropped."""
    resource = BY_KIND.get(outline.kind)
    if resource is None or outline.version == resource.api_version:
        return ""
    group = group_of(outline.version)
    was_moved = group == "extensions" and resource.group == "apps"
    return resource.api_version if outline.version and (group == resource.group or was_moved) else ""


def _one_by_one(batch: Batch) -> Iterator[Batch]:
    for index, obj in enumerate(batch.objects):
        yield Batch(batch.place_of(index), -1, (obj,))


def _custom(outline: Outline, default_namespace: str) -> CustomResource:
    meta = outline.metadata
    name, namespace = str(meta.get("name") or ""), str(meta.get("namespace") or default_namespace)
    data = {**outline.data, "metadata": {**meta, "namespace": namespace}}
    return CustomResource(outline.kind, ObjectMeta(name=name, namespace=namespace), data)
