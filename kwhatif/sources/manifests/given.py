"""What a caller of the library gives: paths, text, open files, or Kubernetes objects."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from kwhatif.sources.decoding.kinds import BY_KIND
from kwhatif.sources.text.files import GivenText, exists


class Readable(Protocol):
    """An open file, or whatever else reads like one."""

    def read(self) -> str | bytes: ...  # noqa: D102


class ClientModel(Protocol):
    """An object of a client library, such as `V1Pod` of the official one."""

    def to_dict(self) -> dict[str, Any]: ...  # noqa: D102


#: A path, "-" for standard input, `text("…")`, an open file, an object (a dict, or one of a client library), or a list
#: of objects.
Source = str | os.PathLike[str] | Readable | ClientModel | Mapping[str, Any] | Sequence[Mapping[str, Any] | ClientModel]


class NotAPath(TypeError):
    """Text stands where a path is expected."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


_ACCEPTED = "a path, kwhatif.text(...), an open file, or Kubernetes objects as dicts"
#: `V1Pod`, `V1beta1DeviceClass`, `CoreV1Event` are kinds with their version.
_MODEL = re.compile(r"(?:[A-Z][a-z]+)?V\d++(?:(?:alpha|beta)\d++)?(\w+)")


def text(content: str | bytes, name: str = "text") -> GivenText:
    """YAML or JSON that is at hand, to be given in the place of a path; errors call it `name`.

    Raises:
        TypeError: `content` is neither a string nor bytes.
    """
    if not isinstance(content, (str, bytes)):
        raise TypeError(f"text() takes a string or bytes, not {_kind(content)}")
    return GivenText(name, content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)


def named_inputs(sources: Iterable[object], argument: str) -> list[str]:
    """The sources as paths and texts; texts without a name are called by the argument, such as `manifest 2`.

    Raises:
        TypeError: one of them is nothing of that kind.
    """
    return [named_input(source, f"{argument} {number}") for number, source in enumerate(sources, 1)]


def named_input(source: object, name: str) -> str:
    """One source as a path or a text.

    Raises:
        TypeError: it is nothing of that kind.
    """
    if isinstance(source, GivenText):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _path(os.fspath(source), name)
    if isinstance(source, (bytes, bytearray)):
        raise TypeError(f"{name} is {_kind(source)}: for text write kwhatif.text(...)")
    read = getattr(source, "read", None)
    if callable(read):
        file = getattr(source, "name", None)
        return text(read(), file if isinstance(file, str) else name)
    if isinstance(source, (list, tuple)):
        entries = [_object(entry, f"{name}[{index}]") for index, entry in enumerate(source)]
        return GivenText(name, _json({"apiVersion": "v1", "kind": "List", "items": entries}, name))
    return GivenText(name, _json(_object(source, name), name))


def _path(path: object, name: str) -> str:
    if not isinstance(path, str):
        raise TypeError(f"{name} is a path of bytes: give it as a string")
    looks_like_text = "\n" in path or path.lstrip().startswith("{")
    if looks_like_text and not exists(path):
        raise NotAPath(f"{name} is text, and a string is a path: write kwhatif.text(...)", path)
    return path


def _object(source: object, name: str) -> object:
    if isinstance(source, Mapping):
        return source
    if (made := _from_model(source)) is not None:
        return made
    raise TypeError(f"{name} is {_kind(source)}; it can be {_ACCEPTED}")


def _from_model(source: object) -> object | None:
    """A model of the official client by the API's names, another one by its `to_dict`; None: it is neither."""
    names, types = getattr(source, "attribute_map", None), getattr(source, "openapi_types", None)
    if isinstance(names, Mapping) and isinstance(types, Mapping):
        fields = {names[field]: value for field in types if (value := getattr(source, field, None)) is not None}
        if {"apiVersion", "kind"} <= {*names.values()} and "kind" not in fields:
            fields |= _type_of(source)  # in lists, the client leaves it out
        return fields
    to_dict = getattr(source, "to_dict", None)
    return to_dict() if callable(to_dict) and not isinstance(source, type) else None


def _type_of(source: object) -> dict[str, str]:
    named = _MODEL.fullmatch(type(source).__name__)
    resource = BY_KIND.get(named[1]) if named else None
    return {"apiVersion": resource.api_version, "kind": resource.kind} if resource else {}


def _json(data: object, name: str) -> bytes:
    try:
        return msgspec.json.encode(data, enc_hook=_plain)
    except (TypeError, ValueError, RecursionError) as failure:
        raise TypeError(f"{name} holds something that JSON cannot: {failure}") from failure


def _plain(value: object) -> object:
    if (made := _from_model(value)) is not None:
        return made
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
