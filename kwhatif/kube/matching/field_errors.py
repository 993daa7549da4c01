"""Field errors in the API machinery's words (`apimachinery/pkg/util/validation/field/errors.go`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kwhatif.kube.matching.label_syntax import label_key_errors
from kwhatif.kube.matching.labels import quoted
from kwhatif.kube.model.duration import parse_duration

#: Path and message.
Issue = tuple[str, str]

_NUMBER = re.compile(r"[-+]?(?:\d++\.?\d*+|\.\d++)")


def shown(value: str | int) -> str:
    """A value as field errors print it: plain numbers as they are, text and quantities in quotes."""
    return str(value) if type(value) is int else quoted(str(value))


def invalid(path: str, value: str | int, detail: str) -> Issue:
    """`field.Invalid`."""
    return path, f"Invalid value: {shown(value)}: {detail}"


def required(path: str, detail: str = "") -> Issue:
    """`field.Required`."""
    return path, f"Required value: {detail}" if detail else "Required value"


def duplicate(path: str, value: str | int) -> Issue:
    """`field.Duplicate`."""
    return path, f"Duplicate value: {shown(value)}"


def forbidden(path: str, detail: str) -> Issue:
    """`field.Forbidden`."""
    return path, f"Forbidden: {detail}" if detail else "Forbidden"


def too_many(path: str, count: int, most: int) -> Issue:
    """`field.TooMany`."""
    return path, f"Too many: {count}: must have at most {most} item{'s' if most != 1 else ''}"


def unsupported(path: str, value: str, supported: Sequence[str]) -> Issue:
    """`field.NotSupported`."""
    return path, f"Unsupported value: {shown(value)}: supported values: {', '.join(map(quoted, supported))}"


def not_found(path: str, value: str, detail: str) -> Issue:
    """`field.NotFound`, with a detail."""
    return path, f"Not found: {shown(value)}: {detail}"


def label_name(path: str, name: str) -> Iterator[Issue]:
    """`ValidateLabelName`."""
    yield from (invalid(path, name, wrong) for wrong in label_key_errors(name))


def duration(path: str, text: str) -> Iterator[Issue]:
    """A text that is not a Go duration, which fails at decoding with the message of `time.ParseDuration`."""
    try:
        parse_duration(text)
    except ValueError:
        number = _NUMBER.fullmatch(text)
        what = "missing unit in" if number else "invalid"
        yield path, f'time: {what} duration "{text}"'
