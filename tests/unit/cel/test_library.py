"""Kubernetes' CEL libraries: lists, regular expressions, quantities and versions."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.cel import CelCompileError, CelRuntimeError, Semver, compile_expression, values
from kwhatif.cel.library import without_groups

LISTS = {
    "isSorted": ("[1, 2, 2, 3].isSorted()", True),
    "isSorted of what is not": ("['b', 'a'].isSorted()", False),
    "isSorted of nothing": ("[].isSorted()", True),
    "sum of ints": ("[1, 3].sum()", 4),
    "sum of doubles": ("[1.0, 3.5].sum()", 4.5),
    "sum of uints is a uint": ("[1u, 3u].sum() + 1u", 5),
    "sum of durations": ("[duration('1m'), duration('1s')].sum()", timedelta(seconds=61)),
    "sum of nothing": ("[].sum()", 0),
    "min": ("[3, 1, 2].min()", 1),
    "max": ("['a', 'c', 'b'].max()", "c"),
    "max of uints is a uint": ("[1u, 3u].max() + 1u", 4),
    "max of timestamps": (
        "[timestamp('2025-01-01T00:00:00Z'), timestamp('2026-01-01T00:00:00Z')].max().getFullYear()",
        2026,
    ),
    "max where types are dynamic": ("data.map(x, x * 2).max()", 6),
    "indexOf": ("[1, 2, 2, 3].indexOf(2)", 1),
    "lastIndexOf": ("['a', 'b', 'b', 'c'].lastIndexOf('b')", 2),
    "indexOf what is not there": ("[1.0].indexOf(1.1)", -1),
    "indexOf does not take true for one": ("data.indexOf(dyn(true))", -1),
    "indexOf takes a double for its int": ("data.indexOf(dyn(1.0))", 1),
    "distinct": ("[1, 2, 2, 1].distinct()", [1, 2]),
    "flatten": ("[[1, 2], [], [3]].flatten()", [1, 2, 3]),
    "flatten to a depth": ("dyn([[[1]], [[2]]]).flatten(2)", [1, 2]),
    "slice": ("[1, 2, 3, 4].slice(1, 3)", [2, 3]),
    "sort": ("[3, 1, 2].sort()", [1, 2, 3]),
    "sortBy": ("[{'n': 2}, {'n': 1}].sortBy(e, e.n).map(e, e.n)", [1, 2]),
    "lists.range": ("lists.range(3)", [0, 1, 2]),
    "lists.range of less than nothing": ("lists.range(-1)", []),
    "reverse": ("[1, 2, 3].reverse()", [3, 2, 1]),
}


REGULAR_EXPRESSIONS = {
    "find": ("'abc 123'.find('[0-9]+')", "123"),
    "find nothing": ("'abc 123'.find('xyz')", ""),
    "find an empty match": ("'abc 123'.find('[0-9]*')", ""),
    "find returns the match, not the group": ("'abc 123'.find('b(c) (?P<n>1)')", "bc 1"),
    "find with a parenthesis that is none": ("'a(b)'.find('[(]b\\\\)')", "(b)"),
    "find with a computed pattern": ("'abc 123'.find('(' + '1)')", "1"),
    "find with Unicode classes": ("'aäb'.find('\\\\p{L}+')", "aäb"),
    "findAll": ("'123 abc 456'.findAll('[0-9]+')", ["123", "456"]),
    "findAll with a limit": ("'123 abc 456'.findAll('[0-9]+', 1)", ["123"]),
    "findAll with a limit of nothing": ("'123 abc 456'.findAll('[0-9]+', 0)", []),
    "findAll with a negative limit": ("'123 abc 456'.findAll('[0-9]+', -1)", ["123", "456"]),
    "findAll nothing": ("'123'.findAll('xyz')", []),
    "findAll leaves out empty matches after others": ("'12 a'.findAll('[0-9]*')", ["12", "", ""]),
    "findAll returns matches, not groups": ("'a1 b2'.findAll('([a-z])([0-9])')", ["a1", "b2"]),
    "digits are ASCII": ("'1٣'.findAll('\\\\d')", ["1"]),
    "a dollar is the end of the text": ("'a\\n'.findAll('a$')", []),
    "named classes": ("'a1_'.findAll('[[:alpha:]]|_')", ["a", "_"]),
    "quoted patterns": ("'a.b'.findAll('\\\\Q.\\\\E')", ["."]),
}


QUANTITIES = {
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


VERSIONS = {
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
    "isLessThan, versions": ('semver("1.0.0").isLessThan(semver("1.2.3"))', True),
    "isLessThan of equals, versions": ('semver("1.0.0").isLessThan(semver("1.0.0"))', False),
    "isGreaterThan, versions": ('semver("1.2.3").isGreaterThan(semver("1.0.0"))', True),
    "numbers compare as numbers": ('semver("1.10.0").isGreaterThan(semver("1.9.0"))', True),
    "compareTo, versions": (
        '[semver("1.2.3").compareTo(semver("1.2.3")), semver("1.0.0").compareTo(semver("1.2.3"))]',
        [0, -1],
    ),
    "a prerelease comes before its release": ('semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))', True),
    "the build does not count": ('semver("1.0.0+a") == semver("1.0.0+b")', True),
    "numbers": ('[semver("1.2.3").major(), semver("1.2.3").minor(), semver("1.2.3").patch()]', [1, 2, 3]),
    "comparisons where types are dynamic, versions": ('dyn(semver("1.0.0")).isLessThan(dyn(semver("1.0.1")))', True),
}


VALUES = LISTS | REGULAR_EXPRESSIONS | QUANTITIES | VERSIONS


@pytest.mark.parametrize(("expression", "expected"), VALUES.values(), ids=VALUES.keys())
def test_values(expression: str, expected: object) -> None:
    assert compile_expression(expression, {"data": "dyn"}).evaluate({"data": [2, 1, 3]}) == expected


NO_LISTS = {
    "min of nothing": ("[].min()", "min called on empty list"),
    "max of nothing": ("[].max()", "max called on empty list"),
    "sum of texts": ("data.sum()", "no such overload"),
    "min of lists": ("dyn([[1]]).min()", "no such overload"),
    "min of several types": ("(dyn([1]) + ['a']).min()", "no such overload"),
    "a sum beyond 64 bits": ("[9223372036854775807, 1].sum()", "integer overflow"),
    "an unsigned sum beyond 64 bits": ("[18446744073709551615u, 1u].sum()", "unsigned integer overflow"),
}


NO_QUANTITIES = {
    "a fraction as integer": ('quantity("1500m").asInteger()', "cannot convert value to integer"),
    "a text that is no quantity": (
        'quantity("10Mo")',
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    "a sum on the right of ==, oddly": ('quantity("2") == quantity("1").add(1)', "no such overload"),
    "a quantity compared with a version": ('dyn(quantity("1")).isLessThan(dyn(semver("1.0.0")))', "no such overload"),
    "a method of versions": ('dyn(quantity("1")).major()', "no such overload"),
}


ERRORS = NO_LISTS | NO_QUANTITIES


@pytest.mark.parametrize(("expression", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_fails(expression: str, message: str) -> None:
    with pytest.raises(CelRuntimeError) as caught:
        compile_expression(expression, {"data": "dyn"}).evaluate({"data": ["a"]})
    assert caught.value.message == message


# --- find and findAll ---------------------------------------------------------------------------------


def test_computed_patterns_that_are_none_say_so() -> None:
    with pytest.raises(CelRuntimeError, match=r"^Illegal regex: error parsing regexp: missing closing \]: `\[b`$"):
        compile_expression("'a'.find(text)", {"text": "string"}).evaluate({"text": "[b"})
    with pytest.raises(CelRuntimeError, match="^Illegal regex: error parsing regexp: "):
        compile_expression("'a'.findAll(text)", {"text": "string"}).evaluate({"text": "[b"})


@pytest.mark.parametrize("pattern", ["a(b)(?:c)", r"\((a)", "[(](a)[^](](b)", r"(?i)(?P<n>a)(?=b)", "[[:alpha:](](x)"])
def test_without_groups_captures_nothing(pattern: str) -> None:
    assert re.compile(without_groups(pattern).replace("[:alpha:]", "a-z")).groups == 0


# --- The quantity library -----------------------------------------------------------------------------


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


# --- The semver library, and the versions themselves --------------------------------------------------


NO_VERSIONS = {
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


@pytest.mark.parametrize(("text", "message"), NO_VERSIONS.values(), ids=NO_VERSIONS.keys())
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
