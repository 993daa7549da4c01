"""What the StatefulSet controller does next (`pkg/controller/statefulset/stateful_set_control.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import NamedTuple


class Replica(NamedTuple):
    """A pod of the set, as its controller sees it."""

    #: Whether it is of the new revision.
    updated: bool
    #: Whether it is available: running, and ready for long enough.
    ready: bool
    #: It is terminating: it exists until its containers have stopped and the object is gone.
    terminating: bool = False
    #: Its phase is final.
    ended: bool = False

    @property
    def is_healthy(self) -> bool:
        """Whether others need not wait for it."""
        return self.ready and not self.terminating and not self.ended

    @property
    def is_outdated(self) -> bool:
        """Whether it is to be replaced by one of the new revision, and is not deleted yet."""
        return not self.updated and not self.terminating


#: A pod that is missing is made in the same step.
_JUST_MADE = Replica(updated=True, ready=False)


#: The most pods to create in one step; larger sets take several.
_AT_ONCE = 1_000


class Moves(NamedTuple):
    """Numbers of the pods that are made and deleted; what it is held up by, if the controller waits."""

    create: tuple[int, ...] = ()
    delete: tuple[int, ...] = ()
    waits_for: int | None = None


def sync(
    replicas: Mapping[int, Replica], ordinals: range, *, ordered: bool, lowest: int | None, most: int | None = None
) -> Moves:
    """One step of the controller (`updateStatefulSet`).

    Args:
        replicas: the pods that there are, by number.
        ordinals: the numbers that there should be.
        ordered: pods are made and deleted one by one (`podManagementPolicy: OrderedReady`).
        lowest: the lowest number that is updated; None if pods are only updated when they are deleted.
        most: how many may be unavailable while others are updated; None: each waits for those above it.

    QUIRK: an ordered set stops at the first pod that is not ready, also where the new revision would repair it.
    """
    condemned = sorted((ordinal for ordinal in replicas if ordinal not in ordinals), reverse=True)
    if not ordered:
        missing = islice((ordinal for ordinal in ordinals if ordinal not in replicas), _AT_ONCE)
        gone = sorted(ordinal for ordinal in replicas if ordinal in ordinals and replicas[ordinal].ended)
        gone = [ordinal for ordinal in (*gone, *condemned) if not replicas[ordinal].terminating]
        updated = _update(replicas, ordinals, lowest, most, ordered=False)
        gone += [ordinal for ordinal in updated.delete if ordinal not in gone]
        return Moves(tuple(missing), tuple(gone), updated.waits_for)
    held_up = first_in_order(replicas.get, ordinals)
    if held_up is not None:
        return held_up
    if condemned:
        return _condemn(replicas, condemned)
    return _update(replicas, ordinals, lowest, most, ordered=True)


def first_in_order(replica_of: Callable[[int], Replica | None], ordinals: range) -> Moves | None:
    """The step that the first of these pods asks for, where one lacks or is not healthy (`processReplica`)."""
    for ordinal in ordinals:
        replica = replica_of(ordinal)
        if replica is None:
            return Moves(create=(ordinal,))
        if replica.ended and not replica.terminating:
            return Moves(delete=(ordinal,))
        if not replica.is_healthy:
            return Moves(waits_for=ordinal)
    return None


def _condemn(replicas: Mapping[int, Replica], condemned: list[int]) -> Moves:
    """The highest goes when the one before is gone, unless it is not ready, and not the set's first that is not."""
    highest = condemned[0]
    if replicas[highest].terminating:
        return Moves(waits_for=highest)
    first = next((ordinal for ordinal in reversed(condemned) if not replicas[ordinal].is_healthy), None)
    if not replicas[highest].ready and first != highest:
        return Moves(waits_for=first)
    return Moves(delete=(highest,))


def _update(
    replicas: Mapping[int, Replica], ordinals: range, lowest: int | None, most: int | None, *, ordered: bool
) -> Moves:
    """From the highest down: the first outdated pod goes, unless one above it is not ready."""
    if lowest is None:
        return Moves()
    if most is not None:
        return _update_several(replicas, ordinals, lowest, most, ordered=ordered)
    for ordinal in reversed(ordinals):
        if ordinal < lowest:
            break
        replica = replicas.get(ordinal, _JUST_MADE)
        if replica.is_outdated:
            return Moves(delete=(ordinal,))
        if not replica.is_healthy:
            return Moves(waits_for=ordinal)
    return Moves()


def _update_several(
    replicas: Mapping[int, Replica], ordinals: range, lowest: int, most: int, *, ordered: bool
) -> Moves:
    """As many outdated pods go as may be unavailable (`updateStatefulSetAfterInvariantEstablished`, as of 1.37).

    Those of a parallel set that are not ready go in any case: that makes nothing worse.
    """
    there = sorted((ordinal for ordinal in replicas if ordinal in ordinals), reverse=True)
    unavailable = len(ordinals) - sum(replicas[ordinal].is_healthy for ordinal in there)
    outdated = [ordinal for ordinal in there if ordinal >= lowest and replicas[ordinal].is_outdated]
    broken = [] if ordered else [ordinal for ordinal in outdated if not replicas[ordinal].is_healthy]
    others = [ordinal for ordinal in outdated if ordinal not in broken]
    delete = (*broken, *others[: max(0, most - unavailable)])
    if delete:
        return Moves(delete=delete)
    last = ordinals.start if outdated else max(lowest, ordinals.start)
    late = (
        number for number in range(ordinals.stop - 1, last - 1, -1) if not replicas.get(number, _JUST_MADE).is_healthy
    )
    return Moves(waits_for=next(late, None))


def made_of_old(ordinal: int, start: int, partition: int | None, current: int) -> bool:
    """Whether a missing pod is made of the old revision (`newVersionedStatefulSetPod`).

    Args:
        ordinal: the number of the pod.
        start: the lowest number of the set.
        partition: that of the strategy; None where it has no `rollingUpdate` block.
        current: how many pods of the old revision there are.

    QUIRK: without the block, which is only filled in where the type is left out, the count decides.
    """
    return ordinal < start + (current if partition is None else partition)
