"""One POST to an extender, with the failures that Go's HTTP client would report, in its words."""

from __future__ import annotations

import os
import ssl
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import BadStatusLine, RemoteDisconnected
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

import urllib3
from urllib3 import exceptions as errors

from kwhatif.kube.model.quantity import LONGEST, parse_duration
from kwhatif.scheduler.configuration.schema import ExtenderConfig, ExtenderTLSConfig
from kwhatif.scheduler.framework.extender import ExtenderError
from kwhatif.sources.network import redacted, within
from kwhatif.sources.text.files import read_bytes
from kwhatif.sources.text.inflate import Unreadable


class TLSProblem(Exception):
    """The scheduler would not start with this configuration; `field` says what of it is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def tls_context(config: ExtenderConfig) -> ssl.SSLContext:
    """The context for `https://` (`makeTransport` in `pkg/scheduler/extender.go`, `TLSConfigFor` in client-go).

    QUIRK: (extender.go) `enableHTTPS` without a certificate authority turns verification off.

    Raises:
        TLSProblem: a file cannot be read, or what it holds cannot be used.
    """
    tls = config.tls_config or ExtenderTLSConfig()
    authority = _data_or_file(tls.ca_data, tls.ca_file, "caFile")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if authority:
        try:
            context.load_verify_locations(cadata=authority.decode("ascii", "replace"))
        except ssl.SSLError as failure:
            field = "caData" if tls.ca_data else "caFile"
            raise TLSProblem(field, f"holds no certificates: {failure.reason or failure}") from failure
    elif tls.insecure or config.enable_https:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_default_certs()
    _load_client_certificate(context, tls)
    return context


def _data_or_file(data: bytes, path: str, field: str) -> bytes:
    """Data counts before the file, which then is not even read."""
    if data or not path:
        return data
    try:
        content = read_bytes(path)
    except Unreadable as reason:
        raise TLSProblem(field, f"{path} {reason}") from reason
    except (OSError, ValueError) as failure:
        raise TLSProblem(field, f"{path} cannot be read: {getattr(failure, 'strerror', None) or failure}") from failure
    return content


def _load_client_certificate(context: ssl.SSLContext, tls: ExtenderTLSConfig) -> None:
    certificate = _data_or_file(tls.cert_data, tls.cert_file, "certFile")
    key = _data_or_file(tls.key_data, tls.key_file, "keyFile")
    if not (certificate and key):  # one alone is not an identity
        return
    with _private_file(certificate) as certificate_path, _private_file(key) as key_path:
        try:
            # Without a password for the key OpenSSL would ask on the terminal.
            context.load_cert_chain(certificate_path, key_path, password=lambda: b"")
        except (ssl.SSLError, OSError) as failure:
            field = "certData" if tls.cert_data else "certFile"
            reason = getattr(failure, "reason", None) or failure
            raise TLSProblem(field, f"is not a certificate with its key: {reason}") from failure


@contextmanager
def _private_file(content: bytes) -> Iterator[str]:
    """A file that only this user can read: OpenSSL takes certificates of clients from nowhere else."""
    handle, path = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield path
    finally:
        Path(path).unlink()


def split(url: str) -> SplitResult:
    """The URL's parts.

    Raises:
        ExtenderError: it is not a URL, or of another scheme than http and https.
    """
    shown = redacted(url)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as failure:
        raise ExtenderError(f'parse "{shown}": {failure}') from failure
    if parts.scheme not in ("http", "https"):
        raise ExtenderError(f'Post "{shown}": unsupported protocol scheme "{parts.scheme}"')
    return parts


#: Seconds (`DefaultExtenderTimeout` in `extender.go`).
_DEFAULT_TIMEOUT = 5.0
_OK = 200
#: The number of redirects that Go's client follows.
_REDIRECTS = 10
_CHUNK = 1 << 16
#: Nothing sensible is longer; what is, would fill the memory before the time is up.
_MAX_ANSWER = 1 << 30
#: OpenSSL's codes for certificates that lead to no authority it knows.
_UNKNOWN_AUTHORITY = (18, 19, 20, 21)

_AWAITING_HEADERS = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
_READING_BODY = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"


class Transport:
    """The connection to one extender; connections are kept from call to call."""

    def __init__(self, config: ExtenderConfig) -> None:
        """Prepare; nothing is sent yet.

        Raises:
            TLSProblem: the configuration cannot be used.
        """
        self._prefix = config.url_prefix.rstrip("/")
        timeout = parse_duration(config.http_timeout) / 1e9 or _DEFAULT_TIMEOUT
        #: Seconds for one call; None: as long as it takes, which in Go a negative timeout means.
        self._limit = min(timeout, LONGEST) if timeout > 0 else None
        server_name = (config.tls_config.server_name if config.tls_config else "") or None
        self._pool = urllib3.PoolManager(
            ssl_context=tls_context(config),
            server_hostname=server_name,
            retries=urllib3.Retry(_REDIRECTS, connect=0, read=0, redirect=_REDIRECTS, status=0, other=0),
            timeout=urllib3.Timeout(connect=self._limit, read=self._limit),
        )

    def post(self, verb: str, body: bytes) -> bytes:
        """The answer's body; the whole exchange takes no longer than the extender's timeout.

        Raises:
            ExtenderError: in the words of the scheduler.
        """
        call = _Call(self._pool, f"{self._prefix}/{verb}", body, self._limit)
        status, answer = call.run()
        if status != _OK:
            raise ExtenderError(f"failed {verb} with extender at URL {call.shown}, code {status}")
        return answer


class _Call:
    """One exchange."""

    def __init__(self, pool: urllib3.PoolManager, url: str, body: bytes, limit: float | None) -> None:
        self._pool = pool
        self._url = url
        self._parts = split(url)
        self._body = body
        self._limit = limit
        self._reading_body = self._given_up = False
        self.shown = redacted(url)

    def run(self) -> tuple[int, bytes]:
        """Status code and body."""
        try:
            return within(self._limit, self._send)
        except Exception as failure:
            self._given_up = True
            raise ExtenderError(self._in_words(failure)) from failure

    def _send(self) -> tuple[int, bytes]:
        parts = self._parts
        headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
        if parts.username is not None:
            credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers |= urllib3.make_headers(basic_auth=credentials)
        with warnings.catch_warnings():
            # Verification is off because the configuration says so.
            warnings.simplefilter("ignore", errors.InsecureRequestWarning)
            response = self._pool.request("POST", self._url, body=self._body, headers=headers, preload_content=False)
        try:
            self._reading_body = True
            return response.status, b"".join(self._chunks(response)) if response.status == _OK else b""
        finally:
            response.release_conn()

    def _chunks(self, response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
        size = 0
        for chunk in response.stream(_CHUNK, decode_content=True):
            size += len(chunk)
            if size > _MAX_ANSWER:
                raise ExtenderError(f"the answer is longer than {_MAX_ANSWER} bytes")
            if self._given_up:
                raise TimeoutError
            yield chunk

    def _in_words(self, failure: Exception) -> str:
        """What Go's client would say."""
        if isinstance(failure, ExtenderError):
            return str(failure)
        if isinstance(failure, errors.MaxRetryError) and failure.reason is not None:
            failure = failure.reason
        # urllib3 takes a connection that is refused for one that times out.
        timed_out = isinstance(failure, errors.TimeoutError) and not isinstance(failure, errors.NewConnectionError)
        if timed_out or isinstance(failure, TimeoutError):
            return _READING_BODY if self._reading_body else f'Post "{self.shown}": {_AWAITING_HEADERS}'
        if self._reading_body:
            return "unexpected EOF" if isinstance(failure, errors.ProtocolError) else str(failure)
        return f'Post "{self.shown}": {_connection_failure(failure, self._parts)}'


def _connection_failure(failure: Exception, parts: SplitResult) -> str:
    address = f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    cause = failure.__cause__ or failure.__context__
    match failure:
        case errors.NameResolutionError():
            return f"dial tcp: lookup {parts.hostname}: no such host"
        case errors.NewConnectionError():
            reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(failure)
            return f"dial tcp {address}: connect: {reason.lower()}"
        case errors.SSLError(args=[ssl.SSLCertVerificationError() as refused, *_]):
            unknown = refused.verify_code in _UNKNOWN_AUTHORITY
            reason = "x509: certificate signed by unknown authority" if unknown else refused.verify_message
            return f"tls: failed to verify certificate: {reason}"
        case errors.SSLError():
            return f"tls: {failure}"
        case errors.ResponseError():
            return f"stopped after {_REDIRECTS} redirects"
        case errors.ProtocolError(args=[_, RemoteDisconnected()]):
            return "EOF"
        case errors.ProtocolError(args=[_, BadStatusLine() as wrong]):
            line = str(wrong).strip()
            return f'net/http: HTTP/1.x transport connection broken: malformed HTTP response "{line}"'
        case errors.ProtocolError(args=[_, OSError(strerror=str() as reason)]):
            return f"read: {reason.lower()}"
    return str(failure)
