"""`kubernetes.regex` (`k8s.io/apiserver/pkg/cel/library/regex.go`).

`find` needs no Python: `rewrite.py` turns it into a function of the engine that returns the first match, or the
group if the pattern has one. Go's regular expressions and the engine's are both RE2; `findAll`, for which the engine
has nothing of the same semantics, translates a pattern to Python's.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kwhatif.cel.library.function import Function

_CLASS = r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]"  # a "]" that comes first is a literal
_GROUP = r"\((?!\?)|\(\?P?<\w+>"
_GROUPS = re.compile(rf"(?P<keep>\\Q.*?(?:\\E|\Z)|\\.|{_CLASS})|{_GROUP}", re.DOTALL)
_CLASSES = {
    "[:alnum:]": "0-9A-Za-z",
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:space:]": r"\t\n\v\f\r ",
    "[:upper:]": "A-Z",
    "[:word:]": "0-9A-Za-z_",
    "[:xdigit:]": "0-9A-Fa-f",
}
_PYTHON = re.compile(r"\\z|\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\.|\[:\w+:\]|\$", re.DOTALL)


def without_groups(pattern: str) -> str:
    """The same pattern with nothing captured, so that its match is all there is to extract."""
    return _GROUPS.sub(lambda match: match["keep"] or "(?:", pattern)


def _to_python(pattern: str) -> str:
    def translate(match: re.Match[str]) -> str:
        text = match.group()
        if match["quoted"] is not None:
            return re.escape(match["quoted"])
        if text == r"\z" or (text == "$" and "(?m" not in pattern):
            return r"\Z"
        return _CLASSES.get(text, text)

    return _PYTHON.sub(translate, pattern)


@lru_cache(maxsize=256)
def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(_to_python(pattern), re.ASCII)
    except re.error as error:
        raise ValueError(f"Illegal regex: error parsing regexp: {error}: `{pattern}`") from None


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """`text.findAll(pattern)` and `text.findAll(pattern, limit)`."""
    found: list[str] = []
    end = -1
    for match in _compile(pattern).finditer(text):
        if len(found) == limit:
            break
        # Go, unlike Python, ignores an empty match right after another match.
        if match.end() > match.start() or match.start() != end:
            found.append(match.group())
        end = match.end()
    return found


FUNCTIONS = (
    Function("@withoutGroups", ("string",), "string", without_groups),
    Function("findAll", ("string", "string"), "dyn", find_all, member=True),
    Function("findAll", ("string", "string", "int"), "dyn", find_all, member=True),
)
