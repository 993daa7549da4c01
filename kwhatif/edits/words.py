"""Words of edits: parsers of references, labels, taints and numbers; and edits as YAML data, converted to such words.

`cordon: [a1]` is `cordon a1`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kwhatif.edits.edit import Reference, TaintRemoval, Wrong
from kwhatif.kube.matching.field_errors import did_you_mean, label_key_errors, label_value_errors, nearest
from kwhatif.kube.model.kinds import BY_WORD
from kwhatif.kube.model.node import Taint

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MAX_INT32 = 2**31 - 1
_TAINT = re.compile(r"(?P<key>[^=:]+)(=(?P<value>[^:]*))?(:(?P<effect>[^:]*))?")
_PERCENT = re.compile(r"\d+%")


def lone(words: Sequence[object], what: str) -> str:
    """The only word.

    Raises:
        Wrong: there is not exactly one.
    """
    if len(words) != 1 or not isinstance(words[0], str):
        raise Wrong(f"expected {what} and nothing else")
    return words[0]


def integer(text: object, what: str, *, low: int, high: int = _MAX_INT32) -> int:
    """Parse a number within bounds.

    Raises:
        Wrong: it is not a number within bounds.
    """
    if not isinstance(text, str) or not re.fullmatch(r"-?[0-9]{1,12}", text):
        raise Wrong(f"{what} is not an integer: {str(text)!r}")
    if not low <= int(text) <= high:
        raise Wrong(f"{what} is out of range: {text}", f"it must be from {low} to {high}")
    return int(text)


def switch(text: str) -> bool:
    """Parse a boolean as Go's `strconv.ParseBool` does; a flag without a value is true.

    Raises:
        ValueError: it is none of Go's.
    """
    if text in ("", "1", "t", "T", "true", "True", "TRUE"):
        return True
    if text in ("0", "f", "F", "false", "False", "FALSE"):
        return False
    raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')


def bound_of(name: str, text: str) -> int | str:
    """Parse the bound of a budget: a number of pods, or a percentage.

    Raises:
        Wrong: it is neither.
    """
    if _PERCENT.fullmatch(text):
        if len(text.lstrip("0")) > len("100%") or int(text[:-1]) > 100:
            raise Wrong(f"{name} is more than 100%: {text}")
        return text
    return integer(text, name, low=0)


def reference(text: object, kind: str = "") -> Reference:
    """Parse `KIND/NAME` or `KIND/NAMESPACE/NAME`; if `kind` is given, the kind may be omitted.

    Raises:
        Wrong: it is neither.
    """
    if not isinstance(text, str):
        raise Wrong(f"expected KIND/NAMESPACE/NAME, got {text!r}")
    word, *rest = text.split("/")
    resource = BY_WORD.get(word.lower())
    if kind and (resource is None or not rest or resource.kind.lower() != kind):
        resource, rest = BY_WORD[kind], [word, *rest]
    if resource is None:
        raise _no_kind(text, word, has_name=bool(rest))
    most = 2 if resource.namespaced else 1
    if not 1 <= len(rest) <= most or not all(rest):
        form = f"{word}/NAMESPACE/NAME" if resource.namespaced else f"{word}/NAME"
        raise Wrong(f"{text!r} does not name an object", f"write {form}")
    return Reference(text, resource, rest[-1], rest[0] if len(rest) == 2 else None)


def _no_kind(text: str, word: str, *, has_name: bool) -> Wrong:
    if not has_name:
        return Wrong(f"{text!r} does not name a kind", "write KIND/NAMESPACE/NAME, such as deployment/shop/web")
    hint = did_you_mean(nearest(word, BY_WORD)[:1])
    return Wrong(f"there is no kind {word!r} that scheduling reads", hint)


def object_references(names: Sequence[str], kind: str = "") -> tuple[Reference, ...]:
    """Parse each of the names with `reference`."""
    return tuple(reference(name, kind) for name in names)


def namespaced_name(text: str) -> tuple[str | None, str]:
    """Parse `NAMESPACE/NAME`, or only a name.

    Raises:
        Wrong: it is neither.
    """
    *namespace, name = text.split("/")
    if len(namespace) > 1 or not name or not all(namespace):
        raise Wrong(f"{text!r} is not NAMESPACE/NAME")
    return (namespace[0] if namespace else None), name


def split_assignments(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the words into names of objects and, after them, labels."""
    at = next((i for i, word in enumerate(words) if "=" in word or word.endswith("-")), len(words))
    return list(words[:at]), list(words[at:])


def assignment(word: str) -> tuple[str, str]:
    """Split `PATH=VALUE`. A path may contain `=` only within brackets: `metadata.labels[a=b]`.

    Raises:
        Wrong: there is no value.
    """
    depth = 0
    for place, character in enumerate(word):
        depth += (character == "[") - (character == "]")
        if character == "=" and depth <= 0 and place:
            return word[:place], word[place + 1 :]
    raise Wrong(f"{word!r} has no value", "write PATH=VALUE; PATH=null removes the field")


def labels_of(words: Sequence[object]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Labels to set, from `key=value`, and keys to remove, from `key-`.

    Raises:
        Wrong: a word is neither, or not a valid label.
    """
    added: dict[str, str] = {}
    removed: list[str] = []
    for word in words:
        key, equals, value = str(word).partition("=")
        if not isinstance(word, str) or not (equals or key.endswith("-")):
            raise Wrong(f"{word!r} is not a label", "write key=value, or key- to remove it")
        key = key if equals else key[:-1]
        _check_label(key, value)
        if equals:
            added[key] = value
        else:
            removed.append(key)
    both = [key for key in removed if key in added]
    if both:
        raise Wrong(f"label {both[0]} is both set and removed")
    return added, tuple(removed)


def _check_label(key: str, value: str) -> None:
    for wrong in label_key_errors(key):
        raise Wrong(f"{key!r} is not a label key: {wrong}")
    for wrong in label_value_errors(value):
        raise Wrong(f"{value!r} is not a label value: {wrong}")


def taints_of(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[Taint, ...], tuple[TaintRemoval, ...]]:
    """Nodes, taints to add (`key[=value]:Effect`), taints to remove (`key[=value][:Effect]-`).

    Raises:
        Wrong: no node or no taint is named, or a taint is not valid.
    """
    at = next((i for i, word in enumerate(words) if ":" in word or word.endswith("-")), len(words))
    nodes, taints = words[:at], words[at:]
    if not nodes:
        raise Wrong("names no node")
    if not taints:
        raise Wrong("names no taint", "write key=value:Effect, or key- to remove it")
    added: dict[tuple[str, str], Taint] = {}
    removed: list[TaintRemoval] = []
    for word in taints:
        if word.endswith("-"):
            key, value, effect = _taint(word[:-1])
            removed.append(TaintRemoval(key, value, effect))
            continue
        key, value, effect = _taint(word)
        if effect is None:
            raise Wrong(f"taint {word!r} has no effect", f"write {word}:Effect, with {', '.join(EFFECTS)}")
        added[key, effect] = Taint(key=key, value=value or "", effect=effect)
    return tuple(nodes), tuple(added.values()), tuple(removed)


def _taint(word: str) -> tuple[str, str | None, str | None]:
    match = _TAINT.fullmatch(word)
    if match is None:
        raise Wrong(f"{word!r} is not a taint", "write key=value:Effect, or key- to remove it")
    key, value, effect = match["key"], match["value"], match["effect"]
    _check_label(key, value or "")
    if effect is not None and effect not in EFFECTS:
        hint = did_you_mean(nearest(effect, EFFECTS)[:1])
        raise Wrong(f"{effect!r} is not an effect", hint or f"use {', '.join(EFFECTS)}")
    return key, value, effect


#: A word of an edit; in YAML also an object, or a field with its typed value.
Word = Any


def entries(content: Any) -> list[Word]:
    """A list, or a single entry; numbers and booleans become text."""
    given = content if isinstance(content, list) else [] if content is None else [content]
    return [entry if isinstance(entry, str | Mapping) else _scalar(entry) for entry in given]


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


def label_words(content: Any) -> list[str]:
    """Convert a map to `key=value`, or `key-` if the value is null; a list does not change."""
    if not isinstance(content, Mapping):
        return entries(content)
    return [f"{key}-" if value is None else f"{key}={_word(value)}" for key, value in content.items()]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else _scalar(value)


def lists_of(*fields: str) -> Callable[[Any], list[Word]]:
    """A list, or a map of lists: the words of all fields, in this order."""

    def words(content: Any) -> list[Word]:
        if isinstance(content, Mapping):
            found = _map(content, *fields)
            return [word for field in fields for word in label_words(found.get(field))]
        return entries(content)

    return words


def add_words(content: Any) -> list[Word]:
    """`{count: 3, like: NODE, labels: {…}}`."""
    found = _map(content, "count", "like", "labels")
    if not isinstance(found.get("like"), str):
        raise Wrong("does not name an existing node", "write `add: {count: 3, like: NODE}`")
    return [_word(found.get("count", 1)), "nodes", "like", found["like"], *label_words(found.get("labels"))]


def delete_words(content: Any) -> list[Word]:
    """`{objects: […], force: true}`, or a list."""
    if not isinstance(content, Mapping):
        return entries(content)
    found = _map(content, "objects", "force")
    if not isinstance(force := found.get("force", False), bool):
        raise Wrong(f"force is neither true nor false: {json.dumps(force, default=str)}")
    return [*entries(found.get("objects")), *(["--force"] if force else [])]


def set_words(content: Any) -> list[Word]:
    """`{object: KIND/NAMESPACE/NAME, values: {PATH: VALUE}}`."""
    found = _map(content, "object", "values")
    values = found.get("values")
    if not isinstance(values, Mapping) or not values:
        raise Wrong("values is not a map of paths", "write `values: {spec.replicas: 3}`")
    return [_word(found.get("object", "")), *((str(path), value) for path, value in values.items())]


def patch_words(content: Any) -> list[Word]:
    """`{object: KIND/NAMESPACE/NAME, merge: {…}}`."""
    found = _map(content, "object", "merge")
    return [_word(found.get("object", "")), found.get("merge")]


def budget_words(content: Any) -> list[Word]:
    """`{name: NAME, maxUnavailable: 1, selector: {…}}`, or `{NAME: {maxUnavailable: 1}}`."""
    if isinstance(content, Mapping) and "name" not in content and len(content) == 1:
        ((name, bounds),) = content.items()
        content = {"name": name, **bounds} if isinstance(bounds, Mapping) else content
    found = _map(content, "name", "minAvailable", "maxUnavailable", "selector")
    bounds = {name: found[name] for name in ("minAvailable", "maxUnavailable") if name in found}
    return [_word(found.get("name", "")), *label_words(bounds), *label_words(found.get("selector"))]


def drain_words(content: Any) -> list[Word]:
    """`{nodes: […], timeout: 10m, wait: false, args: […]}`, or a list."""
    if not isinstance(content, Mapping):
        return entries(content)
    found = _map(content, "nodes", "timeout", "wait", "args")
    flags = [f"--{name}={_word(found[name])}" for name in ("timeout", "wait") if name in found]
    return [*entries(found.get("nodes")), *flags, *entries(found.get("args"))]


def scale_words(content: Any) -> list[Word]:
    """`{deployment/shop/web: 5}`, `{by: 1.5, namespace: shop}`, `{by: 2, workloads: […]}`, `{to: max}`; or text."""
    if isinstance(content, str):
        return list(content.split())
    if not isinstance(content, Mapping) or not {"by", "to"} & content.keys():
        return label_words(content)
    found = _map(content, "by", "to", "namespace", "workloads")
    where = ["-n", _word(found["namespace"])] if "namespace" in found else []
    if "to" in found:
        return ["hpa", *where, "to", _word(found["to"])]
    who = entries(found.get("workloads")) or ([] if where else ["all"])
    return [*who, *where, "by", _word(found["by"])]


def requests_words(content: Any) -> list[Word]:
    """`vpa`, `[usage.csv]`, or `{from: […]}`."""
    return ["from", *lists_of("from")(content)]


def resize_words(content: Any) -> list[Word]:
    """`{object: pod/NAMESPACE/NAME, container: NAME, requests: {…}, limits: {…}}`."""
    found = _map(content, "object", "container", "requests", "limits")
    container = f"{_word(found['container'])}:" if "container" in found else ""
    pairs = [f"{container}{part}.{pair}" for part in ("requests", "limits") for pair in label_words(found.get(part))]
    return [_word(found.get("object", "")), *pairs]


def settle_words(content: Any) -> list[Word]:
    """It takes nothing."""
    return [] if content in (None, {}, []) else entries(content)
