"""A connection as kubectl would make it: address, TLS, proxy and credentials by the official client."""

from __future__ import annotations

import logging
import os
import re
import ssl
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock, Thread
from types import SimpleNamespace
from typing import IO, Any, NamedTuple
from urllib.parse import quote

import urllib3
from kubernetes.client import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes.config import exec_provider as _provider
from urllib3.util.ssl_ import create_urllib3_context

from kwhatif._version import __version__
from kwhatif.errors import ClusterUnreadable, InputError, Problem
from kwhatif.sources.live.failures import PROXY_HINT, explain, shown_proxy
from kwhatif.sources.live.kubeconfig import Kubeconfig, LiveOptions, check_files, find_kubeconfig
from kwhatif.sources.network import redacted

#: Its module, whose names are not all declared.
_CLIENT: Any = _provider

#: Seconds. A login in a browser takes some time; nothing else does.
LONGEST, LONGEST_WITH_USER = 60.0, 900.0
#: Characters of the credentials that a plugin prints, and how many are read at once.
_MOST_PRINTED = 1 << 20
_CHUNK = 1 << 16
#: Seconds for what a plugin has started itself to let go of the pipes.
_GRACE = 1.0
_LOCK = RLock()


@contextmanager
def bounded_plugins(longest: float | None) -> Iterator[None]:
    """Limit the runtime of exec plugins for credentials to this number of seconds (None: the usual limit).

    The client itself would wait for as long as they run, and keep all that they print.
    """

    class Bounded(_Plugin):
        limit = longest or LONGEST

    with _LOCK:
        usual = _CLIENT.subprocess
        _CLIENT.subprocess = SimpleNamespace(Popen=Bounded, PIPE=subprocess.PIPE)
        try:
            yield
        finally:
            _CLIENT.subprocess = usual


class _Plugin(subprocess.Popen[str]):
    limit = LONGEST

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[str, str]:  # noqa: A002, ARG002
        """What it printed.

        Raises:
            ConfigException: it does not end, or prints without end.
        """
        streams = [self.stdout, self.stderr]
        texts = [_Printed(self, stream) for stream in streams if stream is not None]
        limit = LONGEST_WITH_USER if sys.stdin and sys.stdin.isatty() and self.stderr is None else self.limit
        try:
            self.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()
            raise ConfigException(f"exec: the plugin did not end within {limit:.0f} seconds") from None
        finally:
            for text in texts:
                text.join(_GRACE)
        if any(text.is_too_long for text in texts):
            raise ConfigException(f"exec: the plugin printed more than {_MOST_PRINTED} characters")
        return texts[0].text, texts[1].text if len(texts) > 1 else ""


class _Printed(Thread):
    """Reads what a plugin prints; of one that prints too much, no more is wanted."""

    def __init__(self, plugin: _Plugin, stream: IO[str]) -> None:
        super().__init__(daemon=True)
        self._plugin = plugin
        self._stream = stream
        self._parts: list[str] = []
        self.is_too_long = False
        self.start()

    @property
    def text(self) -> str:
        """What was read so far."""
        return "".join(self._parts)

    def run(self) -> None:
        """Read to the end."""
        size = 0
        with suppress(ValueError, OSError), self._stream:  # it may be no text
            while part := self._stream.read(_CHUNK):
                size += len(part)
                if size > _MOST_PRINTED:
                    self.is_too_long = True
                    self._plugin.kill()
                    return
                self._parts.append(part)


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


Header = tuple[str, str]
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def sendable(value: str, what: str) -> str:
    """The value as a header carries it: UTF-8, as Go sends it, where Python's library only knows Latin-1.

    Raises:
        InputError: it holds what no header can; `what` is not right.
    """
    if _CONTROL.search(value):
        raise InputError([Problem(what, "holds a line break or another control character, which cannot be sent")])
    return value.encode(errors="surrogateescape").decode("latin-1")


def impersonation(options: LiveOptions, user: Mapping[str, Any]) -> tuple[Header, ...]:
    """Headers of `--as` and `--as-group`, else those of the kubeconfig's user.

    Raises:
        InputError: groups without a user, or a name that cannot be sent.
    """
    if options.as_user is None and options.as_groups:
        raise InputError([Problem("--as-group", "groups are impersonated with a user only", hint="give --as as well")])
    headers = _of_kubeconfig(user) if options.as_user is None else _of_options(options.as_user, options.as_groups)
    return tuple((name, sendable(value, what)) for name, value, what in headers)


def _of_options(user: str, groups: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    yield "Impersonate-User", user, "--as"
    for group in groups:
        yield "Impersonate-Group", group, "--as-group"


def _of_kubeconfig(user: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    if not user.get("as"):
        return
    yield "Impersonate-User", str(user["as"]), "as in kubeconfig"
    if user.get("as-uid"):
        yield "Impersonate-Uid", str(user["as-uid"]), "as-uid in kubeconfig"
    for group in user.get("as-groups") or ():
        yield "Impersonate-Group", str(group), "as-groups in kubeconfig"
    for key, values in (user.get("as-user-extra") or {}).items():
        for value in values:
            yield f"Impersonate-Extra-{quote(key)}", str(value), "as-user-extra in kubeconfig"


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
