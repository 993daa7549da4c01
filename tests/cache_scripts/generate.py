"""Random scripts: calls of the cache as watch events and the scheduler make them, and calls that it refuses."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

Json = dict[str, Any]
LENGTH = 40
#: Of each family, how often each kind of operation is made.
FAMILIES: dict[str, dict[str, int]] = {
    "watch": {"nodes": 3, "pods": 6, "assume": 3, "snapshot": 1},
    "assume": {"nodes": 1, "pods": 3, "assume": 9, "snapshot": 1},
    "nodes": {"nodes": 8, "pods": 4, "assume": 1, "snapshot": 2},
    "pods": {"nodes": 1, "pods": 9, "assume": 2, "snapshot": 1},
    "refused": {"nodes": 3, "pods": 4, "assume": 3, "snapshot": 1, "refused": 6},
}
_NODES = ("n1", "n2", "n3", "n4", "n5", "n6")
_IMAGES = ("registry/a:1", "registry/b:1", "registry/c:2", "a@sha256:1")
_BETA = "failure-domain.beta.kubernetes.io/"
_STABLE = "topology.kubernetes.io/"


def script(family: str, seed: int) -> Json:
    """The same seed gives the same script."""
    return {"operations": _Maker(family, seed).operations()}


class _Maker:
    def __init__(self, family: str, seed: int) -> None:
        self.random = Random(f"{family} {seed}")
        self.weights = FAMILIES[family]
        self.nodes: dict[str, Json] = {}
        #: What the cache has: by UID, the pod as it was last said to be.
        self.pods: dict[str, Json] = {}
        self.assumed: set[str] = set()
        self.version = 0
        self.made: list[Json] = []

    def operations(self) -> list[Json]:
        kinds, weights = list(self.weights), list(self.weights.values())
        for _ in range(self.random.randint(1, 4)):
            self.nodes_()
        while len(self.made) < LENGTH:
            kind = self.random.choices(kinds, weights)[0]
            {
                "nodes": self.nodes_,
                "pods": self.pods_,
                "assume": self.assume,
                "snapshot": lambda: self.say("UpdateSnapshot"),
                "refused": self.refused,
            }[kind]()
        return self.made

    def say(self, op: str, *, old: Json | None = None, new: Json | None = None) -> None:
        objects = {"old": old, "new": new}
        self.made.append({"op": op} | {key: copy.deepcopy(one) for key, one in objects.items() if one is not None})

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    # --- what happens --------------------------------------------------------------------------------

    def nodes_(self) -> None:
        name = self.random.choice(_NODES)
        there = self.nodes.get(name)
        if there is None:
            self.nodes[name] = self.node(name)
            self.say("AddNode", new=self.nodes[name])
        elif self.maybe(0.35):
            self.say("RemoveNode", old=self.nodes.pop(name))
        else:
            after = self.node(name)
            if self.maybe(0.5):  # only its conditions, say
                after["metadata"]["labels"] = there["metadata"]["labels"] | {"version": str(self.version)}
                after["status"] = there["status"]
            self.nodes[name] = after
            self.say("UpdateNode", old=there, new=after)

    def pods_(self) -> None:
        added = sorted(self.pods.keys() - self.assumed)
        if not added or self.maybe(0.35):
            pod = self.pod()
            self.pods[pod["metadata"]["uid"]] = pod
            self.say("AddPod", new=pod)
            return
        uid = self.random.choice(added)
        if self.maybe(0.45):
            self.remove(uid)
            return
        before = self.pods.pop(uid)
        after = self.again(before)
        if self.maybe(0.1):  # watching began anew, and meanwhile another pod of its name has come
            after["metadata"]["uid"] = uid = f"u{self.version}"
        self.say("UpdatePod", old=before, new=after)
        self.pods[uid] = after

    def remove(self, uid: str) -> None:
        gone = self.pods.pop(uid)
        self.assumed.discard(uid)
        if self.maybe(0.1):  # the scheduler has missed the event that it was given a node
            gone = copy.deepcopy(gone)
            del gone["spec"]["nodeName"]
        self.say("RemovePod", old=gone)

    def assume(self) -> None:
        if not self.assumed or self.maybe(0.4):
            pod = self.pod()
            self.pods[pod["metadata"]["uid"]] = pod
            self.assumed.add(pod["metadata"]["uid"])
            self.say("AssumePod", new=pod)
            return
        uid = self.random.choice(sorted(self.assumed))
        if self.maybe(0.3):
            self.assumed.discard(uid)
            self.say("ForgetPod", old=self.pods.pop(uid))
        elif self.maybe(0.1):
            self.remove(uid)
        else:
            self.assumed.discard(uid)
            after = self.again(self.pods[uid])
            if self.maybe(0.2):
                after["spec"]["nodeName"] = self.random.choice(_NODES)
            self.pods[uid] = after
            self.say("AddPod", new=after)

    def refused(self) -> None:
        """What no informer would say, and the cache refuses, or makes the best of."""
        {
            0: self.refused_known,
            1: self.refused_unknown,
            2: self.refused_forget,
            3: self.refused_node,
        }[self.random.randrange(4)]()

    def refused_known(self) -> None:
        if not self.pods:
            return
        uid = self.random.choice(sorted(self.pods))
        pod = self.again(self.pods[uid])
        if self.maybe(0.3):
            pod["spec"]["nodeName"] = self.random.choice(_NODES)
        if uid in self.assumed and self.maybe(0.5):
            self.say("UpdatePod", old=self.pods[uid], new=pod)
        elif uid in self.assumed:
            self.say("AssumePod", new=pod)
        else:
            self.say(self.random.choice(("AssumePod", "AddPod")), new=pod)

    def refused_unknown(self) -> None:
        pod = self.pod()
        op = self.random.choice(("UpdatePod", "RemovePod", "ForgetPod"))
        self.say(op, old=pod, new=self.again(pod) if op == "UpdatePod" else None)

    def refused_forget(self) -> None:
        if self.pods:
            pod = copy.deepcopy(self.pods[self.random.choice(sorted(self.pods))])
            uid = pod["metadata"]["uid"]
            node = pod["spec"]["nodeName"]
            if uid in self.assumed or self.maybe(0.5):
                pod["spec"]["nodeName"] = self.random.choice([name for name in _NODES if name != node])
            self.say("ForgetPod", old=pod)

    def refused_node(self) -> None:
        name = self.random.choice(_NODES)
        other = self.node(name)
        there = self.nodes.get(name)
        if there is None and self.maybe(0.6):
            self.say("RemoveNode", old=other)
        elif there is None:
            self.nodes[name] = self.node(name)
            self.say("UpdateNode", old=other, new=self.nodes[name])
        elif self.maybe(0.5):
            self.nodes.pop(name)
            self.say("RemoveNode", old=other)
        else:
            self.nodes[name] = other
            self.say("AddNode", new=other)

    # --- objects -------------------------------------------------------------------------------------

    def node(self, name: str) -> Json:
        random = self.random
        self.version += 1
        labels = {"version": str(self.version)}
        for key in ("region", "zone"):
            for prefix, chance in ((_BETA, 0.15), (_STABLE, 0.6)):
                if self.maybe(chance):
                    labels[prefix + key] = random.choice(("a", "b", "c", ""))
        status: Json = {
            "allocatable": {
                "cpu": random.choice(("4", "1500m", "0.5")),
                "memory": random.choice(("8Gi", "1e9", "1500M")),
                "pods": random.choice(("0", "110", "3")),
            }
        }
        if self.maybe(0.3):
            status["allocatable"]["example.com/gpu"] = random.choice(("0", "8"))
        if self.maybe(0.3):
            status["allocatable"]["ephemeral-storage"] = "100Gi"
        images = [
            {
                "names": random.choices(_IMAGES, k=random.randint(1, 3)),
                "sizeBytes": random.choice((1, 10, 300)) << 20,
            }
            for _ in range(random.randint(0, 3))
        ]
        if images:
            status["images"] = images
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": status,
        }

    def pod(self) -> Json:
        random = self.random
        self.version += 1
        # A few names for many pods: a StatefulSet's pod comes again under its old name.
        name = f"p{random.randint(1, 9)}"
        spec: Json = {
            "nodeName": random.choice(sorted(self.nodes) if self.nodes and self.maybe(0.8) else _NODES),
            "containers": [self.container(f"c{number}") for number in range(random.randint(1, 2))],
        }
        if self.maybe(0.2):
            spec["initContainers"] = [self.container("init") | ({"restartPolicy": "Always"} if self.maybe(0.5) else {})]
        if self.maybe(0.1):
            spec["hostNetwork"] = True
        if self.maybe(0.1):
            spec["overhead"] = {"cpu": "50m", "memory": "10Mi"}
        if self.maybe(0.35):
            spec["affinity"] = self.affinity()
        if self.maybe(0.35):
            spec["volumes"] = [
                {
                    "name": f"v{number}",
                    "persistentVolumeClaim": {"claimName": random.choice(("d1", "d2", "d3"))},
                }
                for number in range(random.randint(1, 2))
            ]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": random.choice(("default", "shop")),
                "uid": f"u{self.version}",
                "labels": {"version": str(self.version)},
            },
            "spec": spec,
        }

    def container(self, name: str) -> Json:
        random = self.random
        amounts = {
            "cpu": ("0", "100m", "1", "0.25"),
            "memory": ("0", "64Mi", "1e8", "1500k"),
            "ephemeral-storage": ("1Gi",),
            "example.com/gpu": ("1", "2"),
        }
        requests = {
            resource: random.choice(some)
            for resource, some in amounts.items()
            if self.maybe(0.6 if resource in ("cpu", "memory") else 0.15)
        }
        container: Json = {"name": name, "image": random.choice(_IMAGES)}
        if requests:
            limits = {"example.com/gpu": requests["example.com/gpu"]} if "example.com/gpu" in requests else {}
            container["resources"] = {"requests": requests} | ({"limits": limits} if limits else {})
        if self.maybe(0.25):
            port: Json = {"containerPort": random.choice((80, 81))}
            if self.maybe(0.8):
                port["hostPort"] = port["containerPort"]
                if self.maybe(0.3):
                    port["hostIP"] = random.choice(("10.0.0.1", "0.0.0.0"))
            if self.maybe(0.3):
                port["protocol"] = "UDP"
            container["ports"] = [port]
        return container

    def affinity(self) -> Json:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        return self.random.choice(
            (
                {"podAffinity": preferred},
                {"podAffinity": required},
                {"podAntiAffinity": preferred},
                {"podAntiAffinity": required},
                {"podAffinity": preferred, "podAntiAffinity": preferred | required},
                {"podAntiAffinity": {}},
                {"nodeAffinity": {}},
            )
        )

    def again(self, pod: Json) -> Json:
        """The pod as it is a little later; a resize under way shows in its status."""
        self.version += 1
        after = copy.deepcopy(pod)
        after["metadata"]["labels"]["version"] = str(self.version)
        if self.maybe(0.2):
            after["status"] = {
                "phase": "Running",
                "containerStatuses": [
                    {
                        "name": container["name"],
                        "image": "",
                        "imageID": "",
                        "ready": True,
                        "restartCount": 0,
                        "resources": {"requests": {"cpu": self.random.choice(("50m", "2"))}},
                    }
                    for container in after["spec"]["containers"]
                ],
            }
        if self.maybe(0.2):
            container = self.random.choice(after["spec"]["containers"])
            container.pop("resources", None)
            container |= {key: one for key, one in self.container("").items() if key == "resources"}
        return after
