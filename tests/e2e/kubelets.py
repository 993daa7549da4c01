"""Kubelets that run no containers: bound pods start, terminating ones end, and nodes renew their leases."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import urllib3

from tests.e2e.api import Api
from tests.e2e.watched import Pod, Watched, in_background

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_ANNOTATION = "kwhatif.dev/"
_TURN, _RENEWAL = 0.05, 2.0
_FINAL = ("Succeeded", "Failed")


class Kubelets:
    """One for each node. A pod starts `start` seconds after it was bound, and ends within `stop` seconds.

    A pod's annotations `kwhatif.dev/start-seconds`, `stop-seconds`, `run-seconds` and `ready` say otherwise for itself.
    """

    def __init__(self, api: Api, pods: Watched, start: float, stop: float) -> None:
        self._api, self._pods = api, pods
        self._start, self._stop = start, stop
        self._nodes = {node["metadata"]["name"] for node in api.send("GET", "/api/v1/nodes").body["items"]}
        self._silent: set[str] = set()
        #: (UID, what is awaited) -> since when.
        self._since: dict[tuple[str, str], float] = {}
        #: Of what was written last of a pod: nothing is due until the watch has brought it.
        self._written: dict[str, str] = {}
        self._renewed = 0.0
        self._over = threading.Event()

    def silence(self, node: str) -> None:
        """This node's kubelet says and does nothing any more."""
        self._silent.add(node)

    def wake(self, node: str) -> None:
        """It is back, and its node ready."""
        self._silent.discard(node)
        path = f"/api/v1/nodes/{node}"
        body = self._api.send("GET", path).body
        for condition in body["status"]["conditions"]:
            condition["status"] = "True" if condition["type"] == "Ready" else "False"
        self._api.send("PUT", f"{path}/status", body)

    def forget(self, node: str) -> None:
        """The node object is deleted: its machine is gone."""
        self._nodes.discard(node)

    def work(self) -> None:
        while not self._over.is_set():
            try:
                self._renew()
                for pod in self._pods.there():
                    if pod["spec"].get("nodeName") in self._nodes - self._silent:
                        self._act(pod)
            except urllib3.exceptions.HTTPError:
                pass  # the server is going
            self._over.wait(_TURN)

    def end(self) -> None:
        self._over.set()

    def _renew(self) -> None:
        if time.monotonic() < self._renewed + _RENEWAL:
            return
        self._renewed = time.monotonic()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        for node in self._nodes - self._silent:
            spec = {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": now}
            if self._api.send("PATCH", f"{_LEASES}/{node}", {"spec": spec}, accept=(404,)).status == 404:
                lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": node}}
                # The server makes the namespace a moment after its start.
                self._api.send("POST", _LEASES, lease | {"spec": spec}, accept=(404, 409))

    def _act(self, pod: Pod) -> None:
        metadata, phase = pod["metadata"], pod["status"].get("phase", "Pending")
        if self._written.get(metadata["uid"]) == metadata["resourceVersion"]:
            return
        if "deletionTimestamp" in metadata:
            grace = metadata.get("deletionGracePeriodSeconds", 0)
            if phase in _FINAL:
                self._remove(pod)
            elif self._due(pod, "stop", min(grace, self._seconds(pod, "stop-seconds", self._stop))):
                self._write(pod, "Failed", ready=False)
        elif phase == "Pending":
            if self._due(pod, "start", self._seconds(pod, "start-seconds", self._start)):
                self._write(pod, "Running", ready=self._says(pod, "ready") != "false")
        elif phase == "Running" and (runs := self._says(pod, "run-seconds")) and self._due(pod, "run", float(runs)):
            self._write(pod, "Succeeded", ready=False)

    def _due(self, pod: Pod, what: str, after: float) -> bool:
        now = time.monotonic()
        return now >= self._since.setdefault((pod["metadata"]["uid"], what), now) + after

    def _says(self, pod: Pod, what: str) -> str:
        return pod["metadata"].get("annotations", {}).get(_ANNOTATION + what, "")

    def _seconds(self, pod: Pod, what: str, default: float) -> float:
        return float(self._says(pod, what) or default)

    def _write(self, pod: Pod, phase: str, *, ready: bool) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        mine = {"Initialized": "True"} | dict.fromkeys(("ContainersReady", "Ready"), str(ready))
        old = pod["status"].get("conditions", [])
        conditions = [condition for condition in old if condition["type"] not in mine] + [
            {"type": kind, "status": status, "lastTransitionTime": now} for kind, status in mine.items()
        ]
        status: dict[str, Any] = {"startTime": now} | pod["status"] | {"phase": phase, "conditions": conditions}
        answer = self._api.send("PUT", f"{_path(pod)}/status", pod | {"status": status}, accept=(404, 409))
        if answer.status == 200:  # else the pod has changed, and the watch will bring it
            self._written[pod["metadata"]["uid"]] = pod["metadata"]["resourceVersion"]

    def _remove(self, pod: Pod) -> None:
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        self._api.send("DELETE", _path(pod), options, accept=(404, 409))
        self._written[pod["metadata"]["uid"]] = pod["metadata"]["resourceVersion"]


@contextmanager
def kubelets(api: Api, pods: Watched, start: float = 1, stop: float = 2) -> Iterator[Kubelets]:
    """Play the kubelets of all nodes for as long as the `with` lasts."""
    playing = Kubelets(api, pods, start, stop)
    with in_background(playing.work, playing.end):
        yield playing


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
