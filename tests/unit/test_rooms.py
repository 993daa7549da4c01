"""No room is so big that a newcomer gets lost in it, no two rooms lead to each other, and each has its tests beside it."""

import configparser
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import kwhatif
from tests import ROOT

_PACKAGE = Path(kwhatif.__file__).parent
#: How many lines a module may have.
_CEILING = 400


def test_modules_stay_below_the_ceiling() -> None:
    lengths = {
        path.relative_to(_PACKAGE).as_posix(): len(path.read_bytes().splitlines()) for path in _PACKAGE.rglob("*.py")
    }
    assert {name for name, lines in lengths.items() if lines > _CEILING} == set()


def _sources() -> Mapping[str, str]:
    """The source of each module, by its full name."""
    paths = {path.relative_to(_PACKAGE.parent).with_suffix(""): path for path in _PACKAGE.rglob("*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): path.read_text() for name, path in paths.items()}


#: Docstrings, and the imports of a module wherever they stand.
_TEXT = re.compile(r'""".*?"""', re.DOTALL)
_IMPORT = re.compile(r"^[ ]*import ([\w., ]+)|^[ ]*from ([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)


def _imported(source: str, modules: Mapping[str, str]) -> set[str]:
    """Which of the modules a source imports: on top, within a function, or for type checking only."""
    found = set[str]()
    for names, module, members in _IMPORT.findall(_TEXT.sub("", source)):
        found.update(re.findall(r"[\w.]+", names))
        inner = (f"{module}.{name}" for name in re.findall(r"\w+", re.sub(r" as \w+|#.*", "", members)))
        found.update(name if name in modules else module for name in inner)
    return found & modules.keys()


def _circle(modules: Mapping[str, str]) -> Sequence[str]:
    """Modules of which each imports the next, and the last is the first again; none: there is no such circle."""
    try:
        TopologicalSorter({name: _imported(text, modules) - {name} for name, text in modules.items()}).prepare()
    except CycleError as error:
        return error.args[1]
    return ()


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert _circle(_sources()) == ()


def test_a_circle_is_found_wherever_the_import_stands() -> None:
    for place in ("import b", "from b import x", "if TYPE_CHECKING:\n    from b import x", "def f():\n    import b"):
        assert set(_circle({"a": place, "b": "import c", "c": "from a import y"})) == {"a", "b", "c"}


def test_a_class_of_the_questions_has_a_name_of_its_own() -> None:
    questions = (text for name, text in _sources().items() if name.startswith("kwhatif.questions."))
    counts = Counter(name for text in questions for name in re.findall(r"^class ([A-Z]\w+)", text, re.MULTILINE))
    assert counts.total() > 100
    assert [name for name, count in counts.items() if count > 1] == []


def _rows() -> list[set[str]]:
    """The table of layers in CONTRIBUTING.md, row by row: modules and packages."""
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("| layer |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [{name.removesuffix(".py").rstrip("/") for name in re.findall(r"`kwhatif/(.+?)`", cell)} for cell in cells]


def _levels(container: str, named: set[str], linter: Mapping[str, Sequence[str]]) -> Iterator[set[str]]:
    """The layers of a package from the lowest up, as import-linter has them; with those within, where the table has them."""
    for line in reversed(linter[container]):
        level = {f"{container}.{name}".removeprefix("kwhatif.").replace(".", "/") for name in line.split(" | ")}
        if any(name.startswith(f"{layer}/") for layer in level for name in named):
            (layer,) = level
            yield from _levels(f"kwhatif.{layer}", named, linter)
        else:
            yield level


def test_the_table_of_layers_is_what_the_linter_holds() -> None:
    read = configparser.ConfigParser()
    read.read(ROOT / ".importlinter")
    contracts = [read[name] for name in read.sections() if read[name].get("type") == "layers"]
    linter = {each["containers"]: each["layers"].split("\n")[1:] for each in contracts}
    rows = _rows()
    levels = list(_levels("kwhatif", set().union(*rows), linter))
    levels = [level for level in levels if not level <= {"__main__", "_version"}]
    assert len(rows) > 20
    for row in rows:
        left = set(row)
        while left:
            assert left & levels[0], f"the row of {sorted(row)} is out of order: {sorted(levels[0])} come first"
            left, levels[0] = left - levels[0], levels[0] - left
            levels = [level for level in levels if level]
    assert levels == []


#: Test modules of no module, or of all: what they are about.
_OF_NO_MODULE = {
    "api/test_signatures": "the public names of the package, wherever they stand",
    "test_names": "names in documentation and docstrings",
    "test_patterns": "every compiled pattern of the package",
    "test_rooms": "modules, packages, layers, and the folders of tests",
    "words/test_plain_words": "every sentence, wherever it stands",
}


def _is_named_after(name: str, places: set[str]) -> bool:
    """Whether a test is named after a module or package in the same place, perhaps with an aspect of it at the end."""
    folder, _, leaf = name.rpartition("/")
    words = leaf.removeprefix("test_").split("_")
    return any(f"{folder}/{'_'.join(words[:end])}".lstrip("/") in places for end in range(1, len(words) + 1))


def test_each_unit_test_stands_where_what_it_tests_stands() -> None:
    """Beside `kwhatif/a/b.py` there is `tests/unit/a/test_b.py`, or one for each of its aspects: `test_b_of_c.py`."""
    places = {name.partition(".")[2].replace(".", "/") for name in _sources()}
    unit = ROOT / "tests" / "unit"
    tests = {path.relative_to(unit).with_suffix("").as_posix() for path in unit.rglob("test_*.py")}
    assert {name for name in tests if not _is_named_after(name, places)} == _OF_NO_MODULE.keys()


def test_a_test_of_another_place_is_found() -> None:
    places = {"a", "a/b", "a/c_d"}
    assert all(_is_named_after(name, places) for name in ("test_a", "a/test_b", "a/test_b_of_x", "a/test_c_d"))
    assert not any(
        _is_named_after(name, places) for name in ("test_b", "a/test_a", "a/test_c", "b/test_b", "a/test_bx")
    )
