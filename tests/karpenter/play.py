"""Play a case on kwhatif: a cluster, instance types, a moment, and whether nodes are to come or to go."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from kwhatif.autoscaler.contract import ScalingPlan, ScalingRound
from kwhatif.autoscaler.karpenter.instance_types import build_instance_types
from kwhatif.autoscaler.karpenter.karpenter import Karpenter, disruption
from kwhatif.autoscaler.karpenter.settings import read_settings
from kwhatif.sources.decoding.templates import kept_settings
from kwhatif.sources.dumps.dump import read_cluster
from kwhatif.state.state import State

NOW = "2026-11-20T12:00:00Z"
CLAIM = ("group", "instanceTypes", "requirements", "cheapest")
#: What is compared of each row; upstream gives reasons of pods that it does not look at only in its log.
ROWS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "autoscale": {
        "newNodes": (*CLAIM, "pods"),
        "existing": ("node", "pods"),
        "refused": ("pod", "message"),
        "ignored": ("pod",),
    },
    "consolidate": {"commands": ("reason", "nodes", "replacements"), "kept": ("node", "messages")},
}
_PLACEHOLDER = re.compile(r"hostname-placeholder-(\d+)")


def state_of(objects: list[dict[str, Any]]) -> State:
    """The state of a cluster of these objects."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    return State(read_cluster(["-"], stdin=io.BytesIO(text.encode())).cluster)


def play(case: dict[str, Any]) -> dict[str, Any]:
    """What kwhatif says, as JSON has it."""
    state, types = state_of(case["cluster"]), build_instance_types(case["types"])
    settings, at = read_settings("", kept_settings((), case.get("flags", ()))), case.get("now", NOW)
    answer: ScalingPlan | ScalingRound
    if case["ask"] == "consolidate":
        answer = disruption(state, types, at, settings)[0]
    else:
        answer = Karpenter.of(state, types, settings).decide(state, {}, at).round
    found: dict[str, Any] = json.loads(msgspec.json.encode(answer))
    return found


def canonical(ask: str, found: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Only what counts, whatever the order of rows and of names within them."""
    return {
        name: _sorted([_row(name, row, fields) for row in found.get(name) or ()]) for name, fields in ROWS[ask].items()
    }


def _row(name: str, row: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    kept = {field: row.get(field) for field in fields}
    if name == "commands":
        kept["replacements"] = [{field: each.get(field) for field in CLAIM} for each in kept["replacements"] or ()]
    return {field: _plain(value) for field, value in kept.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _renumbered(value)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return _sorted([_plain(each) for each in value]) if isinstance(value, list) else value


def _sorted(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def _renumbered(text: str) -> str:
    """Names of hosts that are yet to be: upstream numbers them as long as the process runs."""
    numbers = sorted(set(_PLACEHOLDER.findall(text)))
    return _PLACEHOLDER.sub(lambda match: f"placeholder-{numbers.index(match[1])}", text)
