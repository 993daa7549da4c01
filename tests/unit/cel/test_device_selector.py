"""Device selectors: what they see of a device, and what the scheduler says of them."""

from __future__ import annotations

import pytest

from kwhatif.cel import (
    CelCompileError,
    CelRuntimeError,
    DeviceView,
    Semver,
    compile_device_selector,
)
from kwhatif.cel.engine import MAX_LENGTH
from kwhatif.kube.model.quantity import parse_quantity

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
