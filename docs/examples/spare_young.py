"""A preemption that spares young pods: whoever started less than ten minutes ago is not evicted.

All else is as in kube-scheduler's own preemption, whose place it takes.
"""

from __future__ import annotations

import time
from typing import ClassVar

from kwhatif.kube.model.meta import parse_time
from kwhatif.scheduler.plugins.default_preemption import DefaultPreemption, DefaultPreemptionArgs
from kwhatif.scheduler.preemption.policy import Policy
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo

MINUTE = 60 * 10**9


class SpareYoung(DefaultPreemption):
    """DefaultPreemption with another policy."""

    name: ClassVar[str] = "SpareYoung"
    replaces: ClassVar[str] = "DefaultPreemption"

    class Args(DefaultPreemptionArgs):
        """The arguments of DefaultPreemption, and how old is old enough."""

        minutes: int = 10
        #: An RFC 3339 time to take for the present, so that an answer can be repeated; "" asks the clock.
        now: str = ""

    def __init__(self, args: Args) -> None:
        super().__init__(args)
        now = parse_time(args.now) if args.now else time.time_ns()
        self.policy = OnlyOlderThan(now - args.minutes * MINUTE)


class OnlyOlderThan(Policy):
    """Evicts nobody who started later than a given time (nanoseconds since the epoch), or has not started at all."""

    def __init__(self, latest: int) -> None:
        self._latest = latest

    def potential_victims(self, pod: PodInfo, node: NodeInfo) -> list[PodInfo]:
        """Those of lower priority that are old enough."""
        lower = super().potential_victims(pod, node)
        return [victim for victim in lower if victim.start_time is not None and victim.start_time <= self._latest]
