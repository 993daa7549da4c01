"""Make a disagreement small: drop whatever the two sides disagree without."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.differential.scene import Case

#: Whether a case still shows the disagreement.
Shows = Callable[[Case], bool]

#: Fields whose absence the API would not accept, or that say what the object is.
_KEPT = frozenset(
    "apiVersion kind metadata name uid spec containers key operator effect driver pool device devices requests topologyKey "
    "whenUnsatisfiable maxSkew weight preference podAffinityTerm deviceClassName generation resourceSliceCount "
    "resources image accessModes provisioner handler status volumeHandle sizeBytes names containerPort values nominatedNodeName enabled disabled".split()
)
_ROUNDS = 4


def shrink(case: Case, shows: Shows) -> Case:
    """Drop objects, then entries and fields, until nothing more can go."""
    for _ in range(_ROUNDS):
        before = case
        case = _drop_objects(case, shows)
        case = _drop_parts(case, shows)
        if case == before:
            return case
    return case


def _drop_objects(case: Case, shows: Shows) -> Case:
    """In ever smaller chunks, as in delta debugging."""
    size = max(1, len(case.cluster) // 2)
    while True:
        start = 0
        while start < len(case.cluster):
            smaller = case._replace(cluster=case.cluster[:start] + case.cluster[start + size :])
            if shows(smaller):
                case = smaller
            else:
                start += size
        if size == 1:
            return case
        size //= 2


def _drop_parts(case: Case, shows: Shows) -> Case:
    for field in ("pod", "config", "cluster"):
        whole = getattr(case, field)
        if whole is None:
            continue
        if field == "config" and shows(case._replace(config=None)):
            case = case._replace(config=None)
            continue
        path: tuple[Any, ...] | None = ()
        done: set[tuple[Any, ...]] = set()
        while path is not None:
            path = next((at for at in _droppable(getattr(case, field)) if at not in done), None)
            if path is not None:
                smaller = case._replace(**{field: _without(getattr(case, field), path)})
                if shows(smaller):
                    case = smaller
                else:
                    done.add(path)
    return case


def _droppable(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of everything that can go, the large before the small, the last entry of a list before the first."""
    entries = reversed(list(enumerate(value))) if isinstance(value, list) else value.items()
    for key, inner in entries:
        at = (*path, key)
        whole_object = isinstance(key, int) and len(path) == 0
        if key not in _KEPT and not whole_object and not (path and path[-1] == "containers" and len(value) == 1):
            yield at
        if isinstance(inner, dict | list):
            yield from _droppable(inner, at)


def _without(value: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(value)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return changed
