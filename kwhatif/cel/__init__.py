r"""Kubernetes' CEL: device selectors, and expressions over plain data.

The engine is cel-expr-python, Google's Python bindings for cel-cpp. It is the only engine on PyPI with a type checker,
optional types, two-variable comprehensions and RE2. It evaluates a selector on a device in about ten microseconds.
cel-python takes ten times as long; common-expression-language is as fast; both lack all of these features.

This package adds what the bindings lack: Kubernetes' types and libraries, and the scheduler's error messages. Known
differences from Kubernetes:

* expressions nested more than 32 levels deep (cel-go: 250), and chains of more than about 30 operators `+` or `-`, do
  not compile; the bindings have no option for that;
* an expression that the API server rejects may compile here, and compile errors have the engine's texts; but the API
  server never stores such a selector;
* the maximum cost of an evaluation is computed before it starts (`cost.py`); upstream counts the cost during
  evaluation, and stops at 1,000,000 units. Here, an evaluation that might cost more with data of this size fails with
  upstream's error, even if it would cost less with this data. The budgets for all expressions of a policy about one
  object, and for all match conditions of a webhook, are those of upstream; each evaluation spends its maximum cost. The
  API server also rejects a new selector whose estimated cost is too high: this is not modelled. An evaluation also ends
  after 10,000 iterations of all its comprehensions; only a long list that the expression itself creates needs more;
* types such as `net.IP` cannot be named in an expression;
* `device` bound to another name is not type-checked, and its unknown domains are errors;
* a comparison of a version passed through `dyn()`, or of a URL, with a value of another type is false here, and an
  error upstream; NaN is ordered;
* a raw string that ends with a backslash is an error;
* `format()` prints `%e` and maps differently, and accepts too many arguments if they are not a literal list.

The engine is imported only when the first expression is compiled.
"""

from __future__ import annotations

from kwhatif.cel.cost import MATCH_CONDITIONS_BUDGET, CostBudget
from kwhatif.cel.messages import CelCompileError, CelError, CelRuntimeError
from kwhatif.cel.program import (
    AttributeValue,
    CompiledDeviceSelector,
    DeviceView,
    Program,
    compile_device_selector,
    compile_expression,
)
from kwhatif.cel.values import Semver

__all__ = [
    "MATCH_CONDITIONS_BUDGET",
    "AttributeValue",
    "CelCompileError",
    "CelError",
    "CelRuntimeError",
    "CompiledDeviceSelector",
    "CostBudget",
    "DeviceView",
    "Program",
    "Semver",
    "compile_device_selector",
    "compile_expression",
]
