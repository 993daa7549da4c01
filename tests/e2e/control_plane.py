"""etcd, kube-apiserver, kube-scheduler and kube-controller-manager on loopback, with every file in one folder."""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import urllib3

from tests.e2e.api import Api
from tests.e2e.processes import answers, free_port, running
from tests.e2e.stored import Object, store
from tests.http.fake_api import CERTS

#: User -> its groups.
USERS = {"admin": "system:masters", "kwhatif": "", "system:kube-scheduler": ""} | {
    # All controllers as one user, which then needs more than its role.
    "system:kube-controller-manager": "system:masters",
}
_SERVING = (CERTS / "server.crt", CERTS / "server.key")
#: The demo's pods come without service accounts, and its nodes are ready from the start.
_WITHOUT = "ServiceAccount,TaintNodesByCondition"
_AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"]} | {
    "rules": [{"level": "Metadata"}]
}


class ControlPlane(NamedTuple):
    """A running API server."""

    programs: Path
    folder: Path
    server: str
    tokens: dict[str, str]
    api: Api
    #: Where etcd is.
    etcd: str
    #: Stop the API server, and start another one at the same address.
    restart: Callable[[], None]

    def compact(self) -> None:
        """Have etcd forget what happened until now."""
        revision = self.api.send("GET", "/api/v1/namespaces").body["metadata"]["resourceVersion"]
        asked = json.dumps({"revision": revision, "physical": True})
        done = urllib3.request("POST", f"{self.etcd}/v3/kv/compaction", body=asked, retries=False)
        assert done.status == 200, done.data

    def kubeconfig(self, user: str) -> Path:
        """Write a kubeconfig with which that user reaches the server."""
        path = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        cluster = {"server": self.server, "certificate-authority": str(CERTS / "ca.crt")}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "e2e",
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user}}],
            "clusters": [{"name": "e2e", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self.tokens[user]}}],
        }
        path.write_text(json.dumps(config))
        return path

    def audit(self) -> list[dict[str, Any]]:
        """Everything that was asked of the server so far."""
        return [json.loads(line) for line in (self.folder / "audit.log").read_text().splitlines()]

    @contextmanager
    def scheduler(self) -> Iterator[None]:
        """Let kube-scheduler work, with its default configuration."""
        with self._client("kube-scheduler"):
            yield

    @contextmanager
    def controllers(self, *flags: str) -> Iterator[None]:
        """Let kube-controller-manager work, with all of its controllers that need no keys."""
        plugins = f"--flex-volume-plugin-dir={self.folder / 'volume-plugins'}"
        with self._client("kube-controller-manager", plugins, *flags):
            yield

    @contextmanager
    def _client(self, program: str, *flags: str) -> Iterator[None]:
        port = free_port()
        kubeconfig = self.kubeconfig(f"system:{program}")
        argv = [
            str(self.programs / program),
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.folder / program}",
            "--leader-elect=false",
            *flags,
        ]
        with running(argv, self.folder / f"{program}.log", lambda: answers(port)):
            yield


@contextmanager
def control_plane(programs: Path, folder: Path, stored: Iterable[Object] = ()) -> Iterator[ControlPlane]:
    """Run etcd and an API server, which finds the objects `stored` as if it had always had them."""
    tokens = {user: secrets.token_hex(16) for user in USERS}
    rows = (f'{tokens[user]},{user},{user},"{groups}"\n' for user, groups in USERS.items())
    (folder / "tokens.csv").write_text("".join(rows))
    (folder / "audit-policy.yaml").write_text(json.dumps(_AUDIT))
    port = free_port()
    server = f"https://127.0.0.1:{port}"
    api = Api(server, tokens["admin"])
    with _etcd(programs, folder) as etcd:
        store(etcd, stored)
        argv = _apiserver(programs, folder, etcd, port)
        with ExitStack() as stack:
            starts = count(1)

            def restart() -> None:
                stack.close()
                log = folder / f"kube-apiserver-{next(starts)}.log"
                stack.enter_context(running(argv, log, api.ready))

            restart()
            try:
                yield ControlPlane(programs, folder, server, tokens, api, etcd, restart)
            finally:
                api.close()


@contextmanager
def _etcd(programs: Path, folder: Path) -> Iterator[str]:
    client, peer = free_port(), free_port()
    url, peer_url = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    argv = [
        str(programs / "etcd"),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
    ]
    with running(argv, folder / "etcd.log", lambda: answers(client)):
        yield url


def _apiserver(programs: Path, folder: Path, etcd: str, port: int) -> list[str]:
    certificate, key = _SERVING
    return [
        str(programs / "kube-apiserver"),
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'apiserver'}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.96.0.0/24",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={certificate}",
        f"--service-account-signing-key-file={key}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        f"--disable-admission-plugins={_WITHOUT}",
        f"--audit-policy-file={folder / 'audit-policy.yaml'}",
        f"--audit-log-path={folder / 'audit.log'}",
    ]
