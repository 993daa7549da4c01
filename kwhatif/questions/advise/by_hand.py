"""The scheduler's victims, and pods that would be cheaper to delete by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from kwhatif.questions.advise.blocking import delete_pods
from kwhatif.questions.advise.change import AdvisedChange
from kwhatif.questions.advise.proof import Proven
from kwhatif.questions.advise.scene import Scene
from kwhatif.report.advise import GoingRow
from kwhatif.report.decision import Decision
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.state.pod_info import PodInfo

#: The extra cost of a pod whose budget allows no more disruptions.
_BROKEN = 40


def going(decision: Decision, scene: Scene, found: Iterable[Proven]) -> tuple[GoingRow, ...]:
    """The victims of the decision, then cheaper pods, the cheapest first; empty if there are none.

    Args:
        decision: about a pod that fits only by eviction.
        scene: the cluster just before.
        found: advice that was proven.
    """
    victims = [pod for victim in decision.victims if (pod := scene.state.pods.get(victim.pod)) is not None]
    if not victims or decision.node is None:
        return ()
    evicted = delete_pods([pod.pod for pod in victims], scene.pod)
    scheduled = _row("scheduler", evicted, victims, decision.node, scene)
    by_hand: dict[tuple[str, ...], GoingRow] = {}
    for proven in found:
        change = proven.advice.changes[0]
        pods = [pod for key in change.target.split(", ") if (pod := scene.state.pods.get(key)) is not None]
        if len(proven.advice.changes) == 1 and change.kind in ("delete-pod", "move-pod") and pods:
            row = _row("hand", change, pods, proven.advice.node, scene)
            if row.cost < scheduled.cost:
                by_hand.setdefault(row.pods, row)
    return (scheduled, *sorted(by_hand.values(), key=lambda row: (row.cost, row.pods))) if by_hand else ()


def _row(
    by: Literal["scheduler", "hand"], change: AdvisedChange, pods: Sequence[PodInfo], node: str, scene: Scene
) -> GoingRow:
    violates = tuple(sorted(set(_broken(pods, scene))))
    return GoingRow(
        by=by,
        pods=tuple(pod.key for pod in pods),
        node=node,
        lands=change.after or None,
        priority=max(pod.priority for pod in pods),
        violates=violates,
        cost=change.cost + _BROKEN * len(violates),
    )


def _broken(pods: Sequence[PodInfo], scene: Scene) -> Iterator[str]:
    split = Budgets(scene.state.cluster).split(pods)
    for pod in split.violating:
        yield from split.broken[pod]
