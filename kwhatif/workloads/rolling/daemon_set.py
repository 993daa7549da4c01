"""DaemonSets (`pkg/controller/daemon/update.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kwhatif.model.cluster import Cluster, key_of
from kwhatif.model.pod import Pod
from kwhatif.model.workload import DaemonSet, RollingUpdate
from kwhatif.workloads.controllers.daemon_set import Moves, Standing, bounds_of, sync
from kwhatif.workloads.daemon_set import (
    daemon_pod,
    eligible_nodes,
    expand_daemon_set,
    node_of,
    pinned_pods,
    tolerable_nodes,
)
from kwhatif.workloads.removal import active, is_available
from kwhatif.workloads.replicas import names_for
from kwhatif.workloads.rolling.roll import Progress, Step
from kwhatif.workloads.rolling.update import UNCHANGED, Rollout, Update, resolved
from kwhatif.workloads.template import same_template


def update_daemon_set(
    new: DaemonSet, known: DaemonSet | None, pods: Sequence[Pod], cluster: Cluster, rollout: Rollout
) -> Update:
    """Pods are replaced node by node; nodes that the new template leaves lose theirs, new ones get one at once."""
    if known is not None and same_template(known.spec.template, new.spec.template):
        return UNCHANGED
    if rollout == "end" and new.spec.update_strategy.type != "OnDelete":
        return Update("changed", roll=DaemonSetRoll(new, pods, cluster))
    wanted = eligible_nodes(new, cluster)
    present: dict[str, list[Pod]] = {}
    for pod in pods:
        present.setdefault(node_of(pod), []).append(pod)
    fresh = [node for node in wanted if node not in present]
    leaving = {node for node in present if node not in set(wanted)}
    outdated = {node: all(map(is_available, present[node])) for node in wanted if node in present}
    replaced, doubled = _rolled(new, outdated, len(fresh), rollout)
    removed = (pod for pod in pods if node_of(pod) in leaving or node_of(pod) in replaced)
    added = expand_daemon_set(new, sorted([*fresh, *replaced, *doubled]), cluster)
    return Update("changed", tuple(removed), added)


def _rolled(
    daemon_set: DaemonSet, outdated: Mapping[str, bool], fresh: int, rollout: Rollout
) -> tuple[frozenset[str], frozenset[str]]:
    """The nodes whose old pod makes way for a new one, and those where a new one comes beside it.

    Old pods that are not available (False) go at once. So many others as may be missed follow, or get company, before
    any new pod is ready; those that are new to a node (`fresh`) are missed, too.
    """
    strategy = daemon_set.spec.update_strategy
    if strategy.type == "OnDelete":
        return frozenset(), frozenset()
    if rollout == "final":
        return frozenset(outdated), frozenset()
    bounds = strategy.rolling_update or RollingUpdate()
    wanted = len(outdated) + fresh
    surge = resolved(bounds.max_surge, wanted, default=0, round_up=True)
    working = [node for node, is_working in outdated.items() if is_working]
    idle = outdated.keys() - set(working)
    if surge:
        return frozenset(idle), frozenset(working[:surge])
    missed = resolved(bounds.max_unavailable, wanted, default=1, round_up=True) or 1
    return frozenset({*idle, *working[: max(0, missed - len(idle) - fresh)]}), frozenset()


class _OnNode(msgspec.Struct):
    """The pods of the DaemonSet on one node."""

    #: Of the old template, the oldest first.
    old: list[Pod] = []
    is_working: bool = False
    new: Pod | None = None
    is_ready: bool = False
    is_refused: bool = False

    @property
    def standing(self) -> Standing:
        """What that comes to."""
        if self.new is None and not self.old:
            return Standing.REFUSED if self.is_refused else Standing.BARE
        if self.new is None:
            return Standing.WORKING if self.is_working else Standing.IDLE
        if not self.old:
            return Standing.UPDATED if self.is_ready else Standing.WAITING
        return Standing.DOUBLED if self.is_ready else Standing.BESIDE


class DaemonSetRoll:
    """A DaemonSet whose template has changed; see `Roll`. Nodes are taken in their order; upstream's is random."""

    def __init__(self, new: DaemonSet, pods: Sequence[Pod], cluster: Cluster) -> None:
        """Set up.

        Args:
            new: as it is applied.
            pods: those that it has, all of the old template.
            cluster: with its nodes.
        """
        self._pod = daemon_pod(new, cluster)
        self._names = names_for(self._pod, cluster)
        tolerable = tolerable_nodes(new, cluster)
        self._wanted = {name for name, should_run in tolerable.items() if should_run}
        self._bounds = bounds_of(new.spec.update_strategy, len(self._wanted))
        self._nodes: dict[str, _OnNode] = {name: _OnNode() for name in tolerable}
        #: On nodes where none may be.
        self._unwanted: list[Pod] = []
        for pod in active(pods):
            if node_of(pod) in self._nodes:
                self._nodes[node_of(pod)].old.append(pod)
            else:
                self._unwanted.append(pod)
        self._by_standing: dict[Standing, dict[str, None]] = {standing: {} for standing in Standing}
        self._listed: dict[str, Standing] = {}
        for name, there in self._nodes.items():
            there.is_working = bool(there.old) and all(map(is_available, there.old))
            self._list(name)

    def _list(self, name: str) -> None:
        """Something has changed on the node."""
        before = self._listed.pop(name, None)
        if before is not None:
            del self._by_standing[before][name]
        there = self._nodes[name]
        if name in self._wanted or there.old or there.new:
            self._listed[name] = there.standing
            self._by_standing[there.standing][name] = None

    def pods(self) -> list[Pod]:
        """See `Roll`."""
        there = self._nodes.values()
        new = [each.new for each in there if each.new is not None]
        return [*self._unwanted, *(pod for each in there for pod in each.old), *new]

    def step(self) -> Step:
        """The controller deletes pods, and makes new ones."""
        removed, self._unwanted = self._unwanted, []
        leaving = self._listed.keys() - self._wanted if len(self._listed) > len(self._wanted) else frozenset()
        moves = Moves() if removed else sync(self._by_standing, leaving, self._bounds)
        for name in moves.delete:
            removed += self._nodes[name].old
            self._nodes[name].old = []
            self._list(name)
        return Step(tuple(removed), pinned_pods(self._pod, moves.create, self._names))

    def made(self, pod: Pod) -> None:
        """See `Roll`."""
        self._set(pod, is_ready=False)

    def runs(self, pod: Pod) -> None:
        """See `Roll`."""
        there = self._nodes.get(node_of(pod))
        if there is not None and any(key_of(old) == key_of(pod) for old in there.old):
            there.is_working = True
            self._list(node_of(pod))
        else:
            self._set(pod, is_ready=True)

    def _set(self, pod: Pod, *, is_ready: bool) -> None:
        there = self._nodes[node_of(pod)]
        there.new, there.is_ready = pod, is_ready
        self._list(node_of(pod))

    def refused(self, pod: Pod) -> None:
        """See `Roll`."""
        self._nodes[node_of(pod)].is_refused = True
        self._list(node_of(pod))

    def gone(self, pod: Pod) -> None:
        """See `Roll`."""
        there = self._nodes.get(node_of(pod))
        if there is None:
            return
        there.old = [old for old in there.old if key_of(old) != key_of(pod)]
        if there.new is not None and key_of(there.new) == key_of(pod):
            there.new, there.is_ready = None, False
        self._list(node_of(pod))

    def retry(self) -> None:
        """See `Roll`."""
        for name in list(self._by_standing[Standing.REFUSED]):
            self._nodes[name].is_refused = False
            self._list(name)

    def progress(self) -> Progress:
        """See `Roll`."""
        count = {standing: len(names) for standing, names in self._by_standing.items()}
        _, unavailable, surge = self._bounds
        late = [
            key_of(there.new)
            for standing in (Standing.WAITING, Standing.BESIDE)
            for name in self._by_standing[standing]
            if (there := self._nodes[name]).new is not None
        ]
        updated = count[Standing.UPDATED] + count[Standing.DOUBLED]
        old = sum(count[each] for each in (Standing.IDLE, Standing.WORKING, Standing.BESIDE, Standing.DOUBLED))
        return Progress(
            wanted=len(self._wanted),
            updated=updated,
            old=old,
            waits_for=late[0] if late else "",
            limit=f"maxSurge {surge}" if surge else f"maxUnavailable {unavailable}",
            done=updated == len(self._wanted) and not old,
        )
