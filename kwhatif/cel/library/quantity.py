"""`kubernetes.quantity` (`k8s.io/apiserver/pkg/cel/library/quantity.go`); comparisons are in `rewrite.py`."""

from __future__ import annotations

from math import inf

from kwhatif.cel.library.function import Function, accepts
from kwhatif.kube.model.quantity import NANO, fits, parse_quantity


def is_integer(nanos: int) -> bool:
    """`q.isInteger()`."""
    return nanos % NANO == 0 and fits(nanos // NANO)


def as_integer(nanos: int) -> int:
    """`q.asInteger()`."""
    if not is_integer(nanos):
        raise ValueError("cannot convert value to integer")
    return nanos // NANO


def as_approximate_float(nanos: int) -> float:
    """`q.asApproximateFloat()`."""
    try:
        return nanos / NANO
    except OverflowError:
        return inf if nanos > 0 else -inf


def add_int(nanos: int, units: int) -> int:
    """`q.add(1)`."""
    return nanos + units * NANO


def sub_int(nanos: int, units: int) -> int:
    """`q.sub(1)`."""
    return nanos - units * NANO


_QUANTITY = "kubernetes.Quantity"
FUNCTIONS = (
    Function("quantity", ("string",), _QUANTITY, parse_quantity),
    Function("isQuantity", ("string",), "bool", accepts(parse_quantity)),
    Function("isInteger", (_QUANTITY,), "bool", is_integer, member=True),
    Function("asInteger", (_QUANTITY,), "int", as_integer, member=True),
    Function("asApproximateFloat", (_QUANTITY,), "double", as_approximate_float, member=True),
    Function("add", (_QUANTITY, _QUANTITY), _QUANTITY, int.__add__, member=True),
    Function("add", (_QUANTITY, "int"), _QUANTITY, add_int, member=True),
    Function("sub", (_QUANTITY, _QUANTITY), _QUANTITY, int.__sub__, member=True),
    Function("sub", (_QUANTITY, "int"), _QUANTITY, sub_int, member=True),
)
