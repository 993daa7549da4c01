"""The grammar of edits, in two forms: `taint a1 maint=now:NoExecute`, and `taint: {nodes: [a1], taints: […]}`.

The second form is converted to the words of the first; only YAML values and objects keep their type. So both forms
have the same meaning and the same errors.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from kwhatif.edits.edit import Edit, Wrong
from kwhatif.edits.verbs import VERBS, Reader, Verb, shown
from kwhatif.edits.words import Word
from kwhatif.kube.matching.field_errors import did_you_mean, nearest

#: The longest word of a command line.
_MAX_TEXT = 128 * 1024


def parse_edit(said: str | Mapping[str, Any], reader: Reader) -> Edit:
    """Parse one edit, in either form.

    Raises:
        Wrong: it is not valid.
        InputError: a manifest that it names is not valid.
    """
    if isinstance(said, str):
        if len(said) > _MAX_TEXT:
            raise Wrong(f"has {len(said):,} characters, and may have {_MAX_TEXT:,}", "write it as a map of YAML")
        try:
            verb, *words = split_words(said) or [""]
        except ValueError as wrong:
            raise Wrong(f"cannot be split into words: {str(wrong).lower()}") from wrong
        return _verb(verb).parse(said.strip(), words, reader)
    if type(said) is not dict or len(said) != 1:
        raise Wrong("is not an edit", "write `cordon NODE`, or a map with one verb such as `cordon: [NODE]`")
    ((verb, content),) = said.items()
    found = _verb(verb)
    words = found.words(content)
    return found.parse(_text(verb, words), words, reader)


def split_words(text: str) -> list[str]:
    """Split words as a shell and `shlex.split` do, but in linear time.

    Raises:
        ValueError: a quotation is not closed.
    """
    words: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            is_escape = text[at] != "'" and (len(text) - len(text.rstrip("\\"))) % 2
            raise ValueError("No escaped character" if is_escape else "No closing quotation")
        at, kind, found = part.end(), part.lastgroup, part[part.lastgroup or 0]
        if kind == "space":
            words += [] if word is None else ["".join(word)]
            word = None
        else:
            word = [] if word is None else word
            word.append(_ESCAPED.sub(r"\1", found) if kind == "double" else found)
    return words if word is None else [*words, "".join(word)]


_PART = re.compile(
    r"""(?P<space>[ \t\r\n]+)|(?P<plain>[^ \t\r\n"'\\]+)|'(?P<single>[^']*)'"""
    r"""|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"|\\(?P<escaped>.)""",
    re.DOTALL,
)
#: In double quotes a backslash escapes only these.
_ESCAPED = re.compile(r"""\\(["\\])""")


def _verb(verb: object) -> Verb:
    found = VERBS.get(verb) if isinstance(verb, str) else None
    if found is not None:
        return found
    hint = did_you_mean(nearest(str(verb), VERBS)[:1]) if verb else ""
    wrong = f"{str(verb)!r} is not a verb" if verb else "is empty"
    raise Wrong(wrong, hint or f"the verbs are {', '.join(VERBS)}")


def _text(verb: str, words: Sequence[Word]) -> str:
    """The text form of the edit, with patches as JSON, and manifests as kind and name."""
    return " ".join([verb, *(shlex.quote(word) if isinstance(word, str) else shown(word) for word in words)])
