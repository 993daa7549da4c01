"""The flags of `kubectl drain` as a scenario gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.edits.selection import selector_of
from kwhatif.model.duration import parse_duration

_SWITCHES = {
    "--ignore-daemonsets": "ignore_daemonsets",
    "--delete-emptydir-data": "delete_emptydir_data",
    "--delete-local-data": "delete_emptydir_data",
    "--force": "force",
    "--disable-eviction": "disable_eviction",
}
_TRUE = {"": True, "true": True, "false": False}
_SECOND = 1_000_000_000


def drain_options(args: Sequence[str], timeout: float | None) -> DrainOptions:
    """The flags; `timeout` in seconds, unless one of them says another.

    Raises:
        ValueError: a flag that there is not, or a value that it does not take.
    """
    found: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
    for arg in args:
        name, _, value = arg.partition("=")
        if name in _SWITCHES and value in _TRUE:
            found[_SWITCHES[name]] = _TRUE[value]
        else:
            found.update([_valued(name, value, arg)])
    return DrainOptions(**found)


def _valued(name: str, value: str, arg: str) -> tuple[str, Any]:
    match name:
        case "--timeout":
            return "timeout", parse_duration(value) / _SECOND
        case "--grace-period":
            seconds = _integer(value, arg)
            return "grace_period", None if seconds < 0 else float(seconds)
        case "--skip-wait-for-delete-timeout":
            return "skip_wait_for_delete_timeout", _integer(value, arg)
        case "--pod-selector":
            return "pod_selector", selector_of(value)
    known = [*_SWITCHES, "--grace-period", "--pod-selector", "--skip-wait-for-delete-timeout", "--timeout"]
    raise ValueError(f"{arg!r} is not a flag of drain: there are {', '.join(known)}")


def _integer(text: str, arg: str) -> int:
    try:
        return int(text)
    except ValueError as wrong:
        raise ValueError(f"{arg!r} needs a whole number") from wrong
