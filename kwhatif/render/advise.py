"""`kwhatif advise` in blocks, and the smallest fixes of a gate."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.amounts import plural, some
from kwhatif.render.blocks import (
    Block,
    Heading,
    Item,
    Listing,
    Sentence,
    Span,
    Table,
    Verdict,
    exact,
    node,
    number,
    words,
)
from kwhatif.render.certainty import of_decision
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import verb
from kwhatif.render.sentences import sentence
from kwhatif.render.verdict import doubt_about, fate
from kwhatif.render.workloads import group_line
from kwhatif.report import Report
from kwhatif.report.advise import AdviceRow, AdvisedChangeRow, AdvisedRow, AdviseRow, GoingRow, LeftRow, PatchRow
from kwhatif.report.decision import Decision, Outcome


def advise(report: Report, row: AdviseRow, detail: Detail) -> Iterator[Block]:
    """Workload by workload."""
    if not row.workloads:
        yield from _nothing(report)
        return
    if detail.quiet:
        yield Listing([item for each in row.workloads for item in _in_short(each, report)], "lines")
    for each in () if detail.quiet else row.workloads:
        yield _verdict(each, report)
        yield from _advice(each)
    yield from _left_out(row)


def _nothing(report: Report) -> Iterator[Block]:
    found = counted(report)
    if found:
        yield Listing([Item(said, tone="strong", sign=outcome) for outcome, said in found], "lines")
    elif report.decisions:
        yield Verdict(f"{plural(len(report.decisions), 'pod')}: nothing to advise, all fit", "Placed")
    else:
        yield Verdict("No pod to advise.", tone="faint")


def _in_short(row: AdvisedRow, report: Report) -> Iterator[Item]:
    yield Item(_verdict(row, report).line, tone="strong", sign=row.outcome)
    yield from (Item(advice_sentence(each), depth=1) for each in row.advice[:1])


def _advice(row: AdvisedRow) -> Iterator[Block]:
    yield Sentence(introduction(row), depth=1)
    if row.advice:
        yield Listing([Item(advice_sentence(each), tuple(commands(each))) for each in row.advice], "numbers")
    if row.left:
        yield Listing([Item(left_sentence(left), depth=1) for left in row.left])
    if row.going:
        said = "Others cost less than the pods that the scheduler evicts, if you delete them yourself:"
        yield Sentence(said, depth=1)
        columns = (words("Who goes"), node(), number("Priority"), words("Breaks"), number("Cost"))
        yield Table(columns, [going_cells(each) for each in row.going])


def smallest_fixes(row: AdviseRow) -> Iterator[Block]:
    """For the gate: the cheapest advice under each workload that does not fit."""
    if not row.workloads:
        return
    yield Heading("Smallest fix")
    yield Listing(
        [
            Item(tuple(_fix(each)), [command for advice in each.advice[:1] for command in commands(advice)])
            for each in row.workloads
        ]
    )
    yield from _left_out(row)


def _fix(row: AdvisedRow) -> Iterator[str | Span]:
    yield exact(row.workload)
    yield ": "
    if not row.advice:
        yield " ".join([introduction(row), *map(left_sentence, row.left[:1])])
        return
    for place, change in enumerate(row.advice[0].changes):
        yield from (" and ",) if place else ()
        yield Span(change_sentence(change), "strong")
    yield f"; {effect(row.advice[0])}"


def _left_out(row: AdviseRow) -> Iterator[Block]:
    if row.left_out:
        yield Sentence(f"Not advised: {plural(row.left_out, 'more workload')} that do not fit", "faint")


# --- words -----------------------------------------------------------------------------------------------------------


_PLAIN = {
    "drop-node-name": "take out spec.nodeName ({before})",
    "drop-gates": "lift the scheduling gates {before}",
    "tolerate": "tolerate the taint {about}",
    "change-selector": "ask for {after} instead of {before} in the node selector",
    "drop-selector": "take {before} out of the node selector",
    "widen-node-affinity": "let the node affinity take {about}={after} as well ({before})",
    "soften-node-affinity": "prefer {about} instead of requiring it",
    "soften-pod-affinity": "prefer to be in one {about} with {before} instead of requiring it",
    "soften-anti-affinity": "prefer to be in another {about} than {before} instead of requiring it",
    "soften-spread": "prefer to spread over {about} instead of requiring it (whenUnsatisfiable: {after})",
    "widen-skew": "allow a skew of {after} over {about} (maxSkew is {before})",
    "change-host-port": "use host port {after} instead of {before}",
    "drop-host-port": "do without host port {before}",
    "other-name": "name {about} {after} instead of {before}",
    "preemption-policy": "let it evict pods of lower priority (preemptionPolicy is {before})",
    "scheduler-name": "leave it to the scheduler {after} instead of {before}",
    "min-count": "let {after} of its pods be enough (minCount is {before})",
    "drop-topology": "do not ask that all of its pods are in one {about}",
    "uncordon": "uncordon {target}",
    "untaint": "take the taint {about} off {target}",
    "label-node": "label {target} with {about}",
    "claim-class": "write storageClassName: {after} in PersistentVolumeClaim {target}, not {before}, as {about} has",
    "bind-claim": "bind the PersistentVolumeClaim {target} to the PersistentVolume {after}",
    "create-claim": "create the PersistentVolumeClaim {target}",
    "create-namespace": "create the namespace {target}",
    "raise-group": "let the node group {target} have {after} nodes (its maximum is {before})",
    "raise-limit": "raise {about} of {target} to {after} ({before})",
    "label-group": "label the nodes of {target} with {about}",
    "raise-quota": "raise the quota {target}: {after} ({before})",
    "claim-bound": "wait until {about} has made a volume for {target} (here: one that every node reaches)",
    "node-ready": "wait until {target} has recovered (taint {about})",
}


def change_sentence(change: AdvisedChangeRow) -> str:
    """What to do, such as `request less cpu: 300m instead of 500m`."""
    match change.kind:
        case "request-less":
            return f"request less {change.about}: {change.after} instead of {change.before}"
        case "priority-class":
            instead = f" instead of {change.before}" if change.before else ""
            return f"use the priority class {change.after}{instead}"
        case "add-nodes":
            return f"add {plural(change.count, 'node')} like {change.target}"
        case "scale-down":
            return f"scale {change.target} down from {change.before} to {change.after}"
        case "job-done":
            return f"wait until {change.target} is complete and its {plural(change.count, 'pod')} gone"
        case "delete-pod" | "wait" | "move-pod":
            return _about_pods(change)
    return _PLAIN[change.kind].format(
        target=change.target, about=change.about, before=change.before or "none now", after=change.after
    )


def _about_pods(change: AdvisedChangeRow) -> str:
    names = some(change.target.split(", "))
    if change.kind == "wait":
        return f"wait until {names} {'is' if change.count == 1 else 'are'} gone: terminating already"
    if change.kind == "move-pod":
        return f"delete {names}: its controller's new pod fits on {change.after}"
    return f"delete {names}"


def effect(row: AdviceRow) -> str:
    """The result, such as `then it fits on general-a2`."""
    if row.of == 1:
        if row.outcome == "Preempts":
            return f"then it gets {row.node} by evicting {some(row.victims)}"
        return f"then it fits on {row.node}"
    if row.fit < row.of:
        return f"then {row.fit:,} of {row.of:,} pods get a node"
    if row.victims:
        return f"then all {row.of:,} pods get a node, by evicting {some(row.victims)}"
    return f"then all {row.of:,} pods fit"


def advice_sentence(row: AdviceRow) -> str:
    """The changes and their effect on one line."""
    return f"{' and '.join(map(change_sentence, row.changes))}; {effect(row)}"


def counted(report: Report) -> list[tuple[Outcome, str]]:
    """For a workload without advice, some of whose pods do not fit: the outcome, and a sentence."""
    rows = [each for each in report.workloads if each.unschedulable or each.ignored]
    return [("Unschedulable" if each.unschedulable else "Ignored", f"{each.name}: {each.message}") for each in rows]


def _verdict(row: AdvisedRow, report: Report) -> Verdict:
    """The problem, and the number of pieces of advice: `Deployment shop/web: 2 of 3 pods get a node`."""
    first = next((decision for decision in report.decisions if decision.pod == row.pod), None)
    is_alone = first is not None and (row.of == 1 or row.workload.endswith(f" {row.pod}"))
    doubt = doubt_about(first, report) if first is not None and is_alone else ""
    sure = () if first is None else of_decision(first, report)
    return Verdict(_headline(row, report, first if is_alone else None), row.outcome, "strong", doubt=doubt, sure=sure)


def _headline(row: AdvisedRow, report: Report, pod: Decision | None) -> str:
    groups = () if report.pod_groups is None else report.pod_groups.groups
    group = next((each for each in groups if row.workload == f"PodGroup {each.group}"), None)
    if group is not None:
        return group_line(group)
    if pod is not None:
        return f"{row.workload} {fate(pod, report)}"
    if row.of == 1 or row.workload.endswith(f" {row.pod}"):
        return f"{row.workload} {verb(row.outcome, 1)}"
    if row.outcome == "Preempts":
        return f"{row.workload}: all {row.of:,} pods get a node, but evict {some(row.victims)}"
    return f"{row.workload}: {row.fit:,} of {row.of:,} pods get a node, {row.pod} {verb(row.outcome, 1)}"


def introduction(row: AdvisedRow) -> str:
    """The introduction of the list below, or a sentence that there is no advice."""
    if row.advice:
        beside = " without evictions" if row.outcome == "Preempts" else ""
        return f"What would help{beside}, the cheapest first (each was tried):"
    if row.left:
        first = row.left[0]
        done = f", even if you {' and '.join(map(change_sentence, first.changes))}" if first.changes else ""
        return f"No one or two changes help. On {first.node}, which comes nearest, this is in the way{done}:"
    why = f" The API server says: {row.refusal}" if row.refusal else ""
    return f"No one or two changes help.{why}"


def left_sentence(row: LeftRow) -> str:
    """The obstacles that are left."""
    return f"{row.reason}: {sentence(row.evidence)}" if row.evidence is not None else row.reason


def going_cells(row: GoingRow) -> tuple[str, ...]:
    """A pod that could be deleted: its name, workload, priority, the budgets that this breaks, and its cost."""
    who = some(row.pods)
    if row.by == "scheduler":
        who = f"{who} (the scheduler's choice)"
    elif row.lands:
        who = f"{who} (a new one fits on {row.lands})"
    return who, row.node, f"{row.priority:,}", some(row.violates) if row.violates else "nothing", f"{row.cost:,}"


# --- to copy ---------------------------------------------------------------------------------------------------------


def commands(advice: AdviceRow) -> Iterator[str]:
    """Commands for the changes: kubectl if it can make them, else an edit that shows the effect."""
    patched = [change for change in advice.changes if change.patch]
    if patched:
        yield _patch_command(patched[0], [row for change in patched for row in change.patch])
    for change in advice.changes:
        if change.by == "cluster":
            yield from _cluster_commands(change)
        elif change.by == "waiting":
            yield from (f"--if {shlex.quote(edit)}" for edit in change.edits if isinstance(edit, str))


def _patch_command(change: AdvisedChangeRow, rows: Sequence[PatchRow]) -> str:
    patch = shlex.quote(json.dumps(list(map(_operation, rows)), separators=(",", ":")))
    if change.file is not None:
        return f"kubectl patch --local -f {shlex.quote(change.file)} --type=json -p {patch} -o yaml"
    if not change.in_cluster:
        return f"JSON patch of {change.object}: {patch}"
    obj = ObjectRef.parse(change.object or "")
    place = f"{obj.kind.lower()} {shlex.quote(obj.name)} -n {obj.namespace}"
    if obj.kind != "Pod":
        return f"kubectl patch {place} --type=json -p {patch}"
    # The requests of a pod cannot be changed while it exists.
    local = f"kubectl patch --local -f - --type=json -p {patch} -o json"
    return f"kubectl get {place} -o json | {local} | kubectl replace --force -f -"


def _operation(row: PatchRow) -> dict[str, Any]:
    head: dict[str, Any] = {"op": row.op, "path": row.path}
    return head if row.op == "remove" else {**head, "value": row.value}


def _cluster_commands(change: AdvisedChangeRow) -> Iterator[str]:
    for call in change.kubectl:
        stdin = f" <<< {shlex.quote(_manifests(call.manifests))}" if call.manifests else ""
        yield f"kubectl {shlex.join(call.args)}{stdin}"
    if not change.kubectl:
        yield from (f"--if {shlex.quote(edit)}" for edit in change.edits if isinstance(edit, str))


def _manifests(manifests: Sequence[dict[str, Any]]) -> str:
    return "\n---\n".join(json.dumps(each, separators=(",", ":")) for each in manifests)
