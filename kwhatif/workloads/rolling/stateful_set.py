"""StatefulSets (`pkg/controller/statefulset/stateful_set_control.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kwhatif.model.caveat import OrderedPodPending
from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.pod import Pod
from kwhatif.model.workload import StatefulSet
from kwhatif.workloads.controllers.stateful_set import Moves, Replica, made_of_old, sync
from kwhatif.workloads.expand import replicas_of
from kwhatif.workloads.expansion import Expansion, Group
from kwhatif.workloads.removal import active, is_available
from kwhatif.workloads.rolling.roll import Progress, Step
from kwhatif.workloads.rolling.update import UNCHANGED, Rollout, Update
from kwhatif.workloads.stateful_set import expand_stateful_set, is_ordered, ordinals_of
from kwhatif.workloads.template import same_template


def update_stateful_set(
    new: StatefulSet, known: StatefulSet | None, pods: Sequence[Pod], cluster: Cluster, rollout: Rollout
) -> Update:
    """Missing pods are made first; then pods are replaced under their old names, one at a time.

    That goes from the highest number down to the partition, and each waits until all pods run: even where missing ones
    are made in parallel.
    """
    by_ordinal = {ordinal: pod for pod in pods if (ordinal := _ordinal(new, pod)) is not None}
    before = set(by_ordinal) if known is None else set(ordinals_of(known, replicas_of(known)))
    count = len(before) if new.spec.replicas is None else replicas_of(new)
    after = ordinals_of(new, count)
    changed = known is None or not same_template(known.spec.template, new.spec.template)
    partition = _partition(new)
    outdated = before.intersection(after) if changed and partition is not None else set()
    lowest = after.start + (partition or 0)
    replaced = [ordinal for ordinal in sorted(outdated, reverse=True) if ordinal >= lowest]
    if rollout == "end" and replaced:
        return Update("changed", roll=StatefulSetRoll(new, known, by_ordinal, after, cluster))
    if rollout == "surge":
        # The gate MaxUnavailableStatefulSet is off.
        replaced = replaced[:1]
    gone = [*sorted(before.difference(after), reverse=True), *replaced]
    removed = tuple(by_ordinal[ordinal] for ordinal in gone if ordinal in by_ordinal)
    fresh = [ordinal for ordinal in after if ordinal not in before]
    if not gone and not fresh:
        return UNCHANGED
    made = _made(new, known, fresh, None if partition is None else lowest, cluster)
    remade = [replace(group, waits=True) for group in expand_stateful_set(new, replaced, cluster).groups]
    return Update(
        "changed" if replaced else "scaled",
        removed,
        Expansion((*made, *remade)),
        caveat=_stuck(new, by_ordinal),
    )


def _ordinal(stateful_set: StatefulSet, pod: Pod) -> int | None:
    name, _, number = pod.metadata.name.rpartition("-")
    return int(number) if name == stateful_set.metadata.name and number.isdigit() and active([pod]) else None


def _partition(stateful_set: StatefulSet) -> int | None:
    """The lowest number that is updated; None when nothing is until somebody deletes it."""
    strategy = stateful_set.spec.update_strategy
    if strategy.type == "OnDelete":
        return None
    return (strategy.rolling_update.partition if strategy.rolling_update else None) or 0


def _made(
    new: StatefulSet, known: StatefulSet | None, ordinals: Sequence[int], first: int | None, cluster: Cluster
) -> Sequence[Group]:
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


class StatefulSetRoll:
    """A StatefulSet whose template has changed; see `Roll`."""

    def __init__(
        self,
        new: StatefulSet,
        known: StatefulSet | None,
        pods: Mapping[int, Pod],
        ordinals: range,
        cluster: Cluster,
    ) -> None:
        """Set up.

        Args:
            new: as it is applied, with a rolling update.
            known: as it is in the cluster, if it is.
            pods: those that it has, by number.
            ordinals: the numbers of those that it is to have.
            cluster: with the claims that there are.
        """
        self._new, self._old, self._cluster = new, known or new, cluster
        self._ordinals = ordinals
        self._lowest = ordinals.start + (_partition(new) or 0)
        self._pods = dict(pods)
        self._ready = {ordinal for ordinal, pod in pods.items() if is_available(pod)}
        self._updated: set[int] = set()
        self._refused: set[int] = set()

    def _next(self) -> Moves:
        replicas = {
            ordinal: Replica(ordinal in self._updated, ordinal in self._ready)
            for ordinal in {*self._pods, *self._refused}
        }
        return sync(replicas, self._ordinals, ordered=is_ordered(self._new), lowest=self._lowest)

    def pods(self) -> list[Pod]:
        """See `Roll`."""
        return list(self._pods.values())

    def step(self) -> Step:
        """The controller makes and deletes what it does not have to wait for."""
        moves = self._next()
        removed = tuple(self._pods.pop(ordinal) for ordinal in moves.delete)
        self._ready.difference_update(moves.delete)
        old = [ordinal for ordinal in moves.create if self._is_made_of_old(ordinal)]
        new = [ordinal for ordinal in moves.create if ordinal not in old]
        made = (
            *expand_stateful_set(self._old, old, self._cluster).groups,
            *expand_stateful_set(self._new, new, self._cluster).groups,
        )
        self._updated.difference_update((*moves.delete, *old))
        self._updated.update(new)
        return Step(removed, Expansion(made))

    def _is_made_of_old(self, ordinal: int) -> bool:
        strategy = self._new.spec.update_strategy
        has_block = strategy.rolling_update is not None or not strategy.type
        current = sum(number not in self._updated for number in self._pods)
        return made_of_old(ordinal, self._ordinals.start, _partition(self._new) if has_block else None, current)

    def _number(self, pod: Pod) -> int:
        return int(pod.metadata.name.rpartition("-")[2])

    def made(self, pod: Pod) -> None:
        """See `Roll`."""
        self._pods[self._number(pod)] = pod

    def refused(self, pod: Pod) -> None:
        """See `Roll`."""
        self._refused.add(self._number(pod))

    def runs(self, pod: Pod) -> None:
        """See `Roll`."""
        self.made(pod)
        self._ready.add(self._number(pod))

    def gone(self, pod: Pod) -> None:
        """See `Roll`."""
        self._pods.pop(self._number(pod), None)
        self._ready.discard(self._number(pod))

    def retry(self) -> None:
        """See `Roll`."""
        self._refused.clear()

    def progress(self) -> Progress:
        """See `Roll`."""
        updating = [ordinal for ordinal in self._ordinals if ordinal >= self._lowest]
        moves = self._next()
        name = "" if moves.waits_for is None else f"{key_of(self._new)}-{moves.waits_for}"
        return Progress(
            wanted=len(updating),
            updated=len(self._updated & self._ready & set(updating)),
            old=sum(ordinal in self._pods and ordinal not in self._updated for ordinal in updating),
            waits_for=name,
            limit="one pod at a time",
            done=moves == Moves() and not self._refused,
        )
