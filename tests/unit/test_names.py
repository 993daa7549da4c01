"""What documentation and docstrings name in backticks is there: a name of the code, a module, a folder, or an option.

Names of others (upstream's functions, tools, placeholders) stand in `names_of_others.txt`, one a line.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import kwhatif
from tests import ROOT

_PACKAGE = Path(kwhatif.__file__).parent
_OTHERS = Path(__file__).with_name("names_of_others.txt")
_DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
_COMMENT = re.compile(r"(?<![\"'\w])#.*")
_QUOTED = re.compile(r"(?<![`\w])`([^`\n]+)`(?!`)")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
_OPTION = re.compile(r"--[a-z-]+")


@cache
def _modules() -> dict[Path, list[str]]:
    """Each module: its code, and between the pieces of it its docstrings."""
    return {path: _DOCSTRING.split(path.read_text()) for path in sorted(_PACKAGE.rglob("*.py"))}


@cache
def _words() -> set[str]:
    """All words of the code, the schemas and the scripts; one of several parts also as Kubernetes writes its fields."""
    texts = [_COMMENT.sub("", " ".join(parts[::2])) for parts in _modules().values()]
    other = (*(_PACKAGE / "schema").glob("*.json"), *(ROOT / "ci").glob("*.*"), ROOT / "action.yml", ROOT / "Makefile")
    texts += [path.read_text() for path in other]
    words = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}
    words |= {part for path in _modules() for part in path.relative_to(_PACKAGE).with_suffix("").parts}
    return words | {re.sub(r"(?<=.)_(\w)", lambda found: found[1].upper(), word.strip("_")) for word in words}


@cache
def _files() -> set[str]:
    """The names of all files that documentation may mean without a folder."""
    folders = ("kwhatif", "docs", "tests", "scripts", "fixtures", "benchmarks", "ci")
    return {path.name for path in ROOT.iterdir()} | {
        path.name for folder in folders for path in (ROOT / folder).rglob("*.*")
    }


def _is_there(quoted: str) -> bool:
    """Whether that is a name of ours; what has the form of neither a name, a path nor an option is taken to be one."""
    if _NAME.fullmatch(quoted):
        if quoted.endswith(".go"):
            return True
        return quoted in _files() or all(part in _words() for part in quoted.removesuffix("()").split("."))
    if _OPTION.fullmatch(quoted):
        return quoted[2:].replace("-", "_") in _words() or quoted[2:] in _option_names()
    first = quoted.partition("/")[0]
    if (
        _PATH.fullmatch(quoted)
        and not quoted.endswith(".go")
        and first != "build"  # what commands make
        and ((_PACKAGE / first).is_dir() or (ROOT / first).is_dir())
    ):
        return any((place / name).exists() for place in (ROOT, _PACKAGE) for name in (quoted, f"{quoted}.py"))
    return True


@cache
def _option_names() -> set[str]:
    """Names of options as they are written, where they differ from those of parameters."""
    texts = (parts for path, parts in _modules().items() if path.parent.name in ("cli", "api"))
    return {name for parts in texts for name in re.findall(r'"([a-z]+(?:-[a-z]+)+)"', " ".join(parts[::2]))}


def _quoted() -> Iterator[tuple[str, str]]:
    """What is quoted, and the file that quotes it."""
    for path, parts in _modules().items():
        for docstring in parts[1::2]:
            for quoted in _QUOTED.findall(docstring):
                yield quoted, path.relative_to(ROOT).as_posix()
    for path in (*(ROOT / "docs").rglob("*.md"), ROOT / "CONTRIBUTING.md", ROOT / "README.md"):
        for quoted in _QUOTED.findall(re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)):
            yield quoted, path.relative_to(ROOT).as_posix()


def test_what_is_named_is_there() -> None:
    others = set(_OTHERS.read_text().split())
    unknown = {(name, place) for name, place in _quoted() if name not in others and not _is_there(name)}
    assert sorted(unknown) == [], f"a name of upstream, or of another tool? then it goes into {_OTHERS.name}"


def test_each_name_of_others_is_listed_once() -> None:
    others = _OTHERS.read_text().split()
    assert others == sorted(set(others))


def test_what_is_not_there_is_found() -> None:
    assert all(
        map(_is_there, ("State.apply", "kwhatif/state", "state/state.py", "state/state", "--fail-on", "nodeName"))
    )
    assert all(map(_is_there, ("--no-admission", "kube-scheduler", "pkg/scheduler/schedule_one.go", "cordon a1")))
    for gone in ("State.implied", "FakeWorld()", "state/fork.py", "docs/gone.md", "--if-not-there", "nodeNameless"):
        assert not _is_there(gone)
