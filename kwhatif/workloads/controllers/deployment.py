"""How a Deployment's controller sizes its ReplicaSets while it rolls (`pkg/controller/deployment/`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from kwhatif.model.workload import RollingUpdate
from kwhatif.workloads.rolling.update import resolved

_QUARTER = "25%"


class Bounds(NamedTuple):
    """How many pods a Deployment wants, and how many more, and fewer, there may be meanwhile."""

    wanted: int
    surge: int
    unavailable: int

    @property
    def most(self) -> int:
        """The most pods there may be."""
        return self.wanted + self.surge


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


def sync_recreate(sets: Sequence[Sized], new: Sized, wanted: int) -> bool:
    """One step of a Deployment that recreates its pods (`recreate.go`): first all old ones go, then new ones come.

    Assumes that pods are gone once their ReplicaSet has shrunk; upstream waits until they have stopped.
    """
    old = [each for each in sets if each is not new and each.size]
    for each in old:
        each.resize(0)
    if old or new.size == wanted:
        return bool(old)
    new.resize(wanted)
    return True


def settle(sets: Sequence[Sized], new: Sized, before: Bounds, after: Bounds) -> None:
    """Let the controller act until all that it can do is wait: no pod that it makes meanwhile gets ready.

    A changed number of pods comes first (`syncDeployment`): it is dealt out among the ReplicaSets that have pods, the
    old template's too. Then, step by step, the new ReplicaSet grows, and the old ones shrink. Arguments as of `sync`.
    """
    if before.wanted != after.wanted:
        scale(sets, before, after)
    while sync(sets, new, after):
        pass


def scale(sets: Sequence[Sized], before: Bounds, after: Bounds) -> None:
    """Deal a changed number of pods out among the ReplicaSets that have some (`scale` in `sync.go`)."""
    _scale([each for each in sets if each.size], before, after)


def _scale(active: Sequence[Sized], before: Bounds, after: Bounds) -> None:
    if len(active) == 1:
        active[0].resize(after.wanted)
        return
    total = sum(each.size for each in active)
    missing = (after.most if after.wanted else 0) - total
    limit, in_turn = (min, reversed(active)) if missing > 0 else (max, active)
    # Of equal ones the newest grows first, and the oldest shrinks first: sorting keeps the order.
    active = sorted(in_turn, key=lambda each: -each.size)
    sizes = {each.name: each.size for each in active}
    for each in active:
        share = limit(_share(each.size, before.most or total, after), missing) if missing else 0
        sizes[each.name] += share
        missing -= share
    for each in active[:1]:
        sizes[each.name] = max(0, sizes[each.name] + missing)
    for each in active:
        each.resize(sizes[each.name])


def _share(size: int, most: int, after: Bounds) -> int:
    """By how much a ReplicaSet's size changes in proportion, from one of so many pods (`getReplicaSetFraction`)."""
    if not after.wanted:
        return -size
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
