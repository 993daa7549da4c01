"""How a Deployment's controller sizes its ReplicaSets while it rolls (`pkg/controller/deployment/`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from kwhatif.kube.model.workload import Deployment, RollingUpdate
from kwhatif.workloads.numbers import resolved

_QUARTER = "25%"
RECREATE = "Recreate"


class Bounds(NamedTuple):
    """How many pods a Deployment wants, and how many more, and fewer, there may be meanwhile."""

    wanted: int
    surge: int
    unavailable: int
    is_rolling: bool = True

    @property
    def most(self) -> int:
        """The most pods there may be."""
        return self.wanted + self.surge


def bounds_for(deployment: Deployment, count: int) -> Bounds:
    """The bounds of the Deployment with `count` replicas; one that recreates its pods has neither surge nor slack."""
    strategy = deployment.spec.strategy
    if strategy.type == RECREATE:
        return Bounds(count, 0, 0, is_rolling=False)
    return bounds_of(strategy.rolling_update, count)


def bounds_of(rolling: RollingUpdate | None, count: int) -> Bounds:
    """`ResolveFenceposts` in `util/deployment_util.go`."""
    rolling = rolling or RollingUpdate()
    surge = resolved(rolling.max_surge, count, default=_QUARTER, round_up=True)
    unavailable = resolved(rolling.max_unavailable, count, default=_QUARTER, round_up=False)
    return Bounds(count, surge, min(unavailable if surge or unavailable else 1, count))


class Sized(msgspec.Struct):
    """A ReplicaSet: how many pods it is to have, and how many of those that it has are available."""

    name: str
    size: int
    available: int = 0
    #: What its annotations say of the Deployment at the time when the set was last resized: its replicas, and with
    #: maxSurge the most pods there may be. None: nothing.
    desired: int | None = None
    most: int | None = None

    def resize(self, size: int) -> None:
        """What is not available goes first."""
        self.size, self.available = size, min(self.available, size)


def sync(sets: Sequence[Sized], new: Sized, bounds: Bounds) -> bool:
    """One step of a rolling update (`rolloutRolling`): the new ReplicaSet grows, or else the old ones shrink.

    Args:
        sets: all ReplicaSets, the oldest first.
        new: the one of the new template; it is among `sets`.
        bounds: of the Deployment.

    Returns:
        Whether anything changed; if not, the controller waits until pods get available, or is done.
    """
    return _grow(sets, new, bounds) or _shrink([each for each in sets if each is not new], new, bounds)


def is_scaling_event(sets: Iterable[Sized], wanted: int) -> bool:
    """Whether a ReplicaSet that has pods was resized for another number of replicas (`isScalingEvent`)."""
    return any(each.desired not in (None, wanted) for each in sets if each.size)


def scale(sets: Sequence[Sized], new: Sized | None, bounds: Bounds, *, actual: int = 0) -> Sequence[Sized]:
    """Deal a changed number of pods out among the ReplicaSets that have some (`scale` in `sync.go`).

    Args:
        sets: all ReplicaSets, the oldest first.
        new: the one of the Deployment's template, if there is one.
        bounds: of the Deployment. Without a rolling update, several sets that have pods stay as they are.
        actual: how many pods there are, for sets without annotations.

    Returns:
        The sets whose annotations are to be brought up to date, also where their size stays.
    """
    active = [each for each in sets if each.size]
    if len(active) < 2:
        latest = active[0] if active else new or next(reversed(sets), None)
        if latest is None or latest.size == bounds.wanted:
            # QUIRK: the annotation is not changed, so that this stays a scaling event, and nothing is ever rolled out.
            return ()
        latest.resize(bounds.wanted)
        return (latest,)
    if new is not None and new.size == new.desired == new.available == bounds.wanted:
        old = [each for each in active if each is not new]
        for each in old:
            each.resize(0)
        return old
    if bounds.is_rolling:
        _deal(active, bounds, actual)
        return active
    return ()


def _deal(active: Sequence[Sized], bounds: Bounds, actual: int) -> None:
    """In proportion to their sizes."""
    missing = (bounds.most if bounds.wanted else 0) - sum(each.size for each in active)
    limit, in_turn = (min, reversed(active)) if missing > 0 else (max, active)
    # Of equal ones the newest grows first, and the oldest shrinks first: sorting keeps the order.
    active = sorted(in_turn, key=lambda each: -each.size)
    sizes = {each.name: each.size for each in active}
    for each in active:
        share = limit(_share(each.size, each.most or actual, bounds), missing) if missing else 0
        sizes[each.name] += share
        missing -= share
    for each in active[:1]:
        sizes[each.name] = max(0, sizes[each.name] + missing)
    for each in active:
        each.resize(sizes[each.name])


def _share(size: int, most: int, after: Bounds) -> int:
    """By how much a ReplicaSet's size changes in proportion (`getReplicaSetFraction`)."""
    if not after.wanted:
        return -size
    if not most:
        return 0
    return (2 * size * after.most + most) // (2 * most) - size


def _grow(sets: Sequence[Sized], new: Sized, bounds: Bounds) -> bool:
    """`reconcileNewReplicaSet` in `rolling.go`."""
    room = bounds.most - sum(each.size for each in sets)
    size = bounds.wanted if new.size > bounds.wanted else min(bounds.wanted, new.size + max(0, room))
    if size == new.size:
        return False
    new.resize(size)
    return True


def _shrink(old: Sequence[Sized], new: Sized, bounds: Bounds) -> bool:
    """`reconcileOldReplicaSets` in `rolling.go`: pods that are not available first, then as many as may be missed."""
    total = sum(each.size for each in (*old, new))
    wanted = bounds.wanted - bounds.unavailable
    most = total - wanted - (new.size - new.available)
    if most <= 0:
        return False
    spare = sum(each.available for each in (*old, new)) - wanted
    idle = 0
    for each in old:
        gone = min(most - idle, each.size - each.available)
        each.resize(each.size - gone)
        idle += gone
    gone_too = 0
    for each in old:
        gone = max(0, min(each.size, spare - gone_too))
        each.resize(each.size - gone)
        gone_too += gone
    return idle + gone_too > 0
