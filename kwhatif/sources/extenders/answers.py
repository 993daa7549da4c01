"""What extenders answer, read as Go reads it (`staging/src/k8s.io/kube-scheduler/extender/v1/types.go`).

The names of fields are matched without regard to case, `null` is as good as missing, and whatever follows the first
JSON value is not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from kwhatif.kube.model.meta import Int64
from kwhatif.scheduler.framework.extender import ExtenderError

T = TypeVar("T")

_DECODER = json.JSONDecoder()


class _Answer(msgspec.Struct, rename=lambda field: field.replace("_", "")):
    """Part of an answer, whose names are written small."""


class FilterResult(_Answer):
    """`ExtenderFilterResult`."""

    nodes: dict[str, Any] | None = None
    node_names: list[str | None] | None = None
    failed_nodes: dict[str, str | None] | None = None
    failed_and_unresolvable_nodes: dict[str, str | None] | None = None
    error: str | None = None


class HostPriority(_Answer):
    """`HostPriority`."""

    host: str | None = None
    score: Int64 | None = None


class MetaPod(_Answer):
    """`MetaPod`."""

    uid: str | None = None


class MetaVictims(_Answer):
    """`MetaVictims`."""

    pods: list[MetaPod] | None = None
    num_pdb_violations: Int64 | None = None


class PreemptionResult(_Answer):
    """`ExtenderPreemptionResult`."""

    node_name_to_meta_victims: dict[str, MetaVictims] | None = None


def read_filter_result(text: bytes) -> FilterResult:
    """The answer to `filter`.

    Raises:
        ExtenderError: it is none.
    """
    return _convert(_folded(_parse(text, {})), FilterResult)


def read_priorities(text: bytes) -> list[tuple[str, int]]:
    """The answer to `prioritize`: (host, score) pairs.

    Raises:
        ExtenderError: it is none.
    """
    value = _parse(text, [])
    rows = [{} if row is None else _folded(row) for row in value] if isinstance(value, list) else value
    return [(row.host or "", row.score or 0) for row in _convert(rows, list[HostPriority])]


def read_preemption_result(text: bytes) -> dict[str, MetaVictims]:
    """The answer to `preempt`: victims by node name.

    Raises:
        ExtenderError: it is none.
    """
    value = _folded(_parse(text, {}))
    nodes = value.get("nodenametometavictims") if isinstance(value, dict) else None
    if isinstance(nodes, Mapping):
        value["nodenametometavictims"] = {name: _folded_victims(victims) for name, victims in nodes.items()}
    return _convert(value, PreemptionResult).node_name_to_meta_victims or {}


def _folded_victims(victims: Any) -> Any:
    folded = _folded(victims)
    if isinstance(folded, dict) and isinstance(folded.get("pods"), list):
        folded["pods"] = [_folded(pod) for pod in folded["pods"]]
    return folded


def _folded(value: Any) -> Any:
    return {name.lower(): item for name, item in value.items()} if isinstance(value, dict) else value


def _convert(value: object, type_: type[T]) -> T:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as wrong:
        raise ExtenderError(f"json: cannot unmarshal the answer: {wrong}") from wrong


def _parse(text: bytes, empty: object) -> Any:
    """The first JSON value, `empty` for null; what cannot be parsed is reported in Go's words."""
    answer = text.decode("utf-8", "replace").lstrip(" \t\r\n")
    if not answer:
        raise ExtenderError("EOF")
    try:
        value, _ = _DECODER.raw_decode(answer)
    except RecursionError as failure:
        raise ExtenderError("json: cannot unmarshal the answer: it is nested too deeply") from failure
    except json.JSONDecodeError as failure:
        if failure.pos >= len(answer) or failure.msg.startswith("Unterminated string"):
            raise ExtenderError("unexpected EOF") from failure
        where = "looking for beginning of value" if failure.msg == "Expecting value" else f"at offset {failure.pos}"
        raise ExtenderError(f"invalid character {answer[failure.pos]!r} {where}") from failure
    return empty if value is None else value
