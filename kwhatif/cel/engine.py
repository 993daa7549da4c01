"""The CEL engine: Google's cel-cpp through its own Python bindings, imported when the first expression is compiled.

An expression is parsed and type-checked in an environment that declares what Kubernetes declares, rewritten
(`rewrite.py`), and evaluated in another environment, in which Kubernetes' types are byte strings (`values.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module, resources
from typing import Any, NamedTuple

from kwhatif.cel import values
from kwhatif.cel.checked import Checked
from kwhatif.cel.errors import CelCompileError, CelError, CelRuntimeError
from kwhatif.cel.library import FUNCTIONS
from kwhatif.cel.library.formats import FORMATS
from kwhatif.cel.library.function import Function
from kwhatif.cel.limits import MAX_LENGTH
from kwhatif.cel.messages import located, plain, runtime_error
from kwhatif.cel.rewrite import rewrite
from kwhatif.cel.validate import Invalid, validate

_NUMBERS = ("INT", "UINT", "DOUBLE")
# The bindings have no static types that would help: this is their class.
Value = Any


@lru_cache(maxsize=1)
def _engine() -> Any:
    try:
        return import_module("cel_expr_python.cel")
    except ImportError as error:
        raise CelError(
            f"CEL expressions need the package cel-expr-python, which cannot be imported: {error}"
        ) from error


def cel_type(name: str) -> Any:
    """The type of this CEL name in the engine; a map type is written `map(key, value)`."""
    types = _engine().Type
    if name.startswith("map("):
        key, _, value = name[4:-1].partition(", ")
        return types.Map(cel_type(key), cel_type(value))
    if name in values.KUBERNETES_TYPES:
        return types.AbstractType(name)
    return types("google.protobuf.Any") if name == "any" else getattr(types, name.upper())


def _merged() -> Any:
    """Overloads of functions that others declare: comparisons across numeric types, searching lists."""
    cel = _engine()
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
    return _engine().NewEnvConfigFromYaml(text)


@lru_cache(maxsize=16)
def _checker(variables: tuple[tuple[str, str], ...]) -> Any:
    cel = _engine()
    named_format = cel_type("kubernetes.NamedFormat")
    return cel.NewEnv(
        config=_configuration(),
        extensions=[_merged()],
        functions=[
            cel.FunctionDecl(f"format.{name}", [cel.Overload(f"format.{name}", named_format, [])]) for name in FORMATS
        ],
        variables={name: cel_type(type_name) for name, type_name in variables},
    )


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
    cel = _engine()
    by_name: dict[str, list[Any]] = {}
    for function in FUNCTIONS:
        by_name.setdefault(function.name, []).append(_overload(function))
    library = cel.CelExtension("kubernetes", [cel.FunctionDecl(*item) for item in by_name.items()])
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(_RUN_TIME), extensions=[library])


def _overload(function: Function) -> Any:
    def kind(name: str) -> Any:
        return cel_type("bytes" if name in values.KUBERNETES_TYPES else name)

    return _engine().Overload(
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


def check(expression: str, variables: Mapping[str, str]) -> Checked:
    """Parse and type-check an expression.

    Args:
        expression: the source.
        variables: the types of the variables that it may use, by name.

    Raises:
        CelCompileError: with all that the type checker has to say.
    """
    if len(expression.encode()) > MAX_LENGTH:
        raise CelCompileError(f"Too long: may not be more than {MAX_LENGTH} bytes")
    try:
        checked = Checked(_checker(tuple(variables.items())).compile(expression).serialize())
    except (RuntimeError, ValueError, LookupError) as error:
        raise CelCompileError(f"compilation failed: {plain(str(error))}") from None
    judge(expression, checked, lambda: validate(checked, _error_of_literal))
    return checked


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


@lru_cache(maxsize=1024)
def _error_of_literal(function: str, text: str) -> str:
    call = "''.matches(text)" if function == "matches" else f"{function}(text)"
    try:
        load(Checked(_checker((("text", "string"),)).compile(call).serialize())).evaluate({"text": text})
    except CelRuntimeError as error:
        return error.message
    return ""


class Program(NamedTuple):
    """An expression that can be evaluated."""

    expression: Any
    #: See `rewrite`.
    operators: Mapping[str, str]

    def evaluate(self, variables: dict[str, Any]) -> Value:
        """The value of the expression, as the engine's object.

        Raises:
            CelRuntimeError: when it has none.
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
    return _engine().Type.ERROR


def load(checked: Checked) -> Program:
    """Make a checked expression ready to be evaluated; `checked` is rewritten on the way.

    Raises:
        CelCompileError: when the rewritten expression is too large for the engine.
    """
    operators = rewrite(checked)
    try:
        return Program(_runner().deserialize(checked.serialize()), operators)
    except (RuntimeError, ValueError) as error:
        raise CelCompileError(f"program instantiation failed: {plain(str(error))}") from None
