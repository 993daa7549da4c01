"""IP addresses, networks and URLs (`ip.go`, `cidr.go` and `urls.go` in `k8s.io/apiserver/pkg/cel/library`)."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_interface
from typing import NamedTuple
from urllib.parse import quote, unquote, unquote_plus

from kwhatif.cel.values import Address, Function, accepts
from kwhatif.kube.model.quantity import fits

_FIELD = re.compile(r"[0-9a-fA-F]*")
#: At most as many digits as an int64 has.
_BITS = re.compile(r"0|[1-9][0-9]{0,18}")


class _Refusal(Exception):
    def __init__(self, text: str, at: str = "") -> None:
        super().__init__(f"{text} (at {quoted(at)})" if at else text)


def quoted(text: str) -> str:
    """The text in Go's quotation (`strconv.Quote`)."""
    return json.dumps(text, ensure_ascii=False)


def address_refusal(text: str) -> str:
    """Why Go's `ParseAddr` (`net/netip/netip.go`) rejects the text; "" if it is accepted."""
    first = next((character for character in text if character in _CHECKS), "")
    try:
        _CHECKS.get(first, _check_nothing)(text)
    except _Refusal as refusal:
        return f"ParseAddr({quoted(text)}): {refusal}"
    return ""


def prefix_refusal(text: str) -> str:
    """Why Go's `ParsePrefix` rejects the text; "" if it is accepted."""
    address, slash, bits = text.rpartition("/")
    if not slash:
        problem = "no '/'"
    elif problem := address_refusal(address):
        pass
    elif "%" in address:
        problem = "IPv6 zones cannot be present in a prefix"
    elif not _BITS.fullmatch(bits) or not fits(int(bits)):
        problem = f"bad bits after slash: {quoted(bits)}"
    elif int(bits) > (128 if ":" in address else 32):
        problem = "prefix length out of range"
    return f"netip.ParsePrefix({quoted(text)}): {problem}" if problem else ""


def _check_ipv4(text: str) -> None:
    fields, value, digits = 0, 0, 0
    for index, character in enumerate(text):
        if character in "0123456789":
            if digits == 1 and value == 0:
                raise _Refusal("IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(character), digits + 1
            if value > 255:
                raise _Refusal("IPv4 field has value >255")
        elif character == ".":
            if index in (0, len(text) - 1) or text[index - 1] == ".":
                raise _Refusal("IPv4 field must have at least one digit", text[index:])
            if fields == 3:
                raise _Refusal("IPv4 address too long")
            fields, value, digits = fields + 1, 0, 0
        else:
            raise _Refusal("unexpected character", text[index:])
    if fields < 3:
        raise _Refusal("IPv4 address too short")


def _check_ipv6(text: str) -> None:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _Refusal("zone must be a non-empty string")
    has_gap = rest.startswith("::")
    rest = rest[2:] if has_gap else rest
    if has_gap and not rest:
        return
    size = 0
    while size < 16:
        rest, size, more, gap = _check_field(rest, size, has_gap=has_gap)
        has_gap |= gap
        if not more:
            break
    if rest:
        raise _Refusal("trailing garbage after address", rest)
    if size < 16 and not has_gap:
        raise _Refusal("address string too short")
    if size == 16 and has_gap:
        raise _Refusal("the :: must expand to at least one field of zeros")


def _check_field(rest: str, size: int, *, has_gap: bool) -> tuple[str, int, bool, bool]:
    """The text after the field, the number of bytes so far, whether a field must follow, and whether a gap follows."""
    found = _FIELD.match(rest)
    assert found is not None
    field = found.group()
    if len(field) > 4:
        raise _Refusal("each group must have 4 or less digits", rest)
    if not field:
        raise _Refusal("each colon-separated field must have at least one digit", rest)
    after = rest[len(field) :]
    if after.startswith("."):
        if not has_gap and size != 12:
            raise _Refusal("embedded IPv4 address must replace the final 2 fields of the address", rest)
        if size + 4 > 16:
            raise _Refusal("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
        _check_ipv4(rest)
        return "", size + 4, False, False
    if not after:
        return "", size + 2, False, False
    if not after.startswith(":"):
        raise _Refusal("unexpected character, want colon", after)
    if after == ":":
        raise _Refusal("colon must be followed by more characters", after)
    after = after[1:]
    gap = after.startswith(":")
    if gap and has_gap:
        raise _Refusal("multiple :: in address", after)
    after = after[1:] if gap else after
    return after, size + 2, bool(after), gap


def _check_zone(_: str) -> None:
    raise _Refusal("missing IPv6 address")


def _check_nothing(_: str) -> None:
    raise _Refusal("unable to parse IP")


#: Character -> the check for the kind of address; the first of these characters in the text decides.
_CHECKS = {".": _check_ipv4, ":": _check_ipv6, "%": _check_zone}


def parse_ip(text: str) -> Address:
    """`ip(text)`."""
    if refusal := address_refusal(text):
        raise ValueError(f"IP Address {quoted(text)} parse error during conversion from string: {refusal}")
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.scope_id:
        raise ValueError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return ip_interface(address)


def is_canonical(text: str) -> bool:
    """`ip.isCanonical(text)`."""
    return str(parse_ip(text).ip) == text


def parse_cidr(text: str) -> Address:
    """`cidr(text)`; the bits after the prefix are kept."""
    problem = "network address parse error during conversion from string: "
    if refusal := prefix_refusal(text):
        raise ValueError(f"{problem * 2}{refusal}")
    parsed = ip_interface(text)
    if isinstance(parsed.ip, IPv6Address) and parsed.ip.ipv4_mapped:
        raise ValueError(f'{problem}IPv4-mapped IPv6 address "{text}" is not allowed')
    return parsed


def contains_ip(network: Address, address: Address) -> bool:
    """`cidr.containsIP(ip)`."""
    return address.ip in network.network


def contains_cidr(network: Address, other: Address) -> bool:
    """`cidr.containsCIDR(cidr)`."""
    return network.version == other.version and other.network.subnet_of(network.network)  # type: ignore[arg-type]


def masked(network: Address) -> Address:
    """`cidr.masked()`."""
    return ip_interface(str(network.network))


def is_link_local_multicast(address: Address) -> bool:
    """`ip.isLinkLocalMulticast()`."""
    return address.ip in ip_interface("224.0.0.0/24" if address.version == 4 else "ff02::/16").network


def is_global_unicast(address: Address) -> bool:
    """`ip.isGlobalUnicast()`."""
    ip = address.ip
    special = ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local
    return not special and str(ip) != "255.255.255.255"


_IP, _CIDR = "net.IP", "net.CIDR"
_NET_FUNCTIONS = (
    Function("ip", ("string",), _IP, parse_ip),
    Function("isIP", ("string",), "bool", accepts(parse_ip)),
    Function("ip.isCanonical", ("string",), "bool", is_canonical),
    Function("@string.ip", (_IP,), "string", lambda address: str(address.ip)),
    Function("family", (_IP,), "int", lambda address: address.version, member=True),
    Function("isUnspecified", (_IP,), "bool", lambda address: address.ip.is_unspecified, member=True),
    Function("isLoopback", (_IP,), "bool", lambda address: address.ip.is_loopback, member=True),
    Function("isLinkLocalMulticast", (_IP,), "bool", is_link_local_multicast, member=True),
    Function("isLinkLocalUnicast", (_IP,), "bool", lambda address: address.ip.is_link_local, member=True),
    Function("isGlobalUnicast", (_IP,), "bool", is_global_unicast, member=True),
    Function("cidr", ("string",), _CIDR, parse_cidr),
    Function("isCIDR", ("string",), "bool", accepts(parse_cidr)),
    Function("@string.cidr", (_CIDR,), "string", str),
    Function("ip", (_CIDR,), _IP, lambda network: network, member=True),
    Function("masked", (_CIDR,), _CIDR, masked, member=True),
    Function("prefixLength", (_CIDR,), "int", lambda network: network.network.prefixlen, member=True),
    Function("containsIP", (_CIDR, "string"), "bool", lambda net, ip: contains_ip(net, parse_ip(ip)), member=True),
    Function("containsIP", (_CIDR, _IP), "bool", contains_ip, member=True),
    Function("containsCIDR", (_CIDR, "string"), "bool", lambda a, b: contains_cidr(a, parse_cidr(b)), member=True),
    Function("containsCIDR", (_CIDR, _CIDR), "bool", contains_cidr, member=True),
)


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"[A-Za-z][-+.0-9A-Za-z]*:")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})(?P<rest>.{0,2})", re.DOTALL)
_USERINFO = re.compile(r"[-0-9A-Za-z._:~!$&'()*+,;=%@]*")
_BAD_HOST = re.compile(r"""[^-_.~!$&'()*+,;=:\[\]<>"%0-9A-Za-z\u0080-\U0010ffff]""")
_PORT = re.compile(r"(:[0-9]*)?")
_ENCODED_PATH = re.compile(r"[-_.~!$&'()*+,;=:@/\[\]%0-9A-Za-z]*")


class Url(NamedTuple):
    """The parts of a URL that expressions can read."""

    scheme: str
    host: str
    path: str
    query: str


@lru_cache(maxsize=1024)
def read_url(text: str) -> Url:
    """The parts of an absolute URI or absolute path.

    Raises:
        ValueError: `text` is not valid; with Go's message.
    """
    if _CONTROL.search(text):
        raise _failure(text, "net/url: invalid control character in URL")
    _read_url(text, text, is_request=True)
    # QUIRK: (urls.go) the fragment is part of the path when the URL is checked, but not in the result.
    return _read_url(text, text.partition("#")[0], is_request=False)


def _failure(text: str, reason: str) -> ValueError:
    return ValueError(f'parse "{text}": {reason}')


def _read_url(text: str, rest: str, *, is_request: bool) -> Url:
    if not rest and is_request:
        raise _failure(text, "empty url")
    if rest.startswith(":"):
        raise _failure(text, "missing protocol scheme")
    scheme = ""
    if found := _SCHEME.match(rest):
        scheme, rest = found.group()[:-1].lower(), rest[found.end() :]
    rest, _, query = rest.partition("?")
    if not rest.startswith("/") and rest != "*":
        if scheme:
            return Url(scheme, "", "", query)  # an opaque URL, such as mailto:
        if is_request:
            raise _failure(text, "invalid URI for request")
    host = ""
    if rest.startswith("//") and (scheme or (not is_request and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _read_authority(text, authority), slash + path
    _check_escapes(text, rest)
    return Url(scheme, host, rest, query)


def _check_escapes(text: str, part: str) -> None:
    if bad := _BAD_ESCAPE.search(part):
        raise _failure(text, f'invalid URL escape "%{bad["rest"]}"')


def _read_authority(text: str, authority: str) -> str:
    userinfo, _, host = authority.rpartition("@")
    if not _USERINFO.fullmatch(userinfo):
        raise _failure(text, "net/url: invalid userinfo")
    _check_escapes(text, authority)
    address, bracket, after = host.rpartition("]")
    if host.startswith("[") and not bracket:
        raise _failure(text, "missing ']' in host")
    colon = after.rfind(":")
    port = after if bracket else after[colon:] if colon >= 0 else ""
    if not _PORT.fullmatch(port):
        raise _failure(text, f'invalid port "{port}" after host')
    if bad := _BAD_HOST.search(address or after):
        raise _failure(text, f'invalid character "{bad.group()}" in host name')
    return unquote(host)


def parse_url(text: str) -> str:
    """`url(text)`; the value of a URL is its text, and its parts are cached."""
    try:
        read_url(text)
    except ValueError as error:
        raise ValueError(f"URL parse error during conversion from string: {error}") from None
    return text


def hostname(text: str) -> str:
    """`url.getHostname()`."""
    host = read_url(text).host
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def port(text: str) -> str:
    """`url.getPort()`."""
    return read_url(text).host.rpartition("]")[2].partition(":")[2]


def escaped_path(text: str) -> str:
    """`url.getEscapedPath()`."""
    path = read_url(text).path
    return path if _ENCODED_PATH.fullmatch(path) else quote(unquote(path), safe="/$&+,:;=@")


def query(text: str) -> dict[str, list[str]]:
    """`url.getQuery()`."""
    found: dict[str, list[str]] = {}
    for part in read_url(text).query.split("&"):
        key, _, value = part.partition("=")
        if part and ";" not in part and not _BAD_ESCAPE.search(part):
            found.setdefault(unquote_plus(key), []).append(unquote_plus(value))
    return found


_URL = "kubernetes.URL"
FUNCTIONS = (
    *_NET_FUNCTIONS,
    Function("url", ("string",), _URL, parse_url),
    Function("isURL", ("string",), "bool", accepts(read_url)),
    Function("getScheme", (_URL,), "string", lambda text: read_url(text).scheme, member=True),
    Function("getHost", (_URL,), "string", lambda text: read_url(text).host, member=True),
    Function("getHostname", (_URL,), "string", hostname, member=True),
    Function("getPort", (_URL,), "string", port, member=True),
    Function("getEscapedPath", (_URL,), "string", escaped_path, member=True),
    Function("getQuery", (_URL,), "dyn", query, member=True),
)
