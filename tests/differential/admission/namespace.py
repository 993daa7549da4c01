"""A case: a namespace with its limits, quotas and classes, and the pods and claims that come, one after another."""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.admission.dice import CPU, EXTENDED, KEYS, MEMORY, STORAGE, VALUES, Json
from tests.differential.admission.pods import Pods
from tests.objects import manifest


class Namespace(Pods):
    """A namespace."""

    def case(self, title: str) -> Json:
        setup = self.setup()
        pods = [self.created(number) for number in range(self.dice.randint(1, 3))]
        return {"title": title, "namespace": "ns", "setup": setup, "pods": pods}

    def setup(self) -> list[Json]:
        makers: list[tuple[float, Callable[[int], Json]]] = [
            (0.9, self.priority_class),
            (0.9, self.priority_class),
            (0.35, self.limit_range),
            (0.85, self.runtime_class),
            (0.35, self.quota),
            (0.2, self.quota),
            (0.3, self.storage_class),
            (0.1, self.storage_class),
        ]
        made = [make(number) for number, (chance, make) in enumerate(makers) if self.maybe(chance)]
        others = [self.plain_pod(f"there-{number}") for number in range(self.dice.choice((0, 0, 1, 2)))]
        return [*made, *others]

    def priority_class(self, number: int) -> Json:
        made: Json = manifest(
            "PriorityClass", {"name": f"class-{number}"}, value=self.dice.choice((-10, 0, 100, 1000000))
        )
        if number == 0 and self.maybe(0.4):
            made["globalDefault"] = True
        if self.maybe(0.4):
            made["preemptionPolicy"] = self.dice.choice(("Never", "PreemptLowerPriority"))
        return made

    def limit_range(self, number: int) -> Json:
        limits = [self.limit_item(kind) for kind in self.some(("Container", "Pod", "PersistentVolumeClaim"), 3)]
        return manifest(
            "LimitRange", {"name": f"limits-{number}"}, spec={"limits": limits or [self.limit_item("Container")]}
        )

    def limit_item(self, kind: str) -> Json:
        item: Json = {"type": kind}
        fields = ("min", "max") if kind != "Container" else ("max", "default", "defaultRequest")
        names: dict[str, tuple[str, ...]] = (
            {"storage": STORAGE} if kind == "PersistentVolumeClaim" else {"cpu": CPU[:7], "memory": MEMORY}
        )
        if kind != "PersistentVolumeClaim" and self.maybe(0.1):
            names[EXTENDED] = ("1", "2")
        for field in fields:
            if self.maybe(0.3):
                item[field] = {name: self.dice.choice(values) for name, values in names.items() if self.maybe(0.6)}
        if kind != "PersistentVolumeClaim" and self.maybe(0.25):
            item["maxLimitRequestRatio"] = {
                name: self.dice.choice(("1", "1500m", "2", "4")) for name in self.some(names, 1)
            }
        return item

    def runtime_class(self, number: int) -> Json:
        made: Json = manifest("RuntimeClass", {"name": "sandboxed"}, handler="sandboxed")
        if self.maybe(0.6):
            made["overhead"] = {
                "podFixed": {
                    name: self.dice.choice(values)
                    for name, values in (("cpu", CPU[:6]), ("memory", MEMORY))
                    if self.maybe(0.7)
                }
            }
        if self.maybe(0.6):
            made["scheduling"] = {
                "nodeSelector": {key: self.dice.choice(VALUES) for key in self.some(KEYS, 2)},
                "tolerations": [self.toleration() for _ in range(self.dice.randint(0, 2))],
            }
        return made

    def quota(self, number: int) -> Json:
        spec: Json = {}
        if self.maybe(0.3):
            spec["scopes"] = self.dice.choice(
                (
                    ["VolumeAttributesClass"],
                    ["BestEffort"],
                    ["NotBestEffort"],
                    ["Terminating"],
                    ["NotTerminating"],
                    ["CrossNamespacePodAffinity"],
                    ["NotBestEffort", "NotTerminating"],
                    ["PriorityClass"],
                )
            )
        if self.maybe(0.25):
            operator = self.dice.choice(("In", "NotIn", "Exists", "DoesNotExist"))
            expression: Json = {"scopeName": "PriorityClass", "operator": operator}
            if operator in ("In", "NotIn"):
                expression["values"] = self.dice.choice((["class-0"], ["class-0", "class-1"], ["other"]))
            if self.maybe(0.15):
                expression = {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}
            spec["scopeSelector"] = {"matchExpressions": [expression]}
        choices: dict[str, tuple[str, ...]] = {
            "pods": ("0", "1", "2", "10"),
            "count/pods": ("1", "3"),
            "cpu": CPU,
            "requests.cpu": ("500m", "1", "3", "10"),
            "limits.cpu": ("1", "2", "10"),
            "memory": MEMORY,
            "requests.memory": ("512Mi", "2Gi", "10Gi"),
            "limits.memory": ("1Gi", "10Gi"),
            "requests.ephemeral-storage": ("1Gi", "100Gi"),
            f"requests.{EXTENDED}": ("0", "1", "4"),
            "hugepages-2Mi": ("4Mi", "1Gi"),
            "persistentvolumeclaims": ("0", "1", "3"),
            "requests.storage": ("1Gi", "20Gi"),
            "fast.storageclass.storage.k8s.io/requests.storage": ("1Gi", "20Gi"),
            "fast.storageclass.storage.k8s.io/persistentvolumeclaims": ("0", "2"),
            "services": ("1",),
            "requests.hugepages-2Mi": ("2Mi", "1Gi"),
            "limits.ephemeral-storage": ("1Gi",),
            "count/persistentvolumeclaims": ("0", "2"),
        }
        spec["hard"] = {name: self.dice.choice(choices[name]) for name in self.some(choices, 4)}
        return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": f"quota-{number}"}, "spec": spec}

    def storage_class(self, number: int) -> Json:
        made: Json = manifest(
            "StorageClass", {"name": "fast" if number == 7 else "slow"}, provisioner="csi.example.com"
        )
        if self.maybe(0.6):
            made["metadata"]["annotations"] = {
                "storageclass.kubernetes.io/is-default-class": self.dice.choice(("true", "false"))
            }
        if self.maybe(0.5):
            made["metadata"]["creationTimestamp"] = self.dice.choice(("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"))
        return made

    def plain_pod(self, name: str) -> Json:
        resources = {"requests": {"cpu": self.dice.choice(CPU[:6]), "memory": self.dice.choice(MEMORY)}}
        return manifest(
            "Pod", {"name": name}, spec={"containers": [{"name": "main", "image": "x", "resources": resources}]}
        )
