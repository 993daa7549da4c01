"""`kwhatif autoscale` and `kwhatif consolidate` in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kwhatif.autoscaler.contract import (
    Autoscaler,
    DisruptionCommand,
    NearestGroup,
    NearestNode,
    NewNodeClaim,
    NodeVerdict,
    RefusedPod,
    ScalingRound,
)
from kwhatif.render.amounts import listed, plural, some
from kwhatif.render.blocks import Block, Heading, Sentence, Table, Verdict, name, node, number, titled, verdict, words
from kwhatif.render.certainty import qualifier
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import Quality, verb
from kwhatif.render.sentences import sentence
from kwhatif.render.verdict import sentence_about
from kwhatif.report import Report
from kwhatif.report.deciders import AutoscaleRow, ConsolidateRow, DrainedRow, MovedGroupRow

_NAMES = {"cluster-autoscaler": "the Cluster Autoscaler", "karpenter": "Karpenter"}


# --- added nodes -----------------------------------------------------------------------------------------------------


def autoscale(report: Report, row: AutoscaleRow, detail: Detail) -> Iterator[Block]:
    """The new nodes, the alternatives, and the pods that get no node."""
    outside = _outside(report)
    yield verdict(_added(row, sum(map(len, outside.values()))), qualifier(report))
    if detail.quiet:
        return
    if report.decisions:
        fitting = [each for each in report.decisions if each.outcome in ("Placed", "Preempts")]
        of_all = f"{len(fitting):,} of {plural(len(report.decisions), 'new pod')}"
        yield Sentence(f"{of_all} {verb('Placed', len(fitting))} without new nodes")
    yield from _rounds(row)
    rows = [(some(pods), why) for why, pods in outside.items()]
    yield from titled("Pods that no node helps", Table((words("Pods"), words("Why")), rows))


def _outside(report: Report) -> Mapping[str, list[str]]:
    """Pods of the manifests for which a node would not help (gated, denied, ignored), by reason."""
    found: dict[str, list[str]] = {}
    for each in report.decisions:
        if each.outcome in ("Gated", "Denied", "Ignored"):
            found.setdefault(sentence_about(each, report).replace(each.pod.partition("/")[2], "POD"), []).append(
                each.pod
            )
    return found


def growth(row: AutoscaleRow) -> Iterator[Block]:
    """The nodes that were added while another question was answered."""
    said = _added(row)[1]
    yield Heading(_capital(said))
    yield from _rounds(row)


def _added(row: AutoscaleRow, outside: int = 0) -> tuple[Quality, str]:
    refused = outside + len({each.pod for found in row.rounds for each in found.refused})
    cost = "" if row.cost is None else f", at {row.cost:g} an hour"
    said = [f"{adds(row.autoscaler, _nodes_added(row))}{cost}"]
    if refused:
        said.append(f"for {plural(refused, 'pod')} it can add nothing")
    waiting = len({each.pod for each in row.rounds[-1].ignored}) if row.rounds else 0
    if waiting:
        said.append(f"at {plural(waiting, 'pod')} it does not look")
    return "bad" if refused else "doubtful" if waiting else "good", "; ".join(said)


def adds(autoscaler: Autoscaler, nodes: Mapping[str, int]) -> str:
    """`Karpenter adds 3 nodes of general`; `nodes` are the new nodes, by group."""
    said = [f"{plural(count, 'node')} of {group}" for group, count in nodes.items()]
    return f"{_NAMES[autoscaler]} adds {listed(said) if said else 'nothing'}"


def _nodes_added(row: AutoscaleRow) -> Mapping[str, int]:
    """By group, in the order of the rounds."""
    counts: dict[str, int] = {}
    for found in row.rounds:
        for each in found.scale_up:
            counts[each.group] = counts.get(each.group, 0) + each.delta
        for claim in found.new_nodes:
            counts[claim.group] = counts.get(claim.group, 0) + 1
    return counts


def _rounds(row: AutoscaleRow) -> Iterator[Block]:
    for round_, found in enumerate(row.rounds, 1):
        yield from _round(found, f"Round {round_}: " if len(row.rounds) > 1 else "")


def _round(found: ScalingRound, before: str) -> Iterator[Block]:
    chosen = {each.group: each.delta for each in found.scale_up}
    options = [
        (each.group, each.nodes, f"+{chosen[each.group]:,}" if each.group in chosen else None, _pods(each.pods))
        for each in found.options
    ]
    known = {each.group for each in found.options}
    others = [(each.group, None, f"+{each.delta:,}", None) for each in found.scale_up if each.group not in known]
    columns = (name("Group"), number("Nodes needed"), number("Added"), words("Pods"))
    yield from _titled(f"{before}groups that would help", Table(columns, [*options, *others]))
    claims = [(each.group, _types(each), each.cheapest, some(each.pods)) for each in found.new_nodes]
    columns = (name("NodePool"), words("Instance types"), words("Cheapest"), words("Pods"))
    yield from _titled(f"{before}new nodes", Table(columns, claims))
    existing = [(each.node, some(each.pods)) for each in found.existing]
    there = f"{before}pods that fit on nodes that are there, or on their way"
    yield from _titled(there, Table((node(), words("Pods")), existing))
    refused = [(each.pod, refusal(each), _nearest(each.nearest)) for each in found.refused]
    nothing = f"{before}pods that nothing is added for"
    yield from _titled(nothing, Table((name("Pod"), words("Why"), words("Nearest")), refused))
    places: dict[str, list[str]] = {}
    for landed in found.placed:
        places.setdefault(landed.node, []).append(landed.pod)
    then = [(place, _pods(pods)) for place, pods in places.items()]
    yield from _titled(f"{before}where the scheduler then places pods", Table((node(), words("Pods")), then))
    ignored = [(each.pod, each.reason or None) for each in found.ignored]
    yield from _titled(f"{before}pods that are not looked at", Table((name("Pod"), words("Why")), ignored))


def _titled(title: str, table: Table) -> Iterator[Block]:
    return titled(_capital(title), table)


def _capital(said: str) -> str:
    return said[:1].upper() + said[1:]


def _pods(pods: Sequence[str]) -> str:
    return f"{len(pods):,}: {some(pods)}"


def _types(claim: NewNodeClaim) -> str:
    return some(claim.instance_types) or "-"


def refusal(row: RefusedPod) -> str:
    """Why nothing is added; groups with the same reason are together."""
    if row.message:
        return row.message
    groups: dict[str, list[str]] = {}
    for each in row.reasons:
        groups.setdefault(each.reason, []).append(each.group)
    return "; ".join(f"{some(names)}: {reason}" for reason, names in groups.items()) or "there is no group"


def _nearest(nearest: NearestGroup | None) -> str | None:
    if nearest is None:
        return None
    return f"{nearest.group}: {_lacking(nearest)}"


def _lacking(nearest: NearestGroup | NearestNode) -> str:
    return "; ".join(map(sentence, nearest.evidence)) or "; ".join(nearest.reasons)


# --- removed nodes ---------------------------------------------------------------------------------------------------


def consolidate(report: Report, row: ConsolidateRow, detail: Detail) -> Iterator[Block]:
    """The nodes that are removed, where their pods land, and why the others stay."""
    if row.explained is not None:
        yield Verdict(explained(row))
        return
    yield verdict(("good" if all(each.ok for each in row.drains) else "doubtful", _removed(row)), qualifier(report))
    if not detail.quiet:
        yield from _plan(row)


def explained(row: ConsolidateRow) -> str:
    """Whether the node in question is removed, and if not, why, in one line."""
    node = row.explained
    shown = "".join(f"; a drain shows: {_proof(each)}" for each in row.drains)
    for each in row.nodes:
        return f"{node} goes{_where_to(each)}{shown}" if each.removable else f"{node} stays: {why_kept(each)}"
    for command in row.commands:
        others = [name for name in command.nodes if name != node]
        together = f" together with {some(others)}" if others else ""
        return f"{node} goes ({command.reason}){together}{shown}"
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


#: The meaning of upstream's reasons; reasons that are clear by themselves are left out.
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


def _removed(row: ConsolidateRow) -> str:
    going = [each.node for each in row.nodes if each.removable]
    going += [node for command in row.commands for node in command.nodes]
    made = [claim for command in row.commands for claim in command.replacements]
    said = f"{_NAMES[row.autoscaler]} would remove {plural(len(going), 'node')}: {some(going)}" if going else ""
    said = said or f"{_NAMES[row.autoscaler]} would remove no node"
    instead = f", and add {plural(len(made), 'node')} of {some([each.group for each in made])} instead"
    unproven = sum(not each.ok for each in row.drains)
    but = f"; {plural(unproven, 'drain')} of them would not end well" if unproven else ""
    saved = "" if row.saved is None else f", which saves {row.saved:g} an hour"
    return f"{said}{instead * bool(made)}{saved}{but}"


def _plan(row: ConsolidateRow) -> Iterator[Block]:
    drained = {name: each for each in row.drains for name in each.nodes}
    known = [*(each.saved for each in row.nodes), *(each.saved for each in row.commands)]
    money = [number("Saved an hour")] if any(each is not None for each in known) else []
    going = [
        (each.node, each.group, _where_to(each).removeprefix(": "), *_money(each, money), _proof(drained[each.node]))
        for each in row.nodes
        if each.removable
    ]
    columns = (node(), name("Group"), words("Their pods"), *money, words("A drain shows"))
    yield from titled("Nodes that go", Table(columns, going))
    commands = [
        (
            some(each.nodes),
            each.reason,
            "; ".join(f"{made.group}: {_types(made)}" for made in each.replacements) or None,
            *_money(each, money),
            _proof(drained[each.nodes[0]]),
        )
        for each in row.commands
    ]
    columns = (words("Nodes"), words("Why"), words("In their place"), *money, words("A drain shows"))
    yield from titled("Nodes that go", Table(columns, commands))
    kept = [(each.node, each.group, why_kept(each)) for each in row.nodes if not each.removable]
    yield from titled("Nodes that stay", Table((node(), name("Group"), words("Why")), kept))
    others = [(each.node, "; ".join(each.messages)) for each in row.kept]
    yield from titled("Nodes that stay", Table((node(), words("Why")), others))


def _money(row: NodeVerdict | DisruptionCommand, columns: Sequence[object]) -> Sequence[str | None]:
    """The savings, if the table has a column for them."""
    return [None if row.saved is None else f"{row.saved:g}" for _ in columns]


def _proof(row: DrainedRow) -> str:
    """The result of draining the nodes."""
    pods = sum(each.pods for each in row.landed)
    said = [
        f"{plural(pods, 'pod')} {'lands' if pods == 1 else 'land'} on {some([each.node for each in row.landed])}"
        if pods
        else "no pod moves"
    ]
    if row.pending:
        said.append(f"{_stay(row.pending)} pending: {some(row.pending)}")
    if row.expendable:
        said.append(f"{_stay(row.expendable)} pending that the autoscaler counts as expendable: {some(row.expendable)}")
    if row.stays:
        said.append(f"it is not drained: {some(row.stays)} cannot be evicted")
    if row.preempted:
        said.append(f"{plural(row.preempted, 'pod')} evicted for them")
    said += map(_group, row.groups)
    return "; ".join(said[1:] if len(said) > 1 and not pods else said)


def _group(row: MovedGroupRow) -> str:
    if row.is_whole:
        return f"group {row.group} is whole again"
    return (
        f"group {row.group} is broken: {row.after:,} of its {row.before:,} pods have a node, it needs {row.min_count:,}"
    )


def _stay(pods: Sequence[str]) -> str:
    return f"{plural(len(pods), 'pod')} {'stays' if len(pods) == 1 else 'stay'}"
