"""What may help with a blocked pod: edits and flags, the mildest first. Each is tried before it is offered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.disruption import budget_pods, pods_selected_by
from kwhatif.controllers.drain_filters import FLAGS, DrainOptions, list_pods
from kwhatif.edits import made as edits
from kwhatif.edits.edit import Assignment, Edit
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_ready, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.workload import SCALABLE, Scalable
from kwhatif.report.story import BlockedRow
from kwhatif.simulation.engine import Engine


class DrainFlag(NamedTuple):
    """A flag of `kubectl drain`."""

    #: Without the dashes.
    name: str
    #: Its value; None: it has none.
    seconds: int | None = None

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        return f"--{self.name}" if self.seconds is None else f"--{self.name}={self.seconds}s"

    def on(self, options: DrainOptions) -> DrainOptions:
        """The options with the flag."""
        return replace(options, **{self.name.replace("-", "_"): True if self.seconds is None else float(self.seconds)})


Remedy = Edit | DrainFlag


def remedies(row: BlockedRow, options: DrainOptions, engine: Engine, nodes: tuple[str, ...]) -> Iterator[Remedy]:
    """What may help with this pod, at the end of a drain of these nodes."""
    cluster = engine.api_server.state.cluster
    pod = cluster.all(Pod)[row.pod]
    if row.class_ == "refused":
        error = next(v.error for p, v in list_pods(pod.spec.node_name, options, engine.api_server).pods if p is pod)
        yield DrainFlag(FLAGS.get(error, "--force").removeprefix("--"))
        return
    budgets = budget_pods(cluster).budgets_of(pod)
    if row.class_ == "many-budgets":
        yield from (edits.delete([edits.object_of(PodDisruptionBudget, key)]) for key in budgets)
    if len(budgets) != 1:
        return
    yield from _of_budget(row.class_, pod, cluster.all(PodDisruptionBudget)[budgets[0]], cluster, nodes)


def _of_budget(
    class_: str, pod: Pod, budget: PodDisruptionBudget, cluster: Cluster, nodes: tuple[str, ...]
) -> Iterator[Edit]:
    key = key_of(budget)
    match class_:
        case "unhealthy-lock":
            always = Assignment(("spec", "unhealthyPodEvictionPolicy"), "AlwaysAllow")
            yield edits.set_fields(edits.object_of(PodDisruptionBudget, key), always)
        case "demands-all" if isinstance(budget.spec.min_available, int) and budget.spec.max_unavailable is None:
            yield from _scaled_up(pod, cluster)
        case "no-room" | "unhealthy":
            yield from _more_room(pod, cluster, nodes)
    there = [each for each in pods_selected_by(key, cluster) if not is_terminal(each)]
    if class_ not in ("sync-failed", "many-budgets"):
        yield edits.budget(key, max_unavailable=1)
    for count in dict.fromkeys((len(there), sum(map(is_ready, there)))):
        yield edits.budget(key, min_available=max(count - 1, 0))


def _scaled_up(pod: Pod, cluster: Cluster) -> Iterator[Edit]:
    """One more pod, so that one can go."""
    owner = controller_of(pod.metadata)
    while owner is not None:
        kind = next((kind for kind in SCALABLE if kind.__name__ == owner.kind), None)
        found: Scalable | None = None if kind is None else cluster.get(kind, f"{pod.metadata.namespace}/{owner.name}")
        if kind is None or found is None:
            return
        above = controller_of(found.metadata)
        if above is None:
            replicas = 1 if found.spec.replicas is None else found.spec.replicas
            yield edits.scale(edits.object_of(kind, key_of(found)), replicas + 1)
        owner = above


def _more_room(pod: Pod, cluster: Cluster, nodes: tuple[str, ...]) -> Iterator[Edit]:
    """Nodes that are cordoned and not drained now; another node like the one that goes."""
    cordoned = [name for name, node in cluster.all(Node).items() if node.spec.unschedulable and name not in nodes]
    if cordoned:
        yield edits.uncordon(cordoned)
    yield edits.add_nodes(pod.spec.node_name, 1)
