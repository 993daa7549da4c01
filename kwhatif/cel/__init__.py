r"""Kubernetes' CEL: device selectors, and expressions over plain data.

The engine is cel-expr-python, Google's own bindings to cel-cpp. Of the engines on PyPI it is the only one with a type
checker, optional types, two-variable comprehensions and RE2. It evaluates
a selector on a device in some ten microseconds; cel-python takes ten times as long, and like
common-expression-language, which is as fast, it lacks all of the above.

What its bindings lack is made up for here: Kubernetes' types and libraries, and the scheduler's words for what goes
wrong. Known differences to Kubernetes:

* expressions nested more than 32 levels deep do not compile (cel-go: 250), nor do chains of more than some 30 operators
  `+` or `-`; the bindings pass no option for that to the engine;
* what the API server would refuse may compile here, and what does not compile says so in the engine's words: no such
  selector is ever stored;
* the cost of an evaluation is bounded before it begins (`cost.py`), not counted on the way. Upstream stops at 1,000,000
  units, and the API server stores no selector that it estimates to cost more; here, what might cost more than that with
  data of this size is refused with upstream's error, even if this time it would cost less. 10,000 rounds of all its
  comprehensions end an evaluation as well: only a long list that the expression makes by itself can show that;
* types such as `net.IP` cannot be named in an expression;
* `device` bound to another name is not type-checked, and its unknown domains are errors;
* a version that went through `dyn()`, or a URL, equals nothing, instead of being an error, and NaN is ordered;
* a raw string that ends with a backslash is refused;
* `format()` writes `%e` and maps otherwise, and where its arguments are not a literal list, it takes more of them.

Nothing heavy is imported before the first expression is compiled.
"""

from __future__ import annotations

from kwhatif.cel.device import AttributeValue, CompiledDeviceSelector, DeviceView, compile_device_selector
from kwhatif.cel.errors import CelCompileError, CelError, CelRuntimeError
from kwhatif.cel.program import Program, compile_expression
from kwhatif.cel.semver import Semver

__all__ = [
    "AttributeValue",
    "CelCompileError",
    "CelError",
    "CelRuntimeError",
    "CompiledDeviceSelector",
    "DeviceView",
    "Program",
    "Semver",
    "compile_device_selector",
    "compile_expression",
]
