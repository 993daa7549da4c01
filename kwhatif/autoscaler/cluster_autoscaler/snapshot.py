"""`Snapshot`: a state in which the autoscaler tries placements, with kube-scheduler's filters only.

Follows `simulator/clustersnapshot/predicate` (`predicate_snapshot.go`, `plugin_runner.go`). Upstream keeps its nodes in
the random order of a map; here they are ordered by name, and new ones come last.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from itertools import chain

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod, PodSpec
from kwhatif.kube.model.storage import Volume
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.filters import run_filters
from kwhatif.scheduler.framework.incremental import Incremental, apply_added_node, apply_pod_change
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.profile import Profile
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import Status, Verdict, error
from kwhatif.scheduler.plugins.node_resources_fit.room import Room
from kwhatif.state.change import Change, Delete, Touched, Upsert
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

_DEVICES = "DynamicResources"
#: Less than any node has free: pods may use more than a node has.
_ANY = -(2**100)
#: The verdict for nodes that PreFilter plugins have excluded: upstream has no message for that.
_RULED_OUT = Verdict(Status())


class Snapshot:
    """A state, the scheduler profile for trying pods, and the order of nodes."""

    def __init__(self, state: State, profile: Profile) -> None:
        """Set up; `state` will be changed, so pass a fork."""
        self.state = state
        self._profile = profile
        self.names = sorted(state.by_name)
        self._index_of = {name: index for index, name in enumerate(self.names)}
        #: The index of the node found by the last `schedule_anywhere`: the next search starts after it.
        self._last = [0]
        #: The filters of the last pod of each kind; see `_Tried.follows`.
        self._known: dict[bytes, _Tried] = {}
        #: The snapshot that this was forked from, and its state's generation at that time: filters are compiled there,
        #: once for all forks.
        self._base: tuple[Snapshot, int] | None = None

    def fork(self) -> Snapshot:
        """An independent fork."""
        other = Snapshot.__new__(Snapshot)
        other.state, other._profile = self.state.fork(), self._profile
        other.names, other._index_of, other._last = self.names.copy(), self._index_of.copy(), self._last
        other._known, other._base = {}, (self, self.state.generation)
        return other

    def adopt(self, other: Snapshot) -> None:
        """Take over the changes of a fork (`Commit`)."""
        self.state, self.names, self._index_of = other.state, other.names, other._index_of
        self._known |= other._known

    # --- nodes -----------------------------------------------------------------------------------------------------

    def add_node(self, node: Node, pods: Iterable[Pod], besides: Iterable[KubernetesObject] = ()) -> None:
        """Add a node with its pods, and objects that belong to it."""
        changes: list[Change] = [Upsert(node), *map(Upsert, besides)]
        changes += (Upsert(pod) for pod in pods)
        self.state.apply(*changes)
        self._index_of[node.metadata.name] = len(self.names)
        self.names.append(node.metadata.name)

    def empty_node(self, node: Node) -> None:
        """Replace the node, and remove its pods."""
        self.state.apply(*self._gone(node.metadata.name), Upsert(node))

    def remove_node(self, name: str) -> None:
        """Remove the node and its pods."""
        self.state.apply(*self._gone(name), Delete(Node, name))
        self.names.remove(name)
        self._index_of = {each: index for index, each in enumerate(self.names)}

    def _gone(self, name: str) -> Sequence[Change]:
        return [Delete(Pod, pod.key) for pod in self.node(name).pods]

    def node(self, name: str) -> NodeInfo:
        """The node with this name, which must exist."""
        return self.state.nodes[self.state.index_by_name[name]]

    # --- pods ------------------------------------------------------------------------------------------------------

    def objection(self, pod: PodInfo, node: str) -> Verdict | None:
        """Why the pod does not fit on the node (`CheckPredicates`); None if it fits."""
        return self._tried(pod).objection(self.node(node))

    def objections(self, pod: PodInfo, nodes: Iterable[str]) -> Mapping[str, Verdict]:
        """Node -> why the pod does not fit; nodes on which it fits are left out."""
        tried = self._tried(pod)
        found = {name: tried.objection(self.node(name)) for name in nodes}
        return {name: verdict for name, verdict in found.items() if verdict is not None}

    def schedule(self, pod: PodInfo, node: str) -> Verdict | None:
        """Place the pod on the node, if it fits (`SchedulePod`); otherwise returns why it does not fit."""
        tried = self._tried(pod)
        verdict = tried.objection(self.node(node))
        if verdict is None:
            tried.bind(pod, node, self.state)
        return verdict

    def schedule_anywhere(self, pod: PodInfo, accepted: Collection[str] | None = None) -> str:
        """Place the pod on one of the accepted nodes (`SchedulePodOnAnyNodeMatching`); None: all are accepted.

        The search starts after the node that was found last.

        Returns:
            The node's name; "" if the pod fits nowhere.
        """
        tried, nodes, index_by_name = self._tried(pod), self.state.nodes, self.state.index_by_name
        cpu, memory = tried.least
        for index in self._searched(accepted):
            name = self.names[index]
            node = nodes[index_by_name[name]]
            there = node.allocatable
            if there.cpu - node.cpu < cpu or there.memory - node.memory < memory:
                continue  # the same check as in NodeResourcesFit: most nodes are full
            # A cordoned node is skipped, even if the pod tolerates the cordon.
            if not node.unschedulable and tried.objection(node) is None:
                self._last[0] = index
                tried.bind(pod, name, self.state)
                return name
        return ""

    def _searched(self, accepted: Collection[str] | None) -> Iterable[int]:
        """The indexes of the nodes, in the order in which they are tried."""
        start = (self._last[0] + 1) % max(len(self.names), 1)
        if accepted is None:
            return chain(range(start, len(self.names)), range(start))
        indexes = sorted(self._index_of[name] for name in accepted)
        first = bisect_left(indexes, start)
        return chain(indexes[first:], indexes[:first])

    def _tried(self, pod: PodInfo) -> _Tried:
        """The pod's filters for the current state; those of an equal pod, if they are still valid."""
        if is_reference() or not _is_plain(pod.pod):
            return _Tried(self.state, self._profile, pod)
        kind = pod.derived(_kind_of)
        known = self._known.get(kind)
        if known is None or not known.follows(self.state):
            known = self._known[kind] = self._from_base(pod) or _Tried(self.state, self._profile, pod)
        return known

    def _from_base(self, pod: PodInfo) -> _Tried | None:
        """The filters of the snapshot that this was forked from, if they are still valid after the changes since."""
        if self._base is None:
            return None
        base, generation = self._base
        if base.state.generation != generation:
            return None
        forked = base._tried(pod).fork(self.state)
        return forked if forked.follows(self.state) else None


def _is_plain(pod: Pod) -> bool:
    """Whether the pod has nothing that distinguishes it for filters: no volumes, no devices."""
    return not (pod.spec.volumes or pod.spec.resource_claims or pod.metadata.deletion_timestamp)


def shape_of(pod: Pod) -> bytes:
    """Cache key: equal for pods with equal labels, and specs that only differ in names (`PodSpecSemanticallyEqual`)."""
    return msgspec.json.encode((sorted(pod.metadata.labels.items()), _sanitized(pod.spec)))


def _sanitized(spec: PodSpec) -> PodSpec:
    """The spec without fields that differ between replicas: host name, and volumes whose source no rule reads."""
    volumes = tuple(volume for volume in spec.volumes if volume != Volume(name=volume.name))
    return replace(spec, hostname="", volumes=volumes)


def _kind_of(pod: Pod) -> bytes:
    """Cache key: equal for pods with equal verdicts. It has the owner, by which pods without constraints are spread."""
    owner = controller_of(pod.metadata)
    scheduling = (pod.metadata.namespace, owner, pod.spec.scheduler_name, pod.status.nominated_node_name)
    return shape_of(pod) + msgspec.json.encode(scheduling)


class _Tried:
    """A pod with its compiled filters."""

    def __init__(self, state: State, profile: Profile, pod: PodInfo) -> None:
        self._generation = state.generation
        self._cycle = Cycle(profile, pod, state)
        self._stopped: Verdict | None = None
        try:
            if not self._cycle.pre_filter():
                self._stopped = self._cycle.absent
        except CycleError as failure:
            self._stopped = Verdict(error(str(failure)))
        self._wide = self._wide_filters()
        #: The free cpu and memory that a node needs: with less, no filter needs to run.
        self.least = self._least()

    def _least(self) -> tuple[int, int]:
        room = dict(self._cycle.filters).get("NodeResourcesFit")
        if is_reference() or not isinstance(room, Room):
            return _ANY, _ANY
        return room.requested.cpu or _ANY, room.requested.memory or _ANY

    def _wide_filters(self) -> list[NodeFilter]:
        """The filters that read more than the node."""
        return [each for _, each in self._cycle.filters if each.reads >= Reads.CLUSTER]

    def fork(self, state: State) -> _Tried:
        """An independent copy for a fork of the state."""
        filters = self._cycle.compiled.items()
        other = copy(self)
        kept = {name: each.fork_with(state) for name, each in filters if isinstance(each, Incremental)}
        other._cycle = self._cycle.fork(state, kept)
        other._wide = other._wide_filters()
        return other

    def follows(self, state: State) -> bool:
        """Whether the filters are valid for this later state; they are updated if possible.

        They can be updated for added nodes, and for pods that were added or removed.
        """
        if state.generation == self._generation:
            return True
        touched = state.since(self._generation)
        if touched is None or self._stopped is not None or self._cycle.node_set is not None:
            return False
        if self._wide and (touched.rearranged or touched.changed_nodes):
            return False
        for kind, _ in touched.objects:
            if kind is not Pod and kind is not Node:
                return False
        if (self._wide or self._cycle.skipped_until) and not self._keep_up(touched, state):
            return False
        self._generation = state.generation
        return True

    def _keep_up(self, touched: Touched, state: State) -> bool:
        filters, skipped = self._wide, self._cycle.skipped_until
        added = [state.node(name) for name in touched.added_nodes] if filters else ()
        if not all(node is None or apply_added_node(each, node) for node in added for each in filters):
            return False
        for move in touched.moves:
            if any(concerns(move.pod) for concerns in skipped):
                return False
            node = state.node(move.node)
            if node is None or not all(
                apply_pod_change(each, move.pod, node, move.amount) is not None for each in filters
            ):
                return False
        return True

    def objection(self, node: NodeInfo) -> Verdict | None:
        """Why the pod does not fit on the node (`RunFiltersOnNode`)."""
        cycle = self._cycle
        if self._stopped is not None:
            return self._stopped
        if cycle.node_set is not None and node.name not in cycle.node_set:
            return _RULED_OUT
        return run_filters(cycle.filters, node)

    def bind(self, info: PodInfo, name: str, state: State) -> None:
        """Bind the pod. Devices are reserved for it; volumes are not, as upstream does not bind them."""
        compiled = self._cycle.compiled.get(_DEVICES)
        reserved = () if compiled is None else tuple(compiled.reserve(state.by_name[name], state))
        pod = info.pod
        placed = replace(pod, spec=replace(pod.spec, node_name=name))
        state.apply(*map(Upsert, reserved), Upsert(placed))


#: Plugins, the easiest objection to remove first: a plugin that runs late objects only if all others accept the node.
_ORDER = (
    *("NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "NodePorts", "NodeVolumeLimits", "VolumeBinding"),
    *("VolumeZone", "DynamicResources", "TaintToleration", "NodeAffinity", "NodeUnschedulable", "NodeName"),
)


def _distance(verdict: Verdict) -> tuple[int, float]:
    index = _ORDER.index(verdict.plugin) if verdict.plugin in _ORDER else len(_ORDER)
    lacking = sum(_part_missing(each) for each in verdict.status.evidence)
    return index, lacking


def _part_missing(evidence: object) -> float:
    """The part of the pod's request that does not fit, as a share of the node's allocatable."""
    requested, used = getattr(evidence, "requested", 0), getattr(evidence, "used", 0)
    there = getattr(evidence, "allocatable", 0)
    return (requested + used - there) / there if there else float(requested)


def nearest(objections: Mapping[str, Verdict]) -> str:
    """The node with the smallest objection: most filters pass, and it lacks the least; of equals the first by name."""
    return min(sorted(objections), key=lambda name: _distance(objections[name]))
