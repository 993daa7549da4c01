"""A cluster to drain: a full node for each case, and a spare one with room for whatever moves."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.e2e.stored import Object

_OWNER = {"controller": True, "blockOwnerDeletion": True}


class Case(NamedTuple):
    """A drain of the nodes of these names, and what the API server answers to its evictions."""

    nodes: str
    flags: tuple[str, ...] = ()
    codes: frozenset[int] = frozenset()
    #: Whether it succeeds.
    ok: bool = False


GRANTED, REFUSED, FAILED = 201, 429, 500
#: In this order: a node that is refused is drained again with the flags that help.
CASES = (
    Case("daemon"),
    Case("daemon", ("--ignore-daemonsets",), ok=True),
    Case("local"),
    Case("local", ("--delete-emptydir-data",), frozenset({GRANTED}), ok=True),
    Case("bare"),
    Case("bare", ("--force",), frozenset({GRANTED}), ok=True),
    Case("orphan"),
    Case("orphan", ("--force",), frozenset({GRANTED}), ok=True),
    Case("mirror", ok=True),
    Case("finished", (), frozenset({GRANTED}), ok=True),
    Case("mixed"),
    Case("mixed", ("--ignore-daemonsets", "--force")),
    Case("mixed", ("--ignore-daemonsets", "--delete-emptydir-data", "--force"), frozenset({GRANTED}), ok=True),
    Case("selected", ("--pod-selector=take=me",), frozenset({GRANTED}), ok=True),
    Case("blocked", ("--timeout=12s",), frozenset({REFUSED})),
    Case("blocked", ("--disable-eviction",), ok=True),
    Case("waves", ("--timeout=60s",), frozenset({GRANTED, REFUSED}), ok=True),
    Case("two-budgets", ("--timeout=30s",), frozenset({GRANTED, FAILED})),
    Case("unready", ("--timeout=7s",), frozenset({REFUSED})),
    Case("first second", ("--timeout=30s",), frozenset({GRANTED})),
    Case("unready-allowed", ("--timeout=30s", "--grace-period=1"), frozenset({GRANTED}), ok=True),
)


def cluster() -> Iterator[Object]:
    """All of it. What belongs to a case has its name for a namespace."""
    local = {"volumes": [{"name": "scratch", "emptyDir": {}}]}
    yield from _node("spare", 40)
    yield from _node("daemon", 1)
    yield from _daemon_set("daemon")
    yield from _node("local", 2)
    yield from _replica_set("local", "local", 2, spec=local)
    for case, more in (("bare", {}), ("orphan", _owned("DaemonSet", "away")), ("mirror", _mirror())):
        yield from _node(case, 1)
        yield _pod(case, "alone", more)
    yield from _node("finished", 0)  # whoever is over holds nothing
    yield _pod("finished", "done", phase="Succeeded")
    yield _pod("finished", "failed", spec=local, phase="Failed")
    yield from _node("mixed", 5)
    yield from _daemon_set("mixed")
    yield from _replica_set("mixed", "local", 1, spec=local)
    yield from _replica_set("mixed", "plain", 1)
    yield _pod("mixed", "alone")
    yield _pod("mixed", "alone-local", spec=local)
    yield from _node("selected", 2)
    yield from _replica_set("selected", "take", 1, {"take": "me"})
    yield from _replica_set("selected", "leave", 1)
    yield from _node("blocked", 2)
    yield from _replica_set("blocked", "web", 2)
    yield _budget("blocked", "web", minAvailable=2)
    yield from _node("waves", 2)
    yield from _replica_set("waves", "web", 2)
    yield _budget("waves", "web", maxUnavailable=1)
    yield from _node("two-budgets", 2)
    yield from _replica_set("two-budgets", "web", 1)
    yield from _replica_set("two-budgets", "other", 1)
    yield _budget("two-budgets", "web", minAvailable=0)
    yield _budget("two-budgets", "web", "again", maxUnavailable=1)
    yield from _node("first", 1)
    yield _pod("first", "alone")
    yield from _node("second", 1)
    yield from _replica_set("second", "web", 1)
    for case, policy in (("unready", {}), ("unready-allowed", {"unhealthyPodEvictionPolicy": "AlwaysAllow"})):
        yield from _node(case, 1)
        yield from _replica_set(case, "web", 1, says={"ready": "false"})
        yield _budget(case, "web", minAvailable=1, **policy)


def _node(name: str, cpu: int) -> Iterator[Object]:
    """A node for so many running pods, and the namespace of its case."""
    room = {"cpu": str(cpu), "memory": "32Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    labels = {"kubernetes.io/hostname": name, "case": name}
    yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]}}


def _pod(
    case: str, name: str, metadata: Object | None = None, spec: Object | None = None, phase: str = "Running"
) -> Object:
    """A pod on the node of its case; ready, unless it is over or its annotations say otherwise."""
    head = {"name": name, "namespace": case, "uid": f"pod-{case}-{name}", **(metadata or {})}
    ready = phase == "Running" and "kwhatif.dev/ready" not in head.get("annotations", {})
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": str(ready)}]
    status = {"phase": phase, "conditions": conditions, "startTime": "2026-03-01T00:00:00Z"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "status": status} | {
        "spec": _spec(spec) | {"nodeName": case}
    }


def _spec(more: Object | None = None) -> Object:
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
    return {"containers": [container], "priority": 0, "terminationGracePeriodSeconds": 30, **(more or {})}


def _replica_set(
    case: str,
    name: str,
    replicas: int,
    labels: Object | None = None,
    spec: Object | None = None,
    says: Object | None = None,
) -> Iterator[Object]:
    """With as many pods on the node of its case. `says`: annotations for the kubelets, without their prefix."""
    app = {"app": name}
    annotations = {f"kwhatif.dev/{what}": text for what, text in (says or {}).items()}
    head = {"labels": app | (labels or {}), "annotations": annotations}
    yield {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": case, "uid": f"replicaset-{case}-{name}"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": app},
            "template": {"metadata": head, "spec": _spec(spec)},
        },
        "status": {"replicas": replicas, "readyReplicas": 0 if says else replicas, "observedGeneration": 1},
    }
    for number in range(replicas):
        yield _pod(case, f"{name}-{number}", head | _owned("ReplicaSet", name, case), spec)


def _daemon_set(case: str) -> Iterator[Object]:
    """With a pod on the node of its case, and nowhere else."""
    labels = {"app": "agent"}
    here = _spec({"nodeSelector": {"case": case}})
    yield {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": case, "uid": f"daemonset-{case}-agent"},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "OnDelete"},
            "template": {"metadata": {"labels": labels}, "spec": here},
        },
    }
    yield _pod(case, "agent-0", {"labels": labels} | _owned("DaemonSet", "agent", case))


def _budget(case: str, app: str, name: str = "", **spec: Any) -> Object:
    """What it allows is counted by the disruption controller."""
    head = {"name": name or app, "namespace": case}
    selector = {"selector": {"matchLabels": {"app": app}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": head, "spec": selector | spec}


def _owned(kind: str, name: str, case: str = "") -> Object:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"{kind.lower()}-{case}-{name}"}
    return {"ownerReferences": [owner | _OWNER]}


def _mirror() -> Object:
    return {"annotations": {"kubernetes.io/config.mirror": "0123", "kubernetes.io/config.source": "file"}}
