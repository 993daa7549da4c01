"""The pod's spec in an object, the object with a changed spec, and the JSON patch (RFC 6902) between the two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import CronJob
from kwhatif.questions.advise.change import AdvisedChange
from kwhatif.report.advise import PatchRow


def json_patch(before: Any, after: Any, path: str = "") -> Iterator[PatchRow]:
    """The operations, in the order in which they are to be made."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_maps(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_lists(before, after, path)
    elif before != after:
        yield PatchRow(op="replace", path=path, value=after)


def _of_maps(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[PatchRow]:
    for key in before:
        if key not in after:
            yield PatchRow(op="remove", path=f"{path}/{_escaped(key)}")
    for key, value in after.items():
        if key not in before:
            yield PatchRow(op="add", path=f"{path}/{_escaped(key)}", value=value)
        else:
            yield from json_patch(before[key], value, f"{path}/{_escaped(key)}")


def _of_lists(before: list[Any], after: list[Any], path: str) -> Iterator[PatchRow]:
    """Entries change in place, go one by one, or come at the end; any other change replaces the list."""
    if len(after) >= len(before):
        for place, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from json_patch(old, new, f"{path}/{place}")
        yield from (PatchRow(op="add", path=f"{path}/-", value=new) for new in after[len(before) :])
        return
    kept = iter(after)
    wanted = next(kept, None)
    gone: list[int] = []
    for place, old in enumerate(before):
        if old == wanted:
            wanted = next(kept, None)
        else:
            gone.append(place)
    if len(before) - len(gone) == len(after):
        yield from (PatchRow(op="remove", path=f"{path}/{place}") for place in reversed(gone))
    else:
        yield PatchRow(op="replace", path=path, value=after)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


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
