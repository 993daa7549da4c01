"""What the API server takes of manifests before it looks at what they mean: kinds that it serves, fields that exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kwhatif.kube.gates import BASE
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import FieldIgnored
from kwhatif.kube.model.caveat.reading import VersionNotDefault
from kwhatif.sources.decoding.api_fields import api_fields, is_stable
from kwhatif.sources.decoding.kinds import BY_KIND, KINDS, group_of
from kwhatif.sources.decoding.strict import (
    Finding,
    Validation,
    repeated,
    repeated_fields,
    unknown_fields_and_wrong_types,
)
from kwhatif.sources.manifests.outline import Outline
from kwhatif.sources.text.documents import Document
from kwhatif.sources.text.origin import FieldPath
from kwhatif.sources.text.problems import Problems

#: Of kinds of its own kwhatif says itself what is wrong.
_OWN_GROUP = "kwhatif.dev"


class ServerCheck:
    """Looks at object after object. What no server takes is a problem, the rest as `validation` says."""

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
        """What is to be said about all objects in the end."""
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
