"""`AdvisedChange`: one change that may help a pod, in its manifest or in the cluster; and JSON patches of manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.edits.edit import Edit
from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import CronJob
from kwhatif.questions.session.session import Session
from kwhatif.report.advise import AdviceBy, AdviceKind, Advised, PatchRow

#: The spec of a pod as plain data, in the API's names.
Spec = dict[str, Any]
#: Applies a change, in place.
Revise = Callable[[Spec], None]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
#: The weight of a rule that becomes preferred instead of required: the maximum.
WEIGHT = 100

#: The rough cost of each kind of change: how likely it is to do harm. The lowest comes first.
COSTS: dict[AdviceKind, int] = {
    "wait": 10,
    "job-done": 30,
    "node-ready": 20,
    "claim-bound": 20,
    "other-name": 20,
    "claim-class": 25,
    "drop-gates": 25,
    "widen-skew": 25,
    "tolerate": 30,
    "request-less": 30,
    "min-count": 35,
    "drop-topology": 40,
    "soften-spread": 35,
    "soften-pod-affinity": 35,
    "soften-anti-affinity": 35,
    "change-selector": 35,
    "widen-node-affinity": 35,
    "soften-node-affinity": 40,
    "drop-selector": 40,
    "drop-node-name": 40,
    "scheduler-name": 40,
    "uncordon": 40,
    "change-host-port": 45,
    "drop-host-port": 50,
    "move-pod": 50,
    "label-node": 50,
    "raise-quota": 50,
    "bind-claim": 50,
    "create-claim": 50,
    "create-namespace": 50,
    "scale-down": 55,
    "untaint": 60,
    "preemption-policy": 65,
    "delete-pod": 65,
    "priority-class": 70,
    "raise-group": 45,
    "raise-limit": 45,
    "label-group": 55,
    "add-nodes": 90,
}


_WAITING: frozenset[AdviceKind] = frozenset({"wait", "job-done", "node-ready", "claim-bound"})


class Amount(NamedTuple):
    """The amount of a change: it is increased until the change helps, and then reduced while it still helps."""

    value: int
    #: The maximum.
    most: int
    #: The smallest step.
    step: int
    #: The same change with another amount.
    at: Callable[[int], AdvisedChange]


class AdvisedChange(Advised, kw_only=True, eq=False):
    """One change. Either `revise` changes the spec of the pod, or `edits` the cluster."""

    cost: int
    revise: Revise | None = None
    edits: tuple[Edit, ...] = ()
    #: The edits as YAML data, if they have no form on one line.
    data: tuple[dict[str, Any], ...] = ()
    #: The change of what an autoscaler knows: its groups, or pools.
    scale: Callable[[Session], Session] | None = None
    amount: Amount | None = None
    #: The same change without one of its parts each, if it has several.
    less: Callable[[], Iterator[AdvisedChange]] | None = None

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """Changes with the same key do the same."""
        return self.kind, self.target, self.about, self.before, self.after


def in_spec(kind: AdviceKind, revise: Revise, *, extra: int = 0, **fields: Any) -> AdvisedChange:
    """A change of the manifest.

    Args:
        kind: of the change.
        revise: makes it.
        extra: what it costs more than others of its kind.
        fields: what else is known of it.
    """
    return AdvisedChange(kind=kind, by="manifest", cost=COSTS[kind] + extra, revise=revise, **fields)


def in_cluster(
    kind: AdviceKind, target: str, *edits: Edit, extra: int = 0, by_manifest: bool = False, **fields: Any
) -> AdvisedChange:
    """A change of the cluster, or an event to wait for: then the edits make the state after it.

    Args:
        kind: of the change.
        target: the object to change.
        edits: the change.
        extra: what it costs more than others of its kind.
        by_manifest: the object is another one of the manifests.
        fields: what else is known of it.
    """
    by: AdviceBy = "manifest" if by_manifest else "waiting" if kind in _WAITING else "cluster"
    return AdvisedChange(kind=kind, by=by, target=target, cost=COSTS[kind] + extra, edits=edits, **fields)


def prune(spec: Spec, kind: str) -> None:
    """Remove empty affinities."""
    if not spec["affinity"][kind]:
        del spec["affinity"][kind]
    if not spec["affinity"]:
        del spec["affinity"]


class Advice(NamedTuple):
    """Changes that help together."""

    changes: tuple[AdvisedChange, ...]
    #: The node that they were made for.
    node: str = ""
    #: The extra cost of that node.
    extra: int = 0

    @property
    def cost(self) -> int:
        """The lower, the better; two changes cost more than both alone."""
        return sum(change.cost for change in self.changes) + 20 * (len(self.changes) - 1) + self.extra

    @property
    def sort(self) -> tuple[str, ...]:
        """Advice of one sort differs only in its subject: the cheapest of a sort is enough."""
        several = [change.kind == "delete-pod" and change.count > 1 for change in self.changes]
        kinds = (
            f"{change.kind} {change.about}{'several' * many}"
            for change, many in zip(self.changes, several, strict=True)
        )
        return tuple(sorted(kinds))


# --- patches of manifests --------------------------------------------------------------------------------------------


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


def revised(obj: Any, changes: Iterable[AdvisedChange]) -> Any | None:
    """The object with these changes of the pod that it is, or that it has a template of.

    Args:
        obj: a manifest's object.
        changes: those without `revise` are left out.

    Returns:
        None where a change cannot be made there.
    """
    revisions = [change.revise for change in changes if change.revise is not None]
    data = _as_data(obj)
    if not isinstance(obj, CustomResource):
        data["metadata"].pop("kwhatif.dev/applied", None)  # it is another manifest then
    spec: Any
    for path in obj.template_paths if isinstance(obj, CustomResource) else ("",):
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
        return replace(obj, data=data)
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


def patch_of(obj: Any, before: Sequence[AdvisedChange], change: AdvisedChange) -> tuple[PatchRow, ...]:
    """The JSON patch (RFC 6902) that makes the change in the object, after the changes before it."""
    if change.revise is None:
        return ()
    old, new = revised(obj, before), revised(obj, (*before, change))
    return () if old is None or new is None else tuple(json_patch(_as_data(old), _as_data(new)))


def _as_data(obj: Any) -> dict[str, Any]:
    if isinstance(obj, CustomResource):
        return msgspec.json.decode(msgspec.json.encode(obj.data))  # type: ignore[no-any-return]
    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    return data
