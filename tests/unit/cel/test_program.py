"""CEL expressions: their semantics where they are easily got wrong, and device selectors."""

import subprocess
import sys

import pytest

from kwhatif.cel import (
    CelCompileError,
    CelError,
    CelRuntimeError,
    DeviceView,
    Semver,
    compile_device_selector,
    compile_expression,
)
from kwhatif.cel.engine import MAX_LENGTH
from kwhatif.errors import KwhatifError
from kwhatif.kube.model.quantity import parse_quantity


def test_plain_data_comes_back_as_it_went_in() -> None:
    data = {"text": "ü", "number": -3, "large": 2**63, "ratio": 0.25, "yes": True, "nothing": None, "list": [[], {}]}
    assert compile_expression("data", {"data": "dyn"}).evaluate({"data": data}) == data


def test_null_is_none_however_often() -> None:
    program = compile_expression("[data, dyn({'key': data}), dyn([data])]", {"data": "dyn"})
    for _ in range(20_000):  # more than there are references to None
        assert program.evaluate({"data": None}) == [None, {"key": None}, [None]]


def test_typed_variables_are_checked_when_compiling() -> None:
    with pytest.raises(CelCompileError, match="found no matching overload for '_>_'"):
        compile_expression("name > 1", {"name": "string"})
    program = compile_expression("counts['a'] > 1", {"counts": "map(string, int)"})
    assert program.result_type == "bool"
    assert program.evaluate({"counts": {"a": 2}}) is True


def test_a_required_type_is_required() -> None:
    with pytest.raises(CelCompileError, match="^must evaluate to bool, not string$"):
        compile_expression("'a'", {}, result="bool")
    assert compile_expression("x", {"x": "dyn"}, result="bool").result_type == "dyn"


def test_a_variable_without_value_is_an_error() -> None:
    with pytest.raises(CelRuntimeError, match="no such attribute"):
        compile_expression("x == 1", {"x": "dyn"}).evaluate({})


def test_data_that_are_not_plain_are_an_error() -> None:
    with pytest.raises(CelRuntimeError, match="Non-CEL value type"):
        compile_expression("x == 1", {"x": "dyn"}).evaluate({"x": object()})


def test_errors_belong_to_kwhatifs_tree() -> None:
    assert issubclass(CelCompileError, CelError)
    assert issubclass(CelRuntimeError, CelError)
    assert issubclass(CelError, KwhatifError)


def test_kubernetes_values_come_back_as_nano_units_and_keys() -> None:
    assert compile_expression("quantity('1')", {}).evaluate({}) == 1_000_000_000
    assert compile_expression("semver('1.2.3')", {}).evaluate({}) == Semver.parse("1.2.3").key
    assert compile_expression("b'abc'", {}).evaluate({}) == b"abc"


def test_the_engine_is_imported_only_to_compile() -> None:
    code = (
        "import sys, kwhatif.cel as cel;"
        "heavy = lambda: {'cel_expr_python', 'google.protobuf', 'kwhatif.cel.library'} & sys.modules.keys();"
        "assert not heavy(), heavy();"
        "cel.compile_device_selector('true');"
        "assert len(heavy()) == 3"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_engine_is_named() -> None:
    code = (
        "import sys; sys.modules['cel_expr_python'] = None;"
        "import kwhatif.cel as cel\n"
        "try: cel.compile_device_selector('true')\n"
        "except cel.CelError as error: assert 'cel-expr-python' in error.message\n"
        "else: raise AssertionError"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- Semantics of CEL that are easily got wrong, and the standard libraries ---------------------------


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


# --- Device selectors: what they see of a device, and what the scheduler says of them -----------------


GPU = DeviceView(
    driver="gpu.example.com",
    allow_multiple_allocations=False,
    attributes={
        "model": "a100",
        "healthy": True,
        "index": 3,
        "firmware": Semver.parse("1.2.3"),
        "other.example.com/rack": "r7",
    },
    capacity={"memory": parse_quantity("80Gi"), "other.example.com/lanes": parse_quantity("16")},
)
SHARED = DeviceView("", allow_multiple_allocations=True, attributes={}, capacity={})

MATCHES = {
    "a literal": ("true", True),
    "the driver": ('device.driver == "gpu.example.com"', True),
    "allowMultipleAllocations of a device that does not allow it": ("device.allowMultipleAllocations", False),
    "an unqualified attribute is under the driver's domain": (
        'device.attributes["gpu.example.com"].model == "a100"',
        True,
    ),
    "an attribute by index": ('device.attributes["gpu.example.com"]["index"] == 3', True),
    "a bool attribute is a result by itself": ('device.attributes["gpu.example.com"].healthy', True),
    "a qualified attribute is under its own domain": ('device.attributes["other.example.com"].rack == "r7"', True),
    "an attribute in a list": ('device.attributes["gpu.example.com"].model in ["a100", "h100"]', True),
    "an int attribute compares with a double": ('device.attributes["gpu.example.com"].index > 2.5', True),
    "an attribute never equals a value of another type": ('device.attributes["gpu.example.com"].index == "3"', False),
    "a version is compared as a version": (
        'device.attributes["gpu.example.com"].firmware.isGreaterThan(semver("1.2.0"))',
        True,
    ),
    "versions are equal whatever their build": (
        'device.attributes["gpu.example.com"].firmware == semver("1.2.3+x")',
        True,
    ),
    "a version has numbers": ('device.attributes["gpu.example.com"].firmware.minor() == 2', True),
    "capacity compares with a quantity": (
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
        True,
    ),
    "capacity of another domain": ('device.capacity["other.example.com"].lanes == quantity("16000m")', True),
    "cel.bind names a domain": (
        'cel.bind(gpu, device.attributes["gpu.example.com"], gpu.healthy && gpu.index == 3)',
        True,
    ),
    "cel.bind names the device": ('cel.bind(d, device, d.attributes["gpu.example.com"].healthy)', True),
    "the domains are the keys": ('device.attributes.exists_one(domain, domain == "other.example.com")', True),
    "the names are the keys of a domain": ('device.attributes["gpu.example.com"].exists(name, name == "index")', True),
    "an absent domain is not in the map": ('"absent.example.com" in device.attributes', False),
    "an absent domain is empty": ('device.attributes["absent.example.com"].size() == 0', True),
    "an absent domain by field is empty": ("device.attributes.absent.size() == 0", True),
    "an absent domain by a computed name is empty": ('device.capacity["absent." + device.driver].size() == 0', True),
    "nothing is in an absent domain": ('"memory" in device.capacity["absent.example.com"]', False),
    "has() of a name in an absent domain is false": ('has(device.attributes["absent.example.com"].model)', False),
    "has() of an absent domain is true, oddly": ("has(device.attributes.absent)", True),
    "has() of an absent name is false": ('has(device.attributes["gpu.example.com"].absent)', False),
    "has() of a present name is true": ('has(device.attributes["gpu.example.com"].model)', True),
    "has() of a field of a scalar is false": ('has(device.attributes["gpu.example.com"].model.name)', False),
    "has() of a field of the device is true": ("has( device.driver ) && has(device.capacity)", True),
    "an optional absent domain is present and empty": ('device.attributes[?"absent.example.com"].hasValue()', True),
    "an optional absent name has a default": (
        'device.attributes["gpu.example.com"].?absent.orValue("none") == "none"',
        True,
    ),
    "an optional present name has its value": (
        'device.attributes[?"gpu.example.com"].?model.orValue("") == "a100"',
        True,
    ),
    "|| absorbs the error of an absent name": ('device.attributes["gpu.example.com"].absent == 1 || true', True),
    "&& absorbs the error of an absent name": ('device.attributes["gpu.example.com"].absent == 1 && false', False),
    "|| absorbs an error on its right": ('true || device.attributes["gpu.example.com"].absent == 1', True),
    "a text never equals a version on its right": ('"1.2.3" == device.attributes["gpu.example.com"].firmware', False),
    "a version differs from a text": ('device.attributes["gpu.example.com"].firmware != "1.2.3"', True),
    "a version is not null": ('device.attributes["gpu.example.com"].firmware == null', False),
    "a version is in no list of texts": ('device.attributes["gpu.example.com"].firmware in ["1.2.3"]', False),
}


@pytest.mark.parametrize(("expression", "expected"), MATCHES.values(), ids=MATCHES.keys())
def test_matches(expression: str, expected: bool) -> None:
    assert compile_device_selector(expression).matches(GPU) is expected


def test_a_device_may_have_nothing() -> None:
    assert compile_device_selector("device.allowMultipleAllocations && device.attributes.size() == 0").matches(SHARED)


RUNTIME_ERRORS = {
    "an absent name": ('device.attributes["gpu.example.com"].absent == 1', "no such key: absent"),
    "an absent name in an absent domain": ('device.attributes["absent.example.com"].model == ""', "no such key: model"),
    "an absent name by index": ('device.capacity["x"]["memory"].isLessThan(quantity("1"))', "no such key: memory"),
    "a text that is compared as a version": (
        'device.attributes["gpu.example.com"].model.isGreaterThan(semver("1.0.0"))',
        "no such overload: isGreaterThan(string, kubernetes.Semver)",
    ),
    "a number that is compared as a version": (
        'device.attributes["gpu.example.com"].index.compareTo(semver("1.0.0")) > 0',
        "no such overload: compareTo(int, kubernetes.Semver)",
    ),
    "a version that is compared with a text": (
        'device.attributes["gpu.example.com"].firmware == "1.2.3"',
        "no such overload",
    ),
    "a method of texts on a number": (
        'device.attributes["gpu.example.com"].index.startsWith("3")',
        "no such overload",
    ),
    "find in a number": (
        'device.attributes["gpu.example.com"].index.find("3") == "3"',
        "no such overload",
    ),
    "a sum of a text and a number": ('device.attributes["gpu.example.com"].model + 1 == 2', "no such overload"),
    "a condition that is no bool": ('device.attributes["gpu.example.com"].model && true', "no such overload"),
    "a text as result": (
        'device.attributes["gpu.example.com"].model',
        "CEL result of type string could not be converted to bool: unsupported native conversion from string to 'bool'",
    ),
    "a number as result": (
        'device.attributes["gpu.example.com"].index',
        "CEL result of type int could not be converted to bool: unsupported type conversion from 'int' to bool",
    ),
    "a version as result": (
        'device.attributes["gpu.example.com"].firmware',
        "CEL result of type kubernetes.Semver could not be converted to bool: "
        "type conversion error from 'Semver' to 'bool'",
    ),
    "a quantity that is none": (
        'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("lots"))',
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    "a version that is none": ('semver("1.2") == semver("1.2.0")', "No Major.Minor.Patch elements found"),
    "a division by zero": ("1 / 0 == 1", "division by zero"),
    "an overflow": ("9223372036854775807 + 1 == 0", "integer overflow"),
    "an index beyond a list": ("[1][1] == 1", "index out of bounds: 1"),
    "an empty optional": ("optional.none().value() == 1", "optional.none() dereference"),
}


@pytest.mark.parametrize(("expression", "message"), RUNTIME_ERRORS.values(), ids=RUNTIME_ERRORS.keys())
def test_fails_at_run_time_in_the_schedulers_words(expression: str, message: str) -> None:
    selector = compile_device_selector(expression)
    with pytest.raises(CelRuntimeError) as caught:
        selector.matches(GPU)
    assert caught.value.message == message
    with pytest.raises(CelRuntimeError, match="^"):  # and again, from memory
        selector.matches(GPU)


COMPILE_ERRORS = {
    "an unknown name": ("foo", "undeclared reference to 'foo'"),
    "an unknown field of the device": ("true && device.foo == 1", "undefined field 'foo'"),
    "types that do not compare": (
        "device.driver == 1",
        "found no matching overload for '_==_' applied to '(string, int)'",
    ),
    "a quantity compared with a text": ('device.capacity["x"].memory == "1Gi"', "(kubernetes.Quantity, string)"),
    "a result that is not a bool": ("1", "must evaluate to bool or the unknown type, not int"),
    "a list as result": ('["a"]', "must evaluate to bool or the unknown type, not list(string)"),
    "an expression that is too long": (
        f'device.driver == "{"x" * MAX_LENGTH}"',
        "Too long: may not be more than 10240 bytes",
    ),
}


@pytest.mark.parametrize(("expression", "message"), COMPILE_ERRORS.values(), ids=COMPILE_ERRORS.keys())
def test_says_why_it_does_not_compile(expression: str, message: str) -> None:
    with pytest.raises(CelCompileError) as caught:
        compile_device_selector(expression)
    assert message in caught.value.message


def test_syntax_errors_have_a_position() -> None:
    with pytest.raises(CelCompileError, match="<input>:1:0: Syntax error: mismatched input '<EOF>'"):
        compile_device_selector("")
    with pytest.raises(CelCompileError, match=r"compilation failed: ERROR: <input>:1:\d+: Syntax error: .*\n \| \?!"):
        compile_device_selector("?!")


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 40 + "true" + ")" * 40,
        "".join(f"[1].all(x{depth}, " for depth in range(28)) + "true" + ")" * 28,
        'quantity("1").add(' * 14 + "1" + ').compareTo(quantity("2"))' * 14 + " == 1",
    ],
    ids=["parentheses", "macros", "comparisons"],
)
def test_expressions_that_are_nested_too_deeply_do_not_compile(expression: str) -> None:
    with pytest.raises(CelCompileError):
        compile_device_selector(expression)


def test_functions_behind_gates_that_are_off_are_unknown() -> None:
    with pytest.raises(CelCompileError, match="undeclared reference to 'includes'"):
        compile_device_selector('device.attributes["x"].name.includes("fish")')


def test_an_expression_is_compiled_once() -> None:
    assert compile_device_selector("device.driver != ''") is compile_device_selector("device.driver != ''")


def test_a_device_remembers_verdicts_per_selector() -> None:
    device = DeviceView("d", allow_multiple_allocations=False, attributes={}, capacity={})
    yes, no = compile_device_selector('device.driver == "d"'), compile_device_selector('device.driver == "e"')
    assert [yes.matches(device), no.matches(device), yes.matches(device)] == [True, False, True]
    assert device.verdicts == {yes.expression: True, no.expression: False}
