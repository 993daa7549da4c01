"""Functions that Kubernetes adds to CEL, and that the engine cannot evaluate itself."""

from __future__ import annotations

from typing import Any

from kwhatif.cel.library import conversions, formats, lists, net, order, quantity, regex, semver, strings, url
from kwhatif.cel.library.function import Function


def _fail(what: str = "") -> bool:
    raise ValueError(f"no such overload: {what}" if what else "no such overload")


def _insert_entry(entries: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    if key in entries:
        raise ValueError(f"insert failed: key {key} already exists")
    return {**entries, key: value}


def _insert_entries(entries: dict[Any, Any], more: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in more.items():
        entries = _insert_entry(entries, key, value)
    return entries


#: All implementations in Python; `environment.yaml` declares those that expressions may call.
FUNCTIONS: tuple[Function, ...] = (
    Function("@noSuchOverload", (), "bool", _fail),
    Function("@noSuchOverload", ("string",), "dyn", _fail),
    # The engine has the macros of two-variable comprehensions, but not the functions that they expand to.
    Function("cel.@mapInsert", ("map", "dyn", "dyn"), "dyn", _insert_entry),
    Function("cel.@mapInsert", ("map", "map"), "dyn", _insert_entries),
    *conversions.FUNCTIONS,
    *formats.FUNCTIONS,
    *lists.FUNCTIONS,
    *net.FUNCTIONS,
    *order.FUNCTIONS,
    *quantity.FUNCTIONS,
    *regex.FUNCTIONS,
    *semver.FUNCTIONS,
    *strings.FUNCTIONS,
    *url.FUNCTIONS,
)
