"""`kwhatif deschedule` in blocks: the pods that each strategy evicts, those that are spared, the effect on nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import assert_never

from msgspec.structs import replace

from kwhatif.descheduler.attempt import (
    BetterNode,
    BrokenAntiAffinity,
    BrokenNodeAffinity,
    Duplicate,
    Failed,
    LifeTime,
    NodeClassRow,
    NodeUse,
    RefusedBy,
    Restarts,
    Skew,
    StrategyRow,
    UntoleratedTaint,
    Why,
)
from kwhatif.render.amounts import duration, plural, some
from kwhatif.render.blocks import (
    Block,
    Cell,
    Change,
    Heading,
    Sentence,
    Table,
    Tone,
    folded,
    name,
    node,
    number,
    verdict,
    words,
)
from kwhatif.render.certainty import of_command, qualifier
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import Quality
from kwhatif.report import Report
from kwhatif.report.deciders import (
    DescheduleRow,
    EvictedRow,
    EvictionRefusedRow,
    Landing,
    ReplacementCause,
    ReplacementRow,
)

_TONES: Mapping[Landing, Tone] = {
    "Elsewhere": "good",
    "SameNode": "warn",
    "Preempts": "warn",
    "Pending": "bad",
    "None": "faint",
}


def deschedule(report: Report, row: DescheduleRow, detail: Detail) -> Iterator[Block]:
    """The verdict, with what it depends on, then a table for each strategy."""
    yield verdict(_verdict(row), qualifier(report, of_command(report)))
    if detail.quiet or row.skipped:
        return
    later = _rounds(row)
    if later:
        yield Sentence(later, "faint" if row.course == "Settles" else "warn")
    for strategy in row.plugins:
        yield from _strategy(strategy, row, detail)
    columns = (number("Pods"), words("Rule"), words("For example"))
    rules = [(len(pods), rule, some(pods, 100 if detail.wide else 2)) for rule, pods in _spared_rules(row).items()]
    yield from folded("Spared by the evictor, whatever a strategy wants", Table(columns, rules))
    yield from _nodes(row)


def _strategy(strategy: StrategyRow, row: DescheduleRow, detail: Detail) -> Iterator[Block]:
    profile = f" of profile {strategy.profile}" if len({each.profile for each in row.plugins}) > 1 else ""
    refused = f", {strategy.refused:,} refused" if strategy.refused else ""
    yield Heading(f"{strategy.plugin}{profile}: {plural(strategy.evicted, 'eviction')}{refused}")
    if strategy.error:
        yield Sentence(f"Fails: {strategy.error}", "warn")
    classes = _node_classes(strategy, row)
    if classes:
        yield Sentence(classes, "faint")
    for note in strategy.notes if detail.wide else _distinct(strategy.notes):
        yield Sentence(note, "faint")
    wanted: tuple[EvictedRow | EvictionRefusedRow, ...] = (*row.evicted, *row.refused)
    attempts = [each for each in wanted if _is_by(strategy, each)]
    if attempts:
        yield _attempts(sorted(attempts, key=lambda each: each.order))


def _distinct(notes: Sequence[str]) -> Iterator[str]:
    """The first of the notes with the same beginning, and how many more there are."""
    for _, alike in groupby(notes, lambda note: note.partition(":")[0]):
        first, *others = alike
        yield f"{first} (and {len(others):,} more)" if others else first


def _is_by(strategy: StrategyRow, row: EvictedRow | EvictionRefusedRow | NodeClassRow) -> bool:
    return (row.profile, row.plugin) == (strategy.profile, strategy.plugin)


def _attempts(rows: Sequence[EvictedRow | EvictionRefusedRow]) -> Table:
    columns = (number("#"), name("Pod"), node(), words("Why"), words("Then"))
    return Table(columns, [(row.order, row.pod, row.node, why_evicted(row.why), _then(row)) for row in rows])


def _then(row: EvictedRow | EvictionRefusedRow) -> Cell:
    if isinstance(row, EvictionRefusedRow):
        budgets = f": {', '.join(row.budgets)}" if row.budgets else ""
        return Cell(f"stays: {_REFUSALS[row.by]}{budgets}", "faint")
    if row.replacement is None:
        return Cell("")
    return Cell(_landing(row.replacement), _TONES[row.replacement.landing])


def _nodes(row: DescheduleRow) -> Iterator[Block]:
    changed = [each for each in row.nodes if each.before != each.after]
    resources = list(dict.fromkeys(resource for each in changed for resource in each.before))
    columns = (node(), *(words(f"{resource} %") for resource in resources))
    rows: list[tuple[str | Change, ...]] = [
        (each.node, *(Change(each.before.get(name, 0.0), each.after.get(name, 0.0)) for name in resources))
        for each in changed
    ]
    yield from folded("Requested of the nodes, before and after", Table(columns, rows))


# --- words -----------------------------------------------------------------------------------------------------------


_REFUSALS: Mapping[RefusedBy, str] = {
    "total-limit": "maxNoOfPodsToEvictTotal is reached",
    "node-limit": "maxNoOfPodsToEvictPerNode is reached",
    "namespace-limit": "maxNoOfPodsToEvictPerNamespace is reached",
    "pdb": "a disruption budget allows no more",
    "multiple-pdbs": "more than one disruption budget is about it",
    "forbidden": "the API server forbids it",
    "not-found": "it is gone already",
}

_CAUSES: Mapping[ReplacementCause, str] = {
    "static": "it is a static pod, which its kubelet keeps running",
    "bare": "no controller replaces it",
    "controller-not-modelled": "what makes pods of a {about} is not modelled",
    "counted-out": "its {about} has counted it out before",
    "gone-anyway": "it goes without the descheduler, too",
    "refused": "{about}",
    "owner-gone": "its {about} is not there any more",
    "owner-not-read": "its {about} is not in the input",
    "enough": "its {about} wants no more than {wanted}",
    "no-other": "its {about} makes no other",
    "unschedulable": "{about}",
    "gated": "its scheduling gates are closed",
    "scheduler-not-modelled": "the scheduler {about} is not modelled",
    "not-tried": "it was not tried",
    "preempted": "evicted in turn for {about}",
}


def worded_cycle(row: DescheduleRow) -> DescheduleRow:
    """The row with the outcome of replacements in words."""
    return replace(row, evicted=tuple(map(_worded, row.evicted)))


def _worded(row: EvictedRow) -> EvictedRow:
    made = row.replacement
    if made is None or made.cause is None:
        return row
    wanted = f"{made.wanted} {'pod' if made.wanted == 1 else 'pods'}"
    return replace(row, replacement=replace(made, message=_CAUSES[made.cause].format(about=made.about, wanted=wanted)))


def _verdict(row: DescheduleRow) -> tuple[Quality, str]:
    if row.skipped:
        return "doubtful", f"the descheduler does nothing: {row.skipped}"
    if not row.evicted:
        held_back = f": all {plural(len(row.refused), 'attempt')} are refused" if row.refused else ""
        failed = [each.plugin for each in row.plugins if each.error]
        return ("doubtful" if row.refused or failed else "good"), f"nothing is evicted{held_back}{_failed(failed)}"
    landings = row.landings
    parts = [
        f"{count:,} {words[count > 1]}"
        for count, words in (
            (landings.get("Elsewhere", 0), ("lands on another node", "land on other nodes")),
            (landings.get("SameNode", 0), ("lands on the same node again", "land on the same node again")),
            (landings.get("Preempts", 0), ("fits only by evicting others", "fit only by evicting others")),
            (landings.get("Pending", 0), ("stays pending", "stay pending")),
            (landings.get("None", 0), ("is not replaced", "are not replaced")),
        )
        if count
    ]
    if row.displaced:
        parts.append(f"{plural(len(row.displaced), 'other')} pending in turn")
    useless = landings.get("SameNode", 0) == len(row.evicted)
    verdict = "; this repeats forever" if row.course == "Endless" else "; all for nothing" * useless
    return _quality(row), f"{plural(len(row.evicted), 'pod')} evicted: {', '.join(parts)}{verdict}"


def _failed(plugins: list[str]) -> str:
    return f"; {some(plugins)} failed" if plugins else ""


def _quality(row: DescheduleRow) -> Quality:
    landings = row.landings
    if landings.get("Pending") or row.displaced or row.course == "Endless":
        return "bad"
    return "doubtful" if landings.get("SameNode") or landings.get("Preempts") else "good"


def _rounds(row: DescheduleRow) -> str:
    """The result of later cycles; "" if there is nothing to say."""
    later = row.rounds[1:]
    if not row.evicted:
        return ""
    if not later:
        return "What a second run would do is not known"
    counts = [f"{each.evicted:,}" for each in later]
    match row.course:
        case "Settles":
            runs = f"Later runs evict {', then '.join(counts[:-1])} pods, then none" if counts[1:] else ""
            return runs or "A second run evicts nothing"
        case "Endless":
            return f"Later runs evict {', then '.join(counts)} pods, and so on: it never settles"
    return f"Later runs evict {', then '.join(counts)} pods; whether it settles is not known (see --rounds)"


def _landing(row: ReplacementRow) -> str:
    """The outcome of the replacement."""
    then = f", then {row.message}" if row.message else ""
    match row.landing:
        case "Elsewhere" | "SameNode":
            where = "the same node again" if row.landing == "SameNode" else row.node
            equal = [node for node in row.ties if node != row.node]
            return f"lands on {where}{f' (or {some(equal)})' if equal else ''}{then}"
        case "Preempts":
            return f"evicts {plural(len(row.victims), 'pod')} on {row.node}: {some(row.victims)}"
        case "Pending":
            return f"stays pending: {row.message}"
    return f"is not replaced: {row.message}"


def _node_classes(strategy: StrategyRow, row: DescheduleRow) -> str:
    """How a strategy classifies the nodes: `nodes: 1 underutilized (b1), …`; "" if it does not."""
    found: dict[str, list[str]] = {"underutilized": [], "overutilized": [], "appropriate": []}
    for each in row.node_classes:
        if _is_by(strategy, each):
            found[each.node_class].append(each.node)
    if not any(found.values()):
        return ""
    return "Nodes: " + ", ".join(
        f"{len(nodes):,} {class_}" + (f" ({some(nodes)})" if nodes and class_ != "appropriate" else "")
        for class_, nodes in found.items()
    )


def _spared_rules(row: DescheduleRow) -> dict[str, list[str]]:
    """Rule -> the pods that it spares, the rule with the most pods first; a pod counts for each of its reasons."""
    found: dict[str, list[str]] = {}
    for spared in row.spared:
        for reason in spared.reasons or ("no reason is given",):
            pods = found.setdefault(reason, [])
            if spared.pod not in pods[-1:]:
                pods.append(spared.pod)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def why_evicted(reason: Why) -> str:  # noqa: C901 - an arm per reason
    """Why a strategy wants the pod evicted, with numbers."""
    match reason:
        case NodeUse():
            return _node_use(reason)
        case Duplicate(owner=owner, on_node=on_node, average=average, nodes=nodes):
            return f"{on_node} pods of {owner} on the node, {average} on each of {nodes} nodes would do"
        case BrokenAntiAffinity(other=other, topology_key=key):
            return f"does not want to be beside {other} ({key})"
        case BrokenNodeAffinity():
            return "its required node affinity does not match the node"
        case BetterNode(weight=weight, best=best):
            return f"its preferred node affinity gives the node {weight}, another one {best}"
        case UntoleratedTaint(taint=taint):
            return f"does not tolerate {taint}"
        case Skew():
            return (
                f"{reason.topology_key}: {reason.pods} pods in {reason.domain}, {reason.lowest_pods} in"
                f" {reason.lowest}; skew {reason.pods - reason.lowest_pods}, allowed {reason.max_skew}"
            )
        case Restarts(restarts=restarts, threshold=threshold):
            return f"{plural(restarts, 'restart')}, threshold {threshold:,}"
        case LifeTime():
            return _life_time(reason)
        case Failed(age=age, min_age=min_age, reasons=reasons):
            words = f" ({', '.join(reasons)})" if reasons else ""
            return f"failed{words}, {duration(max(age, 0))} old, at least {duration(min_age)}"
    assert_never(reason)


def _node_use(reason: NodeUse) -> str:
    over = reason.node_class == "overutilized"
    uses = [use for use in reason.uses if use.percent > use.threshold] if over else reason.uses
    word = "target" if over else "threshold"
    return "; ".join(f"{use.resource} {use.percent:.0f} %, {word} {use.threshold:.0f} %" for use in uses)


def _life_time(reason: LifeTime) -> str:
    parts = list(reason.conditions)
    if reason.max_age is not None:
        parts.insert(0, f"{duration(reason.age)} old, at most {duration(reason.max_age)}")
    return ", ".join(parts)
