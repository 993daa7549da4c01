"""`Rollouts`: controllers of workloads that roll act in turn, and hear what became of their pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.model.cluster import key_of
from kwhatif.model.pod import Pod
from kwhatif.report import RolloutRow
from kwhatif.whatif.applied import Applied
from kwhatif.whatif.candidates import Candidate, Planner
from kwhatif.whatif.placing import Placement, Placer
from kwhatif.workloads.rolling.roll import Roll


class Rolling:
    """One workload that rolls."""

    def __init__(self, applied: Applied, roll: Roll) -> None:
        self.applied = applied
        self.roll = roll
        #: The pods of the cluster that have been deleted.
        self.removed: list[Pod] = []
        self.steps = 0

    def row(self) -> RolloutRow:
        """How far it is."""
        wanted, updated, old, waits_for, limit, done = self.roll.progress()
        return RolloutRow(
            steps=self.steps,
            completed=done,
            wanted=wanted,
            updated=updated,
            old=old,
            waits_for=None if done else waits_for or None,
            limit="" if done else limit,
        )


class Rollouts:
    """All of them. A round: every controller does one thing; then whoever drives this places what was made."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._by_pod: dict[str, Rolling] = {}
        #: Whether any pod has left its node since this was set to False: others may find room.
        self.has_left = False

    def add(self, rolling: Rolling, pods: Sequence[Pod]) -> None:
        """One more, which has these pods already."""
        self._by_pod.update((key_of(pod), rolling) for pod in pods)

    def step(self, rolling: Rolling, placer: Placer) -> Iterator[Candidate]:
        """Let one controller do what it does next; yields the pods that come of it."""
        step = rolling.roll.step()
        rolling.steps += not step.is_empty
        for pod in step.removed:
            self._by_pod.pop(key_of(pod), None)
            self._planner.remove(pod)
            placer.withdraw(key_of(pod))
            rolling.removed.append(pod)
        self.has_left |= bool(step.removed)
        for candidate in self._planner.admit(rolling.applied, step.added.groups):
            if candidate.refusal:
                rolling.roll.refused(candidate.pod)
            else:
                rolling.roll.made(candidate.pod)
                self._by_pod[key_of(candidate.pod)] = rolling
            yield candidate

    def placed(self, placement: Placement, placer: Placer) -> None:
        """Tell the controllers of the pod, and of its victims."""
        for victim in placement.victims:
            self.has_left = True
            rolling = self._by_pod.pop(victim.pod.key, None)
            if rolling is not None:
                rolling.roll.gone(victim.pod.pod)
        rolling = self._by_pod.get(placement.pod.key)
        if rolling is not None and placement.outcome in ("Placed", "Preempts", "Ignored"):
            bound = placer.snapshot.pods.get(placement.pod.key, placement.pod)
            rolling.roll.runs(bound.pod)
