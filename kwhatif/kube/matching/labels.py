"""Label selectors, compiled and parsed (`staging/src/k8s.io/apimachinery/pkg/labels/selector.go`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from kwhatif.kube.matching.field_errors import aggregate, label_key_errors, label_value_errors, quoted
from kwhatif.kube.model.meta import LabelSelector, Requirement

Labels = Mapping[str, str]
Test = Callable[[Labels], bool]


class SelectorError(ValueError):
    """The selector is not valid; with the API machinery's message."""

    def __init__(self, problems: Sequence[str]) -> None:
        #: All problems, without duplicates.
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__(aggregate(self.problems))


class Selector:
    """Requirements on labels, all of which must be met; a selector without requirements matches everything."""

    __slots__ = ("_equals", "_tests", "empty", "keys", "nothing")

    def __init__(
        self,
        equals: Sequence[tuple[str, str]] = (),
        tests: Sequence[tuple[str, Test]] = (),
        *,
        nothing: bool = False,
    ) -> None:
        self._equals = tuple(equals)
        #: (label key, test of this label).
        self._tests = tuple(tests)
        #: Whether it matches nothing, because it was made from a missing selector.
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
        """A label (key, value) that every match has; None if no such label is known."""
        return self._equals[0] if self._equals else None

    def and_equals(self, pairs: Sequence[tuple[str, str]]) -> Selector:
        """This selector with more `key = value` requirements; a selector that matches nothing is unchanged."""
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


def _values_problem(requirement: Requirement) -> str | None:
    """The problem with the number or syntax of the values for this operator; None if there is none."""
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
    """Compile a `metav1.LabelSelector`: a missing selector matches nothing, an empty selector matches everything.

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


_TOKEN = re.compile(r"[=!()<>,]+|[^=!()<>,\s]+")
_SYMBOLS = ("==", "!=", "=", "!", "(", ")", ",", "<", ">")
_KEYWORDS = ("in", "notin")
_END = "end"
_IDENTIFIER = "identifier"
_OPERATORS = {"in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn", "<": "Lt", ">": "Gt"}
#: The operators with values, in the order of the error message.
_BINARY = ("in", "notin", "=", "==", "!=", "gt", "lt")


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def as_value(self) -> str:
        """The kind of the token where a value is expected: there `in` is a value."""
        return _IDENTIFIER if self.kind in _KEYWORDS else self.kind


# --- selectors as text: `zone in (a,b),!spot` (`Parse`) -----------------------------------------------


@lru_cache(64)
def parse_selector(text: str) -> Selector:
    """Parse a selector; an empty text matches everything.

    Raises:
        SelectorError: the text is not a selector; with the API machinery's message.
    """
    requirements = _Parser(text).requirements()
    if not requirements:
        return EVERYTHING
    return Selector((), [(requirement.key, compile_requirement(requirement)) for requirement in requirements])


def _tokens(text: str) -> Sequence[_Token]:
    found: list[_Token] = []
    for match in _TOKEN.finditer(text):
        run = match[0]
        if run[0] not in "=!()<>,":
            found.append(_Token(run if run in _KEYWORDS else _IDENTIFIER, run))
            continue
        while run:
            symbol = next(symbol for symbol in _SYMBOLS if run.startswith(symbol))
            found.append(_Token(symbol, symbol))
            run = run[len(symbol) :]
    return [*found, _Token(_END, "")]


def _error(message: str) -> SelectorError:
    return SelectorError([message])


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._index = 0

    def _next(self) -> _Token:
        token = self._tokens[min(self._index, len(self._tokens) - 1)]
        self._index += 1
        return token

    def _ahead(self) -> _Token:
        return self._tokens[min(self._index, len(self._tokens) - 1)]

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            ahead = self._ahead()
            if ahead.kind == _END:
                return found
            if ahead.as_value not in (_IDENTIFIER, "!"):
                raise _error(f"found '{ahead.text}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except SelectorError as wrong:
                raise _error(f"unable to parse requirement: {wrong}") from None
            token = self._next()
            if token.kind == _END:
                return found
            if token.kind != ",":
                raise _error(f"found '{token.text}', expected: ',' or 'end of string'")
            if self._ahead().as_value not in (_IDENTIFIER, "!"):
                raise _error(f"found '{self._ahead().text}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        token = self._next()
        absent = token.kind == "!"
        if absent:
            token = self._next()
        if token.as_value != _IDENTIFIER:
            raise _error(f"found '{token.text}', expected: identifier")
        key = token.text
        if wrong := label_key_errors(key):
            raise _error(f"<nil>: Invalid value: {quoted(key)}: {'; '.join(wrong)}")
        if absent or self._ahead().kind in (_END, ","):
            return self._checked(Requirement(key=key, operator="DoesNotExist" if absent else "Exists"))
        operator = self._next()
        if operator.kind not in _OPERATORS:
            raise _error(f"found '{operator.text}', expected: {', '.join(_BINARY)}")
        values = self._values() if operator.kind in _KEYWORDS else (self._value(),)
        return self._checked(Requirement(key=key, operator=_OPERATORS[operator.kind], values=values))

    @staticmethod
    def _checked(requirement: Requirement) -> Requirement:
        compile_requirement(requirement)
        return requirement

    def _value(self) -> str:
        if self._ahead().kind in (_END, ","):
            return ""
        token = self._next()
        if token.as_value != _IDENTIFIER:
            raise _error(f"found '{token.text}', expected: identifier")
        return token.text

    def _values(self) -> tuple[str, ...]:
        token = self._next()
        if token.kind != "(":
            raise _error(f"found '{token.text}' expected: '('")
        ahead = self._ahead()
        if ahead.kind == ")":
            self._next()
            return ("",)
        if ahead.as_value not in (_IDENTIFIER, ","):
            raise _error(f"found '{ahead.text}', expected: ',', ')' or identifier")
        values = self._identifiers()
        self._next()
        return values

    def _identifiers(self) -> tuple[str, ...]:
        """The values up to the closing parenthesis; a missing value beside a comma or parenthesis is an empty value."""
        found: set[str] = set()
        while True:
            token = self._next()
            if token.as_value == _IDENTIFIER:
                found.add(token.text)
                if self._ahead().kind == ")":
                    return tuple(sorted(found))
                if self._ahead().kind != ",":
                    raise _error(f"found '{self._ahead().text}', expected: ',' or ')'")
            elif token.kind == ",":
                if not found or self._ahead().kind in (")", ","):
                    found.add("")
                if self._ahead().kind == ")":
                    return tuple(sorted(found))
            else:
                raise _error(f"found '{token.text}', expected: ',', or identifier")
