"""A connection as kubectl would make it: address, TLS, proxy and credentials by the official client."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import urllib3
from kubernetes.client import Configuration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config

from kwhatif._version import __version__
from kwhatif.errors import ClusterUnreadable, InputError, Problem
from kwhatif.sources.address import redacted
from kwhatif.sources.live.exec_plugins import bounded_plugins
from kwhatif.sources.live.headers import Header, impersonation, sendable
from kwhatif.sources.live.kubeconfig import Kubeconfig, check_files, find_kubeconfig
from kwhatif.sources.live.options import LiveOptions
from kwhatif.sources.live.pool import make_pool

_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_NO_CLUSTER = (
    "no cluster to read: there is no kubeconfig ($KUBECONFIG, ~/.kube/config), and this is not a pod."
    " Name a dump with --from, or a kubeconfig with --kubeconfig"
)
_ADDRESS = re.compile(r"https?://[^/]", re.IGNORECASE)
#: Lists that are fetched at the same time.
PARALLEL = 8


class Connection:
    """Where to send requests, and with which headers."""

    def __init__(
        self, target: _Target, impersonate: tuple[Header, ...], timeout: float | None = None, watches: int = 0
    ) -> None:
        configuration = target.configuration
        configuration.connection_pool_maxsize = PARALLEL + watches
        self.pool = make_pool(configuration, target.name)
        self.host = configuration.host
        self.proxy = configuration.proxy
        #: How the report calls this cluster.
        self.name = target.name
        #: Where objects belong that name no namespace.
        self.namespace = target.namespace
        self._configuration = configuration
        self._timeout = timeout
        self._headers = (
            ("Accept", "application/json"),
            ("User-Agent", f"kwhatif/{__version__}"),
            *((("Accept-Encoding", "gzip"),) if target.compress else ()),
            *impersonate,
        )
        self._lock = Lock()

    def headers(self) -> urllib3.HTTPHeaderDict:
        """The headers of a request; credentials that are about to expire are renewed."""
        headers = urllib3.HTTPHeaderDict(self._headers)
        with self._lock, _logged_by_client() as logged, bounded_plugins(self._timeout):
            settings = self._configuration.auth_settings()
        for setting in settings.values():
            if setting["value"]:
                # A file with a token may end with a line break.
                headers.add(setting["key"], sendable(setting["value"].strip(), f"{self.name}: the token"))
        if logged:
            raise ClusterUnreadable(f"{self.name}: the credentials could not be renewed: {'; '.join(logged)}")
        return headers

    def describe(self) -> str:
        """The server, for messages."""
        return f"{redacted(self.host)} ({self.name})"

    def close(self) -> None:
        """Close what is idle; requests under way end by themselves."""
        self.pool.clear()


class _Target(NamedTuple):
    configuration: Any
    name: str
    namespace: str
    compress: bool = True


def connect(options: LiveOptions, environ: Mapping[str, str] = os.environ, *, watches: int = 0) -> Connection:
    """Make ready to ask the cluster; nothing is sent to it yet, but plugins for credentials run.

    Args:
        options: which cluster, and as whom.
        environ: where kubeconfig is named otherwise.
        watches: how many requests stay open, besides those that come and go.

    Raises:
        InputError: the kubeconfig is wrong, or what is asked for is not in it.
        ClusterUnreadable: there is no cluster to ask, or no credentials can be had.
    """
    kubeconfig = find_kubeconfig(options.kubeconfig, options.context, environ)
    # Not `Configuration()`: that may be a copy of a default which other code of this process has set.
    configuration = type.__call__(Configuration)
    if kubeconfig is not None:
        _load(kubeconfig, configuration, options.timeout)
        compress = kubeconfig.cluster.get("disable-compression") is not True
        target = _Target(configuration, f"context {kubeconfig.context}", kubeconfig.namespace, compress)
    elif environ.get("KUBERNETES_SERVICE_HOST"):
        target = _in_cluster(configuration)
    else:
        raise ClusterUnreadable(_NO_CLUSTER)
    whom = impersonation(options, kubeconfig.user if kubeconfig else {})
    return Connection(target, whom, options.timeout, watches)


def _load(kubeconfig: Kubeconfig, configuration: Any, timeout: float | None) -> None:
    _check_server(kubeconfig)
    check_files(kubeconfig)
    with _logged_by_client() as logged, bounded_plugins(timeout):
        try:
            load_kube_config(kubeconfig.paths, kubeconfig.context, configuration)  # type: ignore[no-untyped-call]
        except (ConfigException, OSError, ValueError, TypeError, KeyError) as failure:
            raise InputError([Problem(kubeconfig.paths, f"cannot be used: {_words(failure)}")]) from failure
        except Exception as failure:  # an OIDC provider was asked for a token; its libraries raise what they like
            raise ClusterUnreadable(f"context {kubeconfig.context}: no credentials: {failure}") from failure
    _check_credentials(kubeconfig, configuration, logged)


def _words(failure: Exception) -> str:
    return f"{failure.filename}: {failure.strerror}" if isinstance(failure, OSError) else str(failure)


def _check_server(kubeconfig: Kubeconfig) -> None:
    server = kubeconfig.cluster.get("server")
    if not server:
        raise InputError([Problem(kubeconfig.paths, f"the cluster of context {kubeconfig.context} has no server")])
    if not isinstance(server, str) or not _ADDRESS.match(server):
        said = (
            f"the server of context {kubeconfig.context} is not the address of an API server: {redacted(str(server))}"
        )
        raise InputError([Problem(kubeconfig.paths, said, hint="it begins with https://")])


def _check_credentials(kubeconfig: Kubeconfig, configuration: Any, logged: list[str]) -> None:
    """The client continues without credentials if a plugin returned none; the server's message would then mislead."""
    if configuration.auth_settings() or configuration.cert_file:
        return
    plugin, provider = kubeconfig.user.get("exec"), kubeconfig.user.get("auth-provider")
    if isinstance(plugin, dict):
        hint = plugin.get("installHint") or "run it by hand to see what is wrong"
        reason = "; ".join(logged) or "it gave neither a token nor a certificate"
        raise ClusterUnreadable(
            f"context {kubeconfig.context}: no credentials from the exec plugin {plugin.get('command')}:"
            f" {reason} ({hint})"
        )
    if isinstance(provider, dict):
        raise ClusterUnreadable(
            f"context {kubeconfig.context}: no credentials from the auth-provider {provider.get('name')}"
            " (log in again; kubectl has replaced most of them by exec plugins)"
        )


def _in_cluster(configuration: Any) -> _Target:
    try:
        load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        namespace = _NAMESPACE_FILE.read_text().strip() if _NAMESPACE_FILE.exists() else ""
    except (ConfigException, OSError) as failure:
        raise ClusterUnreadable(f"in this pod: {failure} (does its service account mount a token?)") from failure
    return _Target(configuration, "in-cluster", namespace or "default")


@contextmanager
def _logged_by_client() -> Iterator[list[str]]:
    """What the client logs meanwhile: it goes on where an exec plugin fails."""
    logged: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: logged.append(" ".join(record.getMessage().split()))  # type: ignore[method-assign]
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield logged
    finally:
        root.removeHandler(handler)
