"""URLs."""

from __future__ import annotations

import pytest

from kwhatif.cel import CelRuntimeError, compile_expression

FULL = "https://ann:secret@shop.example.com:8443/cart?item=tea&size=s&size=l#top"
IS_URL = {
    "a full URL": (FULL, True),
    "an absolute path": ("/absolute-path", True),
    "an opaque URL": ("mailto:nobody@example.com", True),
    "an asterisk": ("*", True),
    "a host beyond ASCII": ("https://exämple.com/", True),
    "an IPv6 host": ("https://[::1]:80/", True),
    "a relative path": ("../relative-path", False),
    "a word": ("word", False),
    "nothing": ("", False),
    "no scheme before the colon": (":foo", False),
    "two ports": ("https://a:b:c/", False),
    "a port that is no number": ("https://a:b/", False),
    "an IPv6 host without an end": ("https://[::1/", False),
    "a bad escape": ("/%zz", False),
    "a bad user": ("https://a b@example.com/", False),
    "a host with a space": ("https://a b/", False),
    "a control character": ("/a\tb", False),
}


@pytest.mark.parametrize(("text", "expected"), IS_URL.values(), ids=IS_URL.keys())
def test_is_url(text: str, expected: bool) -> None:
    assert compile_expression("isURL(text)", {"text": "string"}).evaluate({"text": text}) is expected


VALUES = {
    "scheme": (FULL, "getScheme()", "https"),
    "scheme of a path": ("/path", "getScheme()", ""),
    "schemes are in lower case": ("HTTPS://example.com", "getScheme()", "https"),
    "host": (FULL, "getHost()", "shop.example.com:8443"),
    "host in brackets": ("https://[::1]:80/", "getHost()", "[::1]:80"),
    "host of a path": ("/path", "getHost()", ""),
    "hostname": (FULL, "getHostname()", "shop.example.com"),
    "hostname in brackets": ("https://[::1]:80/", "getHostname()", "::1"),
    "port": (FULL, "getPort()", "8443"),
    "no port": ("https://example.com/", "getPort()", ""),
    "path": (FULL, "getEscapedPath()", "/cart"),
    "a green tea is escaped": (
        "https://example.com/green tea/",
        "getEscapedPath()",
        "/green%20tea/",
    ),
    "an escaped path stays": ("/a%2Fb", "getEscapedPath()", "/a%2Fb"),
    "no path": ("https://example.com", "getEscapedPath()", ""),
    "query": (FULL, "getQuery()", {"item": ["tea"], "size": ["s", "l"]}),
    "a query is unescaped": ("/?a%20b+c=%3D", "getQuery()", {"a b c": ["="]}),
    "an empty query": ("https://example.com/path?", "getQuery()", {}),
    "a query in a form that is not allowed": ("/?a;b&c", "getQuery()", {"c": [""]}),
}


@pytest.mark.parametrize(("text", "call", "expected"), VALUES.values(), ids=VALUES.keys())
def test_parts(text: str, call: str, expected: object) -> None:
    assert compile_expression(f"url(text).{call}", {"text": "string"}).evaluate({"text": text}) == expected


def test_what_is_no_url_says_why() -> None:
    with pytest.raises(CelRuntimeError) as caught:
        compile_expression("url('../a')", {}).evaluate({})
    assert caught.value.message == (
        'URL parse error during conversion from string: parse "../a": invalid URI for request'
    )


def test_equal_urls_are_equal() -> None:
    assert compile_expression("url('/a') == url('/a') && url('/a') != url('/b')", {}).evaluate({}) is True
