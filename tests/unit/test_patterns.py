"""Every compiled pattern of the package takes time in proportion to what it reads, whatever it reads."""

import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.sources.dumps.layouts import TOOLS
from tests.pattern_steps import growth

_METHODS = {"match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"}
_SOURCES = sorted(Path(kwhatif.__path__[0]).rglob("*.py"))
#: What stands in the text of a module that uses patterns: to parse all modules takes seconds.
_CUE = re.compile(rf"\.\s*(?:compile|{'|'.join(_METHODS)})\b")
#: What is compiled while running, from data: the expression in the source, and what it may be in the end.
_AT_RUN_TIME = {
    'rb"\\n" + first[1] + rb"(?=- )"': rb"\n    (?=- )",
    'rb"(?<=\\})," + head[1] + rb"(?=\\{)"': rb"(?<=\}),\n    (?=\{)",
    "beginning": rb'\{\s*"metadata"\s*:\s*\{',
    'rb"(?<=\\}),\\s*(?=" + beginning + rb")"': rb'(?<=\}),\s*(?=\{\s*"kind"\s*:\s*"[^"]*"\s*,\s*"apiVersion")',
    're.escape(self.suffix) + r"(?![\\w-]|\\.\\w)"': r"\.example\.com(?![\w-]|\.\w)",
}
#: How the patterns of tables are asked: there the method is not called on the name of the table.
_ASKED = {"layouts.TOOLS": {"fullmatch"}, "requests._NAMED": {"fullmatch"}}
#: Compiled by a function for the rows of a table, which are tried themselves.
_OF_TOOLS = 'rf"(?P<top>(?:[^/]+/)*?){text}"'


def _modules() -> Iterator[Any]:
    for info in pkgutil.walk_packages(kwhatif.__path__, "kwhatif."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def _named() -> dict[str, re.Pattern[Any]]:
    """The patterns that are values of modules and of classes, by name."""
    found: dict[str, re.Pattern[Any]] = {}
    for module in _modules():
        owners = [module, *(value for value in vars(module).values() if isinstance(value, type))]
        for owner in owners:
            for name, value in vars(owner).items():
                members = value if isinstance(value, tuple | list) else [value]
                rows = [item for row in members for item in (row if isinstance(row, tuple) else [row])]
                for number, item in enumerate(rows):
                    if isinstance(item, re.Pattern):
                        found.setdefault(f"{module.__name__}.{name}" + (f" {number}" if number else ""), item)
    return found


def _parsed() -> dict[Path, ast.Module]:
    texts = ((path, path.read_text("utf-8")) for path in _SOURCES)
    return {path: ast.parse(text) for path, text in texts if _CUE.search(text)}


def _uses(trees: dict[Path, ast.Module]) -> dict[str, set[str]]:
    """Name of a pattern, with and without that of the module -> how it is asked there, or anywhere."""
    uses: dict[str, set[str]] = {name: set(methods) for name, methods in _ASKED.items()}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                owner = node.value
                name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
                uses.setdefault(f"{path.stem}.{name}", set()).add(node.attr)
                uses.setdefault(name, set()).add(node.attr)
    return uses


def _inline(trees: dict[Path, ast.Module]) -> list[tuple[str, bool, ast.expr]]:
    """Calls of functions of `re`: the function, whether it runs when its module is imported, and the pattern."""
    found = []
    for tree in trees.values():
        late = {
            id(node)
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for node in ast.walk(function)
        }
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr)) if attr in _METHODS | {"compile"}:
                    found.append((attr, id(node) not in late, node.args[0]))
                case _:
                    pass
    return found


def _cases() -> dict[str, tuple[re.Pattern[Any], str]]:
    trees = _parsed()
    uses = _uses(trees)
    cases: dict[str, tuple[re.Pattern[Any], str]] = {}
    for name, pattern in _named().items():
        module, _, last = name.split()[0].rpartition(".")
        asked = uses.get(f"{module.rpartition('.')[2]}.{last}") or uses.get(last) or {"finditer", "fullmatch"}
        # The stricter ones stand for the others: a search begins everywhere, fullmatch tries every way to the end.
        for method in sorted({"finditer" if m not in {"match", "fullmatch", "search"} else m for m in asked}):
            cases[f"{name}.{method}"] = (pattern, method)
    for function, is_early, source in _inline(trees):
        if is_early:
            continue  # it is a value of its module
        if isinstance(source, ast.Constant):
            cases[f"{source.value!r}.{function}"] = (re.compile(source.value), "finditer")
        elif (text := ast.unparse(source)) != _unparsed(_OF_TOOLS):
            wanted = next(pattern for known, pattern in _AT_RUN_TIME.items() if _unparsed(known) == text)
            cases[f"{text}.{function}"] = (re.compile(wanted), "finditer")
    for tool in TOOLS:
        every = (tool.mark, *tool.objects, tool.notes, tool.never)
        cases |= {f"{tool.name} {n}": (each, "fullmatch") for n, each in enumerate(every) if each is not None}
    return cases


def _unparsed(expression: str) -> str:
    """The expression as all expressions of the source are compared."""
    return ast.unparse(ast.parse(expression, mode="eval"))


@pytest.fixture(autouse=True)
def _deep_enough() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


def test_steps_grow_no_faster_than_the_text() -> None:
    cases = _cases()
    assert len(cases) > 150
    grown = {name: growth(pattern, method, (14, 28)) for name, (pattern, method) in cases.items()}
    # Twice the text, twice the steps: four times as many would be quadratic.
    assert {name: text for name, (steps, text) in grown.items() if steps >= 2.6} == {}


def test_the_counter_sees_what_is_not_linear() -> None:
    assert growth(re.compile(r"(?: +[^\n]*\n)+x"), "match", (14, 28))[0] == float("inf")
    assert growth(re.compile(r"(a+)+b"), "match", (14, 28))[0] == float("inf")
    assert growth(re.compile(r"a*a*b"), "match", (14, 28))[0] > 3
    assert growth(re.compile(r"a+b"), "search", (14, 28))[0] > 3
    assert growth(re.compile(r"a+b"), "match", (14, 28))[0] < 2.6
