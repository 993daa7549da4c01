"""The CEL engine: Google's cel-cpp through its own Python bindings, imported when the first expression is compiled.

An expression is parsed and type-checked in an environment with Kubernetes' declarations, rewritten (`rewrite.py`), and
evaluated in another environment, in which Kubernetes' types are byte strings (`values.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from kwhatif.cel import values
from kwhatif.cel.checked import Checked
from kwhatif.cel.checker import cel_type, engine
from kwhatif.cel.library import FUNCTIONS
from kwhatif.cel.library.function import Function
from kwhatif.cel.messages import CelCompileError, CelRuntimeError, plain, runtime_error
from kwhatif.cel.rewrite import rewrite

# The bindings have no useful static types: this is their class.
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
    #: Operator -> the overload that it replaces, which error messages name (`rewrite`).
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
        CelCompileError: the engine cannot make a program of it.
    """
    operators = rewrite(checked)
    try:
        return EngineProgram(_runner().deserialize(checked.serialize()), operators)
    except (RuntimeError, ValueError) as error:
        raise CelCompileError(f"program instantiation failed: {plain(str(error))}") from None
