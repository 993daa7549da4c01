"""Edits as YAML data, converted to the words of the text form: `cordon: [a1]` is `cordon a1`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from kwhatif.edits.edit import Wrong
from kwhatif.kube.matching.field_errors import did_you_mean, nearest

#: A word of an edit; in YAML also an object, or a field with its typed value.
Word = Any


def _list(content: Any) -> list[Word]:
    """A list, or a single entry; numbers and booleans become text."""
    entries = content if isinstance(content, list) else [] if content is None else [content]
    return [entry if isinstance(entry, str | Mapping) else _scalar(entry) for entry in entries]


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise Wrong(f"expected text, got {json.dumps(value, default=str)}")


def _map(content: Any, *fields: str) -> Mapping[str, Any]:
    """A map with only these fields."""
    if not isinstance(content, Mapping):
        raise Wrong(f"expected a map of {', '.join(fields)}, got {json.dumps(content, default=str)}")
    for name in content:
        if name not in fields:
            hint = did_you_mean(nearest(str(name), fields)[:1])
            raise Wrong(f"unknown field {str(name)!r}", hint or f"it takes {fields}")
    return content


def _pairs(content: Any) -> list[str]:
    """Convert a map to `key=value`, or `key-` if the value is null; a list does not change."""
    if not isinstance(content, Mapping):
        return _list(content)
    return [f"{key}-" if value is None else f"{key}={_word(value)}" for key, value in content.items()]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else _scalar(value)


def _lists_of(*fields: str) -> Callable[[Any], list[Word]]:
    """A list, or a map of lists: the words of all fields, in this order."""

    def words(content: Any) -> list[Word]:
        if isinstance(content, Mapping):
            found = _map(content, *fields)
            return [word for field in fields for word in _pairs(found.get(field))]
        return _list(content)

    return words


def _add_words(content: Any) -> list[Word]:
    found = _map(content, "count", "like", "labels")
    if not isinstance(found.get("like"), str):
        raise Wrong("does not name an existing node", "write `add: {count: 3, like: NODE}`")
    return [_word(found.get("count", 1)), "nodes", "like", found["like"], *_pairs(found.get("labels"))]


def _delete_words(content: Any) -> list[Word]:
    if not isinstance(content, Mapping):
        return _list(content)
    found = _map(content, "objects", "force")
    return [*_list(found.get("objects")), *(["--force"] if found.get("force") is True else [])]


def _set_words(content: Any) -> list[Word]:
    found = _map(content, "object", "values")
    values = found.get("values")
    if not isinstance(values, Mapping) or not values:
        raise Wrong("values is not a map of paths", "write `values: {spec.replicas: 3}`")
    return [_word(found.get("object", "")), *((str(path), value) for path, value in values.items())]


def _patch_words(content: Any) -> list[Word]:
    found = _map(content, "object", "merge")
    return [_word(found.get("object", "")), found.get("merge")]


def _budget_words(content: Any) -> list[Word]:
    if isinstance(content, Mapping) and "name" not in content and len(content) == 1:
        ((name, bounds),) = content.items()
        content = {"name": name, **bounds} if isinstance(bounds, Mapping) else content
    found = _map(content, "name", "minAvailable", "maxUnavailable", "selector")
    bounds = {name: found[name] for name in ("minAvailable", "maxUnavailable") if name in found}
    return [_word(found.get("name", "")), *_pairs(bounds), *_pairs(found.get("selector"))]


def _drain_words(content: Any) -> list[Word]:
    if not isinstance(content, Mapping):
        return _list(content)
    found = _map(content, "nodes", "timeout", "wait", "args")
    flags = [f"--{name}={_word(found[name])}" for name in ("timeout", "wait") if name in found]
    return [*_list(found.get("nodes")), *flags, *_list(found.get("args"))]


def _scale_words(content: Any) -> list[Word]:
    """`{deployment/shop/web: 5}`, `{by: 1.5, namespace: shop}`, `{by: 2, workloads: […]}`, `{to: max}`; or text."""
    if isinstance(content, str):
        return list(content.split())
    if not isinstance(content, Mapping) or not {"by", "to"} & content.keys():
        return _pairs(content)
    found = _map(content, "by", "to", "namespace", "workloads")
    where = ["-n", _word(found["namespace"])] if "namespace" in found else []
    if "to" in found:
        return ["hpa", *where, "to", _word(found["to"])]
    who = _list(found.get("workloads")) or ([] if where else ["all"])
    return [*who, *where, "by", _word(found["by"])]


def _requests_words(content: Any) -> list[Word]:
    """`vpa`, `[usage.csv]`, or `{from: […]}`."""
    return ["from", *_lists_of("from")(content)]


def _resize_words(content: Any) -> list[Word]:
    found = _map(content, "object", "container", "requests", "limits")
    container = f"{_word(found['container'])}:" if "container" in found else ""
    pairs = [f"{container}{part}.{pair}" for part in ("requests", "limits") for pair in _pairs(found.get(part))]
    return [_word(found.get("object", "")), *pairs]


def _settle_words(content: Any) -> list[Word]:
    return [] if content in (None, {}, []) else _list(content)


_NODES = _lists_of("nodes")
#: Verb -> the function that converts its content to words.
WORDS: Mapping[str, Callable[[Any], list[Word]]] = {
    "cordon": _NODES,
    "uncordon": _NODES,
    "taint": _lists_of("nodes", "taints"),
    "label": _lists_of("objects", "labels"),
    "add": _add_words,
    "delete": _delete_words,
    "scale": _scale_words,
    "requests": _requests_words,
    "resize": _resize_words,
    "restart": _lists_of("objects"),
    "set": _set_words,
    "patch": _patch_words,
    "priority": _pairs,
    "budget": _budget_words,
    "apply": _list,
    "drain": _drain_words,
    "fail": _NODES,
    "recover": _NODES,
    "evict": _lists_of("pods"),
    "wait": _list,
    "settle": _settle_words,
}
