"""`kubernetes.regex` (`k8s.io/apiserver/pkg/cel/library/regex.go`).

Go's regular expressions and the engine's are both RE2. So `rewrite.py` turns `find` into a function of the engine that
returns the first match, or the group if the pattern has one. `findAll`, and `find` with a computed pattern, it turns
into another that replaces each match, an empty one as well: by the match between marks, where the text is then split.
"""

from __future__ import annotations

import re

from kwhatif.cel.library.function import Function

#: No text of an expression has this character of Unicode's private planes.
MARK = "\U0010fffd"
# A "]" that comes first is a literal. A class without an end is for the engine to refuse.
_CLASS = r"\[\^?+\]?+(?:\[:\^?\w++:\]|\\.|[^\]\\])*+(?:\]|\\?\Z)"
_GROUP = r"\((?!\?)|\(\?P?<\w+>"
_GROUPS = re.compile(rf"(?P<keep>\\Q.*?(?:\\E|\Z)|\\.|{_CLASS})|{_GROUP}", re.DOTALL)


def without_groups(pattern: str) -> str:
    """The pattern with nothing captured, so that its match is all there is to extract."""
    return _GROUPS.sub(lambda match: match["keep"] or "(?:", pattern)


def marked(parts: list[str], limit: int) -> list[str]:
    """What stands between marks, up to a number of them; all if that is negative."""
    found = parts[1::2]
    return found if limit < 0 else found[:limit]


def first_marked(parts: list[str]) -> str:
    """What stands between the first two marks."""
    return parts[1] if len(parts) > 1 else ""


FUNCTIONS = (
    Function("@firstMarked", ("list",), "string", first_marked),
    Function("@marked", ("list", "int"), "dyn", marked),
)
