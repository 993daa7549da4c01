"""`kubernetes.urls` (`k8s.io/apiserver/pkg/cel/library/urls.go`), with URLs parsed as by Go's net/url."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote, unquote_plus

from kwhatif.cel.library.function import Function, accepts

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
def read(text: str) -> Url:
    """The parts of an absolute URI or absolute path.

    Raises:
        ValueError: `text` is neither; with Go's message.
    """
    if _CONTROL.search(text):
        raise _failure(text, "net/url: invalid control character in URL")
    _read(text, text, is_request=True)
    # QUIRK: as upstream, the fragment is part of the path in the check, but not in the result.
    return _read(text, text.partition("#")[0], is_request=False)


def _failure(text: str, reason: str) -> ValueError:
    return ValueError(f'parse "{text}": {reason}')


def _read(text: str, rest: str, *, is_request: bool) -> Url:
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
            return Url(scheme, "", "", query)  # opaque, such as mailto:
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


def parse(text: str) -> str:
    """`url(text)`; the value of a URL is its text, and its parts are cached."""
    try:
        read(text)
    except ValueError as error:
        raise ValueError(f"URL parse error during conversion from string: {error}") from None
    return text


def hostname(text: str) -> str:
    """`url.getHostname()`."""
    host = read(text).host
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def port(text: str) -> str:
    """`url.getPort()`."""
    return read(text).host.rpartition("]")[2].partition(":")[2]


def escaped_path(text: str) -> str:
    """`url.getEscapedPath()`."""
    path = read(text).path
    return path if _ENCODED_PATH.fullmatch(path) else quote(unquote(path), safe="/$&+,:;=@")


def query(text: str) -> dict[str, list[str]]:
    """`url.getQuery()`."""
    found: dict[str, list[str]] = {}
    for part in read(text).query.split("&"):
        key, _, value = part.partition("=")
        if part and ";" not in part and not _BAD_ESCAPE.search(part):
            found.setdefault(unquote_plus(key), []).append(unquote_plus(value))
    return found


_URL = "kubernetes.URL"
FUNCTIONS = (
    Function("url", ("string",), _URL, parse),
    Function("isURL", ("string",), "bool", accepts(read)),
    Function("getScheme", (_URL,), "string", lambda text: read(text).scheme, member=True),
    Function("getHost", (_URL,), "string", lambda text: read(text).host, member=True),
    Function("getHostname", (_URL,), "string", hostname, member=True),
    Function("getPort", (_URL,), "string", port, member=True),
    Function("getEscapedPath", (_URL,), "string", escaped_path, member=True),
    Function("getQuery", (_URL,), "dyn", query, member=True),
)
