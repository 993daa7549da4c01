"""Quantities print as the API server prints them."""

from __future__ import annotations

import pytest

from kwhatif.model.amount import Amount, amounts, as_scaled, parse_amount, stored
from kwhatif.model.int64 import wrap
from kwhatif.model.quantity import NANO, QuantityText
from kwhatif.model.scaled import Scaled

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
    assert 5 + Amount(3) == 8
    assert sum([parse_amount("1Gi"), parse_amount("1Gi")]) == parse_amount("2Gi")


def test_a_resource_list() -> None:
    assert amounts(None) == {}
    assert list(amounts({"memory": "1Gi", "cpu": "1"})) == ["cpu", "memory"]


def test_not_a_quantity() -> None:
    with pytest.raises(ValueError, match="quantities must match"):
        parse_amount("much")


#: Text -> whole units and thousandths as the scheduler reads them.
LARGE: dict[QuantityText, tuple[int, int]] = {
    "9223372036854775": (9223372036854775, 9223372036854775000),
    "9223372036854776": (9223372036854776, 9223372036854776000 - 2**64),
    "1Pi": (2**50, 2**50 * 1000),
    "8Pi": (2**53, 2**53 * 1000),
    "9Pi": (9 * 2**50, 9 * 2**50 * 1000 - 2**64),
    "9E": (9 * 10**18, 0),
    "10E": (0, 0),
    "1e16": (10**16, 0),
    "1e19": (0, 0),
    "1e9": (10**9, 10**12),
    "999999999999999999e3": (wrap(999999999999999999 * 10**3), wrap(999999999999999999 * 10**6)),
    "7Ei": (7 * 2**60, -(2**63)),
    "8Ei": (2**63 - 1, -1000),
    "9223372036854775808": (-(2**63), 0),
    "18446744073709551617": (1, 1000),
    "1000E": (1, 1000),
    "1e25": (0, 0),
}


@pytest.mark.parametrize(("text", "values"), LARGE.items(), ids=map(str, LARGE))
def test_what_64_bits_make_of_it(text: QuantityText, values: tuple[int, int]) -> None:
    held = as_scaled(text)
    assert (held.to_int64(0), held.to_int64(-3)) == values


#: Parts of a sum, and its whole units.
LARGE_SUMS = {
    "both are few digits: held as an int64 that is too small": (["9E", "9E"], 0),
    "one has too many digits": (["9E", "9000000000000000001"], (18 * 10**18 + 1) - 2**64),
    "binary ones have no bounds": (["5Ei", "5Ei"], 10 * 2**60 - 2**64),
    "a finer one takes the bounds away": (["9E", "9E", "1"], 18 * 10**18 + 1 - 2**64),
    "a coarse one does not": (["1e19", "1T"], 0),
    "and is multiplied at once": (["1e19", "1k"], wrap(10**19 + 1000)),
    "nothing more": (["1e19", "0"], 0),
    "nothing before": (["0", "8Ei"], 2**63 - 1),
    "a factor out of range": (["999999999999999999e21"] * 11, -(2**63)),
    "an even number times a factor out of range": (["999999999999999999e21"] * 10, 0),
}


@pytest.mark.parametrize(("parts", "units"), LARGE_SUMS.values(), ids=LARGE_SUMS.keys())
def test_sums_beyond_64_bits(parts: list[str], units: int) -> None:
    first, *others = map(as_scaled, parts)
    assert sum(others, first).to_int64(0) == units


def test_usual_amounts_are_plain_numbers() -> None:
    assert type(stored("64Gi")) is int
    assert isinstance(stored("9E"), Scaled)
