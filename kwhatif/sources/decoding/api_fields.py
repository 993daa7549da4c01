"""The kinds that the API server has of its own, and the fields of each: one Kubernetes version's table.

`scripts/api_fields.py` makes the tables, from the OpenAPI document of a release. A type is a map from field to code:

| code | what the field takes |
|---|---|
| `s`, `b`, `n`, `i`, `l` | a string, a boolean, a number, an integer of 32 or 64 bits |
| `y`, `q`, `x` | base64, a quantity, an integer or a string |
| `o`, `*` | any object, any value |
| `[` or `{`, then a code | a list of that, a map of that by string |
| digits | an object of the type of that number |
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from kwhatif.kube.matching.field_errors import did_you_mean, nearest

#: The version whose fields manifests may use.
VERSION = "1.36"
_SCHEMAS = Path(__file__).parents[2] / "schema"
#: Says to zlib that there is a header of gzip before the data.
_GZIP_WINDOW = 31
#: Groups this near to one of the API server's are misspelled, if that one has the kind.
_FEW_LETTERS = 2
#: Groups of Kubernetes' own custom kinds: `scheduling.x-k8s.io` is not a misspelled `scheduling.k8s.io`.
_EXPERIMENTAL = ".x-k8s.io"


class ApiFields(msgspec.Struct, frozen=True):
    """All kinds that can be created, by `apiVersion` and name, and the types that they are made of."""

    version: str
    kinds: dict[str, dict[str, int]]
    types: list[dict[str, str]]

    def type_of(self, api_version: str, kind: str) -> int | None:
        """The number of the kind's type; None where the API server has no such kind."""
        return self.kinds.get(api_version, {}).get(kind)

    def can_be_custom(self, api_version: str, kind: str) -> bool:
        """Whether a kind that is not in the table may come from a CustomResourceDefinition or another server.

        A group of those holds a dot (`apiextensions/validation`), and is not one of the API server's own.
        """
        group, _, version = api_version.rpartition("/")
        groups = self._groups()
        if "." not in group or "/" in group or not version or group in groups:
            return False
        if group.endswith(_EXPERIMENTAL):
            return True
        return not any(_few_letters_apart(group, own) and kind in kinds for own, kinds in groups.items())

    def _groups(self) -> Mapping[str, set[str]]:
        groups: dict[str, set[str]] = {}
        for api_version, kinds in self.kinds.items():
            groups.setdefault(api_version.rpartition("/")[0], set()).update(kinds)
        return groups

    def nearest(self, api_version: str, kind: str) -> str:
        """A suggestion for a misspelled name; "" if nothing is similar."""
        served = self._serving(kind)
        if served:
            return f"write {' or '.join(served)}"
        here = nearest(kind, self.kinds.get(api_version, ()))
        if here:
            return did_you_mean(here[:1])
        found = nearest(kind, {name for kinds in self.kinds.values() for name in kinds})
        return did_you_mean([f"{name} in {' or '.join(self._serving(name))}" for name in found[:1]])

    def _serving(self, kind: str) -> list[str]:
        """The stable `apiVersion`s of a kind, else all."""
        served = [api_version for api_version, kinds in self.kinds.items() if kind in kinds]
        return [api_version for api_version in served if is_stable(api_version)] or served


def is_stable(api_version: str) -> bool:
    """Whether the API server serves it unless its flags say otherwise: neither alpha nor beta."""
    version = api_version.rpartition("/")[2]
    return "alpha" not in version and "beta" not in version


@cache
def api_fields(version: str = VERSION) -> ApiFields:
    """The table of a Kubernetes version, such as "1.36"."""
    packed = (_SCHEMAS / f"kubernetes-{version}.json.gz").read_bytes()
    return msgspec.json.decode(zlib.decompress(packed, _GZIP_WINDOW), type=ApiFields)


def _few_letters_apart(one: str, other: str) -> bool:
    """Whether so few letters must be added, left out or replaced to make one word of the other (Levenshtein)."""
    if abs(len(one) - len(other)) > _FEW_LETTERS:
        return False
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for j, own in enumerate(other, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != own))
    return row[-1] <= _FEW_LETTERS
