"""`kwhatif schedule` and `preempt` in blocks: a verdict per group, workload and pod, then the evidence for it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.kube.model.caveat.manifests import NothingJudged
from kwhatif.render.amounts import plural
from kwhatif.render.blocks import (
    Block,
    Cell,
    Folded,
    Item,
    Listing,
    Sentence,
    Sign,
    Span,
    Table,
    Verdict,
    exact,
    folded,
    name,
    number,
    shown,
    words,
)
from kwhatif.render.caveats.input import NOTHING_JUDGED
from kwhatif.render.certainty import of_decision, qualifier, shared
from kwhatif.render.detail import MANY, Detail
from kwhatif.render.evidence import candidates_table, feasible_table, may_evict, rejected_table, story, victims_table
from kwhatif.render.outcomes import Part, parts_of, severity, verb
from kwhatif.render.sentences import sentence
from kwhatif.render.verdict import verdict, workload_verdict
from kwhatif.render.workloads import group_name, group_sentence
from kwhatif.report import Report
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.pod_groups import GroupPodRow, GroupRow, PodGroupsRow


def decisions(report: Report, detail: Detail) -> Iterator[Block]:
    """Workload by workload, then pods without a workload: the worst first, pending pods in queue order.

    If there are many, one line for each; a page also has the evidence for pods that are not placed.
    """
    parts = without_members(parts_of(report), report.pod_groups)
    yield from group_parts(report.pod_groups, detail)
    if not parts and report.pod_groups is None:
        yield _nothing(report)
    brief = detail.quiet or (len(parts) > MANY and not (detail.wide or detail.explain))
    if brief and len(parts) > 1:
        detail = replace(detail, said=shared(report, parts))
    total = _sum(report, detail)
    if len(parts) > 1 and detail.page:
        worst = min(report.decisions, key=severity).outcome
        yield dataclasses.replace(total, sign="doubtful" if worst == "Placed" and qualifier(report) else worst)
    if brief:
        yield Listing(list(_lines(parts, report, detail)), "lines")
    for row, each in () if brief else parts:
        if row is not None:
            yield replaced(workload_verdict(row, report, each, detail.said), minor=len(parts) > 1)
        yield from _pods(each, report, detail, minor=row is not None or len(parts) > 1)
    if len(parts) > 1 and not detail.page:
        yield Sentence(total.line, "strong")
    if brief and detail.page:
        stuck = (decision for _, each in parts for decision in each if decision.outcome != "Placed")
        yield from (block for decision in stuck for block in evidence(decision, report, detail))
    if not detail.quiet:
        yield from queued_before(report)


def replaced(answer: Verdict, *, minor: bool, more: str = "") -> Verdict:
    """The answer about a part, perhaps followed by faint words."""
    if not more:
        return dataclasses.replace(answer, minor=minor)
    return dataclasses.replace(answer, text=(*answer.line, Span(more, "faint")), doubt="", minor=minor)


def _lines(parts: Sequence[Part], report: Report, detail: Detail) -> Iterator[Item]:
    """A line each; if many pods are placed, one for all of them."""
    hidden = _hidden(parts, report, detail)
    for row, each in parts[: len(parts) - len(hidden)]:
        said = (
            [workload_verdict(row, report, each, detail.said)]
            if row is not None
            else list(_pods(each, report, replace(detail, quiet=True), minor=True))
        )
        yield from (Item(answer.line, sign=answer.sign) for answer in said if isinstance(answer, Verdict))
    if hidden:
        pods = sum(len(each) for _, each in hidden)
        fit = f"{len(hidden):,} more: all their {pods:,} pods fit "
        yield Item((fit, Span("(-o wide)", "faint")), sign="Preempts" if detail.said else "Placed")


def _hidden(parts: Sequence[Part], report: Report, detail: Detail) -> Sequence[Part]:
    """The parts at the end whose pods are all placed: they need no lines of their own."""
    if detail.quiet or detail.page or report.command == "preempt":
        return []
    good = [part for part in parts if part[1] and all(decision.outcome == "Placed" for decision in part[1])]
    return parts[len(parts) - len(good) :] if len(good) > 1 else []


def _pods(decisions: Sequence[Decision], report: Report, detail: Detail, *, minor: bool) -> Iterator[Block]:
    """For each outcome, the first pod whose decision has the reasons; with `-o wide`, all pods."""
    counts = Counter(decision.outcome for decision in decisions)
    shown: set[str] = set()
    for decision in decisions:
        is_first = decision.outcome not in shown
        shown.add(decision.outcome)
        if not (is_first or detail.wide):
            continue
        alike = counts[decision.outcome] if is_first else 1
        yield replaced(_head(decision, report, detail, of=len(decisions)), minor=minor, more=_first_of(alike))
        if not detail.quiet and decision.detail != "short":
            yield from evidence(decision, report, detail)


def _first_of(alike: int) -> str:
    return f" (the first of {alike:,})" if alike > 1 else ""


def _head(decision: Decision, report: Report, detail: Detail, *, of: int) -> Verdict:
    """The verdict; shorter if the line about the workload already has the reason."""
    if of > 1 and decision.outcome in ("Unschedulable", "Denied"):
        text = (exact(decision.pod, "strong"), f" {verb(decision.outcome, 1)}")
        return Verdict(text, decision.outcome, sure=of_decision(decision, report))
    return verdict(decision, report, detail.said)


def _nothing(report: Report) -> Block:
    if not any(isinstance(caveat, NothingJudged) for caveat in report.caveat_details):
        return Verdict("No pod is pending: nothing to decide.", tone="faint")
    doubt = qualifier(report, lambda caveat: not isinstance(caveat, NothingJudged))
    return Verdict(f"{NOTHING_JUDGED}{f'; {doubt}' if doubt else ''}", "doubtful")


def _sum(report: Report, detail: Detail) -> Verdict:
    counts = Counter(decision.outcome for decision in sorted(report.decisions, key=severity))
    parts = [f"{count} {verb(outcome, count)}" for outcome, count in counts.items()]
    how = "each judged as if it were the only one" if report.alone else "in sequence"
    said = f"{plural(len(report.decisions), 'pod')}, {how}: {', '.join(parts) or 'none'}"
    return Verdict(said, tone="strong", doubt=qualifier(report, detail.said.__contains__))


# --- evidence --------------------------------------------------------------------------------------------------------


def evidence(decision: Decision, report: Report, detail: Detail) -> Iterator[Folded]:
    """The evidence of the decision: nodes, candidates, victims, and the scheduler's message."""
    found = _preemption(decision, detail) if report.command == "preempt" else _placement(decision, detail)
    return folded(f"Evidence: {decision.pod}", *found, bare=True)


def _placement(decision: Decision, detail: Detail) -> Iterator[Block]:
    if decision.feasible:
        yield feasible_table(decision.feasible, decision.ties, detail)
    if decision.rejected:
        yield rejected_table(decision.rejected, detail, may_evict=may_evict(decision))
    yield from _victims(decision, detail)
    yield from _message(decision)


def _preemption(decision: Decision, detail: Detail) -> Iterator[Block]:
    preemption = decision.preemption
    if preemption is not None and preemption.candidates:
        yield candidates_table(preemption, detail)
        yield from _victims(decision, detail)
    elif decision.rejected:
        yield rejected_table(decision.rejected, detail, may_evict=may_evict(decision))
    if detail.explain or detail.page:
        yield from story(decision, detail)
    yield from _message(decision)


def _victims(decision: Decision, detail: Detail) -> Iterator[Block]:
    chosen = decision.preemption.chosen if decision.preemption else None
    if chosen is not None:
        yield Sentence(f"Victims on {chosen.node}", "strong")
        yield victims_table(chosen, detail)


def _message(decision: Decision) -> Iterator[Block]:
    if decision.message and decision.outcome not in ("Denied", "Ignored"):
        yield Sentence(f"kube-scheduler's words: {decision.message}", "faint")


def queued_before(report: Report) -> Iterator[Block]:
    """A note that pods which were already pending have taken room first."""
    count = sum(row.node is not None for row in report.queued_before)
    if count:
        were = "pod that was" if count == 1 else "pods that were"
        yield Sentence(f"{count:,} {were} pending already {'is' if count == 1 else 'are'} placed first", "faint")


# --- groups of pods: a line for each, then its placements and its pods -----------------------------------------------


#: How many pods of a group are shown without `-o wide`.
_FEW = 8
_SIGN: dict[str, Outcome] = {"scheduled": "Placed", "unscheduled": "Unschedulable", "waiting": "Gated"}


def group_parts(row: PodGroupsRow | None, detail: Detail, *, with_pods: bool = True) -> Iterator[Block]:
    """The worst groups first; `with_pods`: unless another table has them."""
    if row is None:
        return
    for group in sorted(row.groups, key=_group_severity):
        yield _group_verdict(group)
        if detail.quiet:
            continue
        if group.topology_key:
            yield _placements(group)
        pods = [pod for pod in row.pods if pod.group == group.group]
        yield from shown(*([_pods_of_group(pods)] if with_pods else []), _shortages(group))
        if group.message:
            yield Sentence(f"kube-scheduler's words: {group.message}", "faint")


def _group_verdict(group: GroupRow) -> Verdict:
    """The sign, the group, and its result."""
    before, _, rest = group_name(group).partition(group.group)
    sign = "Preempts" if group.outcome == "scheduled" and group.victims else _SIGN[group.outcome]
    return Verdict((before, exact(group.group, "strong"), f"{rest} {group_sentence(group)}"), sign)


def groups_first(
    row: PodGroupsRow | None, own: Sequence[Block], detail: Detail, *, with_pods: bool = True
) -> Iterator[Block]:
    """The worst group, the command's own lines, and the evidence; own lines first if only they are bad."""
    parts = list(group_parts(row, detail, with_pods=with_pods))
    ahead = 0 if _sign(own) == "bad" and _sign(parts) == "Placed" else 1
    yield from (*parts[:ahead], *own, *parts[ahead:])


def _sign(blocks: Sequence[Block]) -> Sign | None:
    return blocks[0].sign if blocks and isinstance(blocks[0], Verdict) else None


def without_members(parts: Sequence[Part], row: PodGroupsRow | None) -> Sequence[Part]:
    """The parts of a report whose pods do not all belong to groups."""
    if row is None:
        return parts
    members = {pod.pod for pod in row.pods if pod.group}
    return [part for part in parts if not part[1] or not all(decision.pod in members for decision in part[1])]


def _group_severity(group: GroupRow) -> tuple[int, str]:
    order = {"unscheduled": 0, "waiting": 1, "scheduled": 2 if group.victims else 3}
    return order[group.outcome], group.group


def _placements(group: GroupRow) -> Table:
    rows = [
        (
            Cell(each.name, "strong" if each.name == group.placement else ""),
            each.nodes,
            each.placed,
            "" if each.score is None else str(each.score),
            each.message,
        )
        for each in group.placements
    ]
    numbers = (number("Nodes"), number("Pods"), number("Score"))
    return Table((name(group.topology_key), *numbers, words("Why not")), rows, most=None)


def _pods_of_group(pods: Sequence[GroupPodRow]) -> Table:
    rows = [
        (pod.pod, pod.node or (f"({pod.nominated_node})" if pod.nominated_node else ""), pod.message) for pod in pods
    ]
    return Table((name("Pod"), words("Node"), words("Why not")), rows, most=_FEW)


def _shortages(group: GroupRow) -> Table:
    shortages = group.shortages if group.outcome == "unscheduled" else ()
    found = ["; ".join(map(sentence, each.evidence)) for each in shortages]
    rows = [
        (each.nodes, each.reason, f"{said} (on {each.node})" if said else each.node)
        for each, said in zip(shortages, found, strict=True)
    ]
    return Table((number("Nodes"), words("Reason"), words("Evidence")), rows, most=None)
