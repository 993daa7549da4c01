"""A dump of nodes and pods alone answers as one that has the owners of the pods, too."""

from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings

import kwhatif
from kwhatif.controllers.drain_filters import DrainOptions
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.questions.maintenance.drain import DrainSimulation
from kwhatif.questions.maintenance.outage import OutageSimulation
from kwhatif.questions.session.session import Session
from kwhatif.questions.story.settled_cluster import SettledCluster
from kwhatif.report.story import VerdictRow
from kwhatif.simulation.parameters import Parameters
from tests.examples import examples
from tests.property.worlds import RANDOMS, one_in

_GROUPS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "ReplicaSet": "apps/v1"}
_GROUPS |= {"Job": "batch/v1", "ReplicationController": "v1", "PodDisruptionBudget": "policy/v1"}
_OPTIONS = DrainOptions(ignore_daemonsets=True)


def _nodes(random: Random) -> list[dict[str, Any]]:
    found = []
    for number in range(2 + random.randrange(3)):
        labels = {"kubernetes.io/hostname": f"n{number}", "pool": random.choice(["a", "a", "b"])}
        status = {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        spec = {"taints": [{"key": "own", "effect": "NoSchedule"}]} if one_in(random, 6) else {}
        found.append(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}", "labels": labels}, "spec": spec}
            | {"status": status}
        )
    return found


def _workload(kind: str, name: str, random: Random) -> dict[str, Any]:
    labels = {"app": name}
    requests = {"cpu": random.choice(["100m", "1", "2"])}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}
    if one_in(random, 4):
        spec["nodeSelector"] = {"pool": "a"}
    if one_in(random, 5):
        spec["tolerations"] = [{"key": "own", "operator": "Exists"}]
    if one_in(random, 5) and kind != "DaemonSet":
        term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if one_in(random, 5) and kind == "DaemonSet":
        terms = [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["b"]}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body: dict[str, Any] = {"template": template}
    count = 1 + random.randrange(4)
    match kind:
        case "Job":
            spec["restartPolicy"] = "Never"
            body |= {"parallelism": count, "completions": count}
            if one_in(random, 3):
                body["completionMode"] = "Indexed"
        case "ReplicationController":
            body |= {"replicas": count, "selector": labels}
        case "DaemonSet":
            body["selector"] = {"matchLabels": labels}
        case _:
            body |= {"replicas": count, "selector": {"matchLabels": labels}}
    return {
        "apiVersion": _GROUPS[kind],
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": body,
    }


def _settled(random: Random) -> Cluster:
    """A random cluster once all pods of its workloads are where they can be."""
    kinds = [random.choice([kind for kind in _GROUPS if kind != "PodDisruptionBudget"]) for _ in range(3)]
    objects = [_workload(kind, f"{kind.lower()}-{number}", random) for number, kind in enumerate(kinds)]
    if one_in(random, 2):
        name = objects[0]["metadata"]["name"]
        spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": name}}}
        meta = {"name": "budget", "namespace": "default"}
        objects.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec})
    session = kwhatif.load([*_nodes(random), *objects])
    return SettledCluster(session, Parameters()).engine.api_server.state.cluster


def _session(cluster: Cluster, *kinds: type) -> Session:
    """What a dump of these kinds shows of the cluster; of no kinds: of all."""
    dump = Cluster()
    dump.update_facts(is_whole=False)
    for kind in cluster.counts():
        if not kinds or kind in kinds:
            dump.add_all(kind, cluster.all(kind))
    return Session.of(dump)


def _said(verdict: VerdictRow) -> tuple[object, ...]:
    worst = verdict.worst and (verdict.worst.what, verdict.worst.subject, verdict.worst.count)
    return verdict.ok, worst, verdict.moved, len(verdict.pending), verdict.broken


@given(RANDOMS)
@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
def test_nodes_and_pods_answer_as_if_the_owners_were_there(random: Random) -> None:
    cluster = _settled(random)
    whole = _session(cluster)
    alone = _session(cluster, Node, Pod, PodDisruptionBudget)
    node = random.choice(list(cluster.all(Node)))
    for ask in (
        lambda base: DrainSimulation(base, (node,), _OPTIONS),
        lambda base: OutageSimulation(base, (node,), deleted=False),
    ):
        expected, found = (ask(SettledCluster(session, Parameters())) for session in (whole, alone))
        assert _said(found.verdict()) == _said(expected.verdict())
    assert not any(is_terminal(pod) for pod in cluster.all(Pod).values())
