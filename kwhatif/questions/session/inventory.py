"""`Inventory`: the objects of a cluster, and what is missing for a trustworthy answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kwhatif.kube.matching.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, units
from kwhatif.kube.model.caveat import Caveat, merged
from kwhatif.kube.model.cluster import Cluster, read_classes
from kwhatif.kube.model.meta import Row
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, is_terminal
from kwhatif.kube.model.policy import PodDisruptionBudget
from kwhatif.kube.model.quantity import parse_quantity
from kwhatif.kube.model.saved import SavedSnapshot
from kwhatif.questions.session.completeness import gaps
from kwhatif.report.row import Document

_FIRST = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)


class SavedRow(Row, kw_only=True):
    """What a saved snapshot says of itself."""

    taken_at: str
    server_version: str = ""
    anonymized: bool = False


class NodeShapeRow(Row):
    """Nodes that have the same to offer: milli-CPU, bytes, and units of everything else."""

    nodes: int
    unschedulable: int
    allocatable: dict[str, int]


class PriorityRow(Row):
    """Pods of one priority class ("" for none) that are not finished."""

    priority_class: str
    priority: int
    running: int
    pending: int


class PendingPodRow(Row, kw_only=True):
    """A pod that waits for a node."""

    pod: str
    priority: int
    nominated_node: str | None = None
    gated: bool = False


class Inventory(Document, kw_only=True, tag_field="kind", tag="Inventory"):
    """The answer of `kwhatif snapshot info`."""

    sources: tuple[str, ...]
    saved: tuple[SavedRow, ...] = ()
    #: Kind -> number of objects.
    kinds: dict[str, int]
    #: Kind -> why it could not be read.
    unread: dict[str, str]
    shapes: tuple[NodeShapeRow, ...]
    priorities: tuple[PriorityRow, ...]
    finished_pods: int
    #: Budgets that allow no disruption now.
    exhausted_budgets: tuple[str, ...]
    #: In queue order.
    pending: tuple[PendingPodRow, ...]
    #: What is missing for a trustworthy answer.
    missing: tuple[str, ...] = ()
    #: The caveats of every report about this cluster.
    caveats: tuple[str, ...] = ()
    #: The same as data: those of `missing`, then those of `caveats`.
    missing_details: tuple[Caveat, ...] = ()
    caveat_details: tuple[Caveat, ...] = ()


def inventory(cluster: Cluster, sources: Sequence[str], caveats: Sequence[Caveat]) -> Inventory:
    """Describe a cluster; `render.caveats` puts what is missing into words."""
    pods = cluster.all(Pod).values()
    live = [pod for pod in pods if not is_terminal(pod)]
    budgets = cluster.all(PodDisruptionBudget)
    return Inventory(
        sources=tuple(sources),
        saved=tuple(
            SavedRow(taken_at=saved.taken_at, server_version=saved.server_version, anonymized=saved.anonymized)
            for saved in cluster.all(SavedSnapshot).values()
        ),
        kinds=_kinds(cluster),
        unread=dict(cluster.facts.unread),
        shapes=_shapes(cluster.all(Node).values()),
        priorities=_priorities(live),
        finished_pods=len(pods) - len(live),
        exhausted_budgets=tuple(
            key for key, pdb in budgets.items() if pdb.status and not pdb.status.disruptions_allowed
        ),
        pending=_pending(live),
        missing_details=tuple(gaps(cluster)),
        caveat_details=merged(caveats),
    )


def _kinds(cluster: Cluster) -> dict[str, int]:
    """How many objects of each kind were read."""
    counts = {kind.__name__: count for kind, count in cluster.counts().items() if kind is not SavedSnapshot}
    if not any(read_classes(cluster)):
        del counts["PriorityClass"]
    return counts


def _shapes(nodes: Iterable[Node]) -> tuple[NodeShapeRow, ...]:
    """By number of nodes, the most first."""
    totals: Counter[tuple[tuple[str, int], ...]] = Counter()
    cordoned: Counter[tuple[tuple[str, int], ...]] = Counter()
    for node in nodes:
        allocatable = node.status.allocatable or {}
        amounts = {name: units(name, parse_quantity(text)) for name, text in allocatable.items()}
        rest = sorted(amounts.keys() - {*_FIRST})
        shape = tuple((name, amounts[name]) for name in (*_FIRST, *rest) if amounts.get(name))
        totals[shape] += 1
        cordoned[shape] += node.spec.unschedulable
    return tuple(
        NodeShapeRow(nodes=count, unschedulable=cordoned[shape], allocatable=dict(shape))
        for shape, count in sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    )


def _priorities(pods: Sequence[Pod]) -> tuple[PriorityRow, ...]:
    """By priority, the highest first."""
    running: Counter[tuple[int, str]] = Counter()
    pending: Counter[tuple[int, str]] = Counter()
    for pod in pods:
        key = (-(pod.spec.priority or 0), pod.spec.priority_class_name)
        (running if pod.spec.node_name else pending)[key] += 1
    return tuple(
        PriorityRow(
            priority_class=name, priority=-negated, running=running[negated, name], pending=pending[negated, name]
        )
        for negated, name in sorted(running.keys() | pending.keys())
    )


def _pending(pods: Sequence[Pod]) -> tuple[PendingPodRow, ...]:
    waiting = [pod for pod in pods if not pod.spec.node_name]
    waiting.sort(key=lambda pod: (-(pod.spec.priority or 0), pod.metadata.creation_timestamp or ""))
    return tuple(
        PendingPodRow(
            pod=f"{pod.metadata.namespace}/{pod.metadata.name}",
            priority=pod.spec.priority or 0,
            nominated_node=pod.status.nominated_node_name or None,
            gated=bool(pod.spec.scheduling_gates),
        )
        for pod in waiting
    )
