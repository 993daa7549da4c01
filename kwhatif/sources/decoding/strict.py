"""Strict decoding, as the API server does it for `kubectl apply --validate=strict`.

Unknown and repeated fields are found by the API server's own table of fields, with its words
(`sigs.k8s.io/json/internal/golang/encoding/json/decode.go`); so are values of the wrong type, everywhere.

`scripts/api_fields.py` makes the tables, one of each release, from its OpenAPI document. A type is a map from field to
code:


| code | what the field takes |
|---|---|
| `s`, `b`, `n`, `i`, `l` | a string, a boolean, a number, an integer of 32 or 64 bits |
| `y`, `q`, `x` | base64, a quantity, an integer or a string |
| `o`, `*` | any object, any value |
| `[` or `{`, then a code | a list of that, a map of that by string |
| digits | an object of the type of that number |
"""

from __future__ import annotations

import binascii
import json
import zlib
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from kwhatif.kube.matching.field_errors import did_you_mean, field_path, nearest
from kwhatif.kube.model.quantity import MAX_INT64
from kwhatif.sources.decoding.lenient import mismatch
from kwhatif.sources.text.documents import Buffer, Document
from kwhatif.sources.text.problems import FieldPath

#: The version whose fields manifests may use.
VERSION = "1.36"
_SCHEMAS = Path(__file__).parents[2] / "schema"
#: Says to zlib that there is a header of gzip before the data.
_GZIP_WINDOW = 31
#: A group that is this similar to one of the API server's is a misspelling, if that one has the kind.
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
    """Whether at most this many letters differ: added, left out or replaced (Levenshtein distance)."""
    if abs(len(one) - len(other)) > _FEW_LETTERS:
        return False
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for j, own in enumerate(other, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != own))
    return row[-1] <= _FEW_LETTERS


#: What becomes of unknown and repeated fields: errors, caveats, or nothing. As kubectl's `--validate`.
Validation = Literal["strict", "warn", "ignore"]
#: Types by number: field -> code (see `api_fields`).
Types = Sequence[dict[str, str]]
_VALIDATIONS: dict[str, Validation] = {
    "strict": "strict",
    "true": "strict",
    "warn": "warn",
    "ignore": "ignore",
    "false": "ignore",
}


def parse_validation(text: str) -> Validation:
    """What `--validate` says.

    Raises:
        ValueError: in words for the user.
    """
    if text not in _VALIDATIONS:
        raise ValueError(f"{text!r} is neither strict (or true), warn nor ignore (or false)")
    return _VALIDATIONS[text]


class Finding(NamedTuple):
    """Something that the API server does not take as it stands."""

    path: FieldPath
    message: str
    hint: str = ""
    #: Whether only a strict server refuses it. What is not of the right type, no server takes.
    is_lax: bool = False


def unknown_fields_and_wrong_types(data: object, type_: int, table: ApiFields) -> Iterator[Finding]:
    """Everything in an object, as plain data, that is not as the type in the table has it."""
    yield from _findings(data, str(type_), (), table.types)


def repeated(path: FieldPath) -> Finding:
    """A field that is there twice."""
    return Finding(path, f'duplicate field "{field_path(path)}"', is_lax=True)


def _findings(value: object, code: str, path: FieldPath, types: Types) -> Iterator[Finding]:
    """What is wrong at the path and below. As everywhere in Kubernetes, null is "not set"."""
    if value is None or code == "*":
        return
    if code.isdigit():
        yield from _of_object(value, types[int(code)], path, types)
    elif code[0] in "[{":
        is_list = code[0] == "["
        if not isinstance(value, list if is_list else dict):
            yield Finding(path, *mismatch("a list" if is_list else "an object", value))
            return
        for step, item in _entries(value):
            yield from _findings(item, code[1:], (*path, step), types)
    elif (wrong := _wrong(value, code)) is not None:
        yield Finding(path, *wrong)


def _of_object(value: object, fields: dict[str, str], path: FieldPath, types: Types) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield Finding(path, *mismatch("an object", value))
        return
    for name, below in value.items():
        here = (*path, name)
        if name in fields:
            yield from _findings(below, fields[name], here, types)
        else:
            hint = did_you_mean(nearest(name, fields)[:1])
            yield Finding(here, f'unknown field "{field_path(here)}"', hint, is_lax=True)


def _entries(value: Any) -> Iterable[tuple[Any, Any]]:
    """What a map or a list holds, with keys or indexes; nothing of any other value."""
    return value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()


_WANTED = {
    "s": "a string",
    "b": "a boolean",
    "n": "a number",
    "i": "an integer",
    "l": "an integer",
    "y": "a string in base64",
    "q": "a string or a number",
    "x": "an integer or a string",
    "o": "an object",
}
_PYTHON: dict[str, tuple[type, ...]] = {
    "s": (str,),
    "b": (bool,),
    "n": (int, float),
    "i": (int,),
    "l": (int,),
    "y": (str,),
    "q": (str, int, float),
    "x": (int, str),
    "o": (dict,),
}
_LARGEST = {"i": 2**31 - 1, "x": 2**31 - 1, "l": MAX_INT64}


def _wrong(value: Any, code: str) -> tuple[str, str] | None:
    """Message and hint, if the value is not what the code of a single value asks for."""
    if isinstance(value, float) and value.is_integer() and code in _LARGEST:
        value = int(value)  # Go reads YAML's 3.0 as 3
    if type(value) not in _PYTHON[code]:
        return mismatch(_WANTED[code], value)
    if type(value) is int and code in _LARGEST and not -_LARGEST[code] - 1 <= value <= _LARGEST[code]:
        return f"is out of range: it must be from {-_LARGEST[code] - 1} to {_LARGEST[code]}", ""
    if code == "y":
        try:
            b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
        except (binascii.Error, ValueError):
            return "is not base64", ""
    return None


class _Repeating(dict[str, Any]):
    """A JSON object some of whose keys are there more than once."""

    keys_repeated: tuple[str, ...] = ()


def repeated_fields(document: Document) -> Iterator[FieldPath]:
    """The paths of all repeated keys of a document, also in custom kinds."""
    if document.repeated:
        yield from document.repeated
        return
    try:
        data, found = _with_repeats(document.json)
    except (RecursionError, ValueError):  # no other reader takes it: that is said elsewhere
        return
    if found:
        yield from _repeats(data, ())


def _with_repeats(text: Buffer) -> tuple[Any, bool]:
    found = False

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        value = dict(pairs)
        if len(value) == len(pairs):
            return value
        found = True
        marked = _Repeating(value)
        counts = Counter(name for name, _ in pairs)
        marked.keys_repeated = tuple(name for name in value if counts[name] > 1)
        return marked

    return json.loads(bytes(text), object_pairs_hook=keep), found


def _repeats(value: Any, path: FieldPath) -> Iterator[FieldPath]:
    if isinstance(value, _Repeating):
        for key in value.keys_repeated:
            yield (*path, key)
    for step, item in _entries(value):
        yield from _repeats(item, (*path, step))
