"""DaemonSets (`pkg/controller/daemon/update.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import DaemonSet
from kwhatif.workloads.controllers.daemon_set import bounds_of
from kwhatif.workloads.daemon_set import eligible_nodes, expand_daemon_set, node_of
from kwhatif.workloads.removal import is_available
from kwhatif.workloads.rolling.update import ROLLS, UNCHANGED, Rollout, WorkloadUpdate
from kwhatif.workloads.template import same_template


def update_daemon_set(
    new: DaemonSet, known: DaemonSet | None, pods: Sequence[Pod], cluster: Cluster, rollout: Rollout
) -> WorkloadUpdate:
    """Pods are replaced node by node; nodes that the new template leaves lose theirs, new ones get one at once."""
    if known is not None and same_template(known.spec.template, new.spec.template):
        return UNCHANGED
    if rollout == "end" and new.spec.update_strategy.type != "OnDelete":
        return ROLLS
    wanted = eligible_nodes(new, cluster)
    present: dict[str, list[Pod]] = {}
    for pod in pods:
        present.setdefault(node_of(pod), []).append(pod)
    fresh = [node for node in wanted if node not in present]
    leaving = {node for node in present if node not in set(wanted)}
    outdated = {node: all(map(is_available, present[node])) for node in wanted if node in present}
    replaced, doubled = _rolled(new, outdated, len(fresh), rollout)
    removed = (pod for pod in pods if node_of(pod) in leaving or node_of(pod) in replaced)
    added = expand_daemon_set(new, sorted([*fresh, *replaced, *doubled]), cluster)
    return WorkloadUpdate("changed", tuple(removed), added)


def _rolled(
    daemon_set: DaemonSet, outdated: Mapping[str, bool], fresh: int, rollout: Rollout
) -> tuple[frozenset[str], frozenset[str]]:
    """The nodes whose old pod makes way for a new one, and those where a new one comes beside it.

    Old pods that are not available (False) go at once. So many others as may be missed follow, or get company, before
    any new pod is ready; those that are new to a node (`fresh`) are missed, too.
    """
    strategy = daemon_set.spec.update_strategy
    if strategy.type == "OnDelete":
        return frozenset(), frozenset()
    if rollout == "final":
        return frozenset(outdated), frozenset()
    bounds = bounds_of(strategy, len(outdated) + fresh)
    working = [node for node, is_working in outdated.items() if is_working]
    idle = outdated.keys() - set(working)
    if bounds.surge:
        return frozenset(idle), frozenset(working[: bounds.surge])
    return frozenset({*idle, *working[: max(0, bounds.unavailable - len(idle) - fresh)]}), frozenset()
