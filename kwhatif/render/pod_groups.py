"""Groups of pods: a line for each, then its placements and its pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import SIGNS, Part
from kwhatif.render.sentences import sentence
from kwhatif.render.text import FAINT, STRONG, table, text
from kwhatif.report.decision import Outcome
from kwhatif.report.pod_groups import GroupPodRow, GroupRow, PodGroupsRow
from kwhatif.words.amounts import plural
from kwhatif.words.pod_groups import group_name, group_sentence

#: Of larger groups, only so many pods are shown without `-o wide`.
_FEW = 8
_SIGN: dict[str, Outcome] = {"scheduled": "Placed", "unscheduled": "Unschedulable", "waiting": "Gated"}


def group_parts(row: PodGroupsRow | None, detail: Detail) -> Iterator[RenderableType]:
    """The worst groups first."""
    if row is None:
        return
    for group in sorted(row.groups, key=_severity):
        yield group_line(group)
        if detail.quiet:
            continue
        if group.topology_key:
            yield _placements(group)
        pods = [pod for pod in row.pods if pod.group == group.group]
        if pods:
            yield _pods(pods if detail.wide else pods[:_FEW])
        if len(pods) > _FEW and not detail.wide:
            yield text(f"{plural(len(pods) - _FEW, 'more pod')} (-o wide)", FAINT)
        if group.shortages and group.outcome == "unscheduled":
            yield _shortages(group)
        if group.message:
            yield text(f"kube-scheduler's words: {group.message}", FAINT)
        yield ""


def group_line(group: GroupRow) -> Text:
    """Sign, group, and what becomes of it."""
    sign, style = SIGNS["Preempts" if group.outcome == "scheduled" and group.victims else _SIGN[group.outcome]]
    name, _, rest = group_name(group).partition(group.group)
    return Text.assemble(
        (sign, style), " ", text(name), text(group.group, STRONG), text(f"{rest} {group_sentence(group)}", style)
    )


def without_members(parts: Sequence[Part], row: PodGroupsRow | None) -> Sequence[Part]:
    """The parts of a report whose pods are not all of groups: those are said above."""
    if row is None:
        return parts
    members = {pod.pod for pod in row.pods if pod.group}
    return [part for part in parts if not part[1] or not all(decision.pod in members for decision in part[1])]


def _severity(group: GroupRow) -> tuple[int, str]:
    order = {"unscheduled": 0, "waiting": 1, "scheduled": 2 if group.victims else 3}
    return order[group.outcome], group.group


def _placements(group: GroupRow) -> RenderableType:
    made = table(group.topology_key.upper(), "NODES", "PODS", "SCORE", "WHY NOT", right=("NODES", "PODS", "SCORE"))
    for each in group.placements:
        score = "" if each.score is None else str(each.score)
        name = text(each.name, STRONG if each.name == group.placement else "")
        made.add_row(name, text(each.nodes), text(each.placed), text(score), text(each.message))
    return made


def _pods(pods: Sequence[GroupPodRow]) -> RenderableType:
    made = table("POD", "NODE", "WHY NOT")
    for pod in pods:
        node = pod.node or (f"({pod.nominated_node})" if pod.nominated_node else "")
        made.add_row(text(pod.pod), text(node), text(pod.message))
    return made


def _shortages(group: GroupRow) -> RenderableType:
    made = table("NODES", "REASON", "EVIDENCE", right=("NODES",))
    for each in group.shortages:
        found = "; ".join(sentence(item) for item in each.evidence)
        made.add_row(text(each.nodes), text(each.reason), text(f"{found} (on {each.node})" if found else each.node))
    return made
