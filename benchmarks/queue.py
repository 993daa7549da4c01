"""What an event costs a scheduling queue in which thousands of pods wait, rejected by one plugin or another."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random

from msgspec.structs import replace

from benchmarks.context import Context
from benchmarks.rows import Row, at_most
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.meta import AnnotatedMeta, LabelSelector, Requirement
from kwhatif.kube.model.node import Node, NodeStatus
from kwhatif.kube.model.pod import Pod, PodMeta, PodSpec
from kwhatif.kube.model.pod_spec import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    ResourceList,
    ResourceRequirements,
    TopologySpreadConstraint,
)
from kwhatif.scheduler.catalog import default_profile
from kwhatif.scheduler.framework.hints import registrations
from kwhatif.scheduler.queue.event_handlers import EventHandlers
from kwhatif.scheduler.queue.hinting import QueueProfile
from kwhatif.scheduler.queue.scheduling_queue import SchedulingQueue

TITLE = "The scheduling queue"
ZONE = "topology.kubernetes.io/zone"
SCHEDULER = "default-scheduler"
_SECOND = 1_000_000_000


def rows(context: Context) -> Iterator[Row]:
    """Pods of a few workloads, of many, and all different; whoever is woken is tried, and rejected again."""
    pods, events = (200, 100) if context.quick else (10_000, 1_000)
    for workloads in (pods // 100, pods // 10, pods):
        each = _measure(pods, events, workloads)
        what = f"an event; {pods:,} pods of {workloads:,} workloads wait, {events:,} events"
        yield Row(what, each, "ms", target=at_most(2))


class _NothingAssumed:
    """A cache for a scheduler that binds nobody."""

    def assumed(self, uid: str) -> Pod | None:
        del uid
        return None

    def forget(self, uid: str) -> None:
        del uid


def _measure(pods: int, events: int, workloads: int) -> float:
    rng = Random(7)
    cluster = Cluster()
    queue = SchedulingQueue({SCHEDULER: QueueProfile(registrations(default_profile()))}, cluster)
    handlers = EventHandlers(queue, {SCHEDULER}, _NothingAssumed())
    rejectors: dict[str, list[str]] = {}
    for number in range(pods):
        pod, rejected = _waiting(number, number % workloads)
        cluster.add(pod)
        queue.now += 1000
        handlers.handle(None, pod)
        rejectors[pod.metadata.uid] = rejected
    _reject_all(queue, rejectors)
    nodes = [_node(number) for number in range(200)]
    spent = 0.0
    for number in range(events):
        old, new = _event(number % 100, nodes, workloads, rng)
        queue.now += 30 * _SECOND
        start = time.process_time()
        handlers.handle(old, new)
        spent += time.process_time() - start
        _reject_all(queue, rejectors)
    return 1000 * spent / events


def _waiting(number: int, workload: int) -> tuple[Pod, list[str]]:
    """A pod, and who rejects it; those of one workload differ in nothing but name and UID."""
    labels = {"app": f"app-{workload}"}
    requests: ResourceList = {"cpu": f"{100 + workload}m", "memory": f"{64 + workload}Mi"}
    spec = PodSpec(scheduler_name=SCHEDULER, containers=(Container(resources=ResourceRequirements(requests=requests)),))
    selector = LabelSelector(match_labels=labels)
    rejected = ["NodeResourcesFit"]
    match workload % 5:
        case 2:
            wanted = Requirement(key="disk", operator="In", values=(f"d{workload}",))
            terms = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(wanted,)),))
            spec = replace(spec, affinity=Affinity(node_affinity=NodeAffinity(required=terms)))
            rejected = ["NodeAffinity", "NodeResourcesFit"]
        case 3:
            term = PodAffinityTerm(topology_key=ZONE, label_selector=selector)
            spec = replace(spec, affinity=Affinity(pod_anti_affinity=PodAffinity(required=(term,))))
            rejected = ["InterPodAffinity"]
        case 4:
            constraint = TopologySpreadConstraint(
                max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule", label_selector=selector
            )
            spec = replace(spec, topology_spread_constraints=(constraint,))
            rejected = ["PodTopologySpread", "TaintToleration"]
    name = f"web-{number}"
    return Pod(metadata=PodMeta(name=name, namespace="shop", uid=name, labels=labels), spec=spec), rejected


def _node(number: int) -> Node:
    labels = {ZONE: f"z{number % 3}"}
    status = NodeStatus(allocatable={"cpu": "50m", "memory": "32Mi", "pods": "110"})
    return Node(metadata=AnnotatedMeta(name=f"n{number}", labels=labels), status=status)


def _event(
    kind: int, nodes: list[Node], workloads: int, rng: Random
) -> tuple[KubernetesObject | None, KubernetesObject | None]:
    """What a busy cluster sees. One event in a hundred wakes whoever waits for room: a pod is deleted."""
    place = rng.randrange(len(nodes))
    old = nodes[place]
    labels = {"app": f"app-{rng.randrange(workloads)}"}
    there = Pod(metadata=PodMeta(name="there", namespace="shop", uid="there", labels=labels))
    there = replace(there, spec=PodSpec(node_name=old.metadata.name))
    if kind == 0:
        return there, None
    if kind < 40:
        return None, there
    if kind < 70:
        disk = {**old.metadata.labels, "disk": f"d{rng.randrange(workloads)}"}
        nodes[place] = replace(old, metadata=replace(old.metadata, labels=disk))
    elif kind < 85:
        amounts = {**(old.status.allocatable or {}), "cpu": f"{rng.randint(50, 90)}m"}
        nodes[place] = replace(old, status=replace(old.status, allocatable=amounts))
    else:
        other = {"app": f"app-{rng.randrange(workloads)}"}
        return there, replace(there, metadata=replace(there.metadata, labels=other))
    return old, nodes[place]


def _reject_all(queue: SchedulingQueue, rejectors: dict[str, list[str]]) -> None:
    """Try whoever is ready, in vain."""
    while (info := queue.pop()) is not None:
        info.clear_rejectors()
        info.unschedulable_plugins = set(rejectors[info.uid])
        queue.now += 1000
        queue.add_unschedulable_if_not_present(info)
