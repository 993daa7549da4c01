"""A quota of cpu per team, across the cluster.

Pods say in their label `team` whose they are. A pod does not fit anywhere while its team has too little left; evicting
pods of the same team makes room, so preemption may help: `add_pod` and `remove_pod` keep the sum right while it tries.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kwhatif.kube.model.quantity import milli_value, parse_quantity
from kwhatif.scheduler.framework.evidence import Note
from kwhatif.scheduler.framework.plugin import NodeFilter, Reads
from kwhatif.scheduler.framework.status import SKIP, SUCCESS, Status, unresolvable, unschedulable
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

LABEL = "team"


class TeamQuota:
    """Rejects pods whose team would use more cpu than it may; teams without a quota use what they like."""

    name: ClassVar[str] = "TeamQuota"

    class Args(msgspec.Struct):
        """What `pluginConfig` takes: cpu by team, such as `{"web": "20", "batch": "500m"}`."""

        cpu: dict[str, str] = {}

    def __init__(self, args: Args) -> None:
        self._quotas = {team: milli_value(parse_quantity(cpu)) for team, cpu in args.cpu.items()}

    def pre_filter(self, pod: PodInfo, snapshot: State) -> NodeFilter | Status:
        """Add up what the team uses already, once per pod; nodes are then asked with plain numbers."""
        team = pod.labels.get(LABEL, "")
        quota = self._quotas.get(team)
        if quota is None:
            return SKIP
        used = sum(
            other.resources.requested.cpu for node in snapshot.nodes for other in node.pods if _is_of(team, other)
        )
        return _Quota(team, pod.resources.requested.cpu, used, quota)


class _Quota(NodeFilter):
    #: The verdict depends on pods of other nodes, too.
    reads = Reads.CLUSTER

    def __init__(self, team: str, wanted: int, used: int, quota: int) -> None:
        self._team = team
        self._wanted = wanted
        self._used = used
        self._quota = quota

    def filter(self, node: NodeInfo) -> Status:
        if self._used + self._wanted <= self._quota:
            return SUCCESS
        reason = f"team {self._team} has too little cpu left"
        evidence = Note(f"team {self._team} uses {self._used}m of {self._quota}m cpu, the pod wants {self._wanted}m")
        if self._wanted > self._quota:
            return unresolvable(reason, evidence)  # evicting pods cannot help
        return unschedulable(reason, evidence)

    def fork(self) -> _Quota:
        return _Quota(self._team, self._wanted, self._used, self._quota)

    def add_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        if _is_of(self._team, pod):
            self._used += pod.resources.requested.cpu

    def remove_pod(self, pod: PodInfo, node: NodeInfo) -> None:
        if _is_of(self._team, pod):
            self._used -= pod.resources.requested.cpu


def _is_of(team: str, pod: PodInfo) -> bool:
    return pod.labels.get(LABEL) == team
