"""The quantity library."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.cel import CelCompileError, CelRuntimeError, compile_expression, values

VALUES = {
    "suffixes do not matter for equality": ('quantity("200M") == quantity("0.2G")', True),
    "binary and decimal suffixes differ": ('quantity("50M") == quantity("50Mi")', False),
    "isLessThan": ('quantity("50M").isLessThan(quantity("50Mi"))', True),
    "isLessThan of equals": ('quantity("1k").isLessThan(quantity("1000"))', False),
    "isGreaterThan": ('quantity("150Mi").isGreaterThan(quantity("100Mi"))', True),
    "negative quantities are less": ('quantity("-2").isLessThan(quantity("-1"))', True),
    "compareTo of equals": ('quantity("200M").compareTo(quantity("0.2G"))', 0),
    "compareTo of the lesser": ('quantity("50M").compareTo(quantity("50Mi"))', -1),
    "compareTo of the greater": ('quantity("50Mi").compareTo(quantity("50M"))', 1),
    "comparisons where types are dynamic": ('dyn(quantity("2")).compareTo(dyn(quantity("1")))', 1),
    "add": ('quantity("50k").add(quantity("20")) == quantity("50.02k")', True),
    "add an int": ('quantity("50k").add(20) == quantity("50020")', True),
    "sub": ('quantity("50k").sub(quantity("20")) == quantity("49.98k")', True),
    "sub an int": ('quantity("50k").add(20).sub(quantity("100k")).sub(-50000).asInteger()', 20),
    "a sum on the right of != is unequal, oddly": ('quantity("2") != quantity("1").add(1)', True),
    "sign of less than nothing": ('sign(quantity("-1m"))', -1),
    "sign of nothing": ('sign(quantity("0"))', 0),
    "sign of something": ('sign(quantity("1n"))', 1),
    "asInteger": ('quantity("50k").asInteger()', 50000),
    "a fraction is no integer": ('quantity("1500m").isInteger()', False),
    "more than 64 bits is no integer": ('quantity("9999999999999999999999999999999999999G").isInteger()', False),
    "a whole number is an integer": ('quantity("50").isInteger()', True),
    "asApproximateFloat": ('quantity("50.703k").asApproximateFloat()', 50703.0),
    "isQuantity of a quantity": ('isQuantity("20Mi")', True),
    "isQuantity of something else": ('isQuantity("20Mo")', False),
    "a computed text": ('quantity(string(2) + "Ki") == quantity("2048")', True),
}


@pytest.mark.parametrize(("expression", "expected"), VALUES.values(), ids=VALUES.keys())
def test_values(expression: str, expected: object) -> None:
    assert compile_expression(expression, {}).evaluate({}) == expected


ERRORS = {
    "a fraction as integer": ('quantity("1500m").asInteger()', "cannot convert value to integer"),
    "a text that is no quantity": (
        'quantity("10Mo")',
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    "a sum on the right of ==, oddly": ('quantity("2") == quantity("1").add(1)', "no such overload"),
    "a quantity compared with a version": ('dyn(quantity("1")).isLessThan(dyn(semver("1.0.0")))', "no such overload"),
    "a method of versions": ('dyn(quantity("1")).major()', "no such overload"),
}


@pytest.mark.parametrize(("expression", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_fails(expression: str, message: str) -> None:
    with pytest.raises(CelRuntimeError) as caught:
        compile_expression(expression, {}).evaluate({})
    assert caught.value.message == message


def test_an_error_in_a_literal_is_one_of_the_run() -> None:
    assert compile_expression('true || quantity("x") == quantity("1")', {}).evaluate({}) is True


def test_only_texts_are_quantities() -> None:
    with pytest.raises(CelCompileError, match=r"found no matching overload for 'quantity' applied to '\(int\)'"):
        compile_expression("quantity(1)", {})


@given(st.integers(-(10**90), 10**90), st.integers(-(10**90), 10**90))
def test_encoded_quantities_are_in_order(left: int, right: int) -> None:
    assert (values.quantity(left) < values.quantity(right)) == (left < right)
    assert values.decode("kubernetes.Quantity", values.quantity(left)) == left


def test_quantities_beyond_all_measure_are_cut_off() -> None:
    assert values.quantity(10**200) > values.quantity(10**100)
