"""What the type checker says, in cel-go's words, of calls that fit no overload.

Of a method, cel-go puts the receiver's type before the dot. And where a function is called as a method, or the other
way round, or with another number of arguments than it has, no overload fits in cel-go, while for the engine there is
no such function. Then the expression is compiled once more, for the message: the names of such functions are replaced
by others of the same length, which are declared in all shapes, for a type that nothing has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

#: A type that nothing has.
NOTHING = "kubernetes.Nothing"
#: What the ids of overloads begin with that are there for messages only.
NO_OVERLOAD = "no overload: "

#: Functions of CEL itself and of its extensions.
_STANDARD = """bool bytes double duration dyn int string timestamp type uint size matches
contains endsWith startsWith charAt format join lowerAscii upperAscii replace split substring trim reverse
indexOf lastIndexOf flatten slice sort distinct hasValue value or orValue
getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth getSeconds"""
_ERROR = re.compile(r"^ERROR: <input>:(\d+):(\d+): ", re.MULTILINE)
_UNDECLARED = re.compile(r"ERROR: <input>:(?P<line>\d+):(?P<column>\d+): undeclared reference to '(?P<name>\w+)'")
_NO_OVERLOAD = re.compile(
    r"(?P<place>ERROR: <input>:(?P<line>\d+):(?P<column>\d+): )"
    r"found no matching overload for '(?P<name>[^']+)' applied to '\((?P<types>[^']*)\)'"
)
_TYPES = {
    "*error*": "!error!",
    "null_type": "null",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
}

_WORDS = {
    "has() argument must be a field selection": "invalid argument to has() macro",
    "expression of type 'null_type'": "expression of type 'null'",
    "expression of type 'google.protobuf.Timestamp'": "expression of type 'timestamp'",
    "expression of type 'google.protobuf.Duration'": "expression of type 'duration'",
    "cannot be the range of a comprehension": "cannot be range of a comprehension",
}


@lru_cache(maxsize=1)
def functions() -> frozenset[str]:
    """Names of functions that are declared, without those in namespaces."""
    text = resources.files("kwhatif.cel").joinpath("environment.yaml").read_text("utf-8")
    return frozenset(re.findall(r"^- name: (\w+)(?![\w.])", text, re.MULTILINE)) | frozenset(_STANDARD.split())


def renamed(expression: str, message: str) -> tuple[str, Mapping[str, str]]:
    """The expression in which declared functions that the message calls undeclared have other names, and these."""
    names: dict[str, str] = {}
    text = expression
    for error in _UNDECLARED.finditer(message):
        name = error["name"]
        end = _offset(expression, error)
        if name in functions() and expression[:end].endswith(name):
            other = names.setdefault(name, _unused(expression, len(name), set(names.values())))
            text = text[: end - len(name)] + other + text[end:]
    return text, {other: name for name, other in names.items()}


def _unused(expression: str, length: int, taken: set[str]) -> str:
    letters = (letter * length for letter in "qzjxvkwyQZJXVKWY")
    return next(name for name in letters if name not in expression and name not in taken and name not in functions())


def _offset(expression: str, error: re.Match[str]) -> int:
    lines = expression.split("\n")
    return sum(len(line) + 1 for line in lines[: int(error["line"]) - 1]) + int(error["column"]) - 1


def as_cel_go(expression: str, message: str, names: Mapping[str, str]) -> str:
    """The type checker's message as cel-go has it; `names` are those that stand in for others."""

    def no_overload(error: re.Match[str]) -> str:
        types = error["types"]
        for ours, theirs in _TYPES.items():
            types = re.sub(rf"(?<![\w.]){re.escape(ours)}(?![\w.])", theirs, types)
        before = expression[: _offset(expression, error)]
        told = f"({types})"
        if re.search(rf"\.\s*{re.escape(error['name'])}\s*\Z", before):
            receiver, rest = _first(types)
            told = f"{receiver}.({rest})"
        return f"{error['place']}found no matching overload for '{error['name']}' applied to '{told}'"

    if not expression:
        message = message.replace("<input>:1:1:", "<input>:1:0:")
    for ours, theirs in _WORDS.items():
        message = message.replace(ours, theirs)
    message = _NO_OVERLOAD.sub(no_overload, message)
    for other, name in names.items():
        message = message.replace(other, name)
    return _sorted(message)


def _first(types: str) -> tuple[str, str]:
    """The first of some types, and the others."""
    depth = 0
    for index, character in enumerate(types):
        depth += (character == "(") - (character == ")")
        if not depth and types[index : index + 2] == ", ":
            return types[:index], types[index + 2 :]
    return types, ""


def _sorted(message: str) -> str:
    starts = [match.start() for match in _ERROR.finditer(message)]
    if not starts or starts[0]:
        return message
    errors = [message[start:end].rstrip("\n") for start, end in zip(starts, [*starts[1:], None], strict=True)]
    return "\n".join(sorted(errors, key=_place))


def _place(error: str) -> tuple[int, int]:
    match = _ERROR.match(error)
    assert match is not None
    return int(match[1]), int(match[2])
