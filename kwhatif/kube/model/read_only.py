"""Objects with read-only dictionaries; structs and tuples are frozen already."""

from __future__ import annotations

from operator import is_
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec.structs import replace

T = TypeVar("T")
_PLAIN = frozenset((str, int, bool, float, bytes, type(None)))


class ReadOnlyDict(dict[Any, Any]):
    """A dictionary that cannot be changed; decoders and encoders treat it as a plain one."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this is read-only: change a copy of it")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles of it are plain dictionaries."""
        return dict, (dict(self),)


def read_only(value: T) -> T:
    """A copy with read-only dictionaries at all levels; values without dictionaries are shared."""
    return _read_only(value)  # type: ignore[no-any-return] # of the same type, or of a subclass


def _read_only(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        return ReadOnlyDict({key: _read_only(each) for key, each in value.items()})
    if kind is tuple:
        made = [_read_only(each) for each in value]
        return value if all(map(is_, made, value)) else tuple(made)
    if isinstance(value, msgspec.Struct):
        found: dict[str, Any] = {}
        for name in value.__struct_fields__:
            before = getattr(value, name)
            if type(before) not in _PLAIN and (after := _read_only(before)) is not before:
                found[name] = after
        return replace(value, **found) if found else value
    return value
