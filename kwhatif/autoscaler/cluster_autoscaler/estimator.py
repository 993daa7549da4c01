"""How many new nodes of a group fit which pods (`estimator/binpacking_estimator.go`): first fit, largest pods first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from kwhatif.autoscaler.cluster_autoscaler.flags import Flags
from kwhatif.autoscaler.cluster_autoscaler.snapshot import Snapshot
from kwhatif.autoscaler.cluster_autoscaler.templates import Template
from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.matching.requests import CPU, MEMORY
from kwhatif.kube.model.node import HOSTNAME, Node
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.pod_spec import PodAffinityTerm
from kwhatif.kube.model.quantity import milli_value, parse_quantity, value
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.state.pod_info import PodInfo

#: `ErrReasonConstraintsNotMatch` of the plugin.
_SPREAD_REASON = "node(s) didn't match pod topology spread constraints"

#: Equivalent pods.
PodGroup = Sequence[PodInfo]


class Estimate(NamedTuple):
    """A number of new nodes, and the pods that fit on them."""

    nodes: int
    pods: Sequence[PodInfo]


def limit_of(flags: Flags, room: int, nodes: int) -> int:
    """The maximum number of nodes that an estimate may add; negative: none; 0: no limit.

    Args:
        flags: the autoscaler's flags.
        room: how many more nodes the group and similar groups may have (`sng_capacity_threshold.go`).
        nodes: the number of nodes in the cluster (`cluster_capacity_threshold.go`).
    """
    limits = [flags.max_nodes_per_scaleup, room if room > 0 else -1]
    if flags.max_nodes_total:
        left = flags.max_nodes_total - nodes
        limits.append(left if flags.max_nodes_total > 0 and left > 0 else -1)
    if min(limits) < 0:
        return -1
    return min((limit for limit in limits if limit), default=0)


class Estimation:
    """One estimate for one group, in a fork of the snapshot."""

    def __init__(self, snapshot: Snapshot, template: Template, limit: int) -> None:
        self._snapshot = snapshot.fork()
        self._template = template
        self._limit = limit
        self._added = 0
        self._new: dict[str, None] = {}
        self._last = ""
        self._used: set[str] = set()
        self._pods: list[PodInfo] = []

    def run(self, groups: Sequence[PodGroup], *, fast: bool = False) -> Estimate:
        """Estimate. `fast`: extrapolate the slowest group from one node (`fastpath-binpacking-enabled`)."""
        node = self._template.node
        ordered = sorted(groups, key=lambda group: -_score(group[0], node))
        quick = _quickest(ordered, node) if fast else None
        if quick is not None:
            ordered = [*ordered[:quick], *ordered[quick + 1 :], ordered[quick]]
        may_add = True
        for index, group in enumerate(ordered):
            left = self._on_nodes_so_far(group)
            if may_add:
                is_quick = quick is not None and index == len(ordered) - 1
                may_add = self._extrapolated(left) if is_quick else self._on_new_nodes(left)
        return Estimate(len(self._used), self._pods)

    def _placed(self, pod: PodInfo, node: str) -> None:
        self._used.add(node)
        self._pods.append(pod)

    def _on_nodes_so_far(self, pods: PodGroup) -> PodGroup:
        """Place pods on nodes of this estimate until one fits nowhere; returns this pod and the pods after it."""
        for index, pod in enumerate(pods):
            node = self._snapshot.schedule_anywhere(pod, self._new) if self._new else ""
            if not node:
                return pods[index:]
            self._placed(pod, node)
        return ()

    def _on_new_nodes(self, pods: PodGroup) -> bool:
        """Place pods on the newest node, and add a node if it is full; returns whether more may be added later."""
        for pod in pods:
            if self._last and self._on_last(pod):
                continue
            if self._last and self._last not in self._used:
                return True  # the pod does not even fit on an empty node
            if not self._add_node():
                return False
            if self._snapshot.schedule(pod, self._last) is not None:
                break
            self._placed(pod, self._last)
        return True

    def _on_last(self, pod: PodInfo) -> bool:
        verdict = self._snapshot.schedule(pod, self._last)
        if verdict is None:
            self._placed(pod, self._last)
            return True
        if not (_spreads_over_hosts(pod.pod) and _is_about_spread(verdict)):
            return False
        # QUIRK: any other node of the cluster is tried, including existing nodes.
        node = self._snapshot.schedule_anywhere(pod, [name for name in self._snapshot.names if name != self._last])
        if node:
            self._placed(pod, node)
        return bool(node)

    def _add_node(self) -> bool:
        """Add a node, if the limit allows it; returns whether it was added."""
        if not self._permits():
            return False
        node, pods, besides = self._template.made(f"e-{len(self._new)}")
        self._snapshot.add_node(node, pods, besides)
        self._last = node.metadata.name
        self._new[self._last] = None
        return True

    def _permits(self) -> bool:
        if self._limit < 0 or (self._limit > 0 and self._added >= self._limit):
            return False
        self._added += 1
        return True

    def _extrapolated(self, pods: PodGroup) -> bool:
        """Fill one node, and assume that all others take the same number of pods (`tryFastPath`)."""
        if not pods:
            return True
        if not self._add_node():
            return False
        each = 0
        while each < len(pods) and self._snapshot.schedule(pods[each], self._last) is None:
            self._placed(pods[each], self._last)
            each += 1
        if each == 0:
            return True
        for number in range(1, math.ceil(len(pods) / each)):
            if not self._permits():
                return False
            for pod in pods[number * each : (number + 1) * each]:
                self._placed(pod, f"{self._last}-fake-{number}")
        return True


def _score(pod: PodInfo, node: Node) -> float:
    """The sum of the pod's cpu and memory requests, as fractions of the node's (`decreasing_pod_orderer.go`)."""
    requested, listed = pod.resources.requested, node.status.allocatable_or_capacity
    cpu, memory = milli_value(parse_quantity(listed.get(CPU, 0))), value(parse_quantity(listed.get(MEMORY, 0)))
    score = 0.0
    if cpu > 0:
        score += requested.cpu / cpu
    if memory > 0:
        score += requested.memory / memory
    return score


def _spreads_over_hosts(pod: Pod) -> bool:
    return any(each.topology_key == HOSTNAME for each in pod.spec.topology_spread_constraints)


def _is_about_spread(verdict: Verdict) -> bool:
    return _SPREAD_REASON in verdict.status.reasons


# --- the fast path ----------------------------------------------------------------------------------------------------


def _quickest(groups: Sequence[PodGroup], node: Node) -> int | None:
    """The index of the group that saves the most attempts (`determineBestPEGToFastpath`); of equals the last one."""
    best, most_saved = None, 0
    for index, group in enumerate(groups):
        saved = _saved(group, node)
        if saved >= most_saved and _may_be_extrapolated(group[0].pod):
            best, most_saved = index, saved
    return best


def _saved(group: PodGroup, node: Node) -> int:
    pod, count = group[0].pod, len(group)
    nodes = [count if _keeps_apart(pod) else 0]
    requests = pod.spec.containers[0].resources.requests if pod.spec.containers else {}
    for name in (CPU, MEMORY):
        there = parse_quantity(node.status.capacity.get(name, 0))
        nodes.append(math.ceil(count * parse_quantity(requests.get(name, 0)) / there) if there else 0)
    return count - count // max(nodes) if max(nodes) else 0


def _keeps_apart(pod: Pod) -> bool:
    """Whether no two pods like this one may share a host."""
    for term in _anti_affinity(pod):
        try:
            if term.topology_key == HOSTNAME and compile_selector(term.label_selector).matches(pod.metadata.labels):
                return True
        except SelectorError:
            continue
    return False


def _may_be_extrapolated(pod: Pod) -> bool:
    wide = any(term.topology_key != HOSTNAME for term in _anti_affinity(pod))
    return not (pod.spec.topology_spread_constraints or wide)


def _anti_affinity(pod: Pod) -> Sequence[PodAffinityTerm]:
    affinity = pod.spec.affinity
    return affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else ()
