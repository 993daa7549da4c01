"""Advice as rows of the report: patches of the objects to change, and edits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.kube.model.bystanders import CustomResource
from kwhatif.kube.model.cluster import Cluster, key_of
from kwhatif.kube.model.pod import Pod
from kwhatif.questions.advise.blocking import owner_of_pod
from kwhatif.questions.advise.change import Advice, AdvisedChange
from kwhatif.questions.advise.proof import Proof, Proven
from kwhatif.questions.advise.revise import patch_of, pod_of
from kwhatif.questions.advise.scene import Obstacle
from kwhatif.questions.manifests.applied import Applied
from kwhatif.report.advise import AdviceRow, Advised, AdvisedChangeRow, LeftRow
from kwhatif.report.decision import Decision, Outcome

#: The worst first.
_BY_SEVERITY: tuple[Outcome, ...] = ("Denied", "Unschedulable", "Gated", "Ignored", "Waits", "Preempts", "Placed")


class Rows:
    """Writes rows about the advice for one workload."""

    def __init__(self, applied: Applied, cluster: Cluster, paths: Sequence[str], *, alone: bool) -> None:
        """Set up.

        Args:
            applied: what was asked about.
            cluster: with the owners of pods.
            paths: of a custom resource, where its pod templates are.
            alone: whether nothing else is in its file.
        """
        self._paths = paths
        self._object: Any = applied.object
        self._in_cluster = applied.restarted
        self._file = applied.source.file if alone and not applied.restarted and applied.source.file != "-" else None
        if applied.restarted and isinstance(applied.object, Pod):
            owner = owner_of_pod(applied.object, cluster)
            if owner is not None and pod_of(owner) is not None:
                self._object = owner

    def advice(self, proven: Proven, failing: Decision) -> AdviceRow:
        """One piece of advice with its proof."""
        proof = proven.proof
        worst = min((decision.outcome for decision in proof.decisions), key=_BY_SEVERITY.index)
        victims = dict.fromkeys(victim.pod for decision in proof.decisions for victim in decision.victims)
        return AdviceRow(
            changes=self._changes(proven.advice),
            cost=proven.advice.cost,
            outcome=worst,
            node=_landing(proof, failing),
            fit=proof.placed + proof.preempting,
            of=proof.wanted,
            victims=tuple(victims),
            decisions=tuple(_first_of_each(proof.decisions, failing)),
        )

    def left(self, nearest: Advice | None, obstacles: Sequence[Obstacle]) -> Iterator[LeftRow]:
        """What is in the way after the best that was found."""
        if nearest is None:
            return
        for obstacle in obstacles:
            yield LeftRow(
                node=nearest.node,
                changes=self._changes(nearest),
                plugin=obstacle.plugin,
                reason=obstacle.reason,
                evidence=obstacle.evidence,
            )

    def _changes(self, advice: Advice) -> tuple[AdvisedChangeRow, ...]:
        """Each change of the manifest has a patch, to be made after those before it."""
        return tuple(self._change(change, advice.changes[:place]) for place, change in enumerate(advice.changes))

    def _change(self, change: AdvisedChange, before: Sequence[AdvisedChange]) -> AdvisedChangeRow:
        obj = self._object
        kind = obj.kind if isinstance(obj, CustomResource) else type(obj).__name__
        return AdvisedChangeRow(
            **{name: getattr(change, name) for name in Advised.__struct_fields__},
            object=f"{kind} {key_of(obj)}" if change.revise is not None else None,
            in_cluster=self._in_cluster and change.revise is not None,
            file=self._file if change.revise is not None else None,
            patch=patch_of(obj, before, change, self._paths),
            edits=_edits_of(change),
        )


def _edits_of(change: AdvisedChange) -> tuple[str | dict[str, Any], ...]:
    if change.data:
        return change.data
    return tuple(edit.text for edit in change.edits)


def _landing(proof: Proof, failing: Decision) -> str | None:
    """Where the pod lands that does not fit now; a rollout makes pods of other names."""
    same = [decision for decision in proof.decisions if decision.pod == failing.pod]
    landed = [decision for decision in (*same, *proof.decisions) if decision.node]
    return landed[0].node if landed else None


def _first_of_each(decisions: Sequence[Decision], failing: Decision) -> Iterator[Decision]:
    """The pod in question, and the first of each outcome."""
    shown: set[Outcome] = set()
    for decision in decisions:
        if decision.pod == failing.pod or decision.outcome not in shown:
            shown.add(decision.outcome)
            yield decision
