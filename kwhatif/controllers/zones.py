"""How fast the nodes of a zone that are lost get their NoExecute taint: the more are lost, the slower.

Follows `handleDisruption`, `ComputeZoneState` and `SwapLimiter` of `pkg/controller/nodelifecycle`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from kwhatif.controllers.node_health import ZoneCounts
from kwhatif.controllers.node_taints import is_evicting, ready_status, with_no_execute_taint, without_no_execute_taints
from kwhatif.kube.model.node import Node
from kwhatif.state.node_tree import Zone, zone_of

#: Nodes per second that are tainted: `--node-eviction-rate`, `--secondary-node-eviction-rate`.
RATE, SECONDARY_RATE = 0.1, 0.01
#: `--unhealthy-zone-threshold`, and `--large-cluster-size-threshold`, which counts the nodes of one zone.
UNHEALTHY_ZONE, LARGE_ZONE = 0.55, 50
#: At most so many lost nodes do not disrupt a zone that has others.
_FEW_LOST = 2

ZoneState = Literal["Normal", "PartialDisruption", "FullDisruption"]
#: The state of every zone, and how many nodes it has.
_States = Mapping[Zone, tuple[ZoneState, int]]


class _Limiter(msgspec.Struct, frozen=True):
    """A zone's token bucket, which holds one token at most."""

    state: ZoneState
    #: Tokens per second.
    rate: float
    #: Seconds since the start at which there is a token; before that there is none.
    free_at: float


class Zones:
    """The zones' limiters, and what becomes of them and of the nodes at one look."""

    def __init__(self, memory: dict[Any, Any], counts: ZoneCounts, now: float) -> None:
        """Set up.

        Args:
            memory: what is kept from one look to the next.
            counts: what there was before anything was lost now: zones never looked at begin with that state.
            now: seconds since the start.
        """
        self._memory = memory
        self._now = now
        states = _states(counts)
        everywhere = _is_everywhere(states)
        for zone, (state, size) in states.items():
            if zone not in memory:
                memory[zone] = _Limiter(state, 0.0 if everywhere else _rate(state, size), now)

    @property
    def probed(self) -> float:
        """Seconds since the start at which all silent nodes got another grace period; before all time if never."""
        probed: float = self._memory.get("probed", float("-inf"))
        return probed

    def taint(self, nodes: dict[str, Node], counts: ZoneCounts) -> float | None:
        """Give nodes their NoExecute taints, or take them off, in place.

        Of nodes that are lost at one moment the first of a zone gets its taint before the zone's state is found out: in
        truth that is a race, which the first one mostly wins.

        Args:
            nodes: all that are not well.
            counts: how many there are of each zone now.

        Returns:
            When there is more to do, in seconds since the start.
        """
        lost = []
        for name, node in nodes.items():
            if ready_status(node) == "True":
                nodes[name] = without_no_execute_taints(node)
            elif is_evicting(node):
                nodes[name] = with_no_execute_taint(node)
            else:
                lost.append(name)
        waiting = self._next(lost, nodes)
        self._look(nodes, counts)
        waiting = self._next([name for name in waiting if not is_evicting(nodes[name])], nodes)
        zones = {zone_of(nodes[name]) for name in waiting}
        return min((self._memory[zone].free_at for zone in zones if self._limiter(zone).rate > 0), default=None)

    def _next(self, lost: list[str], nodes: dict[str, Node]) -> list[str]:
        """Taint the nodes for which there is a token; returns the others."""
        waiting = []
        for name in lost:
            zone = zone_of(nodes[name])
            limiter = self._limiter(zone)
            if limiter.rate <= 0 or limiter.free_at > self._now:
                waiting.append(name)
                continue
            nodes[name] = with_no_execute_taint(nodes[name])
            self._memory[zone] = msgspec.structs.replace(limiter, free_at=self._now + 1 / limiter.rate)
        return waiting

    def _limiter(self, zone: Zone) -> _Limiter:
        """The zone's limiter; a zone whose nodes are all left out of the counts is as good as it can be."""
        limiter: _Limiter = self._memory.setdefault(zone, _Limiter("Normal", RATE, self._now))
        return limiter

    def _look(self, nodes: dict[str, Node], counts: ZoneCounts) -> None:
        """Find out the states of the zones, and set the rates."""
        states = _states(counts)
        memory = self._memory
        known = [zone for zone in memory if zone != "probed"]
        is_everywhere = _is_everywhere(states)
        was_everywhere = all(memory[zone].state == "FullDisruption" for zone in known if zone in states)
        if is_everywhere and was_everywhere:
            return
        if is_everywhere:
            nodes.update({name: without_no_execute_taints(node) for name, node in nodes.items()})
        elif was_everywhere:
            memory["probed"] = self._now
        for zone, (state, size) in states.items():
            self._swap(zone, state, 0.0 if is_everywhere else _rate(state, size))

    def _swap(self, zone: Zone, state: ZoneState, rate: float) -> None:
        """Another rate; the new bucket is as empty as the old one was."""
        before = self._limiter(zone)
        free_at = before.free_at
        if before.rate != rate and rate > 0:
            was_empty = before.rate == 0 or before.free_at > self._now
            free_at = self._now + 1 / rate if was_empty else self._now
        self._memory[zone] = _Limiter(state, rate, free_at)


def _states(counts: ZoneCounts) -> _States:
    return {zone: (_state(lost, ready), lost + ready) for zone, (lost, ready) in counts.items()}


def _state(lost: int, ready: int) -> ZoneState:
    if ready == 0:
        return "FullDisruption"
    if lost > _FEW_LOST and lost / (lost + ready) >= UNHEALTHY_ZONE:
        return "PartialDisruption"
    return "Normal"


def _is_everywhere(states: _States) -> bool:
    """Whether no zone has a node that is ready: then nothing is evicted at all."""
    return all(state == "FullDisruption" for state, _ in states.values())


def _rate(state: ZoneState, size: int) -> float:
    if state == "PartialDisruption":
        return SECONDARY_RATE if size > LARGE_ZONE else 0.0
    return RATE
