"""Arguments of the library's functions: checks with errors that name valid values; and manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches

from msgspec.structs import replace

from kwhatif.api.options import JudgingOptions, ReadingOptions
from kwhatif.errors import InputError, Problem
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import key_of
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.session import Session
from kwhatif.report import Report
from kwhatif.sources.decoding.strict import parse_validation
from kwhatif.sources.manifests.applied import AskedObjects, parse_template_paths, read_applied
from kwhatif.sources.text.files import standard_input
from kwhatif.workloads.foreign_groups import as_gangs, foreign_groups


def require_session(given: object, function: str) -> None:
    """Check that the first argument is a cluster.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(given, Session):
        kind = type(given).__name__
        raise TypeError(f"{function}() takes a cluster first, as kwhatif.load(...) returns it; this is of type {kind}")


def require_no_autoscaler(session: Session, function: str) -> None:
    """Check that the cluster has no autoscaler: the question cannot be answered with new nodes.

    Raises:
        ValueError: the cluster has an autoscaler (`with_autoscaler`).
    """
    if session.scaling is not None:
        raise ValueError(f"{function}() does not reckon with an autoscaler: ask it about the cluster without one")


def require_known(options: Mapping[str, object], known: type, function: str) -> None:
    """Check that all options exist: `known` is the TypedDict of them.

    Raises:
        TypeError: one does not exist, with Python's message for an unknown keyword argument.
    """
    names: frozenset[str] = getattr(known, "__optional_keys__", frozenset())
    for name in options:
        if name not in names:
            near = get_close_matches(name, names, 1)
            hint = f". Did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def require_names(given: object, argument: str) -> None:
    """Check that it is a tuple or list of strings.

    Raises:
        TypeError: it is not, or one of these is of another type.
    """
    _require(given, argument, "a string", (str,))


def require_edits(given: object, argument: str) -> None:
    """Check that it is a tuple or list of edits.

    Raises:
        TypeError: it is not, or one of these is of another type.
    """
    _require(given, argument, "a string such as 'cordon a1', or a dict with one verb", (str, Mapping))


def _require(given: object, argument: str, meant: str, types: tuple[type, ...]) -> None:
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"{argument} is of type {type(given).__name__}; it is a list, and each of it {meant}")
    for number, each in enumerate(given, 1):
        if not isinstance(each, types):
            kind = "None" if each is None else f"of type {type(each).__name__}"
            raise TypeError(f"{argument} {number} is {kind}; it is {meant}")


def moment_of(at: datetime | None) -> str | None:
    """The moment in UTC and whole seconds, as in recordings.

    Raises:
        ValueError: it has no time zone.
    """
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError("at: it has no time zone")
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- manifests, as every question takes them -------------------------------------------------------------------------


class ManifestOptions(ReadingOptions, total=False):
    """How manifests are read."""

    #: The namespace of manifests that name none; without it, that of the live cluster's context, or `default`.
    namespace: str | None


class SchedulingOptions(ManifestOptions, JudgingOptions, total=False):
    """How pods are judged, and how manifests are read."""

    #: How many candidates for eviction are described, best first, besides the chosen one. Of the others the report only
    #: has the names: in a large cluster they are most of it. None, the default: all.
    described: int | None


def require_asked(session: object, manifests: Sequence[object], function: str) -> None:
    """Check that there are a session and a manifest.

    Raises:
        TypeError: there is no session, or no manifest.
    """
    require_session(session, function)
    if not manifests:
        raise TypeError(f"{function}() needs a manifest")


def read_manifests(
    session: Session, inputs: Sequence[str], options: ManifestOptions, *, stored: bool = False
) -> AskedObjects:
    """The objects of the question.

    Raises:
        InputError: nothing could be read; problems of single objects are part of the answer.
        ValueError: a template path is malformed, or `validation` has no such value.
    """
    asked = read_applied(
        inputs,
        session.cluster,
        stdin=standard_input(),
        default_namespace=options.get("namespace") or session.namespace,
        originals=session.originals.candidates if session.originals else None,
        template_paths=parse_template_paths(options.get("template_paths", ())),
        kinds=session.workload_kinds,
        validation=parse_validation(options.get("validation", "strict")),
        stored=stored,
    )
    applied, caveats = with_gangs(asked.applied, session)
    return asked._replace(applied=applied, caveats=(*asked.caveats, *caveats))


def with_gangs(given: Sequence[Applied], session: Session) -> tuple[tuple[Applied, ...], tuple[Caveat, ...]]:
    """The objects to apply, with groups of other schedulers as gangs if that is wanted, and caveats about them."""
    objects = [each.object for each in given]
    if not session.treats_as_gangs:
        return tuple(given), tuple(foreign_groups(objects, treated=False))
    found = as_gangs(objects, session.cluster)
    applied = [replace(each, object=obj) for each, obj in zip(given, found.objects, strict=True)]
    source = given[0].source if given else None
    groups = [Applied(group, replace(source, object=f"PodGroup {key_of(group)}")) for group in found.groups if source]
    return (*groups, *applied), tuple(foreign_groups(found.objects, treated=True))


def require_no_problems(report: Report) -> None:
    """Check that all objects of the question could be judged.

    Raises:
        InputError: with all of `problems`: a manifest cannot be read, a custom resource has no pod template, …
    """
    if report.problems:
        raise InputError([Problem(row.where, row.message, row.field, row.hint) for row in report.problems])
