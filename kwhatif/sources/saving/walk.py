"""Walks over all of an object: to every text, or to every part of a type. They are compiled once per type.

Fields are found by their types, so that none can be forgotten: a field that is added to the model is walked to, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from operator import is_
from typing import Any, NamedTuple

from msgspec import inspect
from msgspec.structs import replace


class Place(NamedTuple):
    """Where a text stands."""

    #: The type, and the field of it.
    owner: str
    field: str
    #: Of a value in a map, and of what a requirement, taint or toleration has: its key.
    key: str = ""
    #: Whether the text is itself the key of an entry of a map.
    is_key: bool = False
    #: Whether the field may hold a number as well: the text is a number, or an amount, then.
    is_amount: bool = False


#: Place and text -> the new text.
Rename = Callable[[Place, str], str]
#: A value, the key that says what it is, and how texts are renamed -> the new value.
Step = Callable[[Any, str, Rename], Any]


def _as_it_is(_: Place, text: str) -> str:
    return text


class Walker:
    """Walks over objects of all types: to their texts, or to the parts of them that are of certain types."""

    def __init__(self, parts: Mapping[type, Callable[[Any], Any]] | None = None) -> None:
        """`parts`: what becomes of parts of these types; texts are then not walked to."""
        self._parts = parts
        self._steps: dict[type, Step | None] = {}

    def rewrite(self, obj: Any, rename: Rename = _as_it_is) -> Any:
        """The object with every text renamed, or every part rewritten; the same object if nothing changed."""
        step = self._step_of(type(obj))
        return obj if step is None else step(obj, "", rename)

    def _step_of(self, type_: type) -> Step | None:
        if type_ not in self._steps:
            part = (self._parts or {}).get(type_)
            self._steps[type_] = _struct_step(self._fields(type_)) if part is None else _part_step(part)
        return self._steps[type_]

    def _fields(self, type_: type) -> dict[str, Step]:
        fields = {
            field.name: self._compile(field.type, Place(type_.__name__, field.name)) for field in _fields_of(type_)
        }
        return {name: step for name, step in fields.items() if step is not None}

    def _compile(self, type_: inspect.Type, place: Place) -> Step | None:
        match type_:
            case inspect.StructType():
                return self._step_of(type_.cls)
            case inspect.VarTupleType():
                return _each_step(self._compile(type_.item_type, place))
            case inspect.DictType():
                return self._map(type_, place)
            case inspect.UnionType():
                return self._union(type_, place)
            case inspect.StrType() if self._parts is None:
                return _text_step(place)
            case inspect.AnyType() if self._parts is None:
                return _nothing_step
        return None

    def _union(self, type_: inspect.UnionType, place: Place) -> Step | None:
        """A type that may be missing, or a text that may as well be a number."""
        types = [option for option in type_.types if not isinstance(option, inspect.NoneType)]
        if len(types) == 1:
            return self._compile(types[0], place)
        return _text_step(place._replace(is_amount=True)) if self._parts is None else None

    def _map(self, type_: inspect.DictType, place: Place) -> Step | None:
        inner = self._compile(type_.value_type, place)
        if self._parts is not None:
            return inner and _map_step(inner, None)
        return _map_step(inner, place._replace(is_key=True))


@cache
def _fields_of(type_: type) -> tuple[inspect.Field, ...]:
    """The fields of a type with their types, which take long to find out: once a process."""
    info = inspect.type_info(type_)
    assert isinstance(info, inspect.StructType)
    return info.fields


def _part_step(part: Callable[[Any], Any]) -> Step:
    def rewritten(value: Any, _: str, __: Rename) -> Any:
        return part(value)

    return rewritten


def _nothing_step(value: Any, _: str, __: Rename) -> Any:
    """What has no type is not modelled: that it is there is all that counts."""
    return {} if isinstance(value, dict) else None


def _struct_step(steps: Mapping[str, Step]) -> Step | None:
    if not steps:
        return None
    items = tuple(steps.items())

    def struct(obj: Any, _: str, rename: Rename) -> Any:
        changed = {}
        key = getattr(obj, "key", "")
        for name, step in items:
            value = getattr(obj, name)
            if value:
                new = step(value, "" if name == "key" else key, rename)
                if new is not value:
                    changed[name] = new
        return replace(obj, **changed) if changed else obj

    return struct


def _each_step(inner: Step | None) -> Step | None:
    if inner is None:
        return None

    def each(values: tuple[Any, ...], key: str, rename: Rename) -> tuple[Any, ...]:
        new = tuple(inner(value, key, rename) for value in values)
        return values if all(map(is_, new, values)) else new

    return each


def _map_step(inner: Step | None, keys: Place | None) -> Step:
    """A map; `keys`: where its keys stand, if they are texts that may be renamed."""

    def map_(values: Mapping[str, Any], _: str, rename: Rename) -> Any:
        new = {
            key if keys is None else rename(keys, key): inner(value, key, rename) if inner and value else value
            for key, value in values.items()
        }
        same = new.keys() == values.keys() and all(map(is_, new.values(), values.values()))
        return values if same else new

    return map_


def _text_step(place: Place) -> Step:
    def text(value: Any, key: str, rename: Rename) -> Any:
        if not isinstance(value, str):
            return value
        return rename(place._replace(key=key) if key else place, value)

    return text
