"""The engine's parser and type checker, in the environment that Kubernetes declares (`environment.yaml`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module, resources
from typing import Any

from kwhatif.cel import logic, shapes, values
from kwhatif.cel.checked import Checked
from kwhatif.cel.errors import CelCompileError, CelError
from kwhatif.cel.library.formats import FORMATS
from kwhatif.cel.messages import located, plain
from kwhatif.cel.shapes import NO_OVERLOAD, NOTHING
from kwhatif.cel.validate import Invalid, refuse_shapes

_NUMBERS = ("INT", "UINT", "DOUBLE")


@lru_cache(maxsize=1)
def engine() -> Any:
    """The bindings' module."""
    try:
        return import_module("cel_expr_python.cel")
    except ImportError as error:
        raise CelError(
            f"CEL expressions need the package cel-expr-python, which cannot be imported: {error}"
        ) from error


def cel_type(name: str) -> Any:
    """The type of this CEL name in the engine; a map type is written `map(key, value)`."""
    types = engine().Type
    if name.startswith("map("):
        key, _, value = name[4:-1].partition(", ")
        return types.Map(cel_type(key), cel_type(value))
    if name in values.KUBERNETES_TYPES or name == NOTHING:
        return types.AbstractType(name)
    return types("google.protobuf.Any") if name == "any" else getattr(types, name.upper())


def _merged() -> Any:
    """Overloads of functions that others declare: comparisons across numeric types, searching lists."""
    cel = engine()
    types = cel.Type
    pairs = [(left, right) for left in _NUMBERS for right in _NUMBERS if left != right]
    comparisons = [
        cel.FunctionDecl(
            operator,
            [
                cel.Overload(f"{operator}({a},{b})", types.BOOL, [getattr(types, a), getattr(types, b)])
                for a, b in pairs
            ],
        )
        for operator in ("_<_", "_<=_", "_>_", "_>=_")
    ]
    search = [types.List(types.DYN), types.DYN]
    searches = [
        cel.FunctionDecl(name, [cel.Overload(f"list.{name}", types.INT, search, is_member=True)])
        for name in ("indexOf", "lastIndexOf")
    ]
    return cel.CelExtension("kubernetes.merged", comparisons + searches)


def _configuration() -> Any:
    text = resources.files("kwhatif.cel").joinpath("environment.yaml").read_text("utf-8")
    return engine().NewEnvConfigFromYaml(text)


def _in_all_shapes(name: str) -> Any:
    """A function of that name that nothing fits, see `shapes.py`."""
    cel = engine()
    overloads = [
        cel.Overload(
            f"{NO_OVERLOAD}{name} {count} {is_member}", cel.Type.DYN, [cel_type(NOTHING)] * count, is_member=is_member
        )
        for count in range(6)
        for is_member in (False, True)
        if count or not is_member
    ]
    return cel.FunctionDecl(name, overloads)


def _operand() -> Any:
    """A function that takes anything, see `logic.py`."""
    cel = engine()
    return cel.FunctionDecl(logic.OPERAND, [cel.Overload(logic.OPERAND, cel.Type.DYN, [cel.Type.DYN])])


@lru_cache(maxsize=16)
def checker(variables: tuple[tuple[str, str], ...], in_all_shapes: frozenset[str] = frozenset()) -> Any:
    """The environment for expressions over these variables, with functions that are there for messages only."""
    cel = engine()
    named_format = cel_type("kubernetes.NamedFormat")
    return cel.NewEnv(
        config=_configuration(),
        extensions=[_merged()],
        functions=[
            *(
                cel.FunctionDecl(f"format.{name}", [cel.Overload(f"format.{name}", named_format, [])])
                for name in FORMATS
            ),
            *map(_in_all_shapes, in_all_shapes),
            _operand(),
        ],
        variables={name: cel_type(type_name) for name, type_name in variables},
    )


def compile_checked(expression: str, variables: tuple[tuple[str, str], ...]) -> Checked:
    """Parse and type-check an expression over variables of these types.

    Raises:
        CelCompileError: with all that the type checker has to say.
    """
    try:
        return Checked(checker(variables).compile(expression).serialize())
    except (RuntimeError, ValueError, LookupError) as error:
        message = plain(str(error))
    if logic.is_about_logic(message) and (told := _about_logic(expression, variables)):
        raise CelCompileError(f"compilation failed: {told}")
    text, names = shapes.renamed(expression, message)
    checked = None
    if names:
        try:
            checked = Checked(checker(variables, frozenset(names)).compile(text).serialize())
        except (RuntimeError, ValueError, LookupError) as error:
            message = plain(str(error))
    if checked is not None:  # any and dyn fit everywhere in the engine's eyes
        judge(expression, checked, lambda: refuse_shapes(checked, names))
    raise CelCompileError(f"compilation failed: {shapes.as_cel_go(text, message, names)}")


def _about_logic(expression: str, variables: tuple[tuple[str, str], ...]) -> str:
    """What is wrong with operands of `&&` and `||`; "" where that is not all that is wrong."""
    try:
        checked = Checked(checker(variables).compile(logic.in_functions(expression)).serialize())
    except (RuntimeError, ValueError, LookupError):
        return ""
    return logic.complaints(expression, checked)


def judge(expression: str, checked: Checked, check_it: Callable[[], None]) -> None:
    """Run a check of `validate.py`.

    Raises:
        CelCompileError: when it finds something, saying where.
    """
    try:
        check_it()
    except Invalid as invalid:
        text = str(invalid)
        if invalid.node is not None:
            text = f"compilation failed: {located(expression, *checked.column(invalid.node), text)}"
        raise CelCompileError(text) from None
