"""Why a request failed, in words that say what to do."""

from __future__ import annotations

import ssl

import msgspec
import urllib3.exceptions as http

from kwhatif.errors import ClusterUnreadable
from kwhatif.sources.decoding.lenient import FAILURES

#: Characters that are quoted of an answer which is not the API server's: of a login page, say.
_MAX_WORDS = 300
PROXY_HINT = "(see proxy-url, HTTPS_PROXY, NO_PROXY)"


class ApiStatus(msgspec.Struct):
    """The part of a `metav1.Status` that says what went wrong, and how a list goes on."""

    message: str = ""
    metadata: dict[str, object] | None = None


def status_of(body: bytes) -> ApiStatus:
    """The API server's `Status`; whatever else answers in its place is quoted."""
    try:
        return msgspec.json.decode(body, type=ApiStatus)
    except FAILURES:
        words = " ".join(body.decode("utf-8", "replace").split())
        return ApiStatus(words if len(words) <= _MAX_WORDS else f"{words[:_MAX_WORDS]} …")


class ReadRefused(ClusterUnreadable):
    """The server says no: with these credentials, or at this address, there is nothing to be had."""


def unreadable(what: str, reason: str, status: int = 0) -> ClusterUnreadable:
    """The error for a request that came to nothing; `status` is that of a server that refused it."""
    kind = ReadRefused if status in (401, 403, 404) else ClusterUnreadable
    return kind(f"the cluster could not be read: {what}: {reason}")


def refusal(status: int, body: bytes) -> str:
    """What an answer that is not the one asked for says, and what to do about it."""
    words = status_of(body).message or "no reason given"
    match status:
        case 401:
            return f"{words} (401): the credentials are not accepted; log in again, or choose another --context"
        case 403 if "cannot impersonate" in words:
            return f"{words} (403): impersonating (--as, or `as` in kubeconfig) needs a permission of its own"
        case 403:
            return f"{words} (403): `kwhatif rbac` prints the role that is needed"
        case 404:
            return f"{words} (404): is this the address of a Kubernetes API server?"
        case _ if 300 <= status < 400:
            return f"redirected ({status}): is this the address of a Kubernetes API server, or of a login page?"
    return f"{words} ({status})"


#: The narrower kind before the wider. All else is reported in the library's words. `{}` is the innermost reason.
_EXPLANATIONS: tuple[tuple[type[Exception], str], ...] = (
    (http.NameResolutionError, "the name cannot be resolved: {} (is the server's address right, is the VPN up?)"),
    (http.NewConnectionError, "no connection: {} (is the API server running, is its address right?)"),
    (http.ConnectTimeoutError, "no connection in time (is the address right, is the VPN up? see --request-timeout)"),
    (http.ReadTimeoutError, "no answer in time (see --request-timeout)"),
    (TimeoutError, "no answer in time (see --request-timeout)"),
    (http.IncompleteRead, "the answer was cut short"),
    (http.DecodeError, "the answer is damaged: {}"),
    (http.ProtocolError, "the connection broke off: {}"),
)


def explain(failure: Exception, proxy: str | None) -> str:
    """Why there was no answer, or no whole one."""
    if isinstance(failure, http.ProxyError):
        return f"the proxy {shown_proxy(proxy)} does not answer: {_cause(failure)} {PROXY_HINT}"
    if isinstance(failure, http.SSLError | ssl.SSLError):
        return _tls(str(failure))
    for kind, explanation in _EXPLANATIONS:
        if isinstance(failure, kind):
            return explanation.format(_cause(failure))
    return str(failure)


def shown_proxy(proxy: str | None) -> str:
    """The proxy's address without its password."""
    return (proxy or "").rpartition("@")[2]


#: Alerts of a handshake that broke: they say nothing of certificates, and another try may pass.
TORN = ("ALERT_DECODE_ERROR", "ALERT_INTERNAL_ERROR")


def _tls(words: str) -> str:
    for symptom, advice in (
        *((alert, "the handshake broke on its side") for alert in TORN),
        ("mismatch", "its certificate is for another name; see server and tls-server-name in kubeconfig"),
        ("doesn't match", "its certificate is for another name; see server and tls-server-name in kubeconfig"),
        ("VERIFY_FAILED", "its certificate is not trusted; see certificate-authority of the cluster in kubeconfig"),
        ("WRONG_VERSION_NUMBER", "it does not speak TLS; should the server's address begin with http:?"),
        ("CERTIFICATE_REQUIRED", "it wants a client certificate; see client-certificate of the user in kubeconfig"),
        ("ALERT", "it refused the client certificate; see client-certificate of the user in kubeconfig"),
        ("NO_CERTIFICATE", "certificate-authority of the cluster in kubeconfig holds no certificate"),
        ("PEM", "a certificate or key in kubeconfig cannot be read"),
    ):
        if symptom in words:
            return f"no secure connection: {advice} ({words})"
    return f"no secure connection: {words}"


def _cause(failure: BaseException) -> str:
    """The innermost reason: urllib3 wraps what the system said."""
    while True:
        inner = failure.__cause__ or failure.__context__ or getattr(failure, "original_error", None)
        if not isinstance(inner, BaseException):
            break
        failure = inner
    return str(getattr(failure, "strerror", None) or failure)
