"""Label selectors, compiled (`staging/src/k8s.io/apimachinery/pkg/labels/selector.go`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from kwhatif.kube.matching.label_syntax import label_key_errors, label_value_errors
from kwhatif.kube.model.meta import LabelSelector, Requirement

_SEPARATOR = re.compile(r"[(),]")
_IN = re.compile(r"(?P<key>\S+)\s+(?P<operator>in|notin)\s+\((?P<values>[^()]*)\)")

Labels = Mapping[str, str]
Test = Callable[[Labels], bool]


class SelectorError(ValueError):
    """The selector is not valid; the message is the API machinery's."""

    def __init__(self, problems: Sequence[str]) -> None:
        #: All problems.
        self.problems = tuple(dict.fromkeys(problems))
        together = ", ".join(self.problems)
        super().__init__(together if len(self.problems) == 1 else f"[{together}]")


class Selector:
    """A conjunction of requirements on labels; without requirements it is empty and matches everything."""

    __slots__ = ("_equals", "_tests", "empty", "keys", "nothing")

    def __init__(
        self,
        equals: Sequence[tuple[str, str]] = (),
        tests: Sequence[tuple[str, Test]] = (),
        *,
        nothing: bool = False,
    ) -> None:
        self._equals = tuple(equals)
        #: Each with the key of the label that it reads.
        self._tests = tuple(tests)
        #: Whether it matches no labels at all, because it was made from a missing selector.
        self.nothing = nothing
        #: Whether it has no requirements (upstream's `Selector.Empty()`; `labels.Nothing()` is not empty).
        self.empty = not (equals or tests or nothing)
        #: The label keys that the result can depend on.
        self.keys = frozenset(key for key, _ in self._equals) | frozenset(key for key, _ in tests)

    def matches(self, labels: Labels) -> bool:
        """Whether all requirements hold for `labels`."""
        if self.nothing:
            return False
        get = labels.get
        for key, value in self._equals:
            if get(key) != value:
                return False
        return not self._tests or all(test(labels) for _, test in self._tests)

    @property
    def pair(self) -> tuple[str, str] | None:
        """A label that everything it matches must have; None if it requires no single one."""
        return self._equals[0] if self._equals else None

    def and_equals(self, pairs: Sequence[tuple[str, str]]) -> Selector:
        """This selector with more `key = value` requirements; one that matches nothing stays so."""
        return self.and_selector(Selector(pairs)) if pairs else self

    def and_selector(self, other: Selector) -> Selector:
        """Both selectors' requirements."""
        return Selector(self._equals + other._equals, self._tests + other._tests, nothing=self.nothing or other.nothing)


NOTHING = Selector(nothing=True)
EVERYTHING = Selector()


_INT64 = re.compile(r"([+-]?)(?=[0-9])0*+([0-9]{0,19})")


def parse_int64(text: str) -> int | None:
    """Go's `strconv.ParseInt(text, 10, 64)`: a sign and digits only; None if it fails."""
    match = _INT64.fullmatch(text)
    if match is None:
        return None
    number = int(match[1] + (match[2] or "0"))
    return number if -(2**63) <= number < 2**63 else None


def _compare(key: str, bound: int, sign: int) -> Test:
    def test(labels: Labels) -> bool:
        number = parse_int64(labels[key]) if key in labels else None
        return number is not None and (number - bound) * sign > 0

    return test


def quoted(values: str | Sequence[str]) -> str:
    """A value as the API machinery's messages print it; an empty list is a nil slice there."""
    return json.dumps(
        values or None if isinstance(values, tuple) else values, ensure_ascii=False, separators=(",", ":")
    )


def _values_problem(requirement: Requirement) -> str | None:
    """What is wrong with the number or form of the values, given the operator."""
    values = requirement.values
    match requirement.operator:
        case "In" | "NotIn" if not values:
            return "for 'in', 'notin' operators, values set can't be empty"
        case "Exists" | "DoesNotExist" if values:
            return "values set must be empty for exists and does not exist"
        case "Gt" | "Lt" if len(values) != 1:
            return "for 'Gt', 'Lt' operators, exactly one value is required"
    return None


def _problems(requirement: Requirement, path: str) -> list[str]:
    key, values = requirement.key, requirement.values
    problems = []
    if wrong := label_key_errors(key):
        problems.append(f"{path}key: Invalid value: {quoted(key)}: {'; '.join(wrong)}")
    if problem := _values_problem(requirement):
        problems.append(f"{path}values: Invalid value: {quoted(values)}: {problem}")
    if requirement.operator in ("Gt", "Lt"):
        problems += [
            f"{path}values[{index}]: Invalid value: {quoted(value)}: "
            "for 'Gt', 'Lt' operators, the value must be an integer"
            for index, value in enumerate(values)
            if parse_int64(value) is None
        ]
    problems += [
        f"{path}values[{index}][{key}]: Invalid value: {quoted(value)}: {'; '.join(wrong)}"
        for index, value in enumerate(values)
        if (wrong := label_value_errors(value))
    ]
    return problems


def compile_requirement(requirement: Requirement, path: str = "") -> Test:
    """Compile a requirement into a test of labels (`NewRequirement`); `path` prefixes the fields in messages.

    Raises:
        SelectorError: the key, the operator or a value is not valid, or the operator does not allow the values.
    """
    if problems := _problems(requirement, path):
        raise SelectorError(problems)
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case "In":
            return lambda labels: labels.get(key) in values
        case "NotIn":
            return lambda labels: key not in labels or labels[key] not in values
        case "Exists":
            return lambda labels: key in labels
        case "DoesNotExist":
            return lambda labels: key not in labels
        case "Gt" | "Lt" as operator:
            bound = parse_int64(requirement.values[0])
            assert bound is not None
            return _compare(key, bound, 1 if operator == "Gt" else -1)
    raise SelectorError([f"{path}operator: {quoted(requirement.operator)} is not a valid selector operator"])


def compile_selector(selector: LabelSelector | None) -> Selector:
    """Compile a `metav1.LabelSelector`: a missing one matches nothing, an empty one everything.

    Raises:
        SelectorError: unknown operator, an invalid key or value, or values that the operator does not allow.
    """
    if selector is None:
        return NOTHING
    if not selector.match_labels and not selector.match_expressions:
        return EVERYTHING
    for key, value in selector.match_labels.items():
        if label_key_errors(key) or label_value_errors(value):
            raise SelectorError(_problems(Requirement(key=key, operator="In", values=(value,)), ""))
    tests = []
    for requirement in selector.match_expressions:
        if requirement.operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            raise SelectorError([f"{quoted(requirement.operator)} is not a valid label selector operator"])
        tests.append((requirement.key, compile_requirement(requirement)))
    return Selector(tuple(selector.match_labels.items()), tests)


def selector_of_map(labels: Labels) -> Selector:
    """The selector `key = value` for every pair (Services, ReplicationControllers)."""
    return Selector(tuple(labels.items()))


@lru_cache(64)
def parse_selector(text: str) -> Selector:
    """The selector that kubectl writes as `zone=b,disk!=ssd,!gpu,tier in (a,b)`; "" selects everything.

    Raises:
        SelectorError: it is not one.
    """
    return (
        compile_selector(LabelSelector(match_expressions=tuple(map(_requirement, _split(text)))))
        if text
        else EVERYTHING
    )


def _split(text: str) -> Iterator[str]:
    """The requirements: parts between commas that are not in brackets."""
    start, is_open = 0, False
    for found in _SEPARATOR.finditer(text):
        if found[0] != ",":
            is_open = found[0] == "("
        elif not is_open:
            yield text[start : found.start()]
            start = found.end()
    yield text[start:]


def _requirement(text: str) -> Requirement:
    text = text.strip()
    if found := _IN.fullmatch(text):
        values = tuple(value.strip() for value in found["values"].split(","))
        return Requirement(key=found["key"], operator="In" if found["operator"] == "in" else "NotIn", values=values)
    for sign, operator in (("!=", "NotIn"), ("==", "In"), ("=", "In")):
        key, found_sign, value = text.partition(sign)
        if found_sign:
            return Requirement(key=key.strip(), operator=operator, values=(value.strip(),))
    if text.startswith("!"):
        return Requirement(key=text[1:].strip(), operator="DoesNotExist")
    return Requirement(key=text, operator="Exists")


def describe(requirement: Requirement) -> str:
    """A requirement in kubectl's notation: `disk in (nvme,ssd)`, `!gpu`, `cores>8`."""
    key, values = requirement.key, ",".join(sorted(requirement.values))
    match requirement.operator:
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
        case "Gt":
            return f"{key}>{values}"
        case "Lt":
            return f"{key}<{values}"
    return key


def selector_text(selector: LabelSelector | None) -> str:
    """The selector in kubectl's notation, sorted by key; `<none>` matches nothing, `<all>` everything."""
    if selector is None:
        return "<none>"
    parts = [(key, f"{key}={value}") for key, value in selector.match_labels.items()]
    parts += ((requirement.key, describe(requirement)) for requirement in selector.match_expressions)
    return ",".join(text for _, text in sorted(parts)) or "<all>"
