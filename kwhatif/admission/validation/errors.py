"""The errors that validation finds in an object, and the rejection that they make."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kwhatif.admission.outcome import Denied, InvalidObject, kind_of
from kwhatif.kube.matching import field_errors
from kwhatif.kube.matching.field_errors import Issue, label_key_errors, label_value_errors
from kwhatif.kube.model.cluster import KubernetesObject

POSITIVE = "must be greater than zero"
NOT_NEGATIVE = "must be greater than or equal to 0"

#: Returns the errors of a value as texts.
Rule = Callable[[str], Iterable[str]]


class FieldErrors:
    """The errors of one object, by field."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}
        self._prefix = ""

    def within(self, path: str) -> FieldErrors:
        """A view for a part of the object: it adds to the same list, with `path` and a dot before every field."""
        inner = FieldErrors()
        inner._found = self._found
        inner._prefix = f"{self._prefix}{path}."
        return inner

    def __len__(self) -> int:
        """The number of errors."""
        return len(self._found)

    def __str__(self) -> str:
        """All errors, each once; several in brackets."""
        return field_errors.aggregate(self._found)

    def refusal(self, obj: KubernetesObject) -> Denied | None:
        """The API server's rejection of the object; None if there are no errors."""
        return Denied(f'{kind_of(obj)} "{obj.metadata.name}" is invalid: {self}', InvalidObject()) if self else None

    def invalid(self, path: str, value: str | int, detail: str) -> None:
        """A malformed value."""
        self._add(field_errors.invalid(path, value, detail))

    def invalid_object(self, path: str, value: Any, detail: str) -> None:
        """Fields that conflict."""
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        self._add((path, f"Invalid value: {text}: {detail}" if detail else f"Invalid value: {text}"))

    def conflict(self, path: str, detail: str) -> None:
        """An object whose fields conflict, without its value (`field.OmitValueType`)."""
        self._add((path, f"Invalid value: {detail}"))

    def required(self, path: str, detail: str = "") -> None:
        """A missing value."""
        self._add(field_errors.required(path, detail))

    def immutable(self, path: str) -> None:
        """A field that has changed, and must not (`validate.Immutable`)."""
        self.invalid_object(path, None, "field is immutable")

    def at_most(self, path: str, count: int, maximum: int) -> None:
        """A list that may have at most this many items."""
        if count > maximum:
            self._add(field_errors.too_many(path, count, maximum))

    def forbidden(self, path: str, detail: str = "") -> None:
        """A value that is not allowed with other fields."""
        self._add(field_errors.forbidden(path, detail))

    def duplicate(self, path: str, value: str | int) -> None:
        """A value that must be unique."""
        self._add(field_errors.duplicate(path, value))

    def duplicate_object(self, path: str, value: Any) -> None:
        """An object whose key must be unique."""
        self._add((path, f"Duplicate value: {json.dumps(value, separators=(',', ':'), ensure_ascii=False)}"))

    def not_found(self, path: str, value: str, detail: str) -> None:
        """A reference to something that does not exist."""
        self._add(field_errors.not_found(path, value, detail))

    def unsupported(self, path: str, value: str, allowed: Sequence[str]) -> None:
        """A value that is not supported."""
        self._add(field_errors.unsupported(path, value, allowed))

    def supported(self, path: str, value: str, allowed: Sequence[str]) -> None:
        """Check that the value is one of the allowed ones."""
        if value not in allowed:
            self.unsupported(path, value, allowed)

    def check(self, path: str, value: str, rule: Rule) -> None:
        """Add the errors that the rule finds in the value."""
        for detail in rule(value):
            self.invalid(path, value, detail)

    def name(self, path: str, name: str, rule: Rule, missing: str = "") -> None:
        """Check a required name; `missing` is the detail if it is absent."""
        if name:
            self.check(path, name, rule)
        else:
            self.required(path, missing)

    def labels(self, path: str, labels: Mapping[str, str] | None) -> None:
        """Check the keys and values of labels."""
        for key, value in sorted((labels or {}).items()):
            self.check(path, key, label_key_errors)
            self.check(path, value, label_value_errors)

    def _add(self, issue: Issue) -> None:
        path, message = issue
        self._found[f"{self._prefix}{path}: {message}"] = None
