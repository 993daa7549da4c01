"""StatefulSets (`pkg/controller/statefulset/stateful_set_control.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kwhatif.kube.model.caveat.workloads import OrderedPodPending
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import StatefulSet
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.expansion import Expansion, ReplicaGroup
from kwhatif.workloads.numbers import ordinal_of
from kwhatif.workloads.removal import active
from kwhatif.workloads.rolling.update import ROLLS, UNCHANGED, Rollout, WorkloadUpdate
from kwhatif.workloads.stateful_set import expand_stateful_set, first_to_roll, is_ordered, most_unavailable, ordinals_of
from kwhatif.workloads.template import same_template


def update_stateful_set(
    new: StatefulSet, known: StatefulSet | None, pods: Sequence[Pod], cluster: Cluster, rollout: Rollout
) -> WorkloadUpdate:
    """Missing pods are made first; then pods are replaced under their old names, as many at a time as may be missing.

    That goes from the highest number down to the partition, and the next ones wait until all pods run: even where
    missing ones are made in parallel.
    """
    numbered = ((ordinal_of(pod.metadata, new.metadata.name), pod) for pod in active(pods))
    by_ordinal = {ordinal: pod for ordinal, pod in numbered if ordinal is not None}
    before = set(by_ordinal) if known is None else set(ordinals_of(known, replicas_of(known)))
    count = len(before) if new.spec.replicas is None else replicas_of(new)
    after = ordinals_of(new, count)
    changed = known is None or not same_template(known.spec.template, new.spec.template)
    lowest = first_to_roll(new)
    outdated = sorted(before.intersection(after), reverse=True) if changed and lowest is not None else []
    replaced = [ordinal for ordinal in outdated if ordinal >= (lowest or 0)]
    if rollout == "end" and replaced:
        return ROLLS
    if rollout == "surge":
        replaced = replaced[: most_unavailable(new, count, cluster.gates) or 1]
    gone = [*sorted(before.difference(after), reverse=True), *replaced]
    removed = tuple(by_ordinal[ordinal] for ordinal in gone if ordinal in by_ordinal)
    fresh = [ordinal for ordinal in after if ordinal not in before]
    if not gone and not fresh:
        return UNCHANGED
    made = _made(new, known, fresh, lowest, cluster)
    remade = [replace(group, waits=True) for group in expand_stateful_set(new, replaced, cluster).groups]
    return WorkloadUpdate(
        "changed" if replaced else "scaled",
        removed,
        Expansion((*made, *remade)),
        caveat=_stuck(new, by_ordinal),
    )


def _made(
    new: StatefulSet, known: StatefulSet | None, ordinals: Sequence[int], first: int | None, cluster: Cluster
) -> Sequence[ReplicaGroup]:
    """Below the first number that is updated, pods are still made of the old template."""
    lowest = 0 if known is None or first is None else first
    made = expand_stateful_set(new, [ordinal for ordinal in ordinals if ordinal >= lowest], cluster).groups
    if known is None:
        return made
    return *expand_stateful_set(known, [ordinal for ordinal in ordinals if ordinal < lowest], cluster).groups, *made


def _stuck(new: StatefulSet, by_ordinal: Mapping[int, Pod]) -> OrderedPodPending | None:
    """A pod that is pending in the cluster holds up all else; whether it will run is another question."""
    waiting = [pod.metadata.name for _, pod in sorted(by_ordinal.items()) if not pod.spec.node_name]
    if not waiting or not is_ordered(new):
        return None
    return OrderedPodPending(workload=f"StatefulSet {key_of(new)}", pod=waiting[0])
