"""Pods and claims that come. Most are fine; some have one thing wrong with them, few have two."""

from collections.abc import Callable
from typing import Any

from tests.differential.admission.dice import CPU, EXTENDED, KEYS, MEMORY, STORAGE, VALUES, Json
from tests.differential.admission.wrong import Wrong


class Pods(Wrong):
    """Pods and claims."""

    def created(self, number: int) -> Json:
        return self.claim(f"claim-{number}") if self.maybe(0.15) else self.pod(f"p-{number}")

    def claim(self, name: str) -> Json:
        spec: Json = {"accessModes": self.dice.choice((["ReadWriteOnce"], ["ReadOnlyMany", "ReadWriteMany"]))}
        spec["resources"] = {"requests": {"storage": self.dice.choice(STORAGE)}}
        if self.maybe(0.5):
            spec["storageClassName"] = self.dice.choice(("fast", "", "gone"))
        if self.maybe(0.2):
            spec["volumeMode"] = self.dice.choice(("Block", "Filesystem"))
        if self.maybe(0.1):
            spec["volumeAttributesClassName"] = self.dice.choice(("gold", "silver"))
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}

    def pod(self, name: str) -> Json:
        meta: Json = {"name": name}
        if self.maybe(0.7):
            meta["labels"] = {key: self.dice.choice(VALUES) for key in self.some(KEYS, 3)}
        spec: Json = {"containers": [self.container(f"main-{number}") for number in range(self.dice.choice((1, 1, 2)))]}
        if self.maybe(0.25):
            spec["initContainers"] = [
                self.container(f"init-{number}", init=True) for number in range(self.dice.choice((1, 2)))
            ]
        for chance, field, make in self.fields():
            if self.maybe(chance):
                spec[field] = make()
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        for _ in range(self.dice.choice((0, 0, 0, 1, 1, 2))):
            self.spoil(pod)
        return pod

    def fields(self) -> list[tuple[float, str, Callable[[], Any]]]:
        choose = self.dice.choice
        return [
            (
                0.5,
                "priorityClassName",
                lambda: choose(
                    ("class-0", "class-1", "system-node-critical", "class-0", "gone")
                    if self.maybe(0.2)
                    else ("system-node-critical",)
                ),
            ),
            (0.06, "priority", lambda: choose((0, 100, -10))),
            (0.06, "preemptionPolicy", lambda: choose(("Never", "PreemptLowerPriority"))),
            (0.3, "runtimeClassName", lambda: "sandboxed"),
            (0.02, "overhead", lambda: {"cpu": choose(CPU[:6])}),
            (0.3, "nodeSelector", lambda: {key: choose(VALUES) for key in self.some(KEYS, 2)}),
            (0.4, "tolerations", lambda: [self.toleration() for _ in range(self.dice.randint(1, 3))]),
            (0.4, "affinity", self.affinity),
            (0.3, "topologySpreadConstraints", lambda: [self.spread() for _ in range(choose((1, 2)))]),
            (0.15, "hostNetwork", lambda: True),
            (0.1, "schedulingGates", lambda: [{"name": "example.com/gate"}]),
            (0.15, "resources", self.pod_resources),
            (0.1, "activeDeadlineSeconds", lambda: choose((10, 3600))),
            (0.1, "schedulerName", lambda: "other"),
            (0.2, "restartPolicy", lambda: choose(("Never", "OnFailure", "Always"))),
            (0.2, "volumes", self.volumes),
            (0.05, "nodeName", lambda: "node-1"),
            (0.1, "hostUsers", lambda: choose((True, False))),
            (0.15, "resourceClaims", self.claims),
            (0.1, "hostname", lambda: "host"),
        ]

    def container(self, name: str, *, init: bool = False) -> Json:
        made: Json = {"name": name, "image": "registry.example.com/x:1"}
        resources: Json = {}
        for part, chance in (("requests", 0.6), ("limits", 0.5)):
            if self.maybe(chance):
                resources[part] = {
                    key: self.dice.choice(values)
                    for key, values in (("cpu", CPU), ("memory", MEMORY))
                    if self.maybe(0.7)
                }
        if self.maybe(0.1):
            resources.setdefault("limits", {})[EXTENDED] = self.dice.choice(("1", "2"))
        if self.maybe(0.05):
            resources.setdefault("limits", {})["hugepages-2Mi"] = "4Mi"
        if self.maybe(0.1):
            resources.setdefault("requests", {})["ephemeral-storage"] = self.dice.choice(STORAGE)
        if resources:
            made["resources"] = resources
        if self.maybe(0.3):
            made["ports"] = [self.port() for _ in range(self.dice.choice((1, 2)))]
        if init and self.maybe(0.4):
            made["restartPolicy"] = "Always"
        if self.maybe(0.08):
            names = self.dice.choice((["gpu"], ["gpu", "gpu"], ["nic", "gpu"]))
            made.setdefault("resources", {})["claims"] = [{"name": name} for name in names]
        if not init and self.maybe(0.05):
            made["restartPolicy"] = self.dice.choice(("Always", "Never", "OnFailure"))
        return made

    def port(self) -> Json:
        port: Json = {"containerPort": self.dice.choice((80, 443, 8080, 9100))}
        if self.maybe(0.3):
            port["hostPort"] = self.dice.choice((80, 8080, port["containerPort"]))
        if self.maybe(0.3):
            port["protocol"] = self.dice.choice(("TCP", "UDP", "SCTP"))
        return port

    def pod_resources(self) -> Json:
        made: Json = {}
        for part in self.some(("requests", "limits"), 2):
            made[part] = {
                key: self.dice.choice(values) for key, values in (("cpu", CPU), ("memory", MEMORY)) if self.maybe(0.7)
            }
        return made
