"""An API server as its administrator sees it: plain JSON over HTTPS, no client library."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import urllib3

from tests.http.fake_api import CERTS

#: Kind -> the plural in its address, in an order in which objects can be created.
PLURALS = {
    "Namespace": "namespaces",
    "PriorityClass": "priorityclasses",
    "Node": "nodes",
    "Deployment": "deployments",
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
    "DaemonSet": "daemonsets",
    "Job": "jobs",
    "ReplicationController": "replicationcontrollers",
    "Service": "services",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "Pod": "pods",
    "LimitRange": "limitranges",
    "ResourceQuota": "resourcequotas",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
}


_CONTENT = {"PATCH": "application/merge-patch+json"}


class Answer(NamedTuple):
    """What the server said."""

    status: int
    body: dict[str, Any]


class Refused(Exception):
    """An answer that the tests have no use for."""


class Api:
    """Sends requests; whatever is not answered with success is an exception, or one of `accept`."""

    def __init__(self, server: str, token: str) -> None:
        self._server = server
        self._pool = urllib3.PoolManager(
            ca_certs=str(CERTS / "ca.crt"),
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
            retries=False,
            maxsize=4,
        )

    def send(self, method: str, path: str, body: Any = None, accept: tuple[int, ...] = ()) -> Answer:
        response = self._pool.request(
            method,
            self._server + path,
            body=None if body is None else json.dumps(body),
            headers={**self._pool.headers, "Content-Type": _CONTENT.get(method, "application/json")},
        )
        if response.status >= 300 and response.status not in accept:
            raise Refused(f"{method} {path}: {response.status} {response.data.decode()}")
        return Answer(response.status, json.loads(response.data))

    def stream(self, path: str) -> Iterator[bytes]:
        """The lines of an answer as they come, until the server ends it or says nothing for a second."""
        response = self._pool.request("GET", self._server + path, preload_content=False, timeout=1)
        if response.status != 200:
            raise Refused(f"GET {path}: {response.status} {response.data.decode()}")
        rest = b""
        try:
            for chunk in response.stream(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from lines
        finally:
            response.close()

    def ready(self) -> bool:
        """Whether everything in the server has started."""
        try:
            return self._pool.request("GET", f"{self._server}/readyz").status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def close(self) -> None:
        self._pool.clear()


def collection(kind: str, api_version: str, namespace: str = "") -> str:
    """The path of all objects of a kind (in a namespace)."""
    root = "/apis" if "/" in api_version else "/api"
    return "/".join([root, api_version, *(["namespaces", namespace] if namespace else []), PLURALS[kind]])


def path_of(obj: dict[str, Any]) -> str:
    """The path of an object."""
    return f"{home_of(obj)}/{obj['metadata']['name']}"


def home_of(obj: dict[str, Any]) -> str:
    """The path under which an object is created."""
    return collection(obj["kind"], obj["apiVersion"], obj["metadata"].get("namespace", ""))
