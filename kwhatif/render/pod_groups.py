"""Groups of pods: a line for each, then its placements and its pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.render.blocks import (
    Block,
    Cell,
    Sentence,
    Sign,
    Table,
    Verdict,
    exact,
    name,
    number,
    shown,
    words,
)
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import Part
from kwhatif.render.sentences import sentence
from kwhatif.report.decision import Outcome
from kwhatif.report.pod_groups import GroupPodRow, GroupRow, PodGroupsRow
from kwhatif.words.workload import group_name, group_sentence

#: How many pods of a group are shown without `-o wide`.
_FEW = 8
_SIGN: dict[str, Outcome] = {"scheduled": "Placed", "unscheduled": "Unschedulable", "waiting": "Gated"}


def group_parts(row: PodGroupsRow | None, detail: Detail, *, with_pods: bool = True) -> Iterator[Block]:
    """The worst groups first; `with_pods`: unless another table has them."""
    if row is None:
        return
    for group in sorted(row.groups, key=_severity):
        yield _verdict(group)
        if detail.quiet:
            continue
        if group.topology_key:
            yield _placements(group)
        pods = [pod for pod in row.pods if pod.group == group.group]
        yield from shown(*([_pods(pods)] if with_pods else []), _shortages(group))
        if group.message:
            yield Sentence(f"kube-scheduler's words: {group.message}", "faint")


def _verdict(group: GroupRow) -> Verdict:
    """Sign, group, and what becomes of it."""
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


def _severity(group: GroupRow) -> tuple[int, str]:
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


def _pods(pods: Sequence[GroupPodRow]) -> Table:
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
