"""Quantities print as the API server prints them."""

from __future__ import annotations

import pytest

from kwhatif.kube.model.quantity import NANO, Quantity, QuantityText, amounts, parse_amount

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
