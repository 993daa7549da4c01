"""What a command is asked about: the objects of manifests, and objects of the cluster by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import BinaryIO, NamedTuple

from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import BASE
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import Cluster, KubernetesObject, ObjectRef
from kwhatif.kube.model.saved import Originals
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.session.stand_ins import own_name
from kwhatif.report.decision import ANNOTATION
from kwhatif.report.inputs import ProblemRow, SourceRow
from kwhatif.sources.decoding.kinds import KINDS
from kwhatif.sources.decoding.stand_ins import settled
from kwhatif.sources.decoding.strict import Validation
from kwhatif.sources.decoding.workload_kinds import KnownKinds
from kwhatif.sources.manifests.given import find_named, parse_reference, unknown_kind
from kwhatif.sources.manifests.outline import refused_zeros, scaled_workloads
from kwhatif.sources.manifests.read import read_manifest_set
from kwhatif.sources.manifests.unmodelled import in_cluster
from kwhatif.sources.text.problems import Manifest


class AskedObjects(NamedTuple):
    """What can be judged, what is wrong with the rest, and caveats about what was left out."""

    applied: tuple[Applied, ...]
    problems: tuple[Problem, ...] = ()
    caveats: tuple[Caveat, ...] = ()

    def require_sound(self) -> None:
        """Nothing may be wrong.

        Raises:
            InputError: with every problem.
        """
        if self.problems:
            raise InputError(self.problems)


def read_applied(  # noqa: PLR0913 - all that says how manifests are read
    paths: Sequence[str],
    cluster: Cluster,
    *,
    stdin: BinaryIO,
    default_namespace: str,
    originals: Originals | None = None,
    template_paths: Mapping[str, Sequence[str]] | None = None,
    kinds: KnownKinds | None = None,
    validation: Validation = "strict",
    stored: bool = False,
) -> AskedObjects:
    """Read files, directories, globs or "-", and find what is asked for by name in the cluster, in that order.

    Objects that name no namespace get `default_namespace`; the JSON of pods is kept in `originals`. Fields that there
    are not, or that are there twice, are what `validation` makes of them.
    What an API server has `stored` may have fields that the cluster's release does not know.

    Raises:
        InputError: nothing could be read, or there is no object in what was.
    """
    # Not by path: two texts of a library's caller may have the same name.
    references = [(path, parse_reference(path, default_namespace)) for path in paths]
    found = [find_named(each, cluster) for each in dict.fromkeys(each for _, each in references) if each is not None]
    applied = [each for each in found if isinstance(each, Applied)]
    problems = [each for each in found if isinstance(each, Problem)]
    others = [(path, unknown_kind(path)) for path, each in references if each is None]
    problems += [wrong for _, wrong in others if wrong is not None]
    files = [path for path, wrong in others if wrong is None]
    if not files and not applied:
        raise InputError(problems)
    if not files:
        return AskedObjects(tuple(applied), tuple(problems), tuple(in_cluster((), applied, cluster)))
    read = read_manifest_set(
        files,
        stdin=stdin,
        default_namespace=default_namespace,
        originals=originals,
        template_paths=template_paths,
        kinds=kinds,
        validation=validation,
        minor=BASE if stored else cluster.facts.minor,
    )
    objects = (*all_applied(settled(read.manifests, cluster)), *applied)
    objects = (*objects, *scaled_workloads(objects, cluster))
    caveats = tuple(in_cluster(read.caveats, objects, cluster))
    return AskedObjects(objects, (*read.problems, *problems, *refused_zeros(objects, cluster)), caveats)


def all_applied(manifests: Sequence[Manifest]) -> tuple[Applied, ...]:
    """The objects of manifests, with their places and their own words on the policy."""
    names = [_name_of(each.object) for each in manifests]
    count = Counter(names)
    return tuple(
        _as_applied(each, name if each.part is None or count[name] == 1 else own_name(each.object))
        for each, name in zip(manifests, names, strict=True)
    )


def _as_applied(manifest: Manifest, name: str) -> Applied:
    origin = manifest.origin
    source = SourceRow(file=origin.source, line=origin.line or None, object=name)
    return Applied(manifest.object, source, manifest.annotations.get(ANNOTATION, ""), hook=manifest.hook)


def _name_of(obj: KubernetesObject | CustomResource) -> str:
    """Kind, namespace and name; of what stands for a custom resource that resource's."""
    if (stands_for := obj.metadata.stands_for) is not None:
        return f"{stands_for.kind} {obj.metadata.namespace}/{stands_for.name}"
    kind, key = ObjectRef.of(obj)
    return f"{kind} {key}{'' if obj.metadata.name else obj.metadata.generate_name}"


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
