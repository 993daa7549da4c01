"""The semver library, and the versions themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.cel import CelRuntimeError, Semver, compile_expression

VALUES = {
    "isSemver with prerelease and build": ('isSemver("1.2.3-beta.1+build.1")', True),
    "isSemver of nothing": ('isSemver("")', False),
    "isSemver with a v": ('isSemver("v1.0.0")', False),
    "isSemver with spaces": ('isSemver(" 1.0.0") || isSemver("1. 0.0") || isSemver("1.0.0 ")', False),
    "isSemver with leading zeroes": ('isSemver("01.01.01")', False),
    "isSemver of fewer numbers": ('isSemver("1.1")', False),
    "normalizing forgives a v": ('isSemver("v1.0.0", true)', True),
    "normalizing forgives leading zeroes": ('semver("v01.01", true) == semver("1.1.0")', True),
    "normalizing forgives missing numbers": ('isSemver("1", true)', True),
    "normalizing does not forgive spaces": ('isSemver(" 1.0.0", true)', False),
    "normalizing does not forgive a short prerelease": ('isSemver("1.0-rc", true)', False),
    "not normalizing": ('isSemver("v1.0.0", false)', False),
    "isLessThan": ('semver("1.0.0").isLessThan(semver("1.2.3"))', True),
    "isLessThan of equals": ('semver("1.0.0").isLessThan(semver("1.0.0"))', False),
    "isGreaterThan": ('semver("1.2.3").isGreaterThan(semver("1.0.0"))', True),
    "numbers compare as numbers": ('semver("1.10.0").isGreaterThan(semver("1.9.0"))', True),
    "compareTo": ('[semver("1.2.3").compareTo(semver("1.2.3")), semver("1.0.0").compareTo(semver("1.2.3"))]', [0, -1]),
    "a prerelease comes before its release": ('semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))', True),
    "the build does not count": ('semver("1.0.0+a") == semver("1.0.0+b")', True),
    "numbers": ('[semver("1.2.3").major(), semver("1.2.3").minor(), semver("1.2.3").patch()]', [1, 2, 3]),
    "comparisons where types are dynamic": ('dyn(semver("1.0.0")).isLessThan(dyn(semver("1.0.1")))', True),
}


@pytest.mark.parametrize(("expression", "expected"), VALUES.values(), ids=VALUES.keys())
def test_values(expression: str, expected: object) -> None:
    assert compile_expression(expression, {}).evaluate({}) == expected


ERRORS = {
    "nothing": ("", "Version string empty"),
    "too few numbers": ("v1.0", "No Major.Minor.Patch elements found"),
    "letters": ("1.x.0", 'Invalid character(s) found in minor number "x"'),
    "a leading zero": ("01.0.0", 'Major number must not contain leading zeroes "01"'),
    "an empty number": ("1..0", 'strconv.ParseUint: parsing "": invalid syntax'),
    "a number beyond 64 bits": (
        "18446744073709551616.0.0",
        'strconv.ParseUint: parsing "18446744073709551616": value out of range',
    ),
    "a number of thousands of digits": (
        "9" * 5000 + ".0.0",
        'strconv.ParseUint: parsing "' + "9" * 5000 + '": value out of range',
    ),
    "an empty prerelease": ("1.0.0-", "Prerelease is empty"),
    "a leading zero in the prerelease": (
        "1.0.0-01",
        'Numeric PreRelease version must not contain leading zeroes "01"',
    ),
    "a letter that no prerelease has": ("1.0.0-a_b", 'Invalid character(s) found in prerelease "a_b"'),
    "an empty build": ("1.0.0+", "Build meta data is empty"),
    "a letter that no build has": ("1.0.0+ü", 'Invalid character(s) found in build meta data "ü"'),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_what_is_no_version_says_why(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="^") as caught:
        Semver.parse(text)
    assert str(caught.value) == message
    with pytest.raises(CelRuntimeError) as failed:
        compile_expression("semver(text)", {"text": "string"}).evaluate({"text": text})
    assert failed.value.message == message


def test_the_precedence_of_semver_org() -> None:
    ordered = "1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1"
    versions = [Semver.parse(text) for text in ordered.split()]
    assert sorted([*versions[5:], *versions[:5]]) == versions
    assert len(set(versions)) == len(versions)


_NUMBER = st.integers(0, 2**64 - 1)
_IDENTIFIER = _NUMBER.map(str) | st.from_regex(r"[0-9]*[-a-zA-Z][-0-9a-zA-Z]{0,3}", fullmatch=True)
_VERSION = st.tuples(_NUMBER, _NUMBER, _NUMBER, st.lists(_IDENTIFIER, max_size=3))


def _text(version: tuple[int, int, int, list[str]]) -> str:
    *numbers, prerelease = version
    return ".".join(map(str, numbers)) + ("-" + ".".join(prerelease) if prerelease else "")


def _by_the_book(version: tuple[int, int, int, list[str]]) -> tuple[object, ...]:
    *numbers, prerelease = version
    identifiers = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in prerelease]
    return (*numbers, not prerelease, identifiers)


@given(_VERSION, _VERSION)
def test_versions_are_in_order(left: tuple[int, int, int, list[str]], right: tuple[int, int, int, list[str]]) -> None:
    assert (Semver.parse(_text(left)) < Semver.parse(_text(right))) == (_by_the_book(left) < _by_the_book(right))
