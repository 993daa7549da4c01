"""The engine's parser and type checker, in the environment that Kubernetes declares (`environment.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module, resources
from typing import Any

from kwhatif.cel import values
from kwhatif.cel.checked import Checked
from kwhatif.cel.library.formats import FORMATS
from kwhatif.cel.messages import CelCompileError, CelError, plain

#: The longest device selector that the API server accepts, in bytes (`CELSelectorExpressionMaxLength` in
#: `k8s.io/api/resource/v1/types.go`).
MAX_LENGTH = 10 * 1024

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
    if name in values.KUBERNETES_TYPES:
        return types.AbstractType(name)
    return types("google.protobuf.Any") if name == "any" else getattr(types, name.upper())


def _merged() -> Any:
    """Additional overloads of existing functions: comparisons across numeric types, searching lists."""
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


@lru_cache(maxsize=16)
def _checker(variables: tuple[tuple[str, str], ...]) -> Any:
    """The environment for expressions over these variables."""
    cel = engine()
    named_format = cel_type("kubernetes.NamedFormat")
    return cel.NewEnv(
        config=_configuration(),
        extensions=[_merged()],
        functions=[
            cel.FunctionDecl(f"format.{name}", [cel.Overload(f"format.{name}", named_format, [])]) for name in FORMATS
        ],
        variables={name: cel_type(type_name) for name, type_name in variables},
    )


def check(expression: str, variables: Mapping[str, str]) -> Checked:
    """Parse and type-check an expression.

    Args:
        expression: the source.
        variables: the types of the variables that it may use, by name.

    Raises:
        CelCompileError: with the engine's message, not cel-go's: the API server stores no such selector.
    """
    if len(expression.encode()) > MAX_LENGTH:
        raise CelCompileError(f"Too long: may not be more than {MAX_LENGTH} bytes")
    try:
        return Checked(_checker(tuple(variables.items())).compile(expression).serialize())
    except (RuntimeError, ValueError, LookupError) as error:
        words = plain(str(error))
        if not expression:
            words = words.replace("<input>:1:1:", "<input>:1:0:", 1)  # cel-go's first column
        raise CelCompileError(f"compilation failed: {words}") from None
