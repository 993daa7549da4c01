"""Expressions over plain data."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kwhatif.cel import CelCompileError, CelError, CelRuntimeError, Semver, compile_expression
from kwhatif.errors import KwhatifError


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
