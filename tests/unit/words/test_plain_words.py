"""Help texts, documentation and sentences of reports use plain words: those below are refused."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typer.main import get_command

from kwhatif.cli.app import app
from tests import ROOT

#: The words, as regular expressions; "there is no" and "is no longer" (or "are") are plain.
REFUSED = (
    "nobody",
    "somebody",
    "whoever",
    "whence",
    "so many",
    "anew",
    "alike",
    "in vain",
    "by then",
    "as often as",
    "one after another",
    "tells? of",
    "(?<!there )(?:is|are) no(?= )(?! longer)",
    "asleep",
    "what is there",
    "comes? to no end",
    "for ever",
    "so often",
    "at the earliest",
    "is to be said",
    "hangs? on",
    "who asks",
)
#: A value of the report, and an old spelling of a condition of `--fail-on`, which stay as they are.
CONTRACT = re.compile(r"\b[Aa]sleep\b(?=,|$)")
#: What still has such words. An entry that no longer has any must be removed.
NOT_YET = ("docs/performance.md",)

_WORDS = re.compile(rf"\b({'|'.join(REFUSED)})\b", re.IGNORECASE)
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def _helps(command: Any, path: str) -> Iterator[tuple[str, str]]:
    """The help of a command and its parameters, and of the commands below it."""
    yield (
        f"{path} --help",
        " ".join([command.help or "", *(CONTRACT.sub("", getattr(each, "help", "") or "") for each in command.params)]),
    )
    for name, below in getattr(command, "commands", {}).items():
        yield from _helps(below, f"{path} {name}")


def _strings(source: str, *, docs: bool) -> list[str]:
    """All docstrings of a module, which are statements of their own, or all its other texts."""
    tree = ast.parse(source)
    alone = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    texts = (each for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return [str(each.value) for each in texts if (id(each) in alone) is docs]


def _sentences(source: str) -> str:
    """All texts of a module but its docstrings."""
    return "\n".join(CONTRACT.sub("", each) for each in _strings(source, docs=False))


#: A docstring, a string (which may hold the mark of a comment), or a comment.
_REMARK = re.compile(r'"""(.*?)"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(#[^\n]*)', re.DOTALL)


def _remarks(source: str) -> str:
    """Docstrings and comments of a module, without code."""
    return _CODE.sub("", "\n".join(docstring or comment for docstring, comment in _REMARK.findall(source)))


def _texts() -> Mapping[str, str]:
    found = dict(_helps(get_command(app), "kwhatif"))
    for path in (*ROOT.glob("docs/*.md"), *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY"))):
        found[str(path.relative_to(ROOT))] = _CODE.sub("", path.read_text())
    for room in ("render", "edits", "policy", "report", "sources", "api", "cli"):
        for path in (ROOT / "kwhatif" / room).rglob("*.py"):
            found[str(path.relative_to(ROOT))] = _sentences(path.read_text())
    return found


def _refused(texts: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    found = {name: [match[0] for match in _WORDS.finditer(text)] for name, text in texts.items()}
    return {name: words for name, words in found.items() if words}


def test_docstrings_and_comments_have_none_either() -> None:
    paths = (ROOT / "kwhatif").rglob("*.py")
    assert _refused({str(path.relative_to(ROOT)): _remarks(path.read_text()) for path in paths}) == {}


def test_texts_have_none_of_the_refused_words() -> None:
    assert {name: words for name, words in _refused(_texts()).items() if name not in NOT_YET} == {}


def test_what_is_excused_still_has_such_words() -> None:
    assert [name for name in NOT_YET if name not in _refused(_texts())] == []


def test_the_words_are_found_wherever_they_may_stand() -> None:
    source = '"""Nobody."""\nx = f"drains so many of {1}"\n'
    assert _refused({"a": _sentences(source), "b": _CODE.sub("", "```\nnobody\n```\nIt is no pod, `anew`.\n")}) == {
        "a": ["so many"],
        "b": ["is no"],
    }
    assert _refused({"c": "There is no pod, and it is no longer there."}) == {}
