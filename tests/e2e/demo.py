"""The demo of `fixtures/demo`, put into an API server as controllers and kubelets would have left it there."""

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from tests import FIXTURES
from tests.e2e.api import PLURALS, Api, collection, home_of, path_of

DEMO = FIXTURES / "demo"
CLUSTER = DEMO / "cluster.yaml"
PODS = sorted((DEMO / "pods").glob("*.yaml"))
#: What the server decides itself.
_SERVERS_OWN = {
    "metadata": ("uid", "resourceVersion", "creationTimestamp", "generation"),
    "spec": ("clusterIP", "clusterIPs"),
}
_AT_ONCE = {"gracePeriodSeconds": 0}


class Demo:
    """The demo's objects in an API server."""

    def __init__(self, api: Api) -> None:
        self._api = api
        document = yaml.load(CLUSTER.read_text(), yaml.CSafeLoader)
        order = list(PLURALS)
        self._objects = sorted(document["items"], key=lambda obj: order.index(obj["kind"]))
        #: UIDs in the dump -> those that the server gave: pods name their owners by them.
        self._uids: dict[str, str] = {}

    def load(self) -> None:
        """Create everything."""
        for obj in self._objects:
            self._create(obj)

    @contextmanager
    def without_limits(self) -> Iterator[None]:
        """Remove what would keep the API server from taking the demo's pods; in the end all is as before.

        kube-scheduler does not read limits.
        """
        limits = [obj for obj in self._objects if obj["kind"] in {"LimitRange", "ResourceQuota"}]
        for obj in limits:
            self._api.send("DELETE", path_of(obj))
        try:
            yield
        finally:
            self.restore()
            for obj in limits:
                self._create(obj)

    def restore(self) -> None:
        """Undo what kube-scheduler did: strange pods go, and those that it evicts are as before."""
        pods = {path_of(obj): obj for obj in self._objects if obj["kind"] == "Pod"}
        there = {
            path_of(_pod(item)): item["metadata"]
            for item in self._api.send("GET", collection("Pod", "v1")).body["items"]
        }
        strange = [path for path in there if path not in pods]
        evicted = [path for path in pods if path not in there or "deletionTimestamp" in there[path]]
        for path in strange + evicted:  # in this order: nothing is to take the place of the evicted
            self._api.send("DELETE", path, _AT_ONCE, accept=(404,))
        for path in evicted:
            self._create(pods[path])

    def bury(self, victims: Iterable[str]) -> None:
        """End pods, `namespace/name` each, as their kubelets would have done by now."""
        for victim in victims:
            namespace, name = victim.split("/")
            self._api.send("DELETE", f"{collection('Pod', 'v1', namespace)}/{name}", _AT_ONCE)

    def versions(self) -> dict[str, str]:
        """The version of every object: it changes with each change."""
        places = {collection(obj["kind"], obj["apiVersion"]) for obj in self._objects}
        return {
            f"{place} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}": item["metadata"][
                "resourceVersion"
            ]
            for place in sorted(places)
            for item in self._api.send("GET", place).body["items"]
        }

    def _create(self, wanted: dict[str, Any]) -> None:
        new = copy.deepcopy(wanted)
        uid = new["metadata"].get("uid")
        for part, fields in _SERVERS_OWN.items():
            for field in fields:
                new.get(part, {}).pop(field, None)
        for owner in new["metadata"].get("ownerReferences", ()):
            owner["uid"] = self._uids[owner["uid"]]
        # Some namespaces, priority classes and a service are the server's own, and there already.
        answer = self._api.send("POST", home_of(new), new, accept=(409,))
        if answer.status == 409:
            return
        self._uids[uid] = answer.body["metadata"]["uid"]
        if "status" in wanted and wanted["kind"] != "Namespace":
            self._api.send("PUT", f"{path_of(new)}/status", answer.body | {"status": wanted["status"]})


def _pod(item: dict[str, Any]) -> dict[str, Any]:
    """An item of a list, which does not say what it is."""
    return {"apiVersion": "v1", "kind": "Pod"} | item
