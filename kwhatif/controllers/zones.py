"""Rate limits for the NoExecute taints of lost nodes in a zone: the more nodes are lost, the lower the rate.

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

#: Nodes to taint per second: `--node-eviction-rate`, `--secondary-node-eviction-rate`.
RATE, SECONDARY_RATE = 0.1, 0.01
#: `--unhealthy-zone-threshold`, and `--large-cluster-size-threshold`, which counts the nodes of one zone.
UNHEALTHY_ZONE, LARGE_ZONE = 0.55, 50
#: Up to this number of lost nodes do not disrupt a zone that has other nodes.
_FEW_LOST = 2

ZoneState = Literal["Normal", "PartialDisruption", "FullDisruption"]
#: Zone -> its state and number of nodes.
_States = Mapping[Zone, tuple[ZoneState, int]]


class _Limiter(msgspec.Struct, frozen=True):
    """A zone's token bucket, which holds at most one token."""

    state: ZoneState
    #: Tokens per second.
    rate: float
    #: When the next token is available, in seconds since the start.
    free_at: float


class Zones:
    """The rate limiters of the zones, during one run of the monitor."""

    def __init__(self, memory: dict[Any, Any], counts: ZoneCounts, now: float) -> None:
        """Set up.

        Args:
            memory: what is kept between two runs.
            counts: the counts before the current losses: the initial state of new zones.
            now: the time in seconds since the start.
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
        """When all silent nodes got another grace period, in seconds since the start; minus infinity if never."""
        probed: float = self._memory.get("probed", float("-inf"))
        return probed

    def taint(self, nodes: dict[str, Node], counts: ZoneCounts) -> float | None:
        """Add or remove NoExecute taints of nodes in place.

        If several nodes are lost at one moment, the first one of a zone is tainted before the zone's state is computed:
        in a real cluster that is a race, which the first one usually wins.

        Args:
            nodes: all unhealthy nodes.
            counts: the current counts of each zone.

        Returns:
            When there is more to do, in seconds since the start; None: nothing.
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
        """Taint the nodes that get a token; returns the others."""
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
        """The zone's limiter; a zone without counted nodes has the normal state."""
        limiter: _Limiter = self._memory.setdefault(zone, _Limiter("Normal", RATE, self._now))
        return limiter

    def _look(self, nodes: dict[str, Node], counts: ZoneCounts) -> None:
        """Compute the states of the zones, and set their rates."""
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
        """Change the rate; the new bucket has as many tokens as the old one."""
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
    """Whether no zone has a ready node: then no pod is evicted."""
    return all(state == "FullDisruption" for state, _ in states.values())


def _rate(state: ZoneState, size: int) -> float:
    if state == "PartialDisruption":
        return SECONDARY_RATE if size > LARGE_ZONE else 0.0
    return RATE
