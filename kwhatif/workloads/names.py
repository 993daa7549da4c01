"""What a cluster makes up, derived from what is known: UIDs, hashes of templates, ends of names; and numbers in names.

The forms are upstream's: `SafeEncodeString` of `apimachinery/pkg/util/rand/rand.go`, and the name generator of
`apiserver/pkg/storage/names/generate.go`.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Container, Iterator
from functools import lru_cache
from typing import Any, TypeVar

from msgspec.structs import replace

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import ObjectMeta

T = TypeVar("T", bound=KubernetesObject)

#: No vowels, and no digits that look like letters: so no name spells a word.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_SUFFIXES = len(_ALPHABET) ** _SUFFIX_LENGTH
#: It has no common divisor with the number of suffixes, so steps of this size visit all of them.
_STRIDE = 5_308_417
_MAX_PREFIX = 63 - _SUFFIX_LENGTH
_SPACE = uuid.UUID("8f6f0a4e-1f0c-5d43-9a4b-2a6a2f8c7a11")


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def uid_of(kind: str, namespace: str, name: str) -> str:
    """The UID of an object that no API server has seen."""
    return str(uuid.uuid5(_SPACE, f"{kind} {namespace}/{name}"))


def with_made_up_uid(obj: T) -> T:
    """The object with the UID that it gets, whatever its manifest says."""
    meta: Any = obj.metadata
    uid = uid_of(type(obj).__name__, meta.namespace, meta.name)
    return replace(obj, metadata=replace(meta, uid=uid))  # type: ignore[type-var]


def has_made_up_uid(obj: KubernetesObject) -> bool:
    """Whether no API server has seen the object."""
    meta = obj.metadata
    return meta.uid in ("", uid_of(type(obj).__name__, meta.namespace, meta.name))


def hash_of(content: object) -> str:
    """The hash of a template, in the form of `pod-template-hash`: equal contents, equal hashes."""
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(_number(repr(content))))


def all_names(prefix: str, seed: str, skip: int = 0) -> Iterator[str]:
    """Names as `generateName` would make them, all different, without the first `skip`; another seed makes others."""
    start = _number(prefix + seed)
    prefix = prefix[:_MAX_PREFIX]
    return (prefix + _suffix((start + step * _STRIDE) % _SUFFIXES) for step in range(skip, _SUFFIXES))


def generated_name(meta: ObjectMeta, seed: str, *present: Container[str]) -> str:
    """The first name for the `generateName` of an object that is not in use; `present`: `namespace/name` of others."""
    for name in all_names(meta.generate_name, seed):
        key = f"{meta.namespace}/{name}"
        if not any(key in each for each in present):
            return name
    raise ValueError(f"all names with {meta.generate_name!r} are in use")


def _suffix(number: int) -> str:
    letters = ""
    for _ in range(_SUFFIX_LENGTH):
        number, place = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[place]
    return letters


_PERCENT = re.compile(r"(\d{1,18})%")
#: Ten digits hold every number of 32 bits.
_DIGITS = re.compile(r"(?=[0-9])0*+([0-9]{0,10})")


@lru_cache(16_384)
def natural_number(text: str) -> int | None:
    """The number in decimal digits; None for other texts, and for numbers that are not an int32."""
    match = _DIGITS.fullmatch(text)
    number = -1 if match is None else int(match[1] or 0)
    return number if 0 <= number < 2**31 else None


def ordinal_of(meta: ObjectMeta, owner: str) -> int | None:
    """The number at the end of a pod's name, as StatefulSets give it (`getParentNameAndOrdinal`).

    Args:
        meta: of the pod.
        owner: the name of the StatefulSet.

    Returns:
        None where the pod is not named as one of this set.
    """
    name, _, number = meta.name.rpartition("-")
    return natural_number(number) if name == owner else None


def resolved(bound: int | str | None, total: int, *, default: int | str, round_up: bool) -> int:
    """A number as it is, a percentage of the total (`GetScaledValueFromIntOrPercent`).

    Anything else is refused by the API server, and counts as 0 here.
    """
    value = default if bound is None else bound
    if isinstance(value, int):
        return value
    percent = _PERCENT.fullmatch(value)
    if percent is None:
        return 0
    parts = int(percent[1]) * total
    return -(-parts // 100) if round_up else parts // 100
