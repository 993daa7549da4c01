"""The connections to the API server, or to the proxy before it."""

from __future__ import annotations

import ssl
import warnings
from typing import Any

import urllib3
from kubernetes.client.rest import RESTClientObject
from urllib3.util.ssl_ import create_urllib3_context

from kwhatif.errors import ClusterUnreadable
from kwhatif.sources.live.failures import PROXY_HINT, explain, shown_proxy

#: What connections would load for themselves.
_LOADED_ONCE = ("ca_certs", "ca_cert_data", "cert_file", "key_file")


def make_pool(configuration: Any, name: str) -> urllib3.PoolManager:
    """What the client would send requests with; `name` is how the report calls the cluster.

    Raises:
        ClusterUnreadable: the proxy, or a certificate, cannot be used.
    """
    if configuration.proxy and "://" not in configuration.proxy:
        configuration.proxy = f"http://{configuration.proxy}"  # as Go takes it, and curl
    if not configuration.verify_ssl:  # the user's choice (insecure-skip-tls-verify), as silent as kubectl takes it
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    pool = _pool(configuration, name)
    if pool.proxy is None and configuration.host.startswith("https:"):
        try:
            _share_context(pool)
        except OSError as failure:
            raise ClusterUnreadable(f"{name}: {explain(failure, None)}") from failure
    return pool


def _pool(configuration: Any, name: str) -> urllib3.PoolManager:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", urllib3.exceptions.DependencyWarning)  # the error says it, too
            pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager
    except ImportError as failure:
        reason = "SOCKS needs PySocks: pip install pysocks"
        raise ClusterUnreadable(f"{name}: the proxy {shown_proxy(configuration.proxy)}: {reason}") from failure
    except (urllib3.exceptions.HTTPError, ValueError) as failure:
        proxy = shown_proxy(configuration.proxy)
        reason = str(failure).replace(configuration.proxy, proxy)
        raise ClusterUnreadable(f"{name}: the proxy {proxy} cannot be used: {reason} {PROXY_HINT}") from failure
    return pool


def _share_context(pool: urllib3.PoolManager) -> None:
    """One TLS context for all connections.

    urllib3 makes one for each, and eight times reading the certificates of the system costs more than reading the
    cluster. A proxy's connections are left alone: the proxy itself may want other certificates.
    """
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
