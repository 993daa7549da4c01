"""`Planned`: one object of the manifests, what applying it changes, and what has become of its pods."""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import StatefulSet
from kwhatif.questions.manifests.applied import Applied
from kwhatif.questions.placing.placer import Describe
from kwhatif.questions.rows import decision_about
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.workload import RolloutRow, UpdateKind
from kwhatif.scheduler.batch import ScheduleResult
from kwhatif.workloads.comparison import WorkloadUpdate

#: What keeps a pod from ever running, as things are. One that evicts others runs once they are gone, and of one for
#: another scheduler nothing is known.
HOLDS_UP: Collection[Outcome] = ("Unschedulable", "Gated", "Denied")

#: Whether, and how, the decision about a pod is to be explained; the outcomes are those that are explained already.
Explain = Callable[[ScheduleResult, Collection[Outcome]], Describe | None]


class Planned(msgspec.Struct):
    """One object of which there are pods, and what has become of them."""

    applied: Applied
    #: With a name, where the API server makes one.
    object: KubernetesObject
    #: What applying it changes.
    plan: WorkloadUpdate = WorkloadUpdate("new")
    removed: tuple[Pod, ...] = ()
    #: In their controller's order; None while the pod is in the queue.
    decisions: dict[str, Decision | None] = {}
    #: The first pod that will not run, as things are: what is to be made after it is not.
    held_up: Decision | None = None
    #: How far the rollout comes, where its pods are replaced step by step.
    rollout: RolloutRow | None = None
    #: Whether the API server does not take the object itself.
    is_refused: bool = False
    #: Outcomes that a decision explains already: the first pod of each says it for all its like.
    explained: list[Outcome] = []

    @property
    def update(self) -> UpdateKind:
        """What becomes of it."""
        return self.plan.kind

    @property
    def leaving(self) -> tuple[Pod, ...]:
        """The pods that go whatever becomes of the new ones; of others, controllers decide which go, and when."""
        goes_on = self.update == "scaled" or (self.update == "changed" and isinstance(self.object, StatefulSet))
        return () if goes_on else self.removed

    def copy(self) -> Planned:
        """A plan like this one, of whose pods nothing has become yet."""
        return replace(self, decisions=self.decisions.copy(), explained=[])

    def decide(self, decision: Decision) -> None:
        """This is what becomes of one of the pods."""
        self.decisions[decision.pod] = replace(decision, source=self.applied.source)
        if self.held_up is None and decision.outcome in HOLDS_UP:
            self.held_up = decision


class Asked(msgspec.Struct):
    """A pending pod whose fate is asked for."""

    #: The outcomes that are explained of its like.
    explained: list[Outcome]
    #: The object that it counts with; None: it is asked for by itself.
    planned: Planned | None = None


def waiting_for(pod: Pod, first: Decision) -> Decision:
    """The pod is not made, and so never admitted: what admission would set is as it is in the pod that it waits for."""
    return decision_about(
        pod,
        "Waits",
        priority=first.priority,
        priority_class_name=first.priority_class_name,
        preemption_policy=first.preemption_policy,
        scheduler_name=first.scheduler_name,
        waits_for=first.pod,
    )
