"""StatefulSets (`pkg/controller/statefulset/stateful_set_control.go`)."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.model.cluster import Cluster
from kwhatif.model.pod import Pod
from kwhatif.model.workload import StatefulSet
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.expansion import Expansion
from kwhatif.workloads.rolling.removal import active
from kwhatif.workloads.rolling.update import UNCHANGED, Rollout, Update
from kwhatif.workloads.stateful_set import expand_stateful_set, ordinals_of
from kwhatif.workloads.template import same_template


def update_stateful_set(
    new: StatefulSet, known: StatefulSet | None, pods: Sequence[Pod], cluster: Cluster, rollout: Rollout
) -> Update:
    """Pods are replaced one at a time, the highest number first, down to the partition; each under its old name."""
    by_ordinal = {ordinal: pod for pod in pods if (ordinal := _ordinal(new, pod)) is not None}
    before = set(by_ordinal) if known is None else set(ordinals_of(known, replicas_of(known)))
    count = len(before) if new.spec.replicas is None else replicas_of(new)
    after = ordinals_of(new, count)
    changed = known is None or not same_template(known.spec.template, new.spec.template)
    partition = _partition(new)
    replaced = sorted(before.intersection(after), reverse=True) if changed else []
    replaced = [ordinal for ordinal in replaced if partition is not None and ordinal >= partition]
    if rollout == "surge":
        # The gate MaxUnavailableStatefulSet is off.
        replaced = replaced[:1]
    gone = [*sorted(before.difference(after), reverse=True), *replaced]
    removed = tuple(by_ordinal[ordinal] for ordinal in gone if ordinal in by_ordinal)
    fresh = [ordinal for ordinal in after if ordinal not in before or ordinal in replaced]
    if not gone and not fresh:
        return UNCHANGED
    return Update("changed" if replaced else "scaled", removed, _expand(new, known, fresh, partition, cluster))


def _ordinal(stateful_set: StatefulSet, pod: Pod) -> int | None:
    name, _, number = pod.metadata.name.rpartition("-")
    return int(number) if name == stateful_set.metadata.name and number.isdigit() and active([pod]) else None


def _partition(stateful_set: StatefulSet) -> int | None:
    """The lowest number that is updated; None when nothing is until somebody deletes it."""
    strategy = stateful_set.spec.update_strategy
    if strategy.type == "OnDelete":
        return None
    return (strategy.rolling_update.partition if strategy.rolling_update else None) or 0


def _expand(
    new: StatefulSet, known: StatefulSet | None, ordinals: Sequence[int], partition: int | None, cluster: Cluster
) -> Expansion:
    """Below the partition, pods are still made of the old template (`newVersionedStatefulSetPod`)."""
    lowest = 0 if known is None or partition is None else partition
    made = [expand_stateful_set(new, [ordinal for ordinal in ordinals if ordinal >= lowest], cluster)]
    if known is not None:
        made.insert(0, expand_stateful_set(known, [ordinal for ordinal in ordinals if ordinal < lowest], cluster))
    groups = tuple(group for expansion in made for group in expansion.groups)
    return Expansion(groups, tuple(claim for expansion in made for claim in expansion.claims))
