"""Strict decoding: every unknown field and every wrong type, with its path."""

from typing import Any

import msgspec
import pytest

from kwhatif.kube.matching.field_errors import problems, without_nulls
from kwhatif.kube.model.meta import Int32
from kwhatif.scheduler.configuration.schema import ExtenderConfig, KubeSchedulerConfiguration


class Inner(msgspec.Struct):
    name: str
    weight: Int32 = 0


class Outer(msgspec.Struct, rename="camel"):
    many: tuple[Inner, ...] = ()
    by_key: dict[str, Inner] = {}
    ratio: float = 0.0
    on: bool = False
    secret: bytes = b""
    maybe: Inner | None = None
    amount: str | int = 0
    free: Any = None


PROBLEMS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "nothing is wrong with what is right": (
        {
            "many": [{"name": "a", "weight": 3}],
            "byKey": {"x": {"name": "b"}},
            "ratio": 1,
            "on": True,
            "secret": "aGk=",
            "maybe": {"name": "c"},
            "amount": "5Gi",
            "free": [{"x": 1}],
        },
        [],
    ),
    "all problems are reported, not only the first": (
        {"many": [{"name": 1}, {"name": "b", "weigth": 1}], "on": "yes", "ration": 1},
        [
            ("many[0].name", "expected a string, got an integer"),
            ("many[1].weigth", "unknown field; did you mean weight?"),
            ("on", "expected a boolean, got a string"),
            ("ration", "unknown field; did you mean ratio?"),
        ],
    ),
    "a field that must be there": ({"maybe": {}}, [("maybe.name", "Required value")]),
    "a map of objects": ({"byKey": {"a.b": {"name": 1}}}, [('byKey["a.b"].name', "expected a string, got an integer")]),
    "no list": ({"many": {"name": "a"}}, [("many", "expected a list, got an object")]),
    "no map": ({"byKey": []}, [("byKey", "expected an object, got a list")]),
    "no object": ({"many": ["a"]}, [("many[0]", "expected an object, got a string")]),
    "a boolean is no number": (
        {"many": [{"name": "a", "weight": True}], "ratio": False},
        [("many[0].weight", "expected an integer, got a boolean"), ("ratio", "expected a number, got a boolean")],
    ),
    "half a number is no integer": (
        {"many": [{"name": "a", "weight": 1.5}]},
        [("many[0].weight", "expected an integer, got a number")],
    ),
    "an integer that Go's type cannot hold": (
        {"many": [{"name": "a", "weight": 2**31}, {"name": "b", "weight": -(2**31)}]},
        [("many[0].weight", "Invalid value: 2147483648: out of range")],
    ),
    "data that is not base64": ({"secret": "a*b"}, [("secret", "is not base64: Only base64 data is allowed")]),
    "none of several types": ({"amount": 1.5}, [("amount", "expected a string, got a number")]),
}


@pytest.mark.parametrize(("data", "expected"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_problems(data: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert list(problems(data, Outer)) == expected


def test_a_null_is_as_good_as_missing() -> None:
    data = {"profiles": [{"schedulerName": None, "plugins": {"score": {"enabled": [None]}}}], "extenders": None}
    assert without_nulls(data) == {"profiles": [{"plugins": {"score": {"enabled": [{}]}}}]}
    config = msgspec.convert(without_nulls(data), KubeSchedulerConfiguration)
    assert (config.profiles[0].scheduler_name, config.extenders) == (None, ())


def test_certificates_are_base64() -> None:
    data = {"urlPrefix": "https://x", "tlsConfig": {"caData": "aGk="}, "enableHTTPS": True}
    assert list(problems(data, ExtenderConfig)) == []
    extender = msgspec.convert(data, ExtenderConfig)
    assert extender.enable_https
    assert extender.tls_config is not None
    assert extender.tls_config.ca_data == b"hi"
