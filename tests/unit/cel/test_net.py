"""IP addresses, networks and URLs."""

import pytest

from kwhatif.cel import CelRuntimeError, compile_expression

VALUES = {
    "isIP of IPv4": ('isIP("192.168.0.1")', True),
    "isIP of IPv6": ('isIP("2001:db8::68")', True),
    "isIP of too many numbers": ('isIP("192.168.0.1.0")', False),
    "isIP of a leading zero": ('isIP("192.168.0.01")', False),
    "isIP of an IPv4 address in IPv6": ('isIP("::ffff:1.2.3.4")', False),
    "isIP with a zone": ('isIP("fe80::1%eth0")', False),
    "family of IPv4": ('ip("127.0.0.1").family()', 4),
    "family of IPv6": ('ip("::1").family()', 6),
    "equality is of addresses": ('ip("2001:db8::1") == ip("2001:DB8:0::1")', True),
    "isCanonical": ('ip.isCanonical("2001:db8::abcd")', True),
    "capitals are not canonical": ('ip.isCanonical("2001:DB8::ABCD")', False),
    "isUnspecified": ('ip("0.0.0.0").isUnspecified() && ip("::").isUnspecified()', True),
    "isLoopback": ('ip("127.9.9.9").isLoopback() && ip("::1").isLoopback()', True),
    "isLinkLocalMulticast": ('ip("224.0.0.1").isLinkLocalMulticast() && ip("ff02::1").isLinkLocalMulticast()', True),
    "a multicast address that is not local": ('ip("224.0.1.1").isLinkLocalMulticast()', False),
    "isLinkLocalUnicast": ('ip("169.254.169.254").isLinkLocalUnicast() && ip("fe80::1").isLinkLocalUnicast()', True),
    "isGlobalUnicast": ('ip("192.168.0.1").isGlobalUnicast() && ip("2001:db8::abcd").isGlobalUnicast()', True),
    "broadcast is not global": ('ip("255.255.255.255").isGlobalUnicast()', False),
    "multicast is not global": ('ip("ff00::1").isGlobalUnicast()', False),
    "text of an address": ('string(ip("2001:DB8::0"))', "2001:db8::"),
    "isCIDR": ('isCIDR("192.168.0.0/16") && isCIDR("::1/128")', True),
    "isCIDR with bits after the prefix": ('isCIDR("192.168.0.1/16")', True),
    "isCIDR of a prefix that is too long": ('isCIDR("192.168.0.0/33") || isCIDR("::1/129")', False),
    "isCIDR of a mask": ('isCIDR("192.168.0.0/255.255.0.0") || isCIDR("10.0.0.0") || isCIDR("10.0.0.0/08")', False),
    "containsIP": ('cidr("192.168.0.0/24").containsIP(ip("192.168.0.1"))', True),
    "containsIP of a text": ('cidr("192.168.0.0/24").containsIP("192.168.1.1")', False),
    "containsIP of the other family": ('cidr("0.0.0.0/0").containsIP("::1")', False),
    "containsCIDR": ('cidr("192.168.0.0/16").containsCIDR(cidr("192.168.10.0/24"))', True),
    "containsCIDR of a text": ('cidr("192.168.1.0/24").containsCIDR("192.168.0.0/16")', False),
    "containsCIDR of the other family": ('cidr("0.0.0.0/0").containsCIDR("::/0")', False),
    "ip of a network": ('cidr("192.168.0.1/24").ip() == ip("192.168.0.1")', True),
    "masked": ('cidr("192.168.0.1/24").masked() == cidr("192.168.0.0/24")', True),
    "not masked": ('cidr("192.168.0.1/24") == cidr("192.168.0.0/24")', False),
    "prefixLength": ('cidr("2001:db8::/32").prefixLength()', 32),
    "text of a network": ('string(cidr("192.168.0.1/24"))', "192.168.0.1/24"),
}


@pytest.mark.parametrize(("expression", "expected"), VALUES.values(), ids=VALUES.keys())
def test_values(expression: str, expected: object) -> None:
    assert compile_expression(expression, {}).evaluate({}) == expected


ERRORS = {
    "an address that is none": ('ip("nowhere")', '^IP Address "nowhere" parse error during conversion from string: '),
    "an address with a zone": ('ip("fe80::1%eth0")', '^IP address "fe80::1%eth0" with zone value is not allowed$'),
    "an IPv4 address in IPv6": ('ip("::ffff:1.2.3.4")', '^IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed$'),
    "a network that is none": ('cidr("10.0.0.0/")', "^network address parse error during conversion from string: "),
    "a prefix that is longer than any": ("cidr('10.0.0.0/" + "9" * 5000 + "')", 'bad bits after slash: "9+"$'),
    "an IPv4 network in IPv6": ('cidr("::ffff:1.2.3.4/120")', "IPv4-mapped IPv6 address .* is not allowed$"),
    "an address in a text that is none": ('cidr("10.0.0.0/8").containsIP("x")', "^IP Address"),
}


@pytest.mark.parametrize(("expression", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_fails(expression: str, message: str) -> None:
    with pytest.raises(CelRuntimeError, match=message):
        compile_expression(expression, {}).evaluate({})


# --- URLs ---------------------------------------------------------------------------------------------


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


PARTS = {
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


@pytest.mark.parametrize(("text", "call", "expected"), PARTS.values(), ids=PARTS.keys())
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
