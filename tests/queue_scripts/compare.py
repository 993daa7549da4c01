"""Where two states of a queue differ (`fixtures/queue/README.md`)."""

from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]
Difference = tuple[str, Any, Any]
#: Without what is empty these are the same.
_EMPTY: tuple[object, ...] = (None, [], {}, "", 0, False)


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is float or kind is int:
        return round(float(value), 3)
    if isinstance(value, Mapping):
        plain = {key: _plain(one) for key, one in value.items()}
        return {key: one for key, one in plain.items() if one not in _EMPTY or key in ("t", "since")}
    return [_plain(one) for one in value]


def differences(want: Json, got: Json) -> Iterator[Difference]:
    """Everything in which the scheduler's state and kwhatif's differ.

    The real queue stops asking at the first hint that says Queue, and whom it asks first is chance: where the judge
    reports what it asked (`asked`) rather than everything that there is to ask (`events`), that has to be part of it.
    """
    one, other = _plain(want), _plain(got)
    asked, events = one.pop("asked", []), other.get("events", [])
    if "events" not in want:
        other.pop("events", None)
        problem = _not_asked(asked, events)
        if problem:
            yield "asked", problem, events
    for state in (one, other):
        state["errorBackoff"] = sorted(state.get("errorBackoff", []))
        state["nominated"] = {node: sorted(pods) for node, pods in state.get("nominated", {}).items()}
        state.pop("op", None)
    for field in sorted(one.keys() | other.keys()):
        if one.get(field) != other.get(field):
            yield field, one.get(field), other.get(field)


def _not_asked(asked: list[Json], events: list[Json]) -> Json | None:
    """The first answer of the real queue that kwhatif's queue does not give, pod by pod and in order."""
    expected: dict[str, list[dict[str, str]]] = {}
    for event in events:
        for pod, hints in event["hints"].items():
            expected.setdefault(pod, []).append(dict(hints))
    for ask in asked:
        waiting = expected.get(ask["pod"], [])
        while waiting and waiting[0].get(ask["plugin"]) is None:
            waiting.pop(0)
        if not waiting or waiting[0][ask["plugin"]] != ask["hint"]:
            return ask
        if ask["hint"] == "Queue":
            waiting.pop(0)
        else:
            del waiting[0][ask["plugin"]]
    return None
