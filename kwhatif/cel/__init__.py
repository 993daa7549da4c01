r"""Kubernetes' CEL: device selectors, and expressions over plain data.

The engine is cel-expr-python, Google's own bindings to cel-cpp. Of the engines on PyPI it is the only one with a type
checker, optional types, two-variable comprehensions and RE2. It evaluates
a selector on a device in some ten microseconds; cel-python takes ten times as long, and like
common-expression-language, which is as fast, it lacks all of the above.

This package adds what the bindings lack: Kubernetes' types and libraries, and the scheduler's error messages. Known
differences from Kubernetes:

* expressions nested more than 32 levels deep do not compile (cel-go: 250), nor do chains of more than some 30 operators
  `+` or `-`; the bindings pass no option for that to the engine;
* what the API server would reject may compile here, and compile errors are in the engine's words: no such selector is
  ever stored;
* the cost of an evaluation is bounded before it starts (`cost.py`), not counted while it runs. Upstream stops at
  1,000,000 units, and the API server stores no selector with a higher estimate; here, an evaluation that might cost
  more with data of this size fails with upstream's error, even if it would cost less this time. The budgets for all
  expressions of a policy about one object, and for all match conditions of a webhook, are upstream's, spent by these
  bounds; that the API server refuses a new selector whose estimate is too high is not modelled. An evaluation also ends
  after 10,000 iterations of all its comprehensions, which needs a long list that the expression itself makes;
* types such as `net.IP` cannot be named in an expression;
* `device` bound to another name is not type-checked, and its unknown domains are errors;
* a version passed through `dyn()`, or a URL, equals nothing, which is an error upstream, and NaN is ordered;
* a raw string that ends with a backslash is an error;
* `format()` prints `%e` and maps differently, and accepts more arguments than needed if they are not a literal list.

Nothing heavy is imported before the first expression is compiled.
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
