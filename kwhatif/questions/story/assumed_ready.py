"""Pods that a story assumes to start, or to become ready, without evidence."""

from __future__ import annotations

from kwhatif.controllers.node_taints import ready_status
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_ready, pod_condition
from kwhatif.simulation.world import World
from kwhatif.workloads.survey import survey_of


def not_started(world: World, before: Cluster) -> list[str]:
    """Pods that were starting at the beginning, and have started: if pods go, others may have waited for them."""
    pods = world.state.cluster.all(Pod)
    return [
        f"Pod {key}"
        for pod in (survey_of(before).restless if world.history.gone else ())
        if pod.status.phase == "Pending" and pod.spec.node_name and pod.metadata.deletion_timestamp is None
        if (now := pods.get(key := key_of(pod))) is not None and now.status.phase == "Running"
    ]


def behind_gates(world: World, before: Cluster) -> list[str]:
    """Pods with readiness gates that became ready, or go and are replaced: webhooks add these gates, too."""
    pods, were = world.state.cluster.all(Pod), before.all(Pod)
    ready = (event.object.removeprefix("Pod ") for event in world.history.events if event.verb == "ready")
    replaced = (
        gone.pod
        for gone in world.history.gone.values()
        if gone.initial and gone.owner is not None and gone.how not in ("ScaledDown", "Garbage")
    )
    concerned = [*(pods.get(key) for key in ready), *(were.get(key) for key in replaced)]
    return [f"Pod {key_of(pod)}" for pod in concerned if pod is not None and pod.spec.readiness_gates]


def not_ready(world: World, before: Cluster) -> list[str]:
    """Pods that were not ready at the start, and go and are replaced: the replacements become ready here."""
    pods, nodes = before.all(Pod), before.all(Node)
    return [
        f"Pod {gone.pod}"
        for gone in world.history.gone.values()
        if gone.initial and gone.owner is not None and not gone.owner.startswith("Job ")
        if (pod := pods.get(gone.pod)) is not None and pod.metadata.deletion_timestamp is None
        if pod.status.phase == "Running" and not is_ready(pod) and pod_condition(pod, "Ready") is not None
        if (node := nodes.get(pod.spec.node_name)) is None or ready_status(node) == "True"
    ]
