"""`kwhatif autoscale` and `kwhatif consolidate` for people, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import RenderableType

from kwhatif.autoscaler.answer import NearestGroup, NearestNode, NewNodeClaim, NodeVerdict, RefusedPod, ScalingRound
from kwhatif.render.detail import Detail
from kwhatif.render.markdown_text import QUALITIES as MARKDOWN_QUALITIES
from kwhatif.render.markdown_text import cell, prose, rows_of
from kwhatif.render.outcomes import QUALITIES, Quality, doubted
from kwhatif.render.sentences import sentence
from kwhatif.render.text import STRONG, hidden, signed, table, text
from kwhatif.report.autoscale import AutoscaleRow, ConsolidateRow
from kwhatif.words.amounts import but, listed, plural, some

#: So many rows are shown of each table, unless it is wide.
_MOST_ROWS = 20
_NAMES = {"cluster-autoscaler": "the Cluster Autoscaler", "karpenter": "Karpenter"}


class _Table(NamedTuple):
    """A table that both formats show."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


# --- what is added -------------------------------------------------------------------------------------------------


def autoscale(row: AutoscaleRow, detail: Detail, doubt: str) -> Iterator[RenderableType]:
    """What is added, the choices that there were, and the pods that nothing is added for."""
    return _shown(_added(row, doubt), _tables_of_rounds(row), detail)


def autoscale_parts(row: AutoscaleRow, doubt: str) -> Iterator[str]:
    """As Markdown."""
    return _marked_down(_added(row, doubt), _tables_of_rounds(row))


def _added(row: AutoscaleRow, doubt: str) -> tuple[Quality, str]:
    nodes = _nodes_added(row)
    refused = len({each.pod for found in row.rounds for each in found.refused})
    said = [f"{_NAMES[row.autoscaler]} adds {listed(nodes) if nodes else 'nothing'}"]
    if refused:
        said.append(f"for {plural(refused, 'pod')} it can add nothing")
    quality: Quality = "bad" if refused else "good"
    return doubted(quality, doubt), but("; ".join(said), doubt)


def _nodes_added(row: AutoscaleRow) -> Sequence[str]:
    """`3 nodes of general`, in the order of the rounds."""
    counts: dict[str, int] = {}
    for found in row.rounds:
        for each in found.scale_up:
            counts[each.group] = counts.get(each.group, 0) + each.delta
        for claim in found.new_nodes:
            counts[claim.group] = counts.get(claim.group, 0) + 1
    return [f"{plural(count, 'node')} of {group}" for group, count in counts.items()]


def _tables_of_rounds(row: AutoscaleRow) -> Iterator[_Table]:
    for number, found in enumerate(row.rounds, 1):
        title = f"Round {number}: " if len(row.rounds) > 1 else ""
        yield from _tables_of_round(found, title)


def _tables_of_round(found: ScalingRound, title: str) -> Iterator[_Table]:
    chosen = {each.group: each.delta for each in found.scale_up}
    options = [
        (
            option.group,
            f"{option.nodes:,}",
            f"+{chosen[option.group]:,}" if option.group in chosen else "-",
            _pods(option),
        )
        for option in found.options
    ]
    known = {option.group for option in found.options}
    options += [(each.group, "", f"+{each.delta:,}", "") for each in found.scale_up if each.group not in known]
    yield _Table(f"{title}groups that would help", ("Group", "Nodes needed", "Added", "Pods"), options)
    claims = [(each.group, _types(each), each.cheapest or "-", some(each.pods)) for each in found.new_nodes]
    yield _Table(f"{title}new nodes", ("NodePool", "Instance types", "Cheapest", "Pods"), claims)
    existing = [(each.node, some(each.pods)) for each in found.existing]
    yield _Table(f"{title}pods that fit on nodes that are there, or on their way", ("Node", "Pods"), existing)
    refused = [(each.pod, refusal(each), _nearest(each.nearest)) for each in found.refused]
    yield _Table(f"{title}pods that nothing is added for", ("Pod", "Why", "Nearest"), refused)
    places: dict[str, list[str]] = {}
    for landed in found.placed:
        places.setdefault(landed.node, []).append(landed.pod)
    rows = [(node, f"{len(pods):,}: {some(pods)}") for node, pods in places.items()]
    yield _Table(f"{title}where the scheduler then places pods", ("Node", "Pods"), rows)
    ignored = [(each.pod, each.reason or "-") for each in found.ignored]
    yield _Table(f"{title}pods that are not looked at", ("Pod", "Why"), ignored)


def _pods(option: object) -> str:
    pods: Sequence[str] = getattr(option, "pods", ())
    return f"{len(pods):,}: {some(pods)}"


def _types(claim: NewNodeClaim) -> str:
    return some(claim.instance_types) or "-"


def refusal(row: RefusedPod) -> str:
    """Why nothing is added, groups with one reason together."""
    if row.message:
        return row.message
    groups: dict[str, list[str]] = {}
    for each in row.reasons:
        groups.setdefault(each.reason, []).append(each.group)
    return "; ".join(f"{some(names)}: {reason}" for reason, names in groups.items()) or "there is no group"


def _nearest(nearest: NearestGroup | None) -> str:
    if nearest is None:
        return "-"
    return f"{nearest.group}: {_lacking(nearest)}"


def _lacking(nearest: NearestGroup | NearestNode) -> str:
    return "; ".join(map(sentence, nearest.evidence)) or "; ".join(nearest.reasons)


# --- what is removed -----------------------------------------------------------------------------------------------


def consolidate(row: ConsolidateRow, detail: Detail, doubt: str) -> Iterator[RenderableType]:
    """Which nodes go, where their pods land, and what keeps the others."""
    if row.explained is not None:
        return iter([text(explained(row))])
    return _shown(_removed(row, doubt), _tables_of_plan(row), detail)


def consolidate_parts(row: ConsolidateRow, doubt: str) -> Iterator[str]:
    """As Markdown."""
    if row.explained is not None:
        return iter([prose(explained(row))])
    return _marked_down(_removed(row, doubt), _tables_of_plan(row))


def explained(row: ConsolidateRow) -> str:
    """Whether the node that was asked about goes, and why not: one line."""
    node = row.explained
    for each in row.nodes:
        return f"{node} goes{_where_to(each)}" if each.removable else f"{node} stays: {why_kept(each)}"
    for command in row.commands:
        others = [name for name in command.nodes if name != node]
        together = f" together with {some(others)}" if others else ""
        return f"{node} goes ({command.reason}){together}"
    said = "; ".join(message for each in row.kept for message in each.messages)
    return f"{node} stays: {said or f'{_NAMES[row.autoscaler]} has not come to look at it'}"


def _where_to(row: NodeVerdict) -> str:
    if not row.destinations:
        return ": no pod has to move"
    nodes = list(dict.fromkeys(each.node for each in row.destinations))
    return f": {plural(len(row.destinations), 'pod')} would land on {some(nodes)}"


def why_kept(row: NodeVerdict) -> str:
    """The autoscaler's reason, in words and with numbers."""
    said = _REASONS.get(row.reason or "", "")
    if row.reason == "NotUnderutilized" and row.utilization is not None and row.threshold is not None:
        said = f"{row.utilization:.0%} of its {row.resource} is requested, and it may be {row.threshold:.0%} at most"
    if row.reason == "NotACandidate":
        said = _not_looked_at(row)
    if row.unplaced is not None:
        said = f"pod {row.unplaced} fits on no other node{_closest(row)}"
    if row.budgets:
        said = f"disruption budget {some(row.budgets)} allows no disruption"
    pod = f", pod {row.pod}" if row.pod else ""
    return f"{row.reason}{pod}{f': {said}' if said else ''}"


def _not_looked_at(row: NodeVerdict) -> str:
    if row.group is None:
        return "it belongs to no node group"
    if row.threshold is not None:
        return "enough nodes go before it"
    return f"group {row.group} is at its minimum"


def _closest(row: NodeVerdict) -> str:
    if row.nearest is None:
        return ""
    return f", nearest is {row.nearest.node}: {_lacking(row.nearest)}"


#: What upstream's words mean; those that say it themselves are left out.
_REASONS: Mapping[str, str] = {
    "NotUnneededOtherReason": "the autoscaler looks at no node now",
    "CurrentlyBeingDeleted": "it is on its way out already",
    "ScaleDownDisabledAnnotation": "cluster-autoscaler.kubernetes.io/scale-down-disabled is true",
    "ScaleDownUnreadyDisabled": "it is not ready, and scale-down-unready-enabled is false",
    "UnexpectedError": "it does not say how much cpu and memory it has",
    "NoPlaceToMovePods": "not all of its pods fit on the other nodes",
    "BlockedByPod: ControllerNotFound": "the pod's controller is not there any more",
    "BlockedByPod: MinReplicasReached": "the pod's controller wants fewer pods than min-replica-count",
    "BlockedByPod: NotReplicated": "no controller would make the pod again",
    "BlockedByPod: LocalStorageRequested": "the pod has a volume on the node's disk",
    "BlockedByPod: NotSafeToEvictAnnotation": "cluster-autoscaler.kubernetes.io/safe-to-evict is false",
    "BlockedByPod: UnmovableKubeSystemPod": "the pod is of kube-system, and has no disruption budget",
    "BlockedByPod: NotEnoughPdb": "a disruption budget of the pod allows no disruption",
}


def _removed(row: ConsolidateRow, doubt: str) -> tuple[Quality, str]:
    going = [each.node for each in row.nodes if each.removable]
    going += [node for command in row.commands for node in command.nodes]
    made = [claim for command in row.commands for claim in command.replacements]
    said = f"{_NAMES[row.autoscaler]} would remove {plural(len(going), 'node')}: {some(going)}" if going else ""
    said = said or f"{_NAMES[row.autoscaler]} would remove no node"
    if made:
        said += f", and add {plural(len(made), 'node')} of {some([claim.group for claim in made])} instead"
    return doubted("good", doubt), but(said, doubt)


def _tables_of_plan(row: ConsolidateRow) -> Iterator[_Table]:
    going = [(each.node, each.group or "-", _where_to(each).removeprefix(": ")) for each in row.nodes if each.removable]
    yield _Table("Nodes that go", ("Node", "Group", "Their pods"), going)
    commands = [
        (some(each.nodes), each.reason, "; ".join(f"{made.group}: {_types(made)}" for made in each.replacements) or "-")
        for each in row.commands
    ]
    yield _Table("Nodes that go", ("Nodes", "Why", "In their place"), commands)
    kept = [(each.node, each.group or "-", why_kept(each)) for each in row.nodes if not each.removable]
    yield _Table("Nodes that stay", ("Node", "Group", "Why"), kept)
    yield _Table("Nodes that stay", ("Node", "Why"), [(each.node, "; ".join(each.messages)) for each in row.kept])


# --- both formats --------------------------------------------------------------------------------------------------


def _shown(verdict: tuple[Quality, str], tables: Iterator[_Table], detail: Detail) -> Iterator[RenderableType]:
    quality, said = verdict
    yield signed(QUALITIES[quality], said)
    if detail.quiet:
        return
    for title, header, rows in tables:
        if not rows:
            continue
        yield ""
        yield text(title[:1].upper() + title[1:], STRONG)
        made = table(*map(str.upper, header))
        shown = rows if detail.wide else rows[:_MOST_ROWS]
        for row in shown:
            made.add_row(*(text(detail.names.cut(each)) for each in row))
        yield made
        yield from hidden(shown, rows)


def _marked_down(verdict: tuple[Quality, str], tables: Iterator[_Table]) -> Iterator[str]:
    quality, said = verdict
    yield f"### {MARKDOWN_QUALITIES[quality]} {prose(said)}"
    for title, header, rows in tables:
        if rows:
            yield from ("", f"{prose(title[:1].upper() + title[1:])}:", "")
            yield from rows_of(header, ((cell(first), *map(prose, others)) for first, *others in rows))
