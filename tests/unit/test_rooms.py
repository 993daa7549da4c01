"""No room is so big that a newcomer gets lost in it, and no two rooms lead to each other."""

import ast
import re
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import kwhatif

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


def _imported(source: str, modules: Mapping[str, str]) -> set[str]:
    """Which of the modules a source imports: on top, within a function, or for type checking only."""
    found = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found.update(name if name in modules else str(node.module) for name in names)
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


def test_the_architecture_names_what_is_there() -> None:
    root = _PACKAGE.parent
    text = (root / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+(?:\.pyi?)?)`", text)) - {"backend/queue"}  # which is upstream's
    places = [_PACKAGE, root]
    assert len(named) > 20
    assert {
        name for name in named if not any((at / name).exists() or (at / f"{name}.py").exists() for at in places)
    } == set()
