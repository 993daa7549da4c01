"""What a cluster makes up, derived from what is known: UIDs, hashes of templates, ends of names.

The forms are upstream's: `SafeEncodeString` of `apimachinery/pkg/util/rand/rand.go`, and the name generator of
`apiserver/pkg/storage/names/generate.go`.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator
from itertools import islice

#: Without vowels, and without digits that look like letters: no name becomes a word.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_SUFFIXES = len(_ALPHABET) ** _SUFFIX_LENGTH
#: Has no common divisor with the number of suffixes: so many steps pass by all of them.
_STRIDE = 5_308_417
_MAX_PREFIX = 63 - _SUFFIX_LENGTH
_SPACE = uuid.UUID("8f6f0a4e-1f0c-5d43-9a4b-2a6a2f8c7a11")


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def uid_of(kind: str, namespace: str, name: str) -> str:
    """The UID of an object that no API server has seen."""
    return str(uuid.uuid5(_SPACE, f"{kind} {namespace}/{name}"))


def hash_of(content: object) -> str:
    """The hash of a template, in the form of `pod-template-hash`: equal contents, equal hashes."""
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(_number(repr(content))))


def generated_names(prefix: str, seed: str, count: int, is_taken: Callable[[str], bool]) -> tuple[str, ...]:
    """So many names as `generateName` would make, all different; another seed makes other names."""
    return tuple(islice(all_names(prefix, seed, is_taken), count))


def all_names(prefix: str, seed: str, is_taken: Callable[[str], bool], skip: int = 0) -> Iterator[str]:
    """One such name after the other, without the first `skip`, which may be gone again."""
    start = _number(prefix + seed)
    prefix = prefix[:_MAX_PREFIX]
    names = (prefix + _suffix((start + step * _STRIDE) % _SUFFIXES) for step in range(skip, _SUFFIXES))
    return (name for name in names if not is_taken(name))


def _suffix(number: int) -> str:
    letters = ""
    for _ in range(_SUFFIX_LENGTH):
        number, place = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[place]
    return letters
