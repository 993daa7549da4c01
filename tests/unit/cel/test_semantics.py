"""Semantics of CEL that are easily got wrong, and the standard libraries."""

from __future__ import annotations

import pytest

from kwhatif.cel import CelCompileError, CelRuntimeError, compile_expression

DATA = {
    "pod": {"name": "web-0", "priority": 10, "labels": {"app": "web"}, "node": None, "weights": [3, 1, 2]},
    "one": 1,
    "half": 0.5,
}
VARIABLES = dict.fromkeys(DATA, "dyn")

VALUES = {
    "ints compare with doubles": ("1 < 1.5 && 2u > 1 && 1.0 <= 1u", True),
    "ints equal doubles where types are dynamic": ("one == 1.0", True),
    "different types are unequal where types are dynamic": ('one == "1"', False),
    "|| absorbs an error on its left": ("1 / 0 == 1 || true", True),
    "&& absorbs an error on its left": ("1 / 0 == 1 && false", False),
    "the other branch of a condition is not evaluated": ("true ? 1 : 1 / 0", 1),
    "exists absorbs errors": ("[0, 1].exists(x, 1 / x == 1)", True),
    "all absorbs errors": ("[0, 2].all(x, 1 / x == 1)", False),
    "has of a present field": ("has(pod.labels.app)", True),
    "has of an absent field": ("has(pod.labels.tier)", False),
    "has of a field of null": ("has(pod.node.name)", False),
    "null equals null": ("pod.node == null", True),
    "exists_one": ("pod.weights.exists_one(w, w > 2)", True),
    "map": ("pod.weights.map(w, w * 2)", [6, 2, 4]),
    "map with a filter": ("pod.weights.map(w, w > 1, w * 2)", [6, 4]),
    "filter": ("pod.weights.filter(w, w > 1)", [3, 2]),
    "a map is iterated by key": ('pod.labels.all(key, key == "app")', True),
    "all with index and value": ("[1, 2].all(index, value, value == index + 1)", True),
    "exists with key and value": ('pod.labels.exists(k, v, k == "app" && v == "web")', True),
    "existsOne with index and value": ("[5, 5].existsOne(i, v, i == 1 && v == 5)", True),
    "transformList": ("[1, 2].transformList(i, v, i * v)", [0, 2]),
    "transformMap": ('{"a": 1}.transformMap(k, v, v + 1)', {"a": 2}),
    "transformMapEntry": ('{"a": "b"}.transformMapEntry(k, v, {v: k})', {"b": "a"}),
    "cel.bind": ("cel.bind(x, 20, x * x)", 400),
    "an optional field that is there": ('pod.?labels.?app.orValue("none")', "web"),
    "an optional field that is not there": ('pod.?labels.?tier.orValue("none")', "none"),
    "an optional index": ("pod.weights[?9].orValue(0)", 0),
    "optMap": ("optional.of(2).optMap(x, x + 1).value()", 3),
    "optFlatMap": ('pod.?labels.optFlatMap(l, l.?app).orValue("")', "web"),
    "or of optionals": ("optional.none().or(optional.of(1)).value()", 1),
    "an optional element": ("[?optional.none(), 1]", [1]),
    "ofNonZeroValue": ("optional.ofNonZeroValue('').hasValue()", False),
    "first and last": ("[1, 2, 3].first().value() + [1, 2, 3].last().value()", 4),
    "text of a number": ("string(42)", "42"),
    "a timestamp has parts, in UTC": ("timestamp('2025-01-02T23:00:00-02:00').getDate()", 3),
    "durations add up": ("duration('1h') + duration('30m') == duration('90m')", True),
    # strings, version 2
    "charAt": ("'hello'.charAt(4)", "o"),
    "indexOf a text": ("'hello mellow'.indexOf('ello', 2)", 7),
    "lastIndexOf a text": ("'hello mellow'.lastIndexOf('ello')", 7),
    "join": ("['a', 'b'].join('-')", "a-b"),
    "lowerAscii": ("'TacoÄ'.lowerAscii()", "tacoÄ"),
    "upperAscii": ("'TacoÄ'.upperAscii()", "TACOÄ"),
    "replace": ("'hello hello'.replace('he', 'we', 1)", "wello hello"),
    "split": ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
    "substring": ("'tacocat'.substring(0, 4)", "taco"),
    "trim": ("'  trim\\n'.trim()", "trim"),
    "format": ("'%s has %d of %.1f'.format(['a', 2, 3.0])", "a has 2 of 3.0"),
    "quote": ('strings.quote("a\\"b")', '"a\\"b"'),
    "matches": ("'asymmetric'.matches('[^b]?sym')", True),
    # sets
    "sets.contains": ("sets.contains([1, 2, 3], [2, 3])", True),
    "sets.equivalent": ("sets.equivalent([1, 1], [1])", True),
    "sets.intersects": ("sets.intersects([1], [2])", False),
}


@pytest.mark.parametrize(("expression", "expected"), VALUES.values(), ids=VALUES.keys())
def test_values(expression: str, expected: object) -> None:
    found = compile_expression(expression, VARIABLES).evaluate(DATA)
    assert found == expected
    assert type(found) is type(expected)


NOT_DECLARED = {
    "equality across types": "1 == 1.0",
    "strings of version 3": "'abc'.reverse() == 'cba'",
    "math": "math.greatest(1, 2) == 2",
    "sign as a method, whatever the documentation says": "quantity('1').sign() == 1",
    "an unknown variable": "nobody == 1",
}


@pytest.mark.parametrize("expression", NOT_DECLARED.values(), ids=NOT_DECLARED.keys())
def test_is_not_part_of_the_environment(expression: str) -> None:
    with pytest.raises(CelCompileError, match="compilation failed: ERROR: <input>:1:"):
        compile_expression(expression, VARIABLES)


ERRORS = {
    "an absent key": ("pod.owner == ''", "no such key: owner"),
    "a field of a scalar": ("pod.name.first == ''", "no such key"),
    "a range that cannot be iterated": ("one.exists(x, x > 1)", "unsupported comprehension range type"),
    "a modulus by zero": ("one % 0 == 0", "modulus by zero"),
    "an unsigned overflow": ("0u - 1u == 0u", "unsigned integer overflow"),
    "an expression that turns out not to be regular": (
        "'a'.matches(pod.name + '(')",
        "error parsing regexp: missing closing ): `web-0(`",
    ),
    "a list indexed by a text": ("pod.weights['a'] == 1", "unsupported index type 'string' in list"),
}


@pytest.mark.parametrize(("expression", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_fails_in_cel_gos_words(expression: str, message: str) -> None:
    with pytest.raises(CelRuntimeError) as caught:
        compile_expression(expression, VARIABLES).evaluate(DATA)
    assert caught.value.message == message


TOO_LONG = {
    "int": ("int(text)", "9" * 5000, "int"),
    "uint": ("uint(text)", "9" * 5000, "uint"),
    "duration": ("duration(text)", f"{'9' * 400}s", "google.protobuf.Duration"),
}


@pytest.mark.parametrize(("expression", "text", "kind"), TOO_LONG.values(), ids=TOO_LONG.keys())
def test_numbers_that_are_longer_than_any_fail_like_others_that_are_too_large(
    expression: str, text: str, kind: str
) -> None:
    with pytest.raises(CelRuntimeError) as failed:
        compile_expression(expression, {"text": "string"}).evaluate({"text": text})
    assert failed.value.message == f"type conversion error from 'string' to '{kind}'"


def test_leading_zeroes_do_not_make_a_number_too_long() -> None:
    program = compile_expression("int(text) == 7 && uint(text) == 7u", {"text": "string"})
    assert program.evaluate({"text": "0" * 5000 + "7"}) is True
