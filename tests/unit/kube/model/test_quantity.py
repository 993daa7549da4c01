"""Quantities, Go's integers, and durations."""

from decimal import ROUND_CEILING, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.kube.model.quantity import (
    LONGEST,
    MAX_INT64,
    MIN_INT64,
    MOST_UNITS,
    NANO,
    Quantity,
    QuantityText,
    amounts,
    ceil_to_milli,
    from_float,
    go_duration,
    milli_value,
    parse_amount,
    parse_duration,
    parse_quantity,
    parse_timeout,
    to_text,
    value,
    wrap,
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


# --- Quantities print as the API server prints them ---------------------------------------------------


TEXTS: dict[QuantityText, str] = {
    "1000m": "1",
    "0.5": "500m",
    0.1: "100m",
    2: "2",
    "0": "0",
    "0Gi": "0",
    "1536Mi": "1536Mi",
    "1.5Gi": "1536Mi",
    "1024Mi": "1Gi",
    "1Ki": "1Ki",
    "0.5Ki": "512",
    "1023": "1023",
    "12345678": "12345678",
    "100k": "100k",
    "1000k": "1M",
    "1E": "1E",
    "3e2": "300",
    "5e-1": "500e-3",
    "1e3": "1e3",
    "0.0001": "1m",
    "-1.5": "-1500m",
    "-2Ki": "-2Ki",
    "1.500": "1.500",
    "1E3": "1E3",
    "1000E": "1",
    "1500E": "1500E",
    "1000000000000000000000": "1",
    "1000e18": "1e21",
    "8Ei": "9223372036854775807",
}


@pytest.mark.parametrize(("given", "expected"), TEXTS.items(), ids=map(str, TEXTS))
def test_text(given: QuantityText, expected: str) -> None:
    assert str(parse_amount(given)) == expected


SUMS = {
    "the first notation stays": ("1Gi", "1G", "2073741824"),
    "the second, if the first is zero": ("0", "1Gi", "1Gi"),
    "binary": ("1Gi", "512Mi", "1536Mi"),
    "decimal": ("700m", "0.3", "1"),
    "what was written is forgotten": ("1.500", "1", "2500m"),
}


@pytest.mark.parametrize(("first", "second", "expected"), SUMS.values(), ids=SUMS.keys())
def test_sum(first: str, second: str, expected: str) -> None:
    assert str(parse_amount(first) + parse_amount(second)) == expected


def test_it_is_a_number() -> None:
    assert parse_amount("1Gi") == 1024**3 * NANO
    assert parse_amount("1Gi") > parse_amount("1G")
    assert 5 + Quantity(3) == 8
    assert sum([parse_amount("1Gi"), parse_amount("1Gi")]) == parse_amount("2Gi")


def test_a_resource_list() -> None:
    assert amounts(None) == {}
    assert list(amounts({"memory": "1Gi", "cpu": "1"})) == ["cpu", "memory"]


def test_not_a_quantity() -> None:
    with pytest.raises(ValueError, match="quantities must match"):
        parse_amount("much")


# --- Go's arithmetic where it differs from Python's ---------------------------------------------------


@pytest.mark.parametrize(
    ("number", "kept"),
    [(0, 0), (MAX_INT64, MAX_INT64), (MAX_INT64 + 1, MIN_INT64), (MIN_INT64 - 1, MAX_INT64), (2**64 + 5, 5)],
)
def test_wraps(number: int, kept: int) -> None:
    assert wrap(number) == kept


@pytest.mark.parametrize(
    ("number", "whole"), [(99.9, 99), (-99.9, -99), (-(2.0**63), MIN_INT64), (2.0**63, MIN_INT64), (-1e30, MIN_INT64)]
)
def test_floats_are_truncated_or_out_of_range(number: float, whole: int) -> None:
    assert from_float(number) == whole


# --- Go durations -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("10s", 10 * 10**9),
        ("1m30s", 90 * 10**9),
        ("1.5h", 5400 * 10**9),
        (".5s", 500 * 10**6),
        ("100ms", 100 * 10**6),
        ("2us", 2000),
        ("2µs", 2000),
        ("3ns", 3),
        ("-1s", -(10**9)),
        ("+1s", 10**9),
    ],
)
def test_durations(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text", ["", "10", "s", "1d", "1s 2s", "1.s.", "--1s", "ten", "１s", "9" * 5000 + "s", "9" * 100_000]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 10s or 1m30s"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(17, "17s"), (60, "1m0s"), (90.5, "1m30.5s"), (3600, "1h0m0s"), (3725, "1h2m5s")]
)
def test_durations_as_go_prints_them(seconds: float, text: str) -> None:
    assert go_duration(round(seconds * 10**9)) == text


# --- timeouts, as `--request-timeout` takes them -----------------------------------------------------------

TIMEOUTS = {
    "seconds": ("30", 30.0),
    "a duration": ("1m30s", 90.0),
    "no limit": ("0", None),
    "a duration that is no limit": ("0s", None),
    "more than the clock of a socket can count": ("10000000000", LONGEST),
    "more digits than any number of seconds has": ("9" * 5000, LONGEST),
    "a duration of centuries": ("9223372037s", LONGEST),
}


@pytest.mark.parametrize(("text", "seconds"), TIMEOUTS.values(), ids=TIMEOUTS.keys())
def test_a_timeout_is_in_seconds(text: str, seconds: float | None) -> None:
    assert parse_timeout(text) == seconds


@pytest.mark.parametrize("text", ["", "soon"])
def test_what_is_no_timeout_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is neither a number of seconds nor a duration"):
        parse_timeout(text)
