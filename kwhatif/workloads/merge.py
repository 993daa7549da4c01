"""`three_way`: what applying a manifest makes of an object that is there, as plain data.

What the manifest gives counts; what it no longer has goes if it was applied before; everything else stays as it is in
the cluster. Lists whose entries have keys are merged entry by entry, all others are replaced as a whole
(`k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`, `CreateThreeWayMergePatch` and `StrategicMergeMapPatch`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kwhatif.workloads.template_fields import entry_keys, path_below

Json = dict[str, Any]


class Owned(NamedTuple):
    """What was applied before, by the paths of `template_fields`."""

    has: Callable[[str], bool]
    #: Whether a part that the manifest no longer has goes with all that is in it (`kubectl apply`), or only what was
    #: applied of it (`--server-side`).
    is_whole: bool = True


#: Nothing is known of what was applied before: then nothing goes.
UNKNOWN = Owned(lambda _: False)

#: By which fields the entries of a list are known (`patchMergeKey` in the API's types); the first counts.
_MERGE_KEYS: Mapping[str, Sequence[str]] = {
    "containers": ("name",),
    "drivers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort", "port"),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
#: Lists of plain values that are sets (`patchStrategy: merge`).
_SETS = frozenset({"finalizers", "podCIDRs"})
#: Of these, or of their entries, only what the manifest gives is kept once anything of them changes
#: (`patchStrategy: retainKeys`): another type of strategy does not keep the old one's numbers.
_RETAIN_KEYS = frozenset({"resourceClaims", "strategy", "volumes"})
#: Maps that are replaced as a whole, by kind and path (`patchStrategy: replace`).
REPLACED = frozenset({("PodDisruptionBudget", ".spec.selector")})


def three_way(live: Json, given: Json, owned: Owned = UNKNOWN, *, kind: str = "") -> Json:
    """The object once the manifest is applied.

    Args:
        live: as it is in the cluster.
        given: the manifest; null stands for a field that is to go.
        owned: what was applied before.
        kind: of the object, where that makes a difference.
    """
    return _Merging(owned, kind).maps(live, given, "", "")


class _Merging(NamedTuple):
    owned: Owned
    kind: str

    def maps(self, live: Json, given: Json, path: str, name: str, *, retains: bool = False) -> Json:
        """Two maps; `name` is that of the field, `retains` whether it keeps nothing but what is given."""
        merged: Json = {}
        for key, value in live.items():
            below = path_below(path, name, key)
            if key not in given:
                left = self._left(value, below, key)
                if left is not None:
                    merged[key] = left
            elif given[key] is not None:
                merged[key] = self._values(value, given[key], below, key)
        for key, value in given.items():
            if key not in live and value is not None:
                merged[key] = without_nulls(value)
        if retains and merged != live:
            return {key: value for key, value in merged.items() if given.get(key) is not None}
        return merged

    def _values(self, live: Any, given: Any, path: str, name: str) -> Any:
        if isinstance(live, dict) and isinstance(given, dict):
            if (self.kind, path) in REPLACED:
                return without_nulls(given)
            return self.maps(live, given, path, name, retains=name in _RETAIN_KEYS)
        if isinstance(live, list) and isinstance(given, list):
            return self._lists(live, given, path, name)
        return without_nulls(given)

    def _left(self, live: Any, path: str, name: str) -> Any:
        """What stays of a part that the manifest does not have; None: nothing."""
        is_owned = self.owned.has(path)
        if live and not (is_owned and self.owned.is_whole):
            if isinstance(live, dict):
                return self.maps(live, {}, path, name) or None
            if isinstance(live, list) and _known_by(name, live, live) is not None:
                return self._lists(live, [], path, name) or None
        return None if is_owned else live

    def _lists(self, live: list[Any], given: list[Any], path: str, name: str) -> list[Any]:
        if name in _SETS:
            kept = [each for each in live if each in given or not self.owned.has(f"{path}[{each}]")]
            return [*kept, *(each for each in given if each not in live)]
        known_by = _known_by(name, live, given)
        if known_by is None:
            return [without_nulls(each) for each in given]
        there, wanted = ({each[known_by]: each for each in entries} for entries in (live, given))
        places = dict(zip(there, entry_keys(live, name) or map(str, there), strict=True))
        merged: dict[Any, Any] = {}
        for key, entry in there.items():
            below = f"{path}[{places[key]}]"
            if key in wanted:
                merged[key] = self.maps(entry, wanted[key], below, "entry", retains=name in _RETAIN_KEYS)
            elif (left := self._left(entry, below, "entry")) is not None:
                merged[key] = left
        merged |= {key: without_nulls(entry) for key, entry in wanted.items() if key not in there}
        return [merged[key] for key in _in_order(list(there), list(wanted), merged)]


def _in_order(live: Sequence[Any], wanted: Sequence[Any], merged: Mapping[Any, Any]) -> list[Any]:
    """As the manifest orders them; what only the cluster has stands where it stood (`mergeSortedSlice`)."""
    others = [key for key in live if key in merged and key not in set(wanted)]
    if [key for key in live if key in set(wanted)] == list(wanted):
        return [*(key for key in live if key in merged), *(key for key in wanted if key not in set(live))]
    place = {key: at for at, key in enumerate(live)}
    found: list[Any] = []
    left, right = list(wanted), others
    while left and right:
        is_before = left[0] in place and place[left[0]] < place[right[0]]
        found.append((left if is_before else right).pop(0))
    return [*found, *left, *right]


def _known_by(name: str, live: list[Any], given: list[Any]) -> str | None:
    """The field by which all entries of both lists are known; None where they are replaced as a whole."""
    entries = [*live, *given]
    if not all(isinstance(entry, dict) for entry in entries):
        return None
    for field in _MERGE_KEYS.get(name, ()):
        if all(isinstance(entry.get(field), str | int) for entry in entries):
            is_unique = all(len({entry[field] for entry in each}) == len(each) for each in (live, given))
            return field if is_unique else None
    return None


def without_nulls(value: Any) -> Any:
    """Plain data without fields that are null, as the API server stores it."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
