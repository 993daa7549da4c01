"""The flags of `kubectl drain` in an edit (`k8s.io/kubectl/pkg/cmd/drain/drain.go`)."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.edits.edit import Drain, Wrong
from kwhatif.edits.selection import selector_of
from kwhatif.kube.matching.field_errors import did_you_mean, nearest

#: Flag -> option, but for what an edit says otherwise.
_FLAGS = {
    f"--{field.name.replace('_', '-')}": field
    for field in msgspec.structs.fields(DrainOptions)
    if field.name not in ("timeout", "parallel")
}


def drain_options(edit: Drain) -> DrainOptions:
    """Parse the edit's flags.

    Raises:
        Wrong: an unknown flag or an invalid value.
    """
    options: dict[str, Any] = {"timeout": edit.timeout or 0.0}
    for flag in edit.args:
        name, _, value = flag.partition("=")
        if name not in _FLAGS:
            raise Wrong(f"unknown flag: {name}", did_you_mean(nearest(name, _FLAGS)))
        try:
            options[_FLAGS[name].name] = _READERS[_FLAGS[name].type](value)
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


def _pods(text: str) -> str:
    try:
        selector_of(text)
    except Wrong as wrong:
        raise Wrong("--pod-selector=<pod_selector> must be a valid label selector", wrong.message) from wrong
    return text


_READERS = {bool: _switch, int: _whole, str: _pods}
