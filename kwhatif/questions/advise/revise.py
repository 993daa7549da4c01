"""The pod's spec in an object, and the object with a changed spec."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.job import CronJob
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.advise.change import AdvisedChange
from kwhatif.questions.advise.json_patch import json_patch
from kwhatif.report.advise import PatchRow


def _steps(obj: KubernetesObject | CustomResource, path: str) -> list[str]:
    if isinstance(obj, CustomResource):
        return [*path.strip(".").split("."), "spec"]
    if isinstance(obj, Pod):
        return ["spec"]
    return ["spec", *(["jobTemplate", "spec"] if isinstance(obj, CronJob) else []), "template", "spec"]


def revised(obj: Any, changes: Iterable[AdvisedChange], paths: Sequence[str] = ()) -> Any | None:
    """The object with these changes of the pod that it is, or that it has a template of.

    Args:
        obj: a manifest's object.
        changes: those without `revise` are left out.
        paths: of a custom resource, where its templates are.

    Returns:
        None where a change cannot be made there.
    """
    revisions = [change.revise for change in changes if change.revise is not None]
    data = _as_data(obj)
    if not isinstance(obj, CustomResource):
        data["metadata"].pop("kwhatif.dev/applied", None)  # it is another manifest then
    spec: Any
    for path in paths if isinstance(obj, CustomResource) else ("",):
        spec = data
        for step in _steps(obj, path):
            spec = spec.get(step) if isinstance(spec, dict) else None
        if not isinstance(spec, dict):
            return None
        try:
            for revise in revisions:
                revise(spec)
        except (KeyError, IndexError, TypeError, AttributeError):
            return None  # what the API server makes of it has this, what is written here has not
    if isinstance(obj, CustomResource):
        return CustomResource(obj.kind, obj.metadata, data)
    try:
        return msgspec.convert(data, type(obj))
    except msgspec.ValidationError:
        return None


def pod_of(obj: Any) -> Pod | None:
    """A pod as the object's template has it; None of a custom resource."""
    if isinstance(obj, CustomResource):
        return None
    if isinstance(obj, Pod):
        return obj
    spec: Any = _as_data(obj)
    for step in _steps(obj, ""):
        spec = spec.get(step, {})
    return msgspec.convert({"kind": "Pod", "metadata": {"namespace": obj.metadata.namespace}, "spec": spec}, Pod)


def patch_of(
    obj: Any, before: Sequence[AdvisedChange], change: AdvisedChange, paths: Sequence[str] = ()
) -> tuple[PatchRow, ...]:
    """The JSON patch (RFC 6902) that makes the change in the object, after the changes before it."""
    if change.revise is None:
        return ()
    old, new = revised(obj, before, paths), revised(obj, (*before, change), paths)
    return () if old is None or new is None else tuple(json_patch(_as_data(old), _as_data(new)))


def _as_data(obj: Any) -> dict[str, Any]:
    if isinstance(obj, CustomResource):
        return msgspec.json.decode(msgspec.json.encode(obj.data))  # type: ignore[no-any-return]
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    return data
