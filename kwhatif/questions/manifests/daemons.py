"""Pods of DaemonSets on new nodes: they are placed there before any other pod.

A DaemonSet's controller acts as soon as a node is there (`pkg/controller/daemon/daemon_controller.go`), and its pods
tolerate that the node is not ready yet.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from kwhatif.autoscaler.contract import NewNode
from kwhatif.kube.matching.requests import CPU, MEMORY
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import ObjectMeta, controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import DaemonSet
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.new_pods import NewPods
from kwhatif.report.edit_notes import DaemonPodsPending, DaemonPodsPlaced, DaemonPodsRefused, EditNote
from kwhatif.scheduler.framework.attempt import run_pre_enqueue
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.profile import Profile, profile_of
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.state.change import Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.daemon_set import daemon_pod, newest_label, node_of, pinned, selects_all, tolerable_among
from kwhatif.workloads.deployment import names_for, taken_names
from kwhatif.workloads.owners import pods_controlled_by
from kwhatif.workloads.removal import as_ready
from kwhatif.workloads.stateful_set import REVISION_LABEL
from kwhatif.workloads.template import ReplicaGroup


class _Daemon:
    """The pods of a DaemonSet."""

    def __init__(self, pod: Pod, nodes: set[str]) -> None:
        #: A pod of its newest revision, and the nodes that have one.
        self.pod, self.nodes = pod, nodes
        #: This number of the first names for its pods is in use.
        self.names = 0


class DaemonPods:
    """The pods of DaemonSets, kept from one edit to the next; only this may create DaemonSet pods of another revision.

    Finding them takes a pass over all pods. That is repeated only if DaemonSets have changed, or pods that were not
    created here.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Daemon] = {}
        #: The metadata of the created pods, by key.
        self._made: dict[str, ObjectMeta] = {}
        self._generation = 0

    def follow(self, state: State) -> None:
        """Forget what may have changed in this state."""
        touched = None if is_reference() or not self._generation else state.since(self._generation)
        if touched is None or not all(self._is_known(kind, key, state) for kind, key in touched.objects):
            self._known.clear()
            self._made.clear()
        self._generation = state.generation

    def _is_known(self, kind: type, key: str, state: State) -> bool:
        if kind is not Pod:
            return kind is not DaemonSet
        there = state.pods.get(key)
        return there is not None and there.pod.metadata is self._made.get(key)

    def of(self, daemon_set: DaemonSet, cluster: Cluster) -> _Daemon:
        """The pods of a DaemonSet in a state that was followed."""
        key = key_of(daemon_set)
        found = self._known.get(key)
        if found is None:
            running = pods_controlled_by(DaemonSet.__name__, daemon_set.metadata, cluster)
            pod, label = daemon_pod(daemon_set, cluster), newest_label(running)
            if label:
                pod = replace(
                    pod, metadata=replace(pod.metadata, labels={**pod.metadata.labels, REVISION_LABEL: label})
                )
            found = self._known[key] = _Daemon(pod, set(map(node_of, running)))
        return found

    def add(self, pod: Pod, daemon_set: DaemonSet) -> None:
        """A pod of it was created."""
        self._known[key_of(daemon_set)].nodes.add(node_of(pod))
        self._made[key_of(pod)] = pod.metadata


def run_daemons(
    new_pods: NewPods,
    nodes: Sequence[str],
    profiles: Mapping[str, Profile],
    daemons: DaemonPods | None = None,
) -> Iterator[EditNote]:
    """Create the pods of DaemonSets on new nodes; yields notes about them.

    Each is admitted and checked by its scheduler; a pod that does not fit stays pending.

    Args:
        new_pods: creates them; the nodes exist already.
        nodes: their names.
        profiles: scheduler name -> profile.
        daemons: is passed if more nodes are added later.
    """
    if not nodes:
        return
    daemons = daemons or DaemonPods()
    state = new_pods.api_server.state
    daemons.follow(state)
    made, refusals = _made(new_pods, nodes, daemons)
    placed: list[PodInfo] = []
    waiting: list[PodInfo] = []
    for info in sorted(made, key=lambda info: -info.priority):
        node = node_of(info.pod)
        if _fits(info, node, state, profiles):
            placed.append(info)
            pod = info.pod
            state.apply(Upsert(as_ready(replace(pod, spec=replace(pod.spec, node_name=node)))))
        else:
            waiting.append(info)
            state.apply(Upsert(info.pod))
    if placed:
        yield _placed(placed)
    if waiting:
        yield DaemonPodsPending(len(waiting), _sets(waiting))
    for message, count in refusals.items():
        yield DaemonPodsRefused(count, message)


def arrive(new_pods: NewPods, nodes: Sequence[NewNode], profiles: Mapping[str, Profile]) -> None:
    """Add nodes from an autoscaler: they register, pods of DaemonSets are placed, and then the nodes are ready."""
    state, names = new_pods.api_server.state, [node.name for node in nodes]
    claims = [node.claim for node in nodes if node.claim is not None]
    state.apply(*map(Upsert, (*claims, *(node.registered for node in nodes))))
    state.apply(*(Upsert(obj) for node in nodes for obj in node.besides))
    deque(run_daemons(new_pods, names, profiles), 0)
    state.apply(*(Upsert(node.started(state.by_name[node.name].node)) for node in nodes))
    if any(node.startup_taints for node in nodes):
        deque(run_daemons(new_pods, names, profiles), 0)


def new_nodes(applied: Iterable[Applied], before: State) -> list[str]:
    """The names of applied nodes that do not exist yet."""
    names = (each.object.metadata.name for each in applied if isinstance(each.object, Node))
    return [name for name in dict.fromkeys(names) if before.node(name) is None]


def _made(new_pods: NewPods, nodes: Sequence[str], daemons: DaemonPods) -> tuple[list[PodInfo], Counter[str]]:
    """The stored pods with their nodes, and the number of refused pods by message."""
    cluster = new_pods.api_server.state.cluster
    made: list[PodInfo] = []
    refusals: Counter[str] = Counter()
    sets = [each for each in cluster.all(DaemonSet).values() if not selects_all(each)]
    # Before any pod is created: finding existing pods would take a pass over all of them afterwards.
    wanted = [
        (each, daemons.of(each, cluster), _wanted(each, nodes, cluster))
        for each in sets
        if each.metadata.deletion_timestamp is None
    ]
    for daemon_set, daemon, willing in wanted:
        names = [name for name in willing if name not in daemon.nodes]
        if not names:
            continue
        pod = daemon.pod
        daemon.names = taken_names(pod, cluster, daemon.names)
        group = ReplicaGroup(pod, tuple(islice(names_for(pod, cluster, skip=daemon.names), len(names))))
        for name, candidate in zip(names, new_pods.create_all(group), strict=True):
            if candidate.refusal:
                refusals[candidate.refusal.message] += 1
            else:
                made.append(PodInfo(pinned(candidate.pod, name)))
                daemons.add(made[-1].pod, daemon_set)
    return made, refusals


def _wanted(daemon_set: DaemonSet, nodes: Sequence[str], cluster: Cluster) -> list[str]:
    """The nodes that get a pod of the DaemonSet."""
    known = cluster.all(Node)
    named = tolerable_among(daemon_set, ((name, known[name]) for name in nodes)).items()
    return [name for name, should_run in named if should_run]


def _fits(pod: PodInfo, name: str, state: State, profiles: Mapping[str, Profile]) -> bool:
    """Whether the pod fits on its node now."""
    profile, node = profile_of(pod.pod, profiles), state.node(name)
    if profile is None or node is None or run_pre_enqueue(profile, pod, state) is not None:
        return False
    cycle = Cycle(profile, pod, state)
    try:
        if not cycle.pre_filter() or (cycle.node_set is not None and name not in cycle.node_set):
            return False
        return cycle.check(node, cycle.filters) is None
    except CycleError:
        return False


def _placed(placed: Sequence[PodInfo]) -> DaemonPodsPlaced:
    """How many pods there are, and how much they take: per node, if that is the same on all nodes."""
    by_node: dict[str, list[PodInfo]] = {}
    for info in placed:
        by_node.setdefault(node_of(info.pod), []).append(info)
    first, *others = by_node.values()
    if any((len(pods), _requests(pods)) != (len(first), _requests(first)) for pods in others):
        return DaemonPodsPlaced(len(placed), _requests(placed), "all", _sets(placed))
    return DaemonPodsPlaced(len(first), _requests(first), "each" if others else "one", _sets(first))


def _requests(pods: Sequence[PodInfo]) -> dict[str, int]:
    return {name: sum(info.resources.requested.of(name) for info in pods) for name in (CPU, MEMORY)}


def _sets(pods: Sequence[PodInfo]) -> tuple[str, ...]:
    return tuple(sorted({_owner(info.pod) for info in pods}))


def _owner(pod: Pod) -> str:
    owner = controller_of(pod.metadata)
    return f"{pod.metadata.namespace}/{owner.name if owner else ''}"
