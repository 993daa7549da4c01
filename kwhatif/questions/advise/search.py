"""The search: for each node that comes near, the changes after which nothing keeps the pod from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple

from kwhatif.kube.matching.requests import PODS
from kwhatif.questions.advise.change import Advice, AdvisedChange
from kwhatif.questions.advise.pod_attempt import Obstacle, PodAttempt, WhatIfTrial
from kwhatif.questions.advise.proposals import add_nodes, landing_elsewhere, proposals
from kwhatif.questions.advise.reserved import RESERVED, scarce_devices, unused_devices
from kwhatif.scheduler.framework.evidence import InsufficientResource
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.state.node_info import NodeInfo

#: The most changes to combine, if fewer do not help.
MOST_CHANGES = 2
#: In a cluster of up to this many nodes every node is tried; in a larger one the nearest misses of each kind.
_FEW_NODES = 24
_NEAREST, _KINDS = 2, 8
#: The most kinds of nodes to try as new ones.
_NEW_KINDS = 6
#: The most combinations to follow for each node.
_WIDTH = 12
#: The most trials on a small cluster; on a large one a share of them.
_TRIALS, _TRIALS_LARGE, _LARGE = 3000, 600, 1000


class Target(NamedTuple):
    """A node that the pod is to fit on, and what has to be done for the node to be there."""

    node: str
    base: tuple[AdvisedChange, ...] = ()


class Searched(NamedTuple):
    """What was found, the cheapest first; without any, what came nearest and what was left to keep the pod away."""

    found: tuple[Advice, ...]
    nearest: Advice | None = None
    left: tuple[Obstacle, ...] = ()


class Search:
    """All advice for a scene that consists of as few changes as possible."""

    def __init__(
        self, scene: PodAttempt, objections: Mapping[str, Sequence[Verdict]], prefix: tuple[AdvisedChange, ...] = ()
    ) -> None:
        """Set up.

        Args:
            scene: the pod, and the cluster.
            objections: of every node that is out, what the filters say, by its name.
            prefix: changes that are needed in any case.
        """
        self._prefix = prefix
        self._scene = scene
        self._objections = objections
        self._scarce = scarce_devices(scene.state)
        self._most = _TRIALS if len(scene.state.nodes) < _LARGE else _TRIALS_LARGE
        self._nearest: tuple[int, int, Advice, tuple[Obstacle, ...]] | None = None

    def run(self) -> Searched:
        """First single changes; pairs only where none of those helps, and so on."""
        frontiers: dict[Target, list[tuple[AdvisedChange, ...]]] = {target: [target.base] for target in self._targets()}
        for _ in range(MOST_CHANGES + 1):
            found = self._level(frontiers)
            if found:
                return Searched(tuple(sorted(found, key=_order)))
        nearest = self._nearest
        return Searched((), *(() if nearest is None else nearest[2:]))

    def _level(self, frontiers: dict[Target, list[tuple[AdvisedChange, ...]]]) -> list[Advice]:
        """The combinations of changes that are enough; the others grow by one change."""
        found: list[Advice] = []
        longer: dict[Target, list[tuple[AdvisedChange, ...]]] = {}
        fewest = min((len(each) for all_ in frontiers.values() for each in all_), default=0)
        for target, combinations in frontiers.items():
            for changes in nsmallest(_WIDTH, combinations, key=lambda each: Advice(each).cost):
                if len(changes) > fewest:  # a new node is a change already
                    longer.setdefault(target, []).append(changes)
                    continue
                if self._scene.trials > self._most:
                    return found
                trial = self._scene.trial(changes)
                obstacles = None if trial is None else trial.obstacles(target.node)
                if trial is None or obstacles is None:
                    continue
                if not obstacles:
                    found.extend(self._finished(changes, trial, target))
                    continue
                self._note(changes, target, obstacles)
                if len(changes) < MOST_CHANGES + len(self._prefix):
                    more = self._grown(changes, trial, target, obstacles)
                    longer.setdefault(target, []).extend(more)
        frontiers.clear()
        frontiers.update(longer)
        return found

    def _finished(self, changes: tuple[AdvisedChange, ...], trial: WhatIfTrial, target: Target) -> Iterator[Advice]:
        if not changes:
            return  # it fits as it is
        last = landing_elsewhere(self._scene, trial, target.node, changes[-1])
        node = trial.node(target.node)
        is_wasted = node is not None and unused_devices(self._scene.pod.pod, node, self._scarce)
        yield Advice((*changes[:-1], last), target.node, RESERVED if is_wasted else 0)

    def _grown(
        self, changes: tuple[AdvisedChange, ...], trial: WhatIfTrial, target: Target, obstacles: Sequence[Obstacle]
    ) -> Iterator[tuple[AdvisedChange, ...]]:
        keys = {change.key for change in changes}
        for change in proposals(self._scene, changes, trial, target.node, obstacles):
            if change.key not in keys:
                yield (*changes, change)

    def _note(self, changes: tuple[AdvisedChange, ...], target: Target, obstacles: Sequence[Obstacle]) -> None:
        """Remember what comes nearest."""
        advice = Advice(changes, target.node)
        if self._nearest is None or (len(obstacles), len(changes)) < self._nearest[:2]:
            self._nearest = len(obstacles), len(changes), advice, tuple(obstacles)

    # --- targets -------------------------------------------------------------------------------------

    def _targets(self) -> list[Target]:
        names = self._near_nodes()
        return [*(Target(name, self._prefix) for name in names), *self._new_nodes(names)]

    def _near_nodes(self) -> list[str]:
        """Nodes by how near they come: of every kind of obstacles the nearest few."""
        if len(self._objections) <= _FEW_NODES:
            return sorted(self._objections, key=lambda name: (_distance(self._objections[name]), name))
        groups: dict[object, list[str]] = {}
        for name, verdicts in self._objections.items():
            key = tuple([(verdict.plugin, verdict.status.reasons) for verdict in verdicts])
            groups.setdefault(key, []).append(name)
        near = [
            nsmallest(_NEAREST, names, key=lambda name: (_distance(self._objections[name]), name))
            for names in groups.values()
        ]
        near.sort(key=lambda names: (_distance(self._objections[names[0]]), names))
        return [name for names in near[:_KINDS] for name in names]

    def _new_nodes(self, near: Sequence[str]) -> Iterator[Target]:
        """Nodes like those that are there, one of each kind, the smallest first: those that would be large enough."""
        kinds: dict[object, NodeInfo] = {}
        by_name = self._scene.state.by_name
        for node in (*(by_name[name] for name in near), *self._scene.state.nodes):
            kinds.setdefault((node.shape, node.allocatable, node.allowed_pods), node)
        large = [node for node in kinds.values() if self._is_large_enough(node)]
        for node in nsmallest(
            _NEW_KINDS,
            large,
            key=lambda each: (
                unused_devices(self._scene.pod.pod, each, self._scarce),
                *(each.allocatable.cpu, each.allocatable.memory, each.name),
            ),
        ):
            change = add_nodes(node.name)
            trial = self._scene.trial((change,))
            new = [] if trial is None else [each.name for each in trial.state.nodes if each.name not in by_name]
            yield from (Target(name, (*self._prefix, change)) for name in new)

    def _is_large_enough(self, node: NodeInfo) -> bool:
        wanted, there = self._scene.pod.resources.requested, node.allocatable
        return node.allowed_pods > 0 and all(wanted.of(name) <= there.of(name) for name in wanted.asked)


def _order(advice: Advice) -> tuple[int, tuple[tuple[str, ...], ...], str]:
    return advice.cost, tuple(change.key for change in advice.changes), advice.node


def _distance(verdicts: Sequence[Verdict]) -> tuple[int, float]:
    """How many things are in the way, and how much is short, as a share of what is asked for."""
    count, lack = 0, 0.0
    for verdict in verdicts:
        count += max(len(verdict.status.evidence), 1)
        for evidence in verdict.status.evidence:
            if isinstance(evidence, InsufficientResource) and evidence.resource != PODS:
                free = evidence.allocatable - evidence.used
                lack += (evidence.requested - free) / max(evidence.requested, 1)
    return count, lack
