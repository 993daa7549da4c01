"""`PodAttempt`: one pod at the moment of its attempt, and what would keep it from a node if changes were made.

This only finds out what is worth proving: no preemption, one node at a time, no other pods in the queue. Whether a
change helps is decided by `proof`, which asks the question again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kwhatif.admission.new_pod import stored_pod
from kwhatif.admission.outcome import Denied
from kwhatif.edits.resolve import NotResolved
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.advise.change import AdvisedChange, revised
from kwhatif.questions.manifests.edited import make_edit
from kwhatif.scheduler.framework.attempt import Objections, run_pre_enqueue
from kwhatif.scheduler.framework.cycle import Cycle, CycleError
from kwhatif.scheduler.framework.evidence import Evidence, InsufficientResource
from kwhatif.scheduler.framework.profile import Profile, profile_of
from kwhatif.scheduler.framework.reference import is_reference
from kwhatif.scheduler.framework.status import Verdict
from kwhatif.state.change import Delete
from kwhatif.state.node_info import NodeInfo
from kwhatif.state.pod_info import PodInfo
from kwhatif.state.state import State

#: The number of states with edits to keep.
_MOST_STATES = 64


class Obstacle(NamedTuple):
    """One obstacle of the pod on a node, and the plugin that says so."""

    plugin: str
    reason: str
    evidence: Evidence | None


class WhatIfTrial:
    """The pod, and the cluster, with some changes."""

    def __init__(self, scene: PodAttempt, pod: PodInfo, state: State) -> None:
        self._scene = scene
        self.pod = pod
        self.state = state
        self._profile = profile_of(pod.pod, scene.profiles)
        self._cycle: Cycle | None = None
        self._stopped: Verdict | None = None
        self._failed = self._profile is None
        if self._profile is not None:
            self._begin(self._profile)

    def _begin(self, profile: Profile) -> None:
        self._stopped = run_pre_enqueue(profile, self.pod, self.state)
        if self._stopped is not None:
            return
        self._cycle = Cycle(profile, self.pod, self.state)
        try:
            if not self._cycle.pre_filter():
                self._stopped = self._cycle.absent
        except CycleError:
            self._failed = True

    def obstacles(self, name: str) -> list[Obstacle] | None:
        """What keeps the pod from the node; None: the node does not exist, or the scheduler would fail."""
        node = self.state.node(name)
        if self._failed or node is None:
            return None
        if self._stopped is not None:
            return list(_taken_apart(self._stopped))
        cycle = self._cycle
        assert cycle is not None, "it has begun"
        if cycle.node_set is not None and name not in cycle.node_set:
            return [Obstacle("NodeAffinity", "not among the nodes that PreFilter left", None)]
        try:
            first = cycle.check(node, cycle.filters)
            verdicts = () if first is None else Objections(cycle).on(node, first)
        except CycleError:
            return None
        return [obstacle for verdict in verdicts for obstacle in _taken_apart(verdict)]

    def without(self, pods: Sequence[PodInfo]) -> WhatIfTrial:
        """The pod, and the cluster with these changes and without these pods."""
        self._scene.trials += 1
        state = self.state.fork()
        state.apply(*(Delete(Pod, pod.key) for pod in pods))
        return WhatIfTrial(self._scene, self.pod, state)

    def fits(self, name: str) -> bool:
        """Whether nothing keeps the pod from the node."""
        return self.obstacles(name) == []

    def node(self, name: str) -> NodeInfo | None:
        """The node with the changes."""
        return self.state.node(name)


def _taken_apart(verdict: Verdict) -> Iterator[Obstacle]:
    """A filter may name several resources."""
    status = verdict.status
    if len(status.evidence) == len(status.reasons) > 1 and all(
        isinstance(each, InsufficientResource) for each in status.evidence
    ):
        yield from (
            Obstacle(verdict.plugin, reason, evidence)
            for reason, evidence in zip(status.reasons, status.evidence, strict=True)
        )
        return
    yield Obstacle(verdict.plugin, status.message, status.evidence[0] if status.evidence else None)


class PodAttempt:
    """One pod before its attempt. `namespace` is that of objects which edits name without one."""

    def __init__(self, pod: PodInfo, state: State, profiles: Mapping[str, Profile], namespace: str = "default") -> None:
        if pod.key in state.pods:
            state = state.fork()
            state.apply(Delete(Pod, pod.key))
        self.pod = pod
        self.state = state
        self.profiles = profiles
        self.namespace = namespace
        #: How many trials there were: each costs a PreFilter, and most a fork of the state.
        self.trials = 0
        self._states: dict[tuple[tuple[str, ...], ...], State | None] = {(): state}

    def trial(self, changes: Sequence[AdvisedChange]) -> WhatIfTrial | None:
        """With these changes; None where they cannot be made."""
        self.trials += 1
        state = self._edited(changes)
        pod = None if state is None else self.revised(changes)
        return None if state is None or pod is None else WhatIfTrial(self, pod, state)

    def revised(self, changes: Sequence[AdvisedChange]) -> PodInfo | None:
        """The pod from its changed manifest; None if the API server would refuse it."""
        if all(change.revise is None for change in changes):
            return self.pod
        made = revised(self.pod.pod, changes)
        pod = None if made is None else stored_pod(made, self.state.cluster)
        return None if pod is None or isinstance(pod, Denied) else PodInfo(pod)

    def _edited(self, changes: Sequence[AdvisedChange]) -> State | None:
        """The state with the edits of these changes; the same few are asked for again and again."""
        changes = [change for change in changes if change.edits]
        key = tuple(change.key for change in changes)
        if key not in self._states or (is_reference() and changes):
            before = self._edited(changes[:-1])
            state = None if before is None else _with_edits(before, changes[-1], self)
            if len(self._states) >= _MOST_STATES:
                self._states = {(): self.state}
            self._states[key] = state
        return self._states[key]


def _with_edits(state: State, change: AdvisedChange, scene: PodAttempt) -> State | None:
    """A fork with the change; None where it cannot be made."""
    state.cluster.derive_all()  # what trials before this one have asked for
    state = state.fork()
    try:
        for edit in change.edits:
            make_edit(edit, state, scene.profiles, namespace=scene.namespace)
    except NotResolved:
        return None
    return state
