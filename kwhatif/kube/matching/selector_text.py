"""Label selectors as text: `zone in (a,b),!spot` (`apimachinery/pkg/labels/selector.go`, Parse)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kwhatif.kube.matching.label_syntax import label_key_errors
from kwhatif.kube.matching.labels import EVERYTHING, Selector, SelectorError, compile_requirement, quoted
from kwhatif.kube.model.meta import Requirement

_TOKEN = re.compile(r"[=!()<>,]+|[^=!()<>,\s]+")
_SYMBOLS = ("==", "!=", "=", "!", "(", ")", ",", "<", ">")
_KEYWORDS = ("in", "notin")
_END = "end"
_IDENTIFIER = "identifier"
_OPERATORS = {"in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn", "<": "Lt", ">": "Gt"}
#: In the order in which the message names them.
_BINARY = ("in", "notin", "=", "==", "!=", "gt", "lt")


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def as_value(self) -> str:
        """Its kind if a value is expected: there `in` is a value."""
        return _IDENTIFIER if self.kind in _KEYWORDS else self.kind


def parse_selector(text: str) -> Selector:
    """Parse a selector; an empty text matches everything.

    Raises:
        SelectorError: in the API machinery's words.
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
        self._place = 0

    def _next(self) -> _Token:
        token = self._tokens[min(self._place, len(self._tokens) - 1)]
        self._place += 1
        return token

    def _ahead(self) -> _Token:
        return self._tokens[min(self._place, len(self._tokens) - 1)]

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
        """The values up to the closing parenthesis; an absent one beside a comma or parenthesis is the empty value."""
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
