"""Named formats."""

import pytest

from kwhatif.cel import compile_expression
from kwhatif.cel.formats import FORMATS

TEXTS = {
    "a label": ("dns1123Label", "front-end", True),
    "a label with a space": ("dns1123Label", "front end", False),
    "a label that is too long": ("dns1123Label", "a" * 64, False),
    "a label with a line break at its end": ("dns1123Label", "a\n", False),
    "a subdomain": ("dns1123Subdomain", "shop.example.com", True),
    "a subdomain with an empty label": ("dns1123Subdomain", "a..b", False),
    "an old label that starts with a digit": ("dns1035Label", "1a", False),
    "a qualified name": ("qualifiedName", "shop.example.com/Tier.1", True),
    "a name without prefix": ("qualifiedName", "My.Name_1", True),
    "a name with an empty prefix": ("qualifiedName", "/name", False),
    "a name with two prefixes": ("qualifiedName", "a/b/c", False),
    "a prefix of a label": ("dns1123LabelPrefix", "front-", True),
    "a prefix of a label with a space": ("dns1123LabelPrefix", "front end-", False),
    "a prefix of a subdomain": ("dns1123SubdomainPrefix", "eu.front.-", True),
    "a prefix of an old label": ("dns1035LabelPrefix", "front-", True),
    "a label value": ("labelValue", "Blue.Green_2", True),
    "an empty label value": ("labelValue", "", True),
    "a label value with an exclamation mark": ("labelValue", "wow!", False),
    "a URI": ("uri", "http://example.com", True),
    "a relative URI": ("uri", "example", False),
    "a UUID": ("uuid", "0f8fad5b-D9CB-469f-a165-70867728950e", True),
    "a UUID that is too short": ("uuid", "0f8fad5b", False),
    "base64": ("byte", "a3doYXQ=", True),
    "base64 without padding": ("byte", "a3doYXQ", False),
    "empty base64": ("byte", "", False),
    "a date": ("date", "2021-02-28", True),
    "a date that never was": ("date", "2021-02-29", False),
    "a date without dashes": ("date", "20210228", False),
    "a date and time": ("datetime", "2021-01-01T00:00:00.5z", True),
    "a time without zone": ("datetime", "2021-01-01T00:00:00", False),
    "an hour that never was": ("datetime", "2021-01-01T24:00:00Z", False),
}


@pytest.mark.parametrize(("name", "text", "valid"), TEXTS.values(), ids=TEXTS.keys())
def test_validate(name: str, text: str, valid: bool) -> None:
    program = compile_expression(f"format.{name}().validate(text).orValue([])", {"text": "string"})
    found = program.evaluate({"text": text})
    assert (found == []) is valid
    assert all(isinstance(reason, str) for reason in found)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_name(name: str) -> None:
    assert compile_expression(f"format.named('{name}').value() == format.{name}()", {}).evaluate({}) is True


def test_an_unknown_format_is_none() -> None:
    assert compile_expression("format.named('unknown').hasValue()", {}).evaluate({}) is False
