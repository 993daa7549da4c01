"""Remedies for a blocked pod: edits and flags, the mildest first. They are tried before one is offered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from kwhatif.controllers.disruption import budget_pods, pods_selected_by
from kwhatif.controllers.drain_filters import FLAGS, DrainOptions, list_pods
from kwhatif.edits.edit import Assignment, Edit, FoundRequests
from kwhatif.edits.parse import parse_edit
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.kinds import Resource
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_ready, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.workload import SCALABLE, Scalable
from kwhatif.report.story import BlockedRow
from kwhatif.simulation.engine import Engine


class _NoFiles:
    """A reader for edits that are made here: these name no files, and only existing fields."""

    def objects(self, given: str | Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[str]]:
        """No remedy applies a manifest."""
        raise AssertionError(f"no remedy reads {given}")

    def requests(self, file: str, resource: str) -> FoundRequests:
        """No remedy changes requests."""
        raise AssertionError(f"no remedy reads {file} for {resource}")

    def field(self, resource: Resource, path: str, value: Any) -> Assignment:
        """A field of a budget; the value has its type already."""
        del resource
        return Assignment(tuple(path.split(".")), value)

    def patch(self, resource: Resource, merge: Any) -> Mapping[str, Any]:
        """No remedy is a patch."""
        raise AssertionError(f"no remedy patches {resource.kind}: {merge}")


class Remedy(NamedTuple):
    """One thing to try: an edit in its text form, or a flag of the command."""

    text: str
    is_flag: bool = False

    @property
    def edit(self) -> Edit:
        """What it is, if it is not a flag."""
        return parse_edit(self.text, _NoFiles())

    def with_flag(self, options: DrainOptions) -> DrainOptions:
        """The options with the flag, if it is one."""
        return replace(options, **{self.text[2:].replace("-", "_"): True}) if self.is_flag else options


def remedies(row: BlockedRow, options: DrainOptions, engine: Engine, nodes: tuple[str, ...]) -> Iterator[Remedy]:
    """What may help with this pod, at the end of a drain of these nodes."""
    cluster = engine.api_server.state.cluster
    pod = cluster.all(Pod)[row.pod]
    if row.class_ == "refused":
        error = next(v.error for p, v in list_pods(pod.spec.node_name, options, engine.api_server).pods if p is pod)
        yield Remedy(FLAGS.get(error, "--force"), is_flag=True)
        return
    budgets = budget_pods(cluster).budgets_of(pod)
    if row.class_ == "many-budgets":
        for key in budgets:
            yield Remedy(f"delete poddisruptionbudget/{key}")
    if len(budgets) != 1:
        return
    yield from _of_budget(row.class_, pod, cluster.all(PodDisruptionBudget)[budgets[0]], cluster, nodes)


def _of_budget(
    class_: str, pod: Pod, budget: PodDisruptionBudget, cluster: Cluster, nodes: tuple[str, ...]
) -> Iterator[Remedy]:
    key = key_of(budget)
    match class_:
        case "unhealthy-lock":
            yield Remedy(f"set poddisruptionbudget/{key} spec.unhealthyPodEvictionPolicy=AlwaysAllow")
        case "demands-all" if isinstance(budget.spec.min_available, int) and budget.spec.max_unavailable is None:
            yield from _scaled_up(pod, cluster)
        case "no-room" | "unhealthy":
            yield from _more_room(pod, cluster, nodes)
    there = [each for each in pods_selected_by(key, cluster) if not is_terminal(each)]
    if class_ not in ("sync-failed", "many-budgets"):
        yield Remedy(f"budget {key} maxUnavailable=1")
    for count in dict.fromkeys((len(there), sum(map(is_ready, there)))):
        yield Remedy(f"budget {key} minAvailable={max(count - 1, 0)}")


def _scaled_up(pod: Pod, cluster: Cluster) -> Iterator[Remedy]:
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
            yield Remedy(f"scale {kind.__name__.lower()}/{key_of(found)}={replicas + 1}")
        owner = above


def _more_room(pod: Pod, cluster: Cluster, nodes: tuple[str, ...]) -> Iterator[Remedy]:
    """Nodes that are cordoned and not drained now; another node like the one that goes."""
    cordoned = [name for name, node in cluster.all(Node).items() if node.spec.unschedulable and name not in nodes]
    if cordoned:
        yield Remedy(f"uncordon {' '.join(cordoned)}")
    yield Remedy(f"add 1 node like {pod.spec.node_name}")
