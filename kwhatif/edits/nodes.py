"""Edits of nodes: cordon, uncordon, taint, add."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec.structs import replace

from kwhatif.edits.edit import AddNodes, Cordon, Resolved, TaintNodes, TaintRemoval, Uncordon, Wrong
from kwhatif.edits.selection import Lookup
from kwhatif.kube.model.cluster import Cluster, KubernetesObject
from kwhatif.kube.model.node import HOSTNAME, Node, NodeCondition, NodeStatus, Taint
from kwhatif.kube.model.resource import ResourceSlice
from kwhatif.kube.model.storage import CSINode
from kwhatif.report.edit_notes import DevicesNotCopied, EditNote, NodesAdded, NodesUnchanged, StateNotCopied
from kwhatif.state.change import Upsert

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
#: Prefixes of taints and labels that controllers and kubelets set because of a node's state.
_OF_STATE = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


def _written(before: list[Node], after: list[Node], verb: Literal["cordon", "uncordon", "taint"]) -> Resolved:
    """The changed nodes, and a note about the others."""
    pairs = list(zip(before, after, strict=True))
    same = tuple(old.metadata.name for old, new in pairs if old == new)
    notes = (NodesUnchanged(same, verb),) if same else ()
    return Resolved(tuple(Upsert(new) for old, new in pairs if old != new), notes=notes)


def cordon(edit: Cordon, lookup: Lookup) -> Resolved:
    """Set `spec.unschedulable`. The taint that follows has no further effect on filters."""
    nodes = lookup.nodes(edit.nodes)
    return _written(nodes, [_cordoned(node, yes=True) for node in nodes], "cordon")


def uncordon(edit: Uncordon, lookup: Lookup) -> Resolved:
    """Unset `spec.unschedulable`, and remove the node lifecycle controller's taint (`pkg/controller/nodelifecycle`)."""
    nodes = lookup.nodes(edit.nodes)
    resolved = _written(nodes, [_cordoned(node, yes=False) for node in nodes], "uncordon")
    open_nodes = (change.obj for change in resolved.changes if isinstance(change, Upsert))
    follow = [Upsert(_without_taint(node)) for node in open_nodes if _without_taint(node) != node]
    return replace(resolved, follow=tuple(follow))


def _cordoned(node: Node, *, yes: bool) -> Node:
    return replace(node, spec=replace(node.spec, unschedulable=yes))


def _without_taint(node: Node) -> Node:
    taints = tuple(taint for taint in node.spec.taints if taint.key != UNSCHEDULABLE)
    return replace(node, spec=replace(node.spec, taints=taints))


# --- taints ------------------------------------------------------------------------------------------------------


def taint(edit: TaintNodes, lookup: Lookup) -> Resolved:
    """Set or remove taints; a taint with the same key and effect is replaced, as with `kubectl taint --overwrite`."""
    nodes = lookup.nodes(edit.nodes)
    for removal in edit.removed if nodes else ():
        if not any(_removes(removal, taint) for node in nodes for taint in node.spec.taints):
            known = sorted({taint.key for node in nodes for taint in node.spec.taints})
            hint = f"there {'are' if len(known) > 1 else 'is'} {', '.join(known)}" if known else "there are no taints"
            lookup.mistakes.append(Wrong(f"no node of these has the taint {_shown(removal)}", hint))
    if lookup.mistakes:
        return Resolved(())
    return _written(nodes, [_tainted(node, edit) for node in nodes], "taint")


def _tainted(node: Node, edit: TaintNodes) -> Node:
    taints = {(taint.key, taint.effect): taint for taint in node.spec.taints}
    for removal in edit.removed:
        taints = {place: taint for place, taint in taints.items() if not _removes(removal, taint)}
    taints |= {(taint.key, taint.effect): taint for taint in edit.added}
    return replace(node, spec=replace(node.spec, taints=tuple(taints.values())))


def _removes(removal: TaintRemoval, taint: Taint) -> bool:
    return removal.key == taint.key and removal.value in (None, taint.value) and removal.effect in (None, taint.effect)


def _shown(removal: TaintRemoval) -> str:
    value = "" if removal.value is None else f"={removal.value}"
    return f"{removal.key}{value}" + ("" if removal.effect is None else f":{removal.effect}")


# --- new nodes ---------------------------------------------------------------------------------------------------


def add(edit: AddNodes, lookup: Lookup) -> Resolved:
    """Nodes like an existing one: with its capacity, labels, taints and CSINode; ready, empty, and without images."""
    model = lookup.node(edit.like)
    if model is None:
        return Resolved(())
    edit = replace(edit, like=model.metadata.name)
    names = list(_free_names(edit, lookup))
    nodes = [_like(model, name, edit) for name in names]
    csi_node = lookup.cluster.get(CSINode, edit.like)
    drivers = [] if csi_node is None else [_named(csi_node, name) for name in names]
    made: list[Node | CSINode] = [*nodes, *drivers]
    return Resolved(tuple(map(Upsert, made)), notes=tuple(_notes(edit, model, names, lookup)))


def _free_names(edit: AddNodes, lookup: Lookup) -> Iterator[str]:
    """Made-up names that are recognizable; a domain that all nodes share is kept at the end."""
    nodes, found = lookup.cluster.all(Node), 0
    host, dot, domain = edit.like.partition(".")
    name_of = f"{host}-new-{{}}{dot}{domain}".format
    taken = lookup.cluster.derived(_Taken.none, Node).up_to
    number = taken.get((host, domain), 0) + 1
    while name_of(number) in nodes:
        taken[host, domain] = number
        number += 1
    while found < edit.count:
        if name_of(number) not in nodes:
            found += 1
            yield name_of(number)
        number += 1


class _Taken:
    """How many of the generated names are in use without a gap, by host and domain: they are not tried again."""

    def __init__(self, up_to: dict[tuple[str, str], int]) -> None:
        self.up_to = up_to

    @classmethod
    def none(cls, cluster: Cluster) -> _Taken:
        """Before any was tried."""
        del cluster
        return cls({})

    def updated(self, before: KubernetesObject | None, after: KubernetesObject | None) -> _Taken | None:
        """It stays valid when nodes are added; forks with the same nodes share it."""
        return _Taken(self.up_to.copy()) if before is None else self if after is not None else None


def _like(model: Node, name: str, edit: AddNodes) -> Node:
    status = model.status
    conditions = tuple(
        NodeCondition(type=each.type, status="True", last_heartbeat_time=each.last_heartbeat_time)
        for each in status.conditions
        if each.type == "Ready"
    )
    meta = replace(
        model.metadata,
        name=name,
        uid="",
        labels={**model.metadata.labels, HOSTNAME: name, **edit.labels},
        creation_timestamp=None,
        deletion_timestamp=None,
        owner_references=(),
        annotations={},
    )
    return replace(
        model,
        metadata=meta,
        spec=replace(model.spec, unschedulable=False, taints=tuple(filter(_is_lasting, model.spec.taints))),
        status=NodeStatus(
            capacity=status.capacity,
            allocatable=status.allocatable,
            declared_features=status.declared_features,
            conditions=conditions,
        ),
    )


def _is_lasting(taint: Taint) -> bool:
    return not taint.key.startswith(_OF_STATE)


def _named(csi_node: CSINode, name: str) -> CSINode:
    return replace(csi_node, metadata=replace(csi_node.metadata, name=name, uid="", owner_references=()))


def _notes(edit: AddNodes, model: Node, names: list[str], lookup: Lookup) -> Iterator[EditNote]:
    yield NodesAdded(edit.like, len(names))
    passing = tuple(taint.key for taint in model.spec.taints if not _is_lasting(taint))
    if passing or model.spec.unschedulable:
        yield StateNotCopied(edit.like, model.spec.unschedulable, passing)
    if any(each.spec.node_name == edit.like for each in lookup.cluster.all(ResourceSlice).values()):
        yield DevicesNotCopied(edit.like)
