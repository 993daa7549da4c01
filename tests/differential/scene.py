"""A case under construction: plain objects as one would write them in YAML."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.differential.dice import Dice

Object = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"

DEFAULT = "default"


class Case(NamedTuple):
    """A question to both sides."""

    #: `family-seed-index`.
    name: str
    family: str
    #: What it exercises, for people.
    title: str
    cluster: list[Object]
    pod: Object
    config: Object | None = None
    #: How the cluster's file is laid out; see `files`.
    form: str = "list"


class Scene:
    """Nodes, pods, other objects, the candidate and a configuration, for features to add to."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.nodes: list[Object] = []
        self.pods: list[Object] = []
        self.objects: list[Object] = []
        self.pod: Object = {}
        self.profiles: list[Object] = []
        self.namespaces: list[str] = [DEFAULT]
        self.notes: list[str] = []
        #: Full nodes make a pod that has to evict.
        self.mood = "roomy"
        #: Node name -> the cpu that it was made with, in milli.
        self.cpu: dict[str, int] = {}
        self._minute = 0

    # --- what there is -------------------------------------------------------------------------------

    @property
    def spec(self) -> Object:
        """The candidate's spec."""
        return self.pod["spec"]

    @property
    def namespace(self) -> str:
        """The candidate's namespace."""
        return self.pod["metadata"].get("namespace", DEFAULT)

    def node_names(self) -> list[str]:
        """All nodes that exist."""
        return [node["metadata"]["name"] for node in self.nodes]

    def running(self) -> list[Object]:
        """Pods that sit on a node and are not finished."""
        return [
            pod
            for pod in self.pods
            if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        ]

    def everyone(self) -> list[Object]:
        """The pods of the cluster, and the candidate."""
        return [*self.pods, self.pod]

    def some_pods(self, probability: float) -> Iterator[Object]:
        """Each running pod with that probability."""
        return (pod for pod in self.running() if self.dice.chance(probability))

    def some_nodes(self, probability: float) -> Iterator[Object]:
        """Each node with that probability."""
        return (node for node in self.nodes if self.dice.chance(probability))

    def node_of(self, pod: Object) -> Object | None:
        """The node on which a pod sits, if that exists."""
        for node in self.nodes:
            if node["metadata"]["name"] == pod["spec"].get("nodeName"):
                return node
        return None

    # --- adding --------------------------------------------------------------------------------------

    def add(self, api_version: str, kind: str, name: str, namespace: str | None = None, **fields: Any) -> Object:
        """Add an object that is neither node nor pod; `labels` and `annotations` go to its metadata."""
        metadata: Object = {"name": name}
        if namespace is not None:
            metadata["namespace"] = namespace
        for field in ("labels", "annotations", "uid", "creationTimestamp", "deletionTimestamp", "ownerReferences"):
            if field in fields:
                metadata[field] = fields.pop(field)
        obj = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
        self.objects.append(obj)
        return obj

    def find(self, kind: str, name: str) -> Object | None:
        """An object by kind and name, in whatever namespace."""
        for obj in self.objects:
            if (obj["kind"], obj["metadata"]["name"]) == (kind, name):
                return obj
        return None

    def note(self, text: str) -> None:
        """Say what the case exercises."""
        if text not in self.notes:
            self.notes.append(text)

    def moment(self) -> str:
        """A time that nothing else has."""
        self._minute += 1
        return f"2026-03-{1 + self._minute // 1440:02}T{self._minute // 60 % 24:02}:{self._minute % 60:02}:00Z"

    def case(self, name: str, family: str) -> Case:
        """What was built; the order of objects in the file means nothing, so it is shuffled."""
        cluster = [*self.nodes, *self.pods, *self.objects]
        self.dice.shuffle(cluster)
        config = None
        if self.profiles:
            config = {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": self.profiles,
            }
        form = self.dice.weighted({"list": 8, "documents": 2, "typed lists": 1, "yaml": 1})
        return Case(name, family, ", ".join(self.notes), cluster, self.pod, config, form)


def labels_of(obj: Object) -> dict[str, str]:
    """The labels, made if there are none."""
    return obj["metadata"].setdefault("labels", {})


def namespace_of(obj: Object) -> str:
    """The namespace; a missing one is `default`."""
    return obj["metadata"].get("namespace", DEFAULT)


def uid_of(obj: Object) -> str:
    """The UID, made if there is none."""
    metadata = obj["metadata"]
    name = f"{namespace_of(obj)}-{metadata['name']}"
    return metadata.setdefault("uid", f"uid-{obj['kind'].lower()}-{name}")


def main_container(pod: Object) -> Object:
    """The first container."""
    return pod["spec"]["containers"][0]


def requests_of(container: Object) -> dict[str, str]:
    """A container's requests, made if there are none."""
    return container.setdefault("resources", {}).setdefault("requests", {})


def add_container(pod: Object, container: Object) -> None:
    """One more container, of a name that is not taken."""
    containers = pod["spec"]["containers"]
    containers.append({**container, "name": f"more-{len(containers)}"})
