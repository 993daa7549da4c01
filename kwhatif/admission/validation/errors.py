"""What validation finds wrong with an object, field by field, and the refusal that it makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kwhatif.admission.outcome import Denied, kind_of
from kwhatif.kube.matching import field_errors
from kwhatif.kube.matching.field_errors import Issue
from kwhatif.kube.matching.label_syntax import label_key_errors, label_value_errors
from kwhatif.kube.model.cluster import KubernetesObject

POSITIVE = "must be greater than zero"
NOT_NEGATIVE = "must be greater than or equal to 0"

#: Says what is wrong with a value, one text for each thing.
Rule = Callable[[str], Iterable[str]]


class FieldErrors:
    """What is wrong with one object, field by field."""

    def __init__(self) -> None:
        self._found: dict[str, None] = {}
        self._prefix = ""

    def within(self, path: str) -> FieldErrors:
        """What writes into this same list, but puts `path` and a dot before every field: for a part of the object."""
        inner = FieldErrors()
        inner._found = self._found
        inner._prefix = f"{self._prefix}{path}."
        return inner

    def __len__(self) -> int:
        """How much is wrong."""
        return len(self._found)

    def __str__(self) -> str:
        """All errors, each once; several in brackets."""
        together = ", ".join(self._found)
        return together if len(self._found) == 1 else f"[{together}]"

    def refusal(self, obj: KubernetesObject) -> Denied | None:
        """The API server's answer to whoever would store the object; None where nothing is wrong."""
        return Denied(f'{kind_of(obj)} "{obj.metadata.name}" is invalid: {self}') if self else None

    def invalid(self, path: str, value: str | int, detail: str) -> None:
        """A malformed value."""
        self._add(field_errors.invalid(path, value, detail))

    def invalid_object(self, path: str, value: Any, detail: str) -> None:
        """Fields that do not go together."""
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        self._add((path, f"Invalid value: {text}: {detail}" if detail else f"Invalid value: {text}"))

    def required(self, path: str, detail: str = "") -> None:
        """A value that is missing."""
        self._add(field_errors.required(path, detail))

    def forbidden(self, path: str, detail: str) -> None:
        """A value that other fields do not allow."""
        self._add(field_errors.forbidden(path, detail))

    def duplicate(self, path: str, value: str) -> None:
        """A value that must be unique."""
        self._add(field_errors.duplicate(path, value))

    def not_found(self, path: str, value: str, detail: str) -> None:
        """A reference to nothing."""
        self._add(field_errors.not_found(path, value, detail))

    def unsupported(self, path: str, value: str, allowed: Sequence[str]) -> None:
        """A value that is none of those that there are."""
        self._add(field_errors.unsupported(path, value, allowed))

    def supported(self, path: str, value: str, allowed: Sequence[str]) -> None:
        """The value must be one of those that there are."""
        if value not in allowed:
            self.unsupported(path, value, allowed)

    def check(self, path: str, value: str, rule: Rule) -> None:
        """One error per thing that the rule finds wrong with the value."""
        for detail in rule(value):
            self.invalid(path, value, detail)

    def name(self, path: str, name: str, rule: Rule, missing: str = "") -> None:
        """A name that must be there; `missing` says more about one that is not."""
        if name:
            self.check(path, name, rule)
        else:
            self.required(path, missing)

    def labels(self, path: str, labels: Mapping[str, str] | None) -> None:
        """Keys and values of labels."""
        for key, value in sorted((labels or {}).items()):
            self.check(path, key, label_key_errors)
            self.check(path, value, label_value_errors)

    def _add(self, issue: Issue) -> None:
        path, message = issue
        self._found[f"{self._prefix}{path}: {message}"] = None
