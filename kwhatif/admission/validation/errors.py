"""Field errors in the API server's words (`apimachinery/pkg/util/validation/field/errors.go`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kwhatif.admission.outcome import Denied, kind_of
from kwhatif.matching.label_syntax import label_key_errors, label_value_errors
from kwhatif.matching.labels import quoted
from kwhatif.model.cluster import KubernetesObject
from kwhatif.model.quantity import Quantity

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

    def invalid(self, path: str, value: str | Quantity | int, detail: str) -> None:
        """A malformed value."""
        self._add(path, "Invalid value", detail, value)

    def invalid_object(self, path: str, value: Any, detail: str) -> None:
        """Fields that do not go together."""
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        self._found[f"{self._prefix}{path}: Invalid value: {text}" + (f": {detail}" if detail else "")] = None

    def required(self, path: str, detail: str = "") -> None:
        """A value that is missing."""
        self._add(path, "Required value", detail)

    def forbidden(self, path: str, detail: str) -> None:
        """A value that other fields do not allow."""
        self._add(path, "Forbidden", detail)

    def duplicate(self, path: str, value: str) -> None:
        """A value that must be unique."""
        self._add(path, "Duplicate value", "", value)

    def not_found(self, path: str, value: str, detail: str) -> None:
        """A reference to nothing."""
        self._add(path, "Not found", detail, value)

    def unsupported(self, path: str, value: str, allowed: Sequence[str]) -> None:
        """A value that is none of those that there are."""
        self._add(path, "Unsupported value", f"supported values: {', '.join(map(quoted, allowed))}", value)

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

    def _add(self, path: str, problem: str, detail: str, value: str | Quantity | int | None = None) -> None:
        text = f"{self._prefix}{path}: {problem}"
        if value is not None:
            shown = str(value) if isinstance(value, int) and not isinstance(value, Quantity) else quoted(str(value))
            text += f": {shown}"
        self._found[f"{text}: {detail}" if detail else text] = None
