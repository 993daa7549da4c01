"""Quantities: what upstream's parser accepts, and exact arithmetic on it."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.model.quantity import (
    MAX_INT64,
    MOST_UNITS,
    NANO,
    ceil_to_milli,
    milli_value,
    parse_quantity,
    to_text,
    value,
)

GIB = 2**30


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        pytest.param("1", NANO, id="a whole number"),
        pytest.param(2, 2 * NANO, id="a YAML integer"),
        pytest.param(0.5, NANO // 2, id="a YAML float"),
        pytest.param("500m", NANO // 2, id="thousandths"),
        pytest.param("7u", 7000, id="millionths"),
        pytest.param("3n", 3, id="billionths"),
        pytest.param("1k", 1000 * NANO, id="k is decimal"),
        pytest.param("1Ki", 1024 * NANO, id="Ki is binary"),
        pytest.param("1.5Gi", 3 * GIB // 2 * NANO, id="a fraction of a binary unit"),
        pytest.param("1e3", 1000 * NANO, id="a small e is an exponent"),
        pytest.param("1E3", 1000 * NANO, id="a capital E with digits is an exponent"),
        pytest.param("1E", 10**18 * NANO, id="a capital E alone means exa"),
        pytest.param("12e-1", 12 * NANO // 10, id="a negative exponent"),
        pytest.param("+2", 2 * NANO, id="a plus sign"),
        pytest.param("-2", -2 * NANO, id="a minus sign"),
        pytest.param("1.", NANO, id="a point without digits after it"),
        pytest.param(".5", NANO // 2, id="a point without digits before it"),
        pytest.param("007", 7 * NANO, id="leading zeros"),
        pytest.param(" 1 ", NANO, id="blanks around, as the JSON decoder trims them"),
        pytest.param("0.1n", 1, id="less than a billionth counts as one"),
        pytest.param("-0.1n", -1, id="less than a billionth, below zero"),
        pytest.param("1.0000000001", NANO + 1, id="the tenth decimal rounds up"),
        pytest.param("8Ei", MAX_INT64 * NANO, id="a binary quantity is capped at 64 bits"),
        pytest.param("-8Ei", -MAX_INT64 * NANO, id="a binary quantity is capped below too"),
        pytest.param("10E", 10**19 * NANO, id="a decimal quantity is not capped"),
        pytest.param("Mi", 0, id="without digits it is zero"),
        pytest.param("+", 0, id="a sign alone is zero"),
    ],
)
def test_parses(text: str | float, nanos: int) -> None:
    assert parse_quantity(text) == nanos


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "quantities must match", id="the empty string"),
        pytest.param("aoeu", "quantities must match", id="letters that are no suffix"),
        pytest.param("1.1.M", "quantities must match", id="two points"),
        pytest.param("1+1.0M", "quantities must match", id="a sum"),
        pytest.param("1 000", "quantities must match", id="a blank inside"),
        pytest.param("1_000", "quantities must match", id="an underscore"),
        pytest.param("١", "quantities must match", id="digits that are not ASCII"),
        pytest.param("0.1mi", "unable to parse quantity's suffix", id="mi is no unit"),
        pytest.param("1ki", "unable to parse quantity's suffix", id="ki is no unit"),
        pytest.param("1K", "unable to parse quantity's suffix", id="K is no unit"),
        pytest.param("1i", "unable to parse quantity's suffix", id="i alone is no unit"),
        pytest.param("1e", "unable to parse quantity's suffix", id="an exponent without digits"),
        pytest.param("-3.01e-", "unable to parse quantity's suffix", id="an exponent with a sign only"),
        pytest.param("1m5", "unable to parse quantity's suffix", id="digits after a unit"),
        pytest.param("1e999999999", "unable to parse quantity's suffix", id="an exponent that would eat all memory"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("nanos", "whole", "milli"),
    [
        pytest.param(0, 0, 0, id="zero"),
        pytest.param(1, 1, 1, id="a billionth is one of either"),
        pytest.param(NANO + 1, 2, 1001, id="rounds up"),
        pytest.param(-NANO - 1, -2, -1001, id="rounds away from zero below it"),
        pytest.param(2**50 * NANO, 2**50, MOST_UNITS, id="of thousandths there are the most sooner"),
        pytest.param(-MAX_INT64 * NANO, -MOST_UNITS, -MOST_UNITS, id="nothing counts more than the most"),
    ],
)
def test_converts_to_units(nanos: int, whole: int, milli: int) -> None:
    assert value(nanos) == whole
    assert milli_value(nanos) == milli


def test_defaulting_keeps_milli_units_even_of_huge_amounts() -> None:
    assert ceil_to_milli(1) == 1_000_000
    assert ceil_to_milli(-1) == -1_000_000
    assert ceil_to_milli(10**30 + 1) == 10**30 + 1_000_000


SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12}
decimals = st.decimals(min_value=0, max_value=10**6, places=12, allow_nan=False)


@given(decimals, st.sampled_from(sorted(SUFFIXES)))
def test_agrees_with_decimal_arithmetic(number: Decimal, suffix: str) -> None:
    exact = number.scaleb(SUFFIXES[suffix] + 9)
    assert parse_quantity(f"{number:f}{suffix}") == exact.to_integral_value(ROUND_CEILING)


@given(st.integers(min_value=0, max_value=10**30))
def test_rounding_is_up_and_by_less_than_a_unit(nanos: int) -> None:
    assert 0 <= ceil_to_milli(nanos) - nanos < 1_000_000
    if nanos < MOST_UNITS * NANO // 1000:
        assert 0 <= milli_value(nanos) * 1_000_000 - nanos < 1_000_000
        assert 0 <= value(nanos) * NANO - nanos < NANO


@given(st.integers(min_value=-(10**30), max_value=10**30))
def test_text_of_nano_units_parses_back(nanos: int) -> None:
    assert parse_quantity(to_text(nanos)) == nanos
