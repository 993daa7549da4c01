"""The objects of manifests, each with its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, BinaryIO, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import BASE
from kwhatif.kube.matching.field_errors import did_you_mean, nearest
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import FieldIgnored
from kwhatif.kube.model.caveat.reading import VersionNotDefault
from kwhatif.kube.model.cluster import key_of
from kwhatif.kube.model.helm import hook_of
from kwhatif.kube.model.meta import GIVEN_EMPTY, ApiObject
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.pod_group import PodGroup
from kwhatif.kube.model.saved import Originals
from kwhatif.sources.decoding.bystanders import read_bystander
from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder, Registry
from kwhatif.sources.decoding.kinds import BY_KIND, KINDS, group_of
from kwhatif.sources.decoding.lenient import FAILURES, report_failure
from kwhatif.sources.decoding.objects import CANDIDATES, validate_batch
from kwhatif.sources.decoding.stand_ins import decoded, stand_ins
from kwhatif.sources.decoding.strict import (
    Finding,
    Validation,
    api_fields,
    is_stable,
    repeated,
    unknown_fields_and_wrong_types,
)
from kwhatif.sources.decoding.templates import as_given, forget_templates, keep_profiles
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.manifests.outline import Outline, is_autoscaler, outlines, read_autoscaler, repeats_by_object
from kwhatif.sources.manifests.unmodelled import CustomKinds, Hooks, Unmodelled
from kwhatif.sources.text.documents import Document, documents
from kwhatif.sources.text.files import find_inputs, read_inputs
from kwhatif.sources.text.problems import FieldPath, Manifest, Problems
from kwhatif.workloads.custom import TemplatePathError, templates_of
from kwhatif.workloads.custom_kinds import WorkloadKind

#: Of kinds of its own kwhatif says itself what is wrong.
_OWN_GROUP = "kwhatif.dev"


class ServerCheck:
    """What the API server checks before it validates a manifest: kinds that it serves, fields that exist.

    What no server takes is a problem, the rest as `validation` says.
    """

    def __init__(self, problems: Problems, validation: Validation, minor: int = BASE) -> None:
        self._table = api_fields(f"1.{minor}")
        self._problems = problems
        self._validation = validation
        self._caveats: list[Caveat] = []
        #: (`apiVersion`, kind) -> how many objects of a version that the API server serves only if asked to.
        self._unstable: Counter[tuple[str, str]] = Counter()
        #: Values of a wrong type, to be reported after what decoding says about the same document.
        self._mistyped: list[tuple[Outline, Finding]] = []

    def serves(self, outline: Outline) -> bool:
        """Whether there can be such a kind; else that is a problem, in kubectl's words."""
        version, kind = outline.version, outline.kind
        if not version or not kind or self._is_known(outline):
            return True
        if self._table.can_be_custom(version, kind) and not _is_dropped(outline):
            return True
        report = self._problems.at(outline.place, outline.name)
        hint = self._table.nearest(version, kind)
        report.add_named(f'no matches for kind "{kind}" in version "{version}"', ("apiVersion",), hint)
        return False

    def is_custom(self, outline: Outline) -> bool:
        """Whether only a controller of its own knows that kind."""
        is_complete = outline.version and outline.kind
        return bool(is_complete) and not self._is_known(outline) and group_of(outline.version) != _OWN_GROUP

    def _is_known(self, outline: Outline) -> bool:
        kind = KINDS.get(outline.kind)
        if kind is not None and group_of(outline.version) == kind.group:
            return (kind.reads(outline.version) and self._is_offered(outline)) or self._is_other_preview(outline)
        entry = outline.kind.removesuffix("List")
        return not entry or self._table.type_of(outline.version, entry) is not None

    def _is_other_preview(self, outline: Outline) -> bool:
        """Whether the release serves a version that is not read, of a kind that has no stable one."""
        resource = BY_KIND.get(outline.kind)
        if resource is None or is_stable(resource.api_version) or outline.version == resource.api_version:
            return False
        return self._table.type_of(outline.version, outline.kind) is not None

    def _is_offered(self, outline: Outline) -> bool:
        """Whether the release serves the version; an older one than v1 only as long as there is no v1."""
        resource = BY_KIND.get(outline.kind)
        if resource is None:
            return True
        current = self._table.type_of(resource.api_version, outline.kind) is not None
        if outline.version == resource.api_version:
            return current
        return not current and self._table.type_of(outline.version, outline.kind) is not None

    def takes(self, outline: Outline, repeats: Iterable[FieldPath]) -> bool:
        """Whether nothing is wrong with the fields of the object; those of custom kinds are not known.

        `repeats` are the paths of its fields that are there twice.
        """
        before = len(self._problems), len(self._mistyped)
        self.has_ignored = False
        for path in repeats:
            self._add(outline, repeated(path))
        type_ = self._table.type_of(outline.version, outline.kind)
        if type_ is not None:
            if not is_stable(outline.version):
                self._unstable[outline.version, outline.kind] += 1
            for finding in unknown_fields_and_wrong_types(outline.data, type_, self._table):
                self._add(outline, finding)
        return before == (len(self._problems), len(self._mistyped))

    def _add(self, outline: Outline, finding: Finding) -> None:
        if not finding.is_lax:
            self._mistyped.append((outline, finding))
            return
        self.has_ignored = True
        report = self._problems.at(outline.place, outline.name)
        if self._validation == "strict":
            report.add_named(f"strict decoding error: {finding.message}", finding.path, finding.hint)
        elif self._validation == "warn":
            where = report.where(finding.path)
            self._caveats.append(FieldIgnored(where=where, problem=finding.message, hint=finding.hint))

    def report_mistyped(self) -> None:
        """Report values of a wrong type, unless decoding has."""
        for outline, finding in self._mistyped:
            report = self._problems.at(outline.place, outline.name)
            report.add_unless_there(finding.message, finding.path, finding.hint)
        self._mistyped.clear()

    def caveats(self) -> Iterator[Caveat]:
        """Caveats about all objects together."""
        yield from self._caveats
        for (version, kind), count in sorted(self._unstable.items()):
            yield VersionNotDefault(kind=kind, version=version, count=count)


def _is_dropped(outline: Outline) -> bool:
    """Whether the version is one that dumps may still have, though it is served no more or not by default."""
    resource = BY_KIND.get(outline.kind)
    if resource is None or outline.version == resource.api_version:
        return False
    group = group_of(outline.version)
    return group == resource.group or (group == "extensions" and resource.group == "apps")


_TEMPLATE_LABELS = ("spec", "template", "metadata", "labels")


class ManifestSet(NamedTuple):
    """What can be judged, what is wrong with the rest, and caveats about what was left out."""

    manifests: tuple[Manifest, ...]
    problems: tuple[Problem, ...] = ()
    caveats: tuple[Caveat, ...] = ()


def read_manifest_set(  # noqa: PLR0913 - all that says how manifests are read
    paths: Sequence[str],
    *,
    stdin: BinaryIO,
    default_namespace: str,
    originals: Originals | None = None,
    template_paths: Mapping[str, Sequence[str]] | None = None,
    kinds: KnownKinds | None = None,
    validation: Validation = "strict",
    minor: int = BASE,
) -> ManifestSet:
    """Read files, directories, globs or "-"; objects that name no namespace get `default_namespace`.

    What is wrong stands beside what is fine; custom resources of the kinds in `template_paths` are read as they are,
    with where their pod templates are, those of `kinds` as what stands for them. `originals` keeps the JSON of pods.

    Fields that Kubernetes 1.`minor` does not have, or that are there twice, are what `validation` makes of them.

    Raises:
        InputError: nothing could be read, or there is no object in what was.
    """
    problems = Problems()
    inputs = find_inputs(paths, stdin, problems)
    decoder = ObjectDecoder(problems, default_namespace, originals)
    server = ServerCheck(problems, validation, minor)
    reader = _Reader(problems, decoder, server, template_paths or {}, kinds or KnownKinds(), default_namespace)
    was_read = False
    for name, text in read_inputs(inputs, problems):
        was_read = True
        for document in documents(name, text, problems, is_json=_is_json(name)):
            reader.read(document)
    if not was_read or not (reader.kinds() or problems):
        raise InputError(problems.found or [_no_object(paths)])
    reader.finish()
    return ManifestSet(tuple(reader.manifests), problems.found, tuple(reader.caveats))


def _is_json(name: str) -> bool:
    return any(suffix == ".json" for suffix in PurePath(name).suffixes[-2:])


def _no_object(paths: Sequence[str]) -> Problem:
    return Problem(", ".join(paths) or "the input", "holds no object at all", hint="give a Pod, Deployment, Job, …")


class _Reader:
    """Reads document after document, object after object: what is wrong with one does not spoil the others."""

    def __init__(
        self,
        problems: Problems,
        decoder: ObjectDecoder,
        server: ServerCheck,
        template_paths: Mapping[str, Sequence[str]],
        workload_kinds: KnownKinds,
        namespace: str,
    ) -> None:
        self.manifests: list[Manifest] = []
        self.caveats: list[Caveat] = []
        self.unmodelled = Unmodelled(namespace)
        self._problems = problems
        self._decoder = decoder
        self._registry = Registry(problems)
        self._server = server
        #: Places of objects that are not created: of kinds that do not exist, and hooks of Helm; and
        #: those with something wrong.
        self._left_out: set[str] = set()
        self._refused: set[str] = set()
        #: Those with fields that the API server drops: no text to compare with what it has stored.
        self._ignored: set[str] = set()
        self._custom = CustomKinds()
        self._workload_kinds = workload_kinds
        self._hooks = Hooks()
        self._template_paths = template_paths
        #: The kinds of custom resources with such a path that were found.
        self._with_paths: set[str] = set()
        self._namespace = namespace

    def kinds(self) -> tuple[str, ...]:
        """The kinds of all objects that there were."""
        skipped = self._decoder.skipped + self._decoder.outdated
        found = [type(manifest.object).__name__ for manifest in self.manifests] + list(skipped) + self._hooks.kinds
        return tuple(dict.fromkeys(found))

    def read(self, document: Document) -> None:
        """Take in the objects of a document."""
        try:
            found = list(outlines(document))
        except FAILURES as failure:
            report_failure(failure, document.json, self._problems.at(document.place))
            return
        known: dict[str, Outline] = {}
        before = len(self.manifests)
        repeats = repeats_by_object(document, found)
        self._left_out.clear()
        self._refused.clear()
        self._ignored.clear()
        for outline in found:
            pointer = outline.place.origin.pointer
            if self._hooks.leaves_out(outline):
                self._left_out.add(pointer)
                continue
            self.unmodelled.see(outline)
            if not self._server.serves(outline):
                self._left_out.add(pointer)
                continue
            if not self._server.takes(outline, repeats.get(pointer, ())):
                self._refused.add(pointer)
            if self._server.has_ignored:
                self._ignored.add(pointer)
            if _is_read(outline):
                known[pointer] = outline
            else:
                self._read_other(outline)
        for batch in self._decoder.document(document):
            for single in _one_by_one(batch):
                self._accept(single, known)
        # What is read of an outline comes before what is decoded; they are applied as they stand in the document.
        order = {outline.place.origin.pointer: number for number, outline in enumerate(found)}
        self.manifests[before:] = sorted(self.manifests[before:], key=lambda each: order.get(each.origin.pointer, 0))
        self._server.report_mistyped()

    def finish(self) -> None:
        """What can be said when all was read."""
        self.caveats.extend(
            (*self._server.caveats(), *self._hooks.caveats(), *self._custom.caveats(), *self.unmodelled.caveats())
        )
        for kind in (kind for kind in self._template_paths if kind not in self._with_paths):
            hint = did_you_mean(nearest(kind, (name.rpartition("/")[2] for name in self.kinds()))[:1])
            self._problems.add(f"--pod-template-path {kind}", f"no manifest holds a {kind}", hint)

    def _accept(self, single: DecodedBatch, outlined: Mapping[str, Outline]) -> None:
        """Keep the object if nothing is wrong with it, and if it is not there already."""
        (obj,) = single.objects
        pointer = single.place.origin.pointer
        if obj is None or pointer in self._left_out:
            return
        if pointer in self._ignored:
            forget_templates(single.objects)
        before = len(self._problems)
        self._registry.add(single)
        validate_batch(single, self._problems, CANDIDATES)
        is_first = self._registry.kinds[type(obj)][key_of(obj)] is obj or not obj.metadata.name
        if is_first and len(self._problems) == before and pointer not in self._refused:
            outline = outlined.get(pointer)
            annotations = outline.annotations if outline else {}
            if isinstance(obj, Pod) and annotations:
                keep_profiles(obj.metadata, msgspec.json.encode({"metadata": {"annotations": annotations}}).decode())
            hook = hook_of(annotations)
            self._hooks.see(obj, hook)
            made = _as_given(_with_empty_labels(obj, outline), outline)
            self.manifests.append(Manifest(made, single.place.of(), annotations, hook))

    def _read_other(self, outline: Outline) -> None:
        if is_autoscaler(outline):
            self._read_autoscaler(outline)
        elif (group := self._foreign_group(outline)) is not None:
            self.manifests.append(Manifest(group, outline.place.of(), outline.annotations))
        elif outline.kind in self._template_paths:
            self._read_custom(outline)
        elif entries := self._workload_kinds.of(outline.version, outline.kind):
            self._read_workload(outline, entries)
        else:
            self._custom.see(outline, is_custom=self._server.is_custom(outline))

    def _read_custom(self, outline: Outline) -> None:
        """A custom resource with paths of pod templates, which must lead to such."""
        self._with_paths.add(outline.kind)
        if outline.place.origin.pointer in self._refused:
            return
        resource = outline.custom_resource(self._namespace, self._template_paths[outline.kind])
        try:
            templates_of(resource)
        except TemplatePathError as wrong:
            self._problems.at(outline.place, outline.name).add(str(wrong))
            return
        hook = hook_of(outline.annotations)
        self.manifests.append(Manifest(resource, outline.place.of(), outline.annotations, hook))

    def _read_workload(self, outline: Outline, entries: Sequence[WorkloadKind]) -> None:
        """A custom resource of which pods are made."""
        hook = hook_of(outline.annotations)
        for part in stand_ins(outline.data, entries, self._namespace):
            obj: Any = decoded(part, outline.place, self._problems, stored=False)
            if obj is not None and outline.place.origin.pointer not in self._refused:
                obj = replace(obj, metadata=replace(obj.metadata, applied=as_given(part.data, part.type)))
                self._hooks.see(obj, hook)
                self.manifests.append(Manifest(obj, outline.place.of(), outline.annotations, hook, part))

    def _foreign_group(self, outline: Outline) -> ApiObject | None:
        """A PodGroup of another scheduler; None: it is none, or cannot be understood."""
        if outline.kind != PodGroup.__name__:
            return None
        found = read_bystander(outline.version, outline.kind, msgspec.json.encode(outline.data))
        if found is None or found.metadata.namespace:
            return found
        return replace(found, metadata=replace(found.metadata, namespace=self._namespace))

    def _read_autoscaler(self, outline: Outline) -> None:
        problems = self._problems.at(outline.place, outline.name)
        scaler = read_autoscaler(outline, self._namespace, problems)
        if scaler is not None and outline.place.origin.pointer not in self._refused:
            self.manifests.append(Manifest(scaler, outline.place.of(), outline.annotations))


def _as_given(obj: Any, outline: Outline | None) -> Any:
    """The object with what `kubectl apply` will record of it, instead of a copied record."""
    applied = None if outline is None else as_given(outline.data, type(obj))
    return replace(obj, metadata=replace(obj.metadata, applied=applied))


def _with_empty_labels(obj: Any, outline: Outline | None) -> Any:
    """The workload as the API server would show it: labels of its template that are empty are not missing."""
    template = getattr(getattr(obj, "spec", None), "template", None)
    if not isinstance(template, PodTemplateSpec) or outline is None or outline.at(_TEMPLATE_LABELS) != {}:
        return obj
    meta = replace(template.metadata, labels=GIVEN_EMPTY)
    return replace(obj, spec=replace(obj.spec, template=replace(template, metadata=meta)))


def _is_read(outline: Outline) -> bool:
    kind = KINDS.get(outline.kind)
    return kind is not None and kind.reads(outline.version)


def _one_by_one(batch: DecodedBatch) -> Iterator[DecodedBatch]:
    for index, obj in enumerate(batch.objects):
        yield DecodedBatch(batch.place_of(index), -1, (obj,))
