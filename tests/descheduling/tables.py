"""For each strategy a small cluster on which every argument makes a difference, and a table of what comes of them.

`python -m tests.descheduling.tables` lets the descheduler's own packages decide every row of the table anew.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests import FIXTURES
from tests.objects import manifest

Json = dict[str, Any]

TABLE = FIXTURES / "descheduler" / "arguments.json"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOSTNAME = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_BALANCE = frozenset(
    {"HighNodeUtilization", "LowNodeUtilization", "RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint"}
)


def ago(hours: float) -> str:
    return (NOW - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(name: str, *taints: str, cordoned: bool = False, **labels: str) -> Json:
    """`taints` as kubectl writes them; 4 CPUs, 8 GiB, 20 pods."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "20"}
    return manifest(
        "Node",
        {"name": name, "labels": {HOSTNAME: name, **labels}},
        spec={"unschedulable": cordoned, "taints": list(map(_taint, taints))},
        status={"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    )


def _taint(text: str) -> Json:
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def pod(
    name: str,
    on: str,
    *,
    namespace: str = "shop",
    owner: str | None = "ReplicaSet/web",
    app: str = "web",
    hours: float = 48,
    cpu: str = "100m",
    image: str = "web:1",
    annotations: Json | None = None,
    status: Json | None = None,
    **spec: Any,
) -> Json:
    """A pod that runs, and is ready, unless `status` says otherwise."""
    kind, _, of = (owner or "").partition("/")
    owners = [{"apiVersion": "apps/v1", "kind": kind, "name": of, "uid": f"{kind}-{of}", "controller": True}]
    resources = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    return manifest(
        "Pod",
        {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}-{name}",
            "labels": {"app": app},
            "annotations": annotations or {},
            "creationTimestamp": ago(hours),
            "ownerReferences": owners if owner else [],
        },
        spec={
            "nodeName": on,
            "priority": 0,
            "containers": [{"name": "main", "image": image, "resources": resources}],
            **spec,
        },
        status={
            "phase": "Running",
            "startTime": ago(hours),
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ago(hours)}],
            **(status or {}),
        },
    )


def container(restarts: int = 0, **state: Any) -> Json:
    """A container's status."""
    return {"name": "main", "image": "web:1", "restartCount": restarts, "state": state}


def failed(**state: Any) -> Json:
    """The status of a pod whose only container has ended so."""
    return {"phase": "Failed", "conditions": [], "containerStatuses": [container(terminated=state)]}


def anti_affinity(app: str, key: str = HOSTNAME) -> Json:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"podAntiAffinity": {REQUIRED: [term]}}


def wants_disk(disk: str) -> Json:
    return {"matchExpressions": [{"key": "disk", "operator": "In", "values": [disk]}]}


def required_disk(disk: str) -> Json:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [wants_disk(disk)]}}}


def preferred_disk(disk: str) -> Json:
    return {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": wants_disk(disk)}]}}


def spread(when: str = "DoNotSchedule", app: str = "web") -> list[Json]:
    selector = {"matchLabels": {"app": app}}
    return [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": when, "labelSelector": selector}]


def usage(kind: str, name: str, cpu: str, namespace: str | None = None) -> Json:
    """What metrics-server has measured."""
    amounts = {"cpu": cpu, "memory": "64Mi"}
    about = {"usage": amounts} if kind == "NodeMetrics" else {"containers": [{"name": "main", "usage": amounts}]}
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    times = {"timestamp": ago(0), "window": "20s"}
    return {"apiVersion": "metrics.k8s.io/v1beta1", "kind": kind, "metadata": meta, **times, **about}


def _with(*objects: Json) -> list[Json]:
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"tier": tier}}}
        for name, tier in (("shop", "front"), ("pay", "back"))
    ]
    return [*namespaces, *objects]


_A_TO_C = (node("a"), node("b"), node("c"))
_CRASHING = container(60, waiting={"reason": "CrashLoopBackOff"})
_FRESH = {"type": "Ready", "status": "False", "reason": "Unready", "lastTransitionTime": ago(1)}

CLUSTERS: dict[str, list[Json]] = {
    "DefaultEvictor": _with(
        node("a"),
        node("b", disk="ssd"),
        pod("plain", "a", owner="ReplicaSet/plain"),
        pod("paid", "a", namespace="pay", app="pay"),
        pod("young", "a", hours=2),
        pod("lone", "a", owner=None),
        pod("lone-failed", "a", owner=None, status=failed(exitCode=1)),
        pod("daemon", "a", owner="DaemonSet/agent"),
        pod("local", "a", volumes=[{"name": "v", "emptyDir": {}}]),
        pod("claims", "a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
        pod("devices", "a", resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}]),
        pod("important", "a", priority=1000),
        pod("critical", "a", priority=2_000_000_000),
        pod("asked-to-stay", "a", annotations={"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""}),
        pod("large", "b", cpu="3800m"),
        pod("back", "b", cpu="50m"),
        pod("choosy", "a", nodeSelector={"disk": "hdd"}),
        manifest("PersistentVolumeClaim", {"name": "data", "namespace": "shop"}, spec={"storageClassName": "fast"}),
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 500},
    ),
    "HighNodeUtilization": _with(
        *_A_TO_C,
        pod("small-1", "a", cpu="200m"),
        pod("small-2", "a", namespace="pay", cpu="200m"),
        pod("small-3", "a", containers=[{"name": "main", "image": "web:1"}]),
        pod("tiny", "b", cpu="100m"),
        pod("large", "c", cpu="2"),
    ),
    "LowNodeUtilization": _with(
        *_A_TO_C,
        *(pod(f"web-{index}", "a", cpu="600m") for index in range(4)),
        *(pod(f"pay-{index}", "a", namespace="pay", cpu="500m") for index in range(3)),
        pod("small", "b", cpu="100m"),
        pod("middle", "c", cpu="1800m"),
        usage("NodeMetrics", "a", "300m"),
        usage("NodeMetrics", "b", "100m"),
        usage("NodeMetrics", "c", "3800m"),
        usage("PodMetrics", "middle", "1500m", "shop"),
    ),
    "PodLifeTime": _with(
        node("a"),
        node("b"),
        pod("young", "a", hours=2),
        pod("old", "a"),
        pod("paid", "b", namespace="pay", app="pay"),
        pod("job", "b", owner="Job/report"),
        pod("crash", "a", status={"containerStatuses": [_CRASHING]}),
        pod("init-crash", "a", status={"phase": "Pending", "initContainerStatuses": [_CRASHING]}),
        pod("debugged", "a", status={"ephemeralContainerStatuses": [container(terminated={"reason": "Error"})]}),
        pod("failed", "b", status=failed(exitCode=137, reason="OOMKilled")),
        pod(
            "init-failed",
            "b",
            status={"phase": "Failed", "initContainerStatuses": [container(terminated={"exitCode": 137})]},
        ),
        pod("unready", "a", status={"conditions": [_FRESH]}),
    ),
    "RemoveDuplicates": _with(
        *_A_TO_C,
        *(pod(f"web-{index}", "a") for index in range(4)),
        pod("other", "a", image="web:2"),
        *(pod(f"pay-{index}", "b", namespace="pay", owner="ReplicaSet/pay") for index in range(3)),
        *(pod(f"db-{index}", "c", owner="StatefulSet/db") for index in range(3)),
    ),
    "RemoveFailedPods": _with(
        node("a"),
        node("b"),
        pod("runs", "a"),
        pod("failed", "a", status=failed(exitCode=1, reason="Error")),
        pod("killed", "b", status=failed(exitCode=137, reason="OOMKilled")),
        pod("paid", "b", namespace="pay", app="pay", status=failed(exitCode=1, reason="Error")),
        pod("job", "b", owner="Job/report", status=failed(exitCode=1, reason="Error")),
        pod("fresh", "a", hours=0.5, status=failed(exitCode=1, reason="Error")),
        pod(
            "init",
            "a",
            status={
                "phase": "Failed",
                "initContainerStatuses": [container(terminated={"exitCode": 3, "reason": "InitError"})],
            },
        ),
    ),
    "RemovePodsHavingTooManyRestarts": _with(
        node("a"),
        node("b"),
        pod("calm", "a", status={"containerStatuses": [container(3, running={})]}),
        pod("crash", "a", status={"containerStatuses": [_CRASHING]}),
        pod("back", "b", status={"containerStatuses": [container(70, running={})]}),
        pod("paid", "b", namespace="pay", app="pay", status={"containerStatuses": [container(80, running={})]}),
        pod("init", "a", status={"initContainerStatuses": [container(90, running={})]}),
    ),
    "RemovePodsViolatingInterPodAntiAffinity": _with(
        node("a"),
        node("b"),
        pod("api", "a", app="api"),
        pod("web", "a", affinity=anti_affinity("api")),
        pod("pay", "a", namespace="pay", app="api"),
        pod("paid", "a", namespace="pay", app="pay", affinity=anti_affinity("api")),
    ),
    "RemovePodsViolatingNodeAffinity": _with(
        node("a", disk="hdd"),
        node("b", disk="ssd"),
        pod("needs", "a", affinity=required_disk("ssd")),
        pod("likes", "a", affinity=preferred_disk("ssd")),
        pod("has", "b", affinity=required_disk("ssd")),
        pod("paid", "a", namespace="pay", app="pay", affinity=required_disk("ssd")),
        pod("hopeless", "a", affinity=required_disk("tape")),
    ),
    "RemovePodsViolatingNodeTaints": _with(
        node("a", "team=x:NoSchedule", "old=:PreferNoSchedule"),
        node("b", "gpu=yes:NoSchedule", "gone=:NoExecute"),
        pod("stranger", "a"),
        pod("guest", "a", tolerations=[{"key": "team", "operator": "Exists"}]),
        pod("paid", "b", namespace="pay", app="pay"),
        pod("user", "b", tolerations=[{"key": "gpu", "operator": "Equal", "value": "yes"}]),
    ),
    "RemovePodsViolatingTopologySpreadConstraint": _with(
        node("a", zone="a"),
        node("b", "full=:NoSchedule", zone="b"),
        *(pod(f"web-{index}", "a", topologySpreadConstraints=spread()) for index in range(4)),
        *(
            pod(f"api-{index}", "a", app="api", topologySpreadConstraints=spread("ScheduleAnyway", "api"))
            for index in range(4)
        ),
        *(pod(f"pay-{index}", "a", namespace="pay", topologySpreadConstraints=spread()) for index in range(2)),
        *(
            pod(
                f"guest-{index}",
                "a",
                namespace="pay",
                app="guest",
                topologySpreadConstraints=spread(app="guest"),
                tolerations=[{"key": "full", "operator": "Exists"}],
            )
            for index in range(2)
        ),
    ),
}


def case_of(strategy: str, args: Json) -> Json:
    """What the judge, and kwhatif, are asked; the evictor's arguments are tried on PodLifeTime."""
    configs = [{"name": strategy, "args": args}]
    plugin = strategy
    if strategy == "DefaultEvictor":
        plugin = "PodLifeTime"
        configs.append({"name": plugin, "args": {"maxPodLifeTimeSeconds": 60}})
    point = "balance" if plugin in _BALANCE else "deschedule"
    profile = {"name": "table", "pluginConfig": configs, "plugins": {point: {"enabled": [plugin]}}}
    policy = {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [profile],
        "metricsProviders": [{"source": "KubernetesMetrics"}],
    }
    return {"now": ago(0), "policy": json.dumps(policy), "cluster": CLUSTERS[strategy]}


def rows() -> list[Json]:
    """Each with a `strategy`, its `args`, and what the descheduler then has `evicted`, each way that was seen."""
    found: list[Json] = json.loads(TABLE.read_text())
    return found


def _written(table: Sequence[Json]) -> str:
    """A line a row."""
    return "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in table) + "\n]\n"


def main() -> None:
    """Ask the judge about each row."""
    from tests.descheduling.fuzz import Judge

    judge, table = Judge(), rows()
    for row in table:
        outcomes = judge.outcomes(case_of(row["strategy"], row["args"]), runs=20)
        ways = [[each["pod"] for each in outcome["attempts"] if not each["by"]] for outcome in outcomes]
        row["evicted"] = sorted(ways)
    TABLE.write_text(_written(table))


if __name__ == "__main__":
    main()
