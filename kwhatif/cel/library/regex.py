"""`kubernetes.regex` (`k8s.io/apiserver/pkg/cel/library/regex.go`).

Go's regular expressions and the engine's are both RE2. So `rewrite.py` turns `find` into a function of the engine that
returns the first match, or the group if the pattern has one. It turns `findAll`, and `find` with a computed pattern,
into another function that puts marks around each match, even an empty one; then the text is split at the marks.
"""

from __future__ import annotations

import re

from kwhatif.cel.library.function import Function

#: A character of Unicode's private planes, which no text of an expression contains.
MARK = "\U0010fffd"
# A "]" at the start is a literal. The engine rejects a class without an end.
_CLASS = r"\[\^?+\]?+(?:\[:\^?\w++:\]|\\.|[^\]\\])*+(?:\]|\\?\Z)"
_GROUP = r"\((?!\?)|\(\?P?<\w+>"
_GROUPS = re.compile(rf"(?P<keep>\\Q.*?(?:\\E|\Z)|\\.|{_CLASS})|{_GROUP}", re.DOTALL)


def without_groups(pattern: str) -> str:
    """The pattern without capturing groups, so that only its match can be extracted."""
    return _GROUPS.sub(lambda match: match["keep"] or "(?:", pattern)


def marked(parts: list[str], limit: int) -> list[str]:
    """The texts between marks, at most `limit` of them; all if it is negative."""
    found = parts[1::2]
    return found if limit < 0 else found[:limit]


def first_marked(parts: list[str]) -> str:
    """The text between the first two marks."""
    return parts[1] if len(parts) > 1 else ""


FUNCTIONS = (
    Function("@firstMarked", ("list",), "string", first_marked),
    Function("@marked", ("list", "int"), "dyn", marked),
)
