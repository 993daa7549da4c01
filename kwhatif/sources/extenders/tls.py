"""TLS towards an extender (`makeTransport` in `pkg/scheduler/extender.go`, `TLSConfigFor` in client-go)."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kwhatif.scheduler.configuration.schema import ExtenderConfig, ExtenderTLSConfig
from kwhatif.sources.text.files import read_bytes
from kwhatif.sources.text.inflate import Unreadable


class TLSProblem(Exception):
    """The scheduler would not start with this configuration; `field` says what of it is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def tls_context(config: ExtenderConfig) -> ssl.SSLContext:
    """The context for `https://` addresses.

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
