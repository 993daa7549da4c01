"""Pods of DaemonSets on new nodes: they take their room there before any other pod.

A DaemonSet's controller acts as soon as a node is there (`pkg/controller/daemon/daemon_controller.go`), and its pods
tolerate that the node is not ready yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from kwhatif.kube.matching.requests import CPU, MEMORY
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.meta import controller_of
from kwhatif.kube.model.node import Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import DaemonSet
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.manifests.candidates import Planner
from kwhatif.questions.rows import text_of
from kwhatif.report.inputs import SourceRow
from kwhatif.scheduler.framework.attempt import held_back
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.profile import DEFAULT_SCHEDULER, Profile
from kwhatif.state.change import Upsert
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State
from kwhatif.workloads.daemon_set import daemon_pod, newest_label, node_of, pinned, selects_all, tolerable_among
from kwhatif.workloads.expansion import ReplicaGroup
from kwhatif.workloads.owners import pods_controlled_by
from kwhatif.workloads.removal import as_ready
from kwhatif.workloads.replicas import names_for
from kwhatif.workloads.stateful_set import REVISION_LABEL

#: The most DaemonSets to name.
_MOST_NAMED = 3


def run_daemons(state: State, nodes: Sequence[str], planner: Planner, profiles: Mapping[str, Profile]) -> Iterator[str]:
    """Create the pods of DaemonSets on these new nodes; yields notes about them.

    Each is admitted, and checked by its scheduler; one that does not fit stays pending.

    Args:
        state: already has the nodes.
        nodes: their names.
        planner: of the state's cluster.
        profiles: scheduler name -> profile.
    """
    if not nodes:
        return
    made, refusals = _made(state.cluster, nodes, planner)
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
        yield _said(placed)
    if waiting:
        yield f"{_named(waiting)} {'find' if len(waiting) > 1 else 'finds'} no room there"
    for message, count in refusals.items():
        yield f"the API server refuses {count} pod{'s' * (count > 1)} of DaemonSets there: {message}"


def new_nodes(applied: Iterable[Applied], before: State) -> list[str]:
    """The names of the nodes among what is applied that are not there yet."""
    names = (each.object.metadata.name for each in applied if isinstance(each.object, Node))
    return [name for name in dict.fromkeys(names) if before.node(name) is None]


def _made(cluster: Cluster, nodes: Sequence[str], planner: Planner) -> tuple[list[PodInfo], Counter[str]]:
    """The pods as the API server stores them, and the number of refused pods by message."""
    made: list[PodInfo] = []
    refusals: Counter[str] = Counter()
    sets = [each for each in cluster.all(DaemonSet).values() if not selects_all(each)]
    # Before any of them comes: to look for those that are there costs a pass over all pods then.
    wanted = [(each, *_wanted(each, nodes, cluster)) for each in sets if each.metadata.deletion_timestamp is None]
    for daemon_set, pod, names in wanted:
        if not names:
            continue
        applied = Applied(daemon_set, SourceRow(file="", object=f"DaemonSet {key_of(daemon_set)}"))
        group = ReplicaGroup(pod, tuple(islice(names_for(pod, cluster), len(names))))
        for name, candidate in zip(names, planner.admit(applied, [group]), strict=True):
            if candidate.refusal:
                refusals[candidate.refusal] += 1
            else:
                made.append(PodInfo(pinned(candidate.pod, name)))
    return made, refusals


def _wanted(daemon_set: DaemonSet, nodes: Sequence[str], cluster: Cluster) -> tuple[Pod, list[str]]:
    """A pod of the DaemonSet's newest revision, and the nodes that are to have one and do not."""
    known = cluster.all(Node)
    named = tolerable_among(daemon_set, ((name, known[name]) for name in nodes)).items()
    running = pods_controlled_by(DaemonSet.__name__, daemon_set.metadata, cluster)
    there = {node_of(pod) for pod in running}
    pod, label = daemon_pod(daemon_set, cluster), newest_label(running)
    if label:
        pod = replace(pod, metadata=replace(pod.metadata, labels={**pod.metadata.labels, REVISION_LABEL: label}))
    return pod, [name for name, should_run in named if should_run and name not in there]


def _fits(pod: PodInfo, name: str, state: State, profiles: Mapping[str, Profile]) -> bool:
    """Whether the scheduler would give it its node now."""
    profile, node = profiles.get(pod.pod.spec.scheduler_name or DEFAULT_SCHEDULER), state.node(name)
    if profile is None or node is None or held_back(profile, pod, state) is not None:
        return False
    cycle = Cycle(profile, pod, state)
    try:
        if not cycle.pre_filter() or (cycle.node_set is not None and name not in cycle.node_set):
            return False
        return cycle.check(node, cycle.filters) is None
    except CycleError:
        return False


def _said(placed: Sequence[PodInfo]) -> str:
    """How many there are, and how much they take: of each node, where that is the same everywhere."""
    by_node: dict[str, list[PodInfo]] = {}
    for info in placed:
        by_node.setdefault(node_of(info.pod), []).append(info)
    texts = {_amounts(pods) for pods in by_node.values()}
    if len(texts) == 1:
        where = "on each" if len(by_node) > 1 else "there"
        return f"{texts.pop()} {where}: {_sets(next(iter(by_node.values())))}"
    return f"{_amounts(placed)} there in all: {_sets(placed)}"


def _amounts(pods: Sequence[PodInfo]) -> str:
    """`2 pods of DaemonSets take 300m cpu and 64Mi memory`."""
    sums = {name: sum(info.resources.requested.of(name) for info in pods) for name in (CPU, MEMORY)}
    amounts = [f"{text_of(name, amount)} {name}" for name, amount in sums.items() if amount]
    verb = "take" if len(pods) > 1 else "takes"
    what = f" {verb} {' and '.join(amounts)}" if amounts else f" run{'s' * (len(pods) == 1)}"
    return f"{len(pods)} pod{'s' * (len(pods) > 1)} of DaemonSets{what}"


def _sets(pods: Sequence[PodInfo]) -> str:
    names = sorted({_owner(info.pod) for info in pods})
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _named(pods: Sequence[PodInfo]) -> str:
    return f"{len(pods)} pod{'s' * (len(pods) > 1)} of DaemonSets ({_sets(pods)})"


def _owner(pod: Pod) -> str:
    owner = controller_of(pod.metadata)
    return f"{pod.metadata.namespace}/{owner.name if owner else ''}"
