"""`Rollouts`: the controllers of workloads that roll act in turn, and hear what became of their pods."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from kwhatif.batch import ScheduleResult
from kwhatif.model.cluster import key_of
from kwhatif.report import Outcome, RolloutRow
from kwhatif.whatif.candidates import Candidate, Planner
from kwhatif.whatif.placer import Placer
from kwhatif.workloads.rolling.roll import Roll

#: What keeps a pod from running.
_HOLDS_UP: Collection[Outcome] = ("Unschedulable", "Gated", "Denied")

if TYPE_CHECKING:
    from kwhatif.whatif.queue import Planned


def rollout_row(workload: Planned) -> RolloutRow | None:
    """How far the workload's rollout is; None where it does not roll."""
    if workload.roll is None:
        return None
    wanted, updated, old, waits_for, limit, done = workload.roll.progress()
    wanted, done = wanted + workload.left_out, done and not workload.left_out
    late = (decision.pod for decision in workload.decisions.values() if decision and decision.outcome in _HOLDS_UP)
    return RolloutRow(
        steps=workload.steps,
        completed=done,
        wanted=wanted,
        updated=updated,
        old=old,
        waits_for=None if done else waits_for or next(late, None),
        limit="" if done else limit,
    )


class Rollouts:
    """In each round every controller does one thing; then whoever drives this places the pods that were made.

    Pods that a controller deletes are gone at once; those that find a node are ready before the next round.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._by_pod: dict[str, Planned] = {}
        self._workloads: list[tuple[Planned, Roll]] = []
        #: How many pods have left so far: others may find room, or be within their quota.
        self.left = 0
        self._retried = 0
        #: Pods that the API server has refused, by their keys.
        self._refused: list[tuple[Planned, Roll, str]] = []

    def add(self, workload: Planned, roll: Roll) -> None:
        """One more."""
        self._workloads.append((workload, roll))
        self._by_pod.update((key_of(pod), workload) for pod in roll.pods())

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._workloads)

    def round(self, placer: Placer) -> Iterator[tuple[Planned, Candidate]]:
        """Let each controller do what it does next; yields the pods that come of it."""
        if self.left > self._retried:
            for workload, roll, key in self._refused:
                roll.retry()
                workload.decisions.pop(key, None)  # it gets another name
            self._refused.clear()
        self._retried = self.left
        for workload, roll in self._workloads:
            for candidate in self._step(workload, roll, placer):
                yield workload, candidate

    def _step(self, workload: Planned, roll: Roll, placer: Placer) -> Iterator[Candidate]:
        step = roll.step()
        workload.steps += not step.is_empty
        for pod in step.removed:
            self._by_pod.pop(key_of(pod), None)
            placer.withdraw(key_of(pod))
            self._planner.remove(pod)
        self.left += len(step.removed)
        made = {key_of(pod) for pod in step.removed if key_of(pod) in workload.decisions}
        workload.removed += tuple(pod for pod in step.removed if key_of(pod) not in made)
        for key in made:
            _forget(workload, key)
        for candidate in self._planner.admit(workload.applied, step.added.groups):
            if candidate.refusal:
                roll.refused(candidate.pod)
                self._refused.append((workload, roll, key_of(candidate.pod)))
            else:
                roll.made(candidate.pod)
                self._by_pod[key_of(candidate.pod)] = workload
            yield candidate

    def placed(self, result: ScheduleResult, placer: Placer) -> None:
        """Let the controllers know of the pod, and of its victims."""
        for victim in result.victims:
            self.left += 1
            evicted = self._by_pod.pop(victim.pod.key, None)
            if evicted is not None and evicted.roll is not None:
                evicted.roll.gone(victim.pod.pod)
                _forget(evicted, victim.pod.key)
        rolling = self._by_pod.get(result.pod.key)
        if rolling is not None and rolling.roll is not None and result.outcome in ("Placed", "Preempts", "Ignored"):
            rolling.roll.runs(placer.snapshot.pods.get(result.pod.key, result.pod).pod)


def _forget(workload: Planned, key: str) -> None:
    """A pod that was made on the way, and goes again, is not told of, unless others were evicted for it."""
    decision = workload.decisions.get(key)
    if decision is not None and not decision.victims:
        del workload.decisions[key]
