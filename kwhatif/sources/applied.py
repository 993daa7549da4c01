"""Manifests as a gate is asked about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwhatif.errors import Problem
from kwhatif.model.cluster import key_of
from kwhatif.model.custom import CustomResource
from kwhatif.policy.suppression import ANNOTATION
from kwhatif.report import ProblemRow, SourceRow
from kwhatif.sources.kinds import KINDS
from kwhatif.sources.origin import Manifest
from kwhatif.whatif.applied import Applied


def as_applied(manifest: Manifest) -> Applied:
    """The object of a manifest, with its place and its own word on the policy."""
    obj, origin = manifest.object, manifest.origin
    kind = obj.kind if isinstance(obj, CustomResource) else type(obj).__name__
    name = key_of(obj) if obj.metadata.name else f"{key_of(obj)}{obj.metadata.generate_name}"
    source = SourceRow(file=origin.source, line=origin.line or None, object=f"{kind} {name}")
    return Applied(obj, source, manifest.annotations.get(ANNOTATION, ""))


def as_row(problem: Problem) -> ProblemRow:
    """The problem as a row of the report."""
    source = SourceRow(file=problem.file, line=problem.line or None, object=problem.object) if problem.file else None
    return ProblemRow(
        where=problem.where, message=problem.message, field=problem.field, hint=problem.hint, source=source
    )


def parse_template_paths(texts: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Paths of pod templates by kind, from `Kind=.spec.path`.

    Raises:
        ValueError: in words for the user.
    """
    paths: dict[str, list[str]] = {}
    for text in texts:
        kind, equals, path = text.partition("=")
        if not (kind and equals and path):
            raise ValueError(f"{text!r} is not KIND=PATH, such as Rollout=.spec.template")
        if kind in KINDS and KINDS[kind].group != "":
            raise ValueError(f"{kind} is known: it needs no path")
        paths.setdefault(kind, []).append(path)
    return paths
