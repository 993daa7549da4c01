"""Workloads that come: whether the API server takes them says their template, their selector, their numbers."""

from tests.differential.admission.dice import Json
from tests.differential.admission.pods import Pods

KINDS = {
    "CronJob": "batch/v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "ReplicaSet": "apps/v1",
    "ReplicationController": "v1",
    "StatefulSet": "apps/v1",
}
BOUNDS = (0, 1, 2, "0%", "25%", "120%", "x", "-1%", -1)


class Workloads(Pods):
    """Workloads."""

    def case(self, title: str) -> Json:
        return {"title": title, "namespace": "ns", "setup": [], "pods": [self.workload() for _ in range(3)]}

    def workload(self) -> Json:
        kind = self.dice.choice(list(KINDS))
        spec: Json = {"template": self.template(kind), **self.selector_of(kind), **self.numbers(kind)}
        for field in ("strategy", "updateStrategy"):
            if (kind, field) in (("Deployment", "strategy"), ("DaemonSet", "updateStrategy")) and self.maybe(0.4):
                spec[field] = self.strategy(kind)
        if kind == "StatefulSet":
            spec |= self.identity()
        if kind == "CronJob":
            spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": spec}}
        name = self.dice.choice((*(("web",) * 8), "w.b", "Web", "x" * 60))
        return {"apiVersion": KINDS[kind], "kind": kind, "metadata": {"name": name}, "spec": spec}

    def template(self, kind: str) -> Json:
        pod = self.pod("x")
        meta, spec = pod["metadata"], pod["spec"]
        labels = meta.get("labels", {}) | ({"app": "web"} if self.maybe(0.9) else {})
        for field, chance in (
            ("priority", 1),
            ("overhead", 1),
            ("restartPolicy", 1),
            ("activeDeadlineSeconds", 0.8),
            ("nodeName", 0.5),
        ):
            if self.maybe(chance):
                spec.pop(field, None)
        if kind in ("Job", "CronJob") and self.maybe(0.9):
            spec["restartPolicy"] = self.dice.choice(("Never", "OnFailure"))
        elif self.maybe(0.1):
            spec["restartPolicy"] = self.dice.choice(("Never", "Always", "Sometimes"))
        return {"metadata": {"labels": labels} if labels else {}, "spec": spec}

    def selector_of(self, kind: str) -> Json:
        if kind in ("Job", "CronJob") or not self.maybe(0.95):
            return {}
        if kind == "ReplicationController":
            return {"selector": self.dice.choice(({"app": "web"}, {"app": "db"}, {}))} if self.maybe(0.5) else {}
        wrong: tuple[Json, ...] = (
            {},
            {"matchLabels": {"app": "db"}},
            {"matchLabels": {"a b": "x"}},
            {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
            {"matchExpressions": [{"key": "app", "operator": "In", "values": []}]},
        )
        return {"selector": self.dice.choice(wrong) if self.maybe(0.15) else {"matchLabels": {"app": "web"}}}

    def numbers(self, kind: str) -> Json:
        if kind in ("Job", "CronJob"):
            choices = {
                "parallelism": (0, 1, 4, -1),
                "completions": (1, 4, 100, -1),
                "completionMode": ("Indexed", "NonIndexed", "Other"),
            }
        else:
            choices = {} if kind == "DaemonSet" else {"replicas": (0, 1, 3, -1)}
        return {field: self.dice.choice(values) for field, values in choices.items() if self.maybe(0.4)}

    def strategy(self, kind: str) -> Json:
        rolling = {field: self.dice.choice(BOUNDS) for field in self.some(("maxSurge", "maxUnavailable"), 2)}
        if kind == "DaemonSet":
            return self.dice.choice(({"type": "OnDelete"}, {"rollingUpdate": rolling}, {"rollingUpdate": rolling}))
        recreate = {"type": "Recreate"}
        return self.dice.choice((recreate, {"rollingUpdate": rolling}, recreate | {"rollingUpdate": {"maxSurge": 1}}))

    def identity(self) -> Json:
        made: Json = {}
        if self.maybe(0.3):
            claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            made["volumeClaimTemplates"] = [{"metadata": {"name": self.dice.choice(("a", "b", "data"))}, "spec": claim}]
        if self.maybe(0.5):
            made["serviceName"] = self.dice.choice(("web", "Web"))
        if self.maybe(0.2):
            made["ordinals"] = {"start": self.dice.choice((0, 3, -2))}
        return made
