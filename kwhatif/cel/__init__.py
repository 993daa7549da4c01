"""Kubernetes' CEL: device selectors, and expressions over plain data.

The engine is cel-expr-python, Google's own bindings to cel-cpp. Of the engines on PyPI it is the only one with a type
checker (whose messages are cel-go's, to the column), optional types, two-variable comprehensions and RE2. It evaluates
a selector on a device in some ten microseconds; cel-python takes ten times as long, and like
common-expression-language, which is as fast, it lacks all of the above.

What its bindings lack is made up for here: Kubernetes' types and libraries, and the scheduler's words for what goes
wrong. Known differences to Kubernetes:

* expressions nested more than 32 levels deep do not compile (cel-go: 250);
* the run-time cost limit is not enforced, see `DeviceSelector.estimated_cost`;
* `type()` of a quantity, version, URL or address is `bytes`; the types cannot be named in an expression;
* `device` bound to another name is not type-checked, and its unknown domains are errors;
* `findAll` matches with Python's regular expressions, which lack RE2's classes of Unicode;
* what `format()` is given is checked when it is evaluated, not before, and `sign` has but one overload;
* the texts of `format.*().validate()`, and of failed conversions of strings, are not upstream's.

Nothing heavy is imported before the first expression is compiled.
"""

from __future__ import annotations

from kwhatif.cel.device import AttributeValue, DeviceSelector, DeviceView, compile_device_selector
from kwhatif.cel.errors import CelCompileError, CelError, CelRuntimeError
from kwhatif.cel.limits import COST_LIMIT, MAX_LENGTH
from kwhatif.cel.program import Program, compile_expression
from kwhatif.cel.semver import Semver

__all__ = [
    "COST_LIMIT",
    "MAX_LENGTH",
    "AttributeValue",
    "CelCompileError",
    "CelError",
    "CelRuntimeError",
    "DeviceSelector",
    "DeviceView",
    "Program",
    "Semver",
    "compile_device_selector",
    "compile_expression",
]
