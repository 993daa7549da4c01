"""The rows of the report that advice becomes: patches of manifests, edits, and calls of kubectl."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from kwhatif.edits.edit import DeleteObjects, Edit, Label, Reference, Scale, SetFields, TaintNodes, Uncordon
from kwhatif.kube.model.cluster import Cluster, ObjectRef
from kwhatif.kube.model.pod import Pod
from kwhatif.kube.model.workload import Job
from kwhatif.questions.advise.blocking import delete_pods, owner_of_pod
from kwhatif.questions.advise.change import Advice, AdvisedChange, patch_of, pod_of
from kwhatif.questions.advise.pod_attempt import Obstacle, PodAttempt
from kwhatif.questions.advise.proof import Proof, Proven
from kwhatif.questions.manifests.applied import Applied
from kwhatif.report.advise import AdviceRow, Advised, AdvisedChangeRow, GoingRow, KubectlRow, LeftRow
from kwhatif.report.decision import Decision, Outcome
from kwhatif.scheduler.preemption.budgets import Budgets
from kwhatif.state.pod_info import PodInfo

#: The worst first.
_BY_SEVERITY: tuple[Outcome, ...] = ("Denied", "Unschedulable", "Gated", "Ignored", "Waits", "Preempts", "Placed")


class FoundAdvice(NamedTuple):
    """Advice that helps, and by change the edits that make it: none for a change of the manifest."""

    row: AdviceRow
    edits: tuple[tuple[Edit, ...], ...]


class Rows:
    """Writes the advice for one workload as rows of the report: patches of the objects to change, and edits."""

    def __init__(self, applied: Applied, cluster: Cluster, *, alone: bool) -> None:
        """Set up.

        Args:
            applied: what was asked about.
            cluster: with the owners of pods.
            alone: whether nothing else is in its file.
        """
        self._object: Any = applied.object
        self._in_cluster = applied.restarted
        self._file = applied.source.file if alone and not applied.restarted and applied.source.file != "-" else None
        if applied.restarted and isinstance(applied.object, Pod):
            owner = owner_of_pod(applied.object, cluster)
            if owner is not None and pod_of(owner) is not None:
                self._object = owner

    def advice(self, proven: Proven, failing: Decision) -> FoundAdvice:
        """One piece of advice with its proof."""
        proof = proven.proof
        worst = min((decision.outcome for decision in proof.decisions), key=_BY_SEVERITY.index)
        victims = dict.fromkeys(victim.pod for decision in proof.decisions for victim in decision.victims)
        row = AdviceRow(
            changes=self._changes(proven.advice),
            cost=proven.advice.cost,
            outcome=worst,
            node=_landing(proof, failing),
            fit=proof.placed + proof.preempting,
            of=proof.wanted,
            victims=tuple(victims),
            decisions=tuple(_first_of_each(proof.decisions, failing)),
        )
        return FoundAdvice(row, tuple(() if change.data else change.edits for change in proven.advice.changes))

    def left(self, nearest: Advice | None, obstacles: Sequence[Obstacle]) -> Iterator[LeftRow]:
        """The obstacles that are left after the best changes that were found."""
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
        is_revised = change.revise is not None
        return row_of(
            change,
            object=str(ObjectRef.of(obj)) if is_revised else None,
            in_cluster=self._in_cluster and is_revised,
            file=self._file if is_revised else None,
            patch=patch_of(obj, before, change),
        )


def row_of(change: AdvisedChange, **fields: Any) -> AdvisedChangeRow:
    """The change as a row; `fields` are what is known of the manifest that it changes."""
    texts = tuple(edit.text for edit in change.edits)
    return AdvisedChangeRow(
        **{name: getattr(change, name) for name in Advised.__struct_fields__},
        edits=change.data or texts,
        kubectl=tuple(_calls(change)) if change.by == "cluster" else (),
        **fields,
    )


def _calls(change: AdvisedChange) -> Iterator[KubectlRow]:
    """The calls of kubectl that make the change in the cluster; none for what kubectl does not do."""
    for edit in change.edits:
        yield from _calls_of(edit)
    for each in change.data:
        if "apply" in each:
            yield KubectlRow(("apply", "-f", "-"), tuple(each["apply"]))


def _calls_of(edit: Edit) -> Iterator[KubectlRow]:
    match edit:
        case Uncordon():
            yield KubectlRow(("uncordon", *edit.nodes))
        case TaintNodes():
            yield KubectlRow(("taint", "nodes", *edit.nodes, *(f"{each.key}:{each.effect}-" for each in edit.removed)))
        case Label():
            labels = (f"{key}={value}" for key, value in edit.added.items())
            yield KubectlRow(("label", *(each.text for each in edit.objects), *labels))
        case DeleteObjects():
            yield from _deletions(edit)
        case Scale(targets=((workload, count),)) if workload.resource.type is Job:
            yield KubectlRow(("patch", *_named(workload), "-p", _json({"spec": {"parallelism": count}})))
        case Scale(targets=((workload, count),)):
            yield KubectlRow(("scale", *_named(workload), f"--replicas={count}"))
        case SetFields():
            yield KubectlRow(("patch", *_named(edit.object), "--type=merge", "-p", _json(_merge(edit))))


def _named(each: Reference) -> tuple[str, ...]:
    return each.resource.kind.lower(), each.name, "-n", each.namespace or ""


def _deletions(edit: DeleteObjects) -> Iterator[KubectlRow]:
    """One call for each kind and namespace."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in edit.objects:
        found.setdefault((each.resource.kind.lower(), each.namespace or ""), []).append(each.name)
    for (kind, namespace), names in found.items():
        yield KubectlRow(("delete", kind, "-n", namespace, *names))


def _merge(edit: SetFields) -> dict[str, Any]:
    """The fields as a merge patch."""
    merge: dict[str, Any] = {}
    for each in edit.values:
        *steps, last = each.path
        here = merge
        for step in steps:
            here = here.setdefault(str(step), {})
        here[str(last)] = each.value
    return merge


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _landing(proof: Proof, failing: Decision) -> str | None:
    """Where the pod lands that does not fit now; a rollout creates pods with other names."""
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


#: The extra cost of a pod whose budget allows no more disruptions.
_BROKEN = 40


def going(decision: Decision, scene: PodAttempt, found: Iterable[Proven]) -> tuple[GoingRow, ...]:
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
    by: Literal["scheduler", "hand"], change: AdvisedChange, pods: Sequence[PodInfo], node: str, scene: PodAttempt
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


def _broken(pods: Sequence[PodInfo], scene: PodAttempt) -> Iterator[str]:
    split = Budgets(scene.state.cluster).split(pods)
    for pod in split.violating:
        yield from split.broken[pod]
