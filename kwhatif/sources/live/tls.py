"""One TLS context for all connections to the API server.

urllib3 makes one for each, and eight times reading the certificates of the system costs more than reading the cluster.
"""

from __future__ import annotations

import ssl
from typing import Any

import urllib3
from urllib3.util.ssl_ import create_urllib3_context

#: What connections would load for themselves.
_LOADED_ONCE = ("ca_certs", "ca_cert_data", "cert_file", "key_file")


def share_context(pool: urllib3.PoolManager) -> None:
    """Let connections that the pool will make share what its settings say of certificates.

    A proxy's connections are left alone: the proxy itself may want other certificates.

    Raises:
        OSError: a file cannot be read, or what it holds cannot be used.
    """
    if pool.proxy is not None:
        return
    settings: dict[str, Any] = pool.connection_pool_kw
    authority, data, certificate, key = (settings.pop(name, None) for name in _LOADED_ONCE)
    context = create_urllib3_context(cert_reqs=settings.get("cert_reqs", ssl.CERT_REQUIRED))
    if authority or data:
        context.load_verify_locations(authority, cadata=data)
    elif context.verify_mode != ssl.CERT_NONE:
        context.load_default_certs()
    if certificate:
        # Without a password for the key OpenSSL would ask on the terminal.
        context.load_cert_chain(certificate, key, password=lambda: b"")
    settings["ssl_context"] = context
