"""A report as one HTML file, with a picture of the cluster; and what a notebook shows of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from kwhatif.kube.matching.requests import CPU, MEMORY, PODS, is_extended_resource
from kwhatif.kube.model.node import ZONE
from kwhatif.questions.rows import owner_and_workload
from kwhatif.questions.session.session import Session
from kwhatif.render.worded import worded
from kwhatif.report import Report
from kwhatif.report.inputs import Picture, PictureGroup, PictureNode
from kwhatif.report.row import Document, draw_in_notebooks

if TYPE_CHECKING:
    from kwhatif.autoscaler.contract import AddedNode
    from kwhatif.state.node_info import NodeInfo
    from kwhatif.state.pod_info import PodInfo

#: With more nodes there is no map, as it would make a notebook many megabytes larger.
_MOST_NODES = 1_000
#: The name of an attribute that is not a field, so that it is not printed, compared or copied.
_ASKED = "asked"


def answered(report: Report, session: Session) -> Report:
    """The report with its sentences; it keeps a reference to its cluster, for the map in a notebook."""
    complete = worded(report)
    complete.__dict__[_ASKED] = session
    return complete


def _framed(document: Document) -> str | None:
    """The report's page in its own frame, so that page and notebook do not affect each other's appearance or content.

    The page is in the attribute itself: JupyterLab, VS Code and the output of nbconvert show such a frame, with its
    script and its own Content-Security-Policy, and nothing is fetched.
    """
    from kwhatif.report.comparison import Comparison

    if isinstance(document, Report):
        made = _page_of(document)
    elif isinstance(document, Comparison):
        from kwhatif.render.html.page import comparison_to_html

        made = comparison_to_html(document)
    else:
        return None
    style = "width: 100%; height: 40em; border: 0; resize: vertical"
    return f'<iframe srcdoc="{escape(made)}" sandbox="allow-scripts" style="{style}" title="kwhatif"></iframe>'


def _page_of(report: Report) -> str:
    asked = report.__dict__.get(_ASKED)
    is_small = isinstance(asked, Session) and len(asked.state.nodes) <= _MOST_NODES
    return html(report, asked if is_small else None)


draw_in_notebooks(_framed)


# --- pages -----------------------------------------------------------------------------------------------------------


#: Labels with the pool of a node: the first label that any node has is used.
POOL_LABELS = (
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "node.kubernetes.io/instance-type",
)
#: These, and a common custom label.
_POOL_LABELS = ("pool", *POOL_LABELS)


def html(report: Report, session: Session | None = None) -> str:
    """The report as one HTML file that needs no other file.

    Args:
        report: what a question has answered.
        session: the cluster that was asked about: with it, the page has a map.
    """
    from kwhatif.render.html.page import to_html

    return to_html(report, None if session is None else picture(session, _racks(report), _added(report)))


def _added(report: Report) -> Mapping[str, tuple[AddedNode, Sequence[str]]]:
    """The nodes that an autoscaler adds, by name, with their pods when the page opens."""
    rows = (each for each in (report.autoscaler, report.consolidate) if each is not None)
    added: dict[str, tuple[AddedNode, list[str]]] = {node.node: (node, []) for row in rows for node in row.added}
    rounds = report.autoscaler.rounds if report.autoscaler is not None and report.story is None else ()
    for placed in (each for found in rounds for each in found.placed):
        if placed.node in added:
            added[placed.node][1].append(placed.pod)
    return added


def _racks(report: Report) -> str:
    """The topology label by which groups of pods are placed, if any: then racks matter more than zones."""
    rows = report.pod_groups or (report.story.pod_groups if report.story is not None else None)
    best = None if report.capacity is None else report.capacity.best
    keys = [] if rows is None else [row.topology_key for row in rows.groups]
    keys += [] if best is None else [row.topology_key for row in best.gangs]
    return next(filter(None, keys), "")


def picture(
    session: Session, place_label: str = "", added: Mapping[str, tuple[AddedNode, Sequence[str]]] = {}
) -> Picture:
    """The nodes with their pods, in the order of the state; and last those that are `added`, with their pods."""
    from kwhatif.questions.story.rows import node_state

    nodes = session.state.nodes
    scalars = {name for node in nodes for name, count in node.allocatable.scalars if count}
    scalars.update(name for node, _ in added.values() for name, count in node.allocatable.items() if count)
    extended = filter(is_extended_resource, scalars)
    resources = (CPU, MEMORY, *sorted(extended))
    pool_label = next((each for each in _POOL_LABELS if any(each in node.labels for node in nodes)), "")
    place_label = place_label or ZONE
    groups = _Groups(resources)
    drawn = [
        PictureNode(
            name=node.name,
            place=node.labels.get(place_label, ""),
            pool=node.labels.get(pool_label, ""),
            state=node_state(node.node),
            allocatable=tuple(node.allocatable.of(name) for name in resources),
            used=_used(node, resources),
            most_pods=node.allowed_pods,
            pods=tuple(map(groups.place, sorted(node.pods, key=lambda pod: (-pod.priority, pod.key)))),
        )
        for node in nodes
    ]
    waiting = session.state.pending
    for name, (node, keys) in added.items():
        pods = [waiting[key] for key in keys if key in waiting]
        coming = PictureNode(
            name=name,
            place=node.zone if place_label == ZONE else "",
            pool=node.group if pool_label else "",
            state=(),
            allocatable=tuple(node.allocatable.get(resource, 0) for resource in resources),
            used=tuple(sum(pod.resources.requested.of(resource) for pod in pods) for resource in resources),
            most_pods=node.allocatable.get(PODS, 0),
            pods=tuple(map(groups.place, pods)),
        )
        drawn.append(coming)
    pending = tuple(map(groups.place, session.state.pending.values()))
    return Picture(
        place_label=place_label,
        pool_label=pool_label,
        resources=resources,
        nodes=tuple(drawn),
        groups=tuple(groups.known),
        pending=pending,
    )


def _used(node: NodeInfo, resources: Sequence[str]) -> tuple[int, ...]:
    own = {CPU: node.cpu, MEMORY: node.memory}
    return tuple(own[name] if name in own else node.scalars.get(name, 0) for name in resources)


class _Groups:
    """Pods that differ only in their names, each template once."""

    def __init__(self, resources: Sequence[str]) -> None:
        self._resources = resources
        self.known: dict[PictureGroup, int] = {}

    def place(self, pod: PodInfo) -> tuple[int, str]:
        """The pod's group, and its name."""
        _, workload = owner_and_workload(pod.pod)
        requested = pod.resources.requested
        group = PictureGroup(
            namespace=pod.namespace,
            workload=workload or "",
            priority=pod.priority,
            requests=tuple(requested.of(name) for name in self._resources),
        )
        return self.known.setdefault(group, len(self.known)), pod.name
