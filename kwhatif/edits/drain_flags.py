"""The flags of `kubectl drain` in an edit (`k8s.io/kubectl/pkg/cmd/drain/drain.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.edits.edit import Drain, Wrong
from kwhatif.edits.selection import selector_of
from kwhatif.kube.matching.labels import Selector
from kwhatif.kube.matching.names import did_you_mean, nearest


def drain_options(edit: Drain) -> DrainOptions:
    """Parse the edit's flags.

    Raises:
        Wrong: an unknown flag or an invalid value.
    """
    options: dict[str, Any] = {"timeout": edit.timeout or 0.0}
    for flag in edit.args:
        name, given, value = flag.partition("=")
        if name not in _FLAGS:
            raise Wrong(f"unknown flag: {name}", did_you_mean(nearest(name, _FLAGS)))
        field, read = _FLAGS[name]
        try:
            options[field] = read(value if given else "")
        except Wrong:
            raise
        except ValueError as wrong:
            raise Wrong(f'invalid argument "{value}" for "{name}" flag: {wrong}') from wrong
    return DrainOptions(**options)


def _switch(text: str) -> bool:
    """Parse a boolean as Go's `strconv.ParseBool` does; a flag without a value is true."""
    if text in ("", "1", "t", "T", "true", "True", "TRUE"):
        return True
    if text in ("0", "f", "F", "false", "False", "FALSE"):
        return False
    raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def _grace(text: str) -> float | None:
    """Parse a grace period; a negative one means the pod's own."""
    seconds = _whole(text)
    return None if seconds < 0 else float(seconds)


def _pods(text: str) -> Selector:
    try:
        return selector_of(text)
    except Wrong as wrong:
        raise Wrong("--pod-selector=<pod_selector> must be a valid label selector", wrong.message) from wrong


_FLAGS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "--ignore-daemonsets": ("ignore_daemonsets", _switch),
    "--delete-emptydir-data": ("delete_emptydir_data", _switch),
    "--force": ("force", _switch),
    "--disable-eviction": ("disable_eviction", _switch),
    "--grace-period": ("grace_period", _grace),
    "--skip-wait-for-delete-timeout": ("skip_wait_for_delete_timeout", _whole),
    "--pod-selector": ("pod_selector", _pods),
}
