"""HorizontalPodAutoscalers of manifests: read, validated as the API server does it, and the workloads that they scale.

(`pkg/apis/autoscaling/validation/validation.go`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.errors import Problem
from kwhatif.kube.model.bystanders import HorizontalPodAutoscaler
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.questions.manifests.applied import Applied
from kwhatif.sources.decoding.kinds import group_of
from kwhatif.sources.manifests.outline import Outline
from kwhatif.sources.text.problems import ObjectProblems
from kwhatif.workloads.autoscaling import bounded, target_of
from kwhatif.workloads.expand import replicas_of

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
            or _TO_ZERO in cluster.gates
        ):
            continue
        known = cluster.get(HorizontalPodAutoscaler, key_of(scaler))
        if _TO_ZERO not in cluster.gates and (known is None or known.spec.min_replicas != 0):
            yield Problem(
                f"{source.file}, line {source.line} ({source.object})" if source.line else source.file,
                "0 must be greater than or equal to 1",
                field=".".join(_LEAST),
                hint=f"the feature gate {_TO_ZERO} is off in Kubernetes 1.{cluster.minor}",
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
