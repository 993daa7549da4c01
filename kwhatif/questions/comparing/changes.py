"""The single changes that make one cluster of another, each of which can be made by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from msgspec.structs import replace

from kwhatif.admission.outcome import ChangeRow, changes_between
from kwhatif.kube.model.cluster import KubernetesObject, key_of
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodTemplateSpec
from kwhatif.kube.model.policy import PodDisruptionBudget, PriorityClass
from kwhatif.questions.manifests.differences import Differences
from kwhatif.questions.session.session import Session
from kwhatif.report.clusters import ClusterChangeRow
from kwhatif.simulation.owned import root_of
from kwhatif.state.change import Change, Delete, Upsert
from kwhatif.state.state import State

#: Fields, keys and places that lead to a part of an object; (): the object itself.
Path = tuple[str | int, ...]
#: In which order kinds are looked at: what matters most often comes first, and pods last.
_FIRST: Sequence[type] = (Node, PriorityClass, PodDisruptionBudget)
_TIMES = ("_time", "_timestamp", "_generation", "generation", "uid", "time_added", "resource_version")


class Part(NamedTuple):
    """A part of an object that is not the same; `before` or `after` is None where the object is not there."""

    kind: type
    key: str
    path: Path
    before: Any
    after: Any


class SingleChange(NamedTuple):
    """Parts that change together, and how a report names them. Without parts: the scheduler is another one."""

    row: ClusterChangeRow
    parts: tuple[Part, ...] = ()


def single_changes(before: Session, after: Session, *, configured: bool) -> list[SingleChange]:
    """All changes from the first cluster to the second: scheduler, objects by kind and name, times and identifiers.

    `configured`: whether the two have different scheduler configurations.
    """
    found: list[SingleChange] = []
    was, now = before.scheduler, after.scheduler
    if configured or (was.version, was.feature_gates) != (now.version, now.feature_gates):
        fields = () if was.version == now.version else (ChangeRow("", "version", was.version, now.version),)
        found.append(SingleChange(ClusterChangeRow(change="scheduler", object="kube-scheduler", fields=fields)))
    times: list[Part] = []
    differences = Differences(before.state, after.state)
    rank = {kind: place for place, kind in enumerate(_FIRST)} | {Pod: len(_FIRST) + 1}
    for kind in sorted(differences.kinds(), key=lambda each: (rank.get(each, len(_FIRST)), each.__name__)):
        for each in sorted(differences.of(kind), key=lambda one: one.key):
            if each.before == each.after:
                continue
            parts = [Part(kind, each.key, *rest) for rest in _parts((), each.before, each.after)]
            times += filter(_is_time, parts)
            others = (part for part in parts if not _is_time(part))
            found += (SingleChange(_row(part, before.state, after.state), (part,)) for part in others)
    if times:
        count = len({(part.kind, part.key) for part in times})
        found.append(SingleChange(ClusterChangeRow(change="times", object=f"{count}"), tuple(times)))
    return found


def _is_time(part: Part) -> bool:
    return bool(part.path) and isinstance(part.path[-1], str) and part.path[-1].endswith(_TIMES)


def _row(part: Part, before: State, after: State) -> ClusterChangeRow:
    was: Any = before.cluster.get(part.kind, part.key)
    now: Any = after.cluster.get(part.kind, part.key)
    pod, cluster = (was, before.cluster) if now is None else (now, after.cluster)
    row = ClusterChangeRow(
        change="added" if was is None else "removed" if now is None else "changed",
        object=f"{part.kind.__name__} {part.key}",
        workload=(root_of(pod, cluster) or "") if isinstance(pod, Pod) else "",
    )
    if was is None or now is None:
        return row
    return replace(row, fields=tuple(changes_between("", was, with_parts(was, [part]))))


def _parts(path: Path, before: Any, after: Any) -> Iterator[tuple[Path, Any, Any]]:
    """The smallest parts that differ and can be set by themselves; a pod template is one."""
    if before is after or before == after:
        return
    same = type(before) is type(after)
    if same and isinstance(before, Model) and not isinstance(before, PodTemplateSpec):
        for name in type(before).__struct_fields__:
            yield from _parts((*path, name), getattr(before, name), getattr(after, name))
    elif same and isinstance(before, Mapping) and path:
        for key in dict.fromkeys([*before, *after]):
            if before.get(key) != after.get(key):
                yield (*path, key), before.get(key), after.get(key)
    elif same and isinstance(before, tuple) and len(before) == len(after) and isinstance(before[0], Model):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _parts((*path, place), old, new)
    else:
        yield path, before, after


# --- to make them ----------------------------------------------------------------------------------------------------


def with_parts(obj: Any, parts: Collection[Part]) -> Any:
    """The object with these parts as they are in the other cluster; None: it is not there."""
    for part in parts:
        obj = _with(obj, part.path, part.after)
    return obj


def _with(obj: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(obj, Mapping):
        made = {key: each for key, each in obj.items() if key != step}
        return made if not rest and value is None else {**made, step: _with(obj.get(step), rest, value)}
    if isinstance(obj, tuple) and isinstance(step, int):
        return (*obj[:step], _with(obj[step], rest, value), *obj[step + 1 :])
    assert isinstance(step, str), "a field of a struct"
    return replace(obj, **{step: _with(getattr(obj, step), rest, value)})


def applied(before: State, after: State, changes: Sequence[SingleChange]) -> State:
    """The first cluster with these changes only."""
    parts = [part for change in changes for part in change.parts]
    found: list[Change] = []
    for (kind, key), some in groupby(sorted(parts, key=_place), lambda part: (part.kind, part.key)):
        obj: KubernetesObject | None = with_parts(before.cluster.get(kind, key), list(some))
        found.append(Delete(kind, key) if obj is None else Upsert(obj))
    state = before.fork()
    kinds: tuple[type, ...] = (Node, Pod)
    order = {kind: {key: place for place, key in enumerate(after.cluster.all(kind))} for kind in kinds}
    found.sort(key=lambda change: _order(change, order))
    state.apply(*found)
    return state


def _place(part: Part) -> tuple[str, str, tuple[str, ...]]:
    return part.kind.__name__, part.key, tuple(map(str, part.path))


def _order(change: Change, places: Mapping[type, Mapping[str, int]]) -> tuple[int, int]:
    """What goes, goes first; pods come last, and as the second cluster lists them."""
    if isinstance(change, Delete):
        return 0, 0
    assert isinstance(change, Upsert), "nothing else is made of them"
    known = places.get(type(change.obj), {})
    return 1 + isinstance(change.obj, Pod), known.get(key_of(change.obj), 0)
