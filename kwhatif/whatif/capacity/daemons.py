"""Pods of DaemonSets on nodes that are new: they take their room before any other pod comes."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kwhatif.edits.nodes import WITHOUT_DAEMON_SETS
from kwhatif.model.workload import DaemonSet
from kwhatif.report.inputs import EditRow, SourceRow
from kwhatif.state.change import Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.whatif.applying.applied import Applied
from kwhatif.whatif.applying.candidates import Planner
from kwhatif.whatif.capacity.room import fits
from kwhatif.workloads.daemon_set import eligible_nodes, expand_daemon_set

_WITH = "pods of DaemonSets run there, too"


def run_daemons(state: State, before: State, planner: Planner) -> None:
    """Give each node that was not there before a pod of every DaemonSet that is meant for it, where there is room."""
    new = {node.name for node in state.nodes if before.node(node.name) is None}
    if not new:
        return
    for key, daemon_set in list(state.cluster.all(DaemonSet).items()):
        names = [name for name in eligible_nodes(daemon_set, state.cluster) if name in new]
        applied = Applied(daemon_set, SourceRow(file="", object=f"DaemonSet {key}"))
        groups = expand_daemon_set(daemon_set, names, state.cluster).groups
        for name, candidate in zip(names, planner.admit(applied, groups), strict=True):
            node = state.node(name)
            if node is not None and not candidate.refusal and fits(PodInfo(candidate.pod), node):
                pod = candidate.pod
                state.apply(Upsert(replace(pod, spec=replace(pod.spec, node_name=name))))


def with_daemons(notes: Iterable[str]) -> tuple[str, ...]:
    """The notes of an edit, where pods of DaemonSets are not left out."""
    return tuple(note.replace(WITHOUT_DAEMON_SETS, _WITH) for note in notes)


def changes_with_daemons(changes: Iterable[EditRow]) -> tuple[EditRow, ...]:
    """The edits, with notes that do not leave out pods of DaemonSets."""
    return tuple(replace(change, notes=with_daemons(change.notes)) for change in changes)
