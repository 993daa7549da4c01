"""The CEL engine: Google's cel-cpp with its Python bindings, imported when the first expression is compiled.

An expression is parsed and type-checked in an environment with Kubernetes' declarations (`environment.yaml`), rewritten
(`rewrite.py`), and evaluated in another environment, in which Kubernetes' types are byte strings (`values.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module, resources
from typing import Any, NamedTuple

from kwhatif.cel import values
from kwhatif.cel.checked import Checked
from kwhatif.cel.formats import FORMATS
from kwhatif.cel.library import FUNCTIONS
from kwhatif.cel.messages import CelCompileError, CelError, CelRuntimeError, plain, runtime_error
from kwhatif.cel.rewrite import rewrite
from kwhatif.cel.values import Function

#: The maximum length in bytes of a device selector in the API server (`CELSelectorExpressionMaxLength` in
#: `k8s.io/api/resource/v1/types.go`).
MAX_LENGTH = 10 * 1024

_NUMBERS = ("INT", "UINT", "DOUBLE")


@lru_cache(maxsize=1)
def engine() -> Any:
    """The module of the bindings."""
    try:
        return import_module("cel_expr_python.cel")
    except ImportError as error:
        raise CelError(
            f"CEL expressions need the package cel-expr-python, which cannot be imported: {error}"
        ) from error


def cel_type(name: str) -> Any:
    """The engine's type for a CEL type name; a map type is written `map(key, value)`."""
    types = engine().Type
    if name.startswith("map("):
        key, _, value = name[4:-1].partition(", ")
        return types.Map(cel_type(key), cel_type(value))
    if name in values.KUBERNETES_TYPES:
        return types.AbstractType(name)
    return types("google.protobuf.Any") if name == "any" else getattr(types, name.upper())


def _merged() -> Any:
    """Additional overloads of existing functions: comparisons of different numeric types, and searching lists."""
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
        CelCompileError: with the engine's message instead of cel-go's, as the API server never stores such a selector.
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


# The bindings have no useful static types: this stands for their class of values.
Value = Any


_RUN_TIME = """
extensions:
- {name: bindings}
- {name: lists, version: 2}
- {name: optional}
- {name: regex}
- {name: sets}
- {name: strings, version: 2}
- {name: two-var-comprehensions}
"""


@lru_cache(maxsize=1)
def _runner() -> Any:
    cel = engine()
    by_name: dict[str, list[Any]] = {}
    for function in FUNCTIONS:
        by_name.setdefault(function.name, []).append(_overload(function))
    library = cel.CelExtension("kubernetes", [cel.FunctionDecl(*item) for item in by_name.items()])
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(_RUN_TIME), extensions=[library])


def _overload(function: Function) -> Any:
    def kind(name: str) -> Any:
        return cel_type("bytes" if name in values.KUBERNETES_TYPES else name)

    return engine().Overload(
        f"{function.name}({','.join(function.parameters)})",
        kind(function.result),
        [kind(name) for name in function.parameters],
        is_member=function.member,
        impl=_adapter(function),
    )


def _adapter(function: Function) -> Callable[..., Any]:
    if not values.KUBERNETES_TYPES & {function.result, *function.parameters}:
        return function.implementation

    def adapted(*args: Any) -> Any:
        decoded = (values.decode(name, arg) for name, arg in zip(function.parameters, args, strict=False))
        return values.encode(function.result, function.implementation(*decoded))

    return adapted


class EngineProgram(NamedTuple):
    """An expression that can be evaluated."""

    expression: Any
    #: Operator -> the overload that it replaces (`rewrite`); error messages contain the name of the overload.
    operators: Mapping[str, str]

    def evaluate(self, variables: dict[str, Any]) -> Value:
        """The value of the expression, as the engine's object.

        Raises:
            CelRuntimeError: the evaluation fails.
        """
        try:
            found = self.expression.eval(data=variables)
            text = found.value() if found.type() == _error_type() else None
        except (RuntimeError, ValueError, LookupError) as error:
            text = str(error)
        if text is not None:
            raise CelRuntimeError(runtime_error(text, self.operators))
        return found


@lru_cache(maxsize=1)
def _error_type() -> Any:
    return engine().Type.ERROR


def load(checked: Checked) -> EngineProgram:
    """Prepare a checked expression for evaluation; this rewrites `checked`.

    Raises:
        CelCompileError: the engine cannot prepare the expression.
    """
    operators = rewrite(checked)
    try:
        return EngineProgram(_runner().deserialize(checked.serialize()), operators)
    except (RuntimeError, ValueError) as error:
        raise CelCompileError(f"program instantiation failed: {plain(str(error))}") from None
