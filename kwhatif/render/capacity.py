"""`kwhatif capacity` in blocks: how many more pods fit, where they go, and what stops the next one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.amounts import amount, listed, plural, some
from kwhatif.render.autoscale import adds, refusal
from kwhatif.render.blocks import Block, Cell, Column, Sentence, Table, folded, name, node, number, verdict, words
from kwhatif.render.certainty import qualifier
from kwhatif.render.detail import Detail
from kwhatif.render.outcomes import Quality
from kwhatif.render.sentences import free_on, sentence
from kwhatif.render.verdict import did_you_mean, why
from kwhatif.render.workloads import why_not
from kwhatif.report import Report
from kwhatif.report.capacity import (
    AddedNodesRow,
    CapacityRow,
    CountedRow,
    FitRow,
    GrownRow,
    PeakRow,
    ReasonRow,
    ShapeRow,
    StopRow,
    TightestRow,
)
from kwhatif.report.decision import Decision
from kwhatif.scheduler.framework.evidence import InsufficientResource


def capacity(report: Report, row: CapacityRow, detail: Detail) -> Iterator[Block]:
    """The verdict, then the tables that back it."""
    yield verdict(headline(row), qualifier(report))
    if row.peak is not None:
        yield from _peak(row.peak, detail)
    if row.shapes:
        yield _shapes(row.shapes)
    if detail.quiet:
        return
    if row.shapes:
        others = f"; not shown: {plural(row.other_pods, 'pod')} of {row.other_shapes:,} other kinds"
        yield Sentence(f"Counted up to {row.limit:,} of each (--max){others * bool(row.other_shapes)}", "faint")
    if row.added_nodes is not None:
        yield from (Sentence(note, "faint") for note in row.added_nodes.notes)
    best = row.best
    if row.fit is None or best is None:
        return
    if row.grown is not None:
        yield from _grown(row.grown, row)
    costs = _evictions(row, report)
    yield from [Sentence(costs, "warn")] if costs and row.added_nodes is None else ()
    missing = _lacking(row)
    yield from [Sentence(missing, "strong")] if missing else ()
    if best.stop is None and row.target is None:
        yield Sentence(f"Counted up to {row.limit:,} (--max): more may fit", "faint")
    yield from _racks(best)
    yield from _places(best)
    if best.stop is not None:
        yield from _stop(best.stop, best, report, last=row.preempting is not None)


def _peak(peak: PeakRow, detail: Detail) -> Iterator[Block]:
    """Whether the peak itself fits, and its number of pods for each workload."""
    if not peak.pending:
        yield Sentence(f"The peak fits: {plural(peak.more, 'more pod')} of {_of_workloads(peak)}", "strong")
    else:
        said = f"{peak.pending:,} of {plural(peak.more, 'more pod')} of {_of_workloads(peak)}"
        yield Sentence(f"The peak does not fit: {said} {'finds' if peak.pending == 1 else 'find'} no node", "bad")
    if peak.evicted:
        yield Sentence(f"For the peak {plural(len(peak.evicted), 'pod')} had to go: {some(peak.evicted)}", "warn")
    if not detail.quiet:
        columns = (name("Workload"), number("Pods"), number("Peak"), number("Pending"), words("Why"))
        yield Table(
            columns, [(each.workload, each.replicas, each.peak, each.pending, each.message) for each in peak.workloads]
        )


def _of_workloads(peak: PeakRow) -> str:
    return plural(len(peak.workloads), "workload")


def _places(fit: FitRow) -> Iterator[Block]:
    """The counted pods; then by zone, and by node."""
    if _is_one_gang(fit):
        nodes = [(each, sum(counts)) for each, counts in _counts(fit)]
        yield from folded("Where they land", Table([node(), number("Pods")], nodes))
        return
    columns = (name("Workload"), number("In a set"), number("Pods"), words("Each requests"), number("Priority"))
    yield Table(columns, [(each.workload, each.times, each.pods, _asks(each), each.priority) for each in fit.counted])
    is_one = len(fit.counted) == 1
    pods = [number("Pods")] if is_one else [number(each.workload, named=True) for each in fit.counted]
    zones = sorted({zone for counted in fit.counted for zone in counted.zones})
    if len(zones) > 1:
        rows = [(zone or None, *(each.zones.get(zone, 0) for each in fit.counted)) for zone in zones]
        yield Table([Column("Zone", "name"), *pods], rows)
    yield from folded("Where they land", Table([node(), *pods], _nodes(fit)))


def _grown(grown: GrownRow, row: CapacityRow) -> Iterator[Block]:
    """The new nodes, groups without bounds, and why there are no more nodes."""
    said = adds(grown.autoscaler, grown.nodes)
    yield Sentence(said[:1].upper() + said[1:], "strong")
    if grown.unbounded:
        verb = "has no maximum" if len(grown.unbounded) == 1 else "have no maximum"
        yield Sentence(f"{listed(grown.unbounded)} {verb}: only the number that is counted ends this", "warn")
    if row.fit is not None and row.fit.stop is not None and row.fit.stop.outcome == "Preempts":
        yield Sentence(
            "The scheduler evicts others for such pods before it waits for nodes (--with-preemption)", "warn"
        )
    if grown.refused is not None:
        yield Sentence(f"No more nodes come for the next pod: {refusal(grown.refused)}", "strong")
    elif grown.fit.stop is not None and grown.nodes:
        yield Sentence(
            "No more nodes come for the next pod: the autoscaler sees room for it, the scheduler none", "strong"
        )


def _is_one_gang(fit: FitRow) -> bool:
    """Whether a set is a single group of pods."""
    return len(fit.gangs) == 1 and sum(counted.times for counted in fit.counted) == fit.gangs[0].pods


def _racks(fit: FitRow) -> Iterator[Block]:
    """How many groups fit for each value of their topology label."""
    for gang in fit.gangs:
        if gang.topology_key and gang.placements:
            counts = sorted(gang.placements.items(), key=lambda item: (-item[1], item[0]))
            yield Table((name(gang.topology_key), number("Gangs")), counts)


def _nodes(fit: FitRow) -> list[tuple[str | int, ...]]:
    """The nodes that take pods, those with the most pods first, and how many of each workload."""
    return [(name, *counts) for name, counts in _counts(fit)]


def _counts(fit: FitRow) -> list[tuple[str, list[int]]]:
    names = {name for counted in fit.counted for name in counted.nodes}
    rows = [(name, [counted.nodes.get(name, 0) for counted in fit.counted]) for name in names]
    return sorted(rows, key=lambda row: (-sum(row[1]), row[0]))


def _stop(stop: StopRow, fit: FitRow, report: Report, *, last: bool) -> Iterator[Block]:
    yield Sentence(f"Stopped: {_stop_sentence(stop, fit, report, last=last)}", "strong")
    if stop.reasons:
        reasons = [(row.nodes, row.reason, _closest(row)) for row in stop.reasons]
        yield Table((number("Nodes"), words("Reason"), words("Closest")), reasons)
    if stop.tightest:
        tightest = [(row.nodes, row.resource, _stranded(row)) for row in stop.tightest]
        yield Table((number("Nodes"), words("Tightest"), words("Stranded there")), tightest)


def _shapes(shapes: Sequence[ShapeRow]) -> Table:
    columns = (number("More fit"), number("Running"), words("Like"), words("Each requests"), words("Stopped by"))
    return Table(
        columns,
        [
            (
                Cell(_more(shape), "strong"),
                shape.running,
                some(shape.workloads, 1),
                _asks(shape.fit.counted[0]),
                Cell(_shape_stop(shape.fit.stop), "faint"),
            )
            for shape in shapes
        ],
    )


def _more(shape: ShapeRow) -> str:
    """`7`; `2 gangs of 8`."""
    count = fit_number(shape.fit)
    if not shape.gangs:
        return count
    return f"{count} gang{'s' * (shape.fit.sets != 1)} of {len(shape.fit.counted):,}"


# --- words -----------------------------------------------------------------------------------------------------------


def headline(row: CapacityRow) -> tuple[Quality, str]:
    """How many fit, in one line."""
    best = row.best
    if best is None and not row.shapes:
        return "doubtful", "no pod runs that could be counted: name a manifest"
    if best is None:
        kinds = f"{plural(len(row.shapes), 'most common kind')} of pods, each alone"
        return _beside(row.peak, "good"), f"how many more fit of the {kinds}{' beside the peak' * bool(row.peak)}"
    if row.added_nodes is not None and row.target is not None:
        return _with_nodes(row.added_nodes, row.target.wanted, row)
    sets, fit = best.sets, "fits" if best.sets == 1 else "fit"
    if row.target is not None and not row.target.met:
        only = f"only {sets:,}" if sets else "not one"
        return (
            "bad",
            f"{only} of {row.target.wanted:,} more {_what(best, 2)} {'fits' if sets <= 1 else 'fit'}{_how(row)}",
        )
    if not sets:
        return "bad", f"not one more {_what(best, 1)} fits{_how(row)}"
    number = f"at least {sets:,} more" if best.stop is None and row.target is None else f"{sets:,} more"
    quality: Quality = "doubtful" if _evicts(row) else "good"
    return _beside(row.peak, quality), f"{number} {_what(best, sets)} {fit}{_how(row)}"


def _beside(peak: PeakRow | None, quality: Quality) -> Quality:
    """A peak that does not fit is not good, even if more pods would fit."""
    return "bad" if peak is not None and peak.pending else quality


def _evicts(row: CapacityRow) -> bool:
    return row.preempting is not None and row.preempting.evicting > 0


def _how(row: CapacityRow) -> str:
    """Whether the count is at the peak, and whether with evictions, if these are possible."""
    if row.fit is None:
        return ""
    if row.peak is not None:
        return " beside the peak" + _how(replace(row, peak=None))
    if _evicts(row):
        return f", {row.fit.sets:,} of them without evictions"
    is_possible = row.preempting is None and row.fit.stop is not None and row.fit.stop.outcome == "Preempts"
    rest = " without evictions" if is_possible else ""
    if row.grown is None or not row.grown.nodes:
        return rest
    nodes = plural(sum(row.grown.nodes.values()), "new node")
    return f"{rest} with {nodes}; on the present nodes, {_fit(row.fit.sets)}"


def _what(fit: FitRow, sets: int) -> str:
    """`pods of Deployment shop/web`; `sets of 2 pods of …`."""
    if _is_one_gang(fit):
        return f"gang{'s' * (sets != 1)} of {fit.gangs[0].pods:,} like {fit.gangs[0].group}"
    first, *others = fit.counted
    if not others and first.times == 1:
        return f"pod{'s' * (sets != 1)} {_of(first)}"
    each = " and ".join(f"{counted.times} {_of(counted)}" for counted in fit.counted)
    return f"set{'s' * (sets != 1)} ({each})"


def _of(counted: CountedRow) -> str:
    return f"like {counted.workload}" if ObjectRef.parse(counted.workload).kind == "Pod" else f"of {counted.workload}"


def _with_nodes(added: AddedNodesRow, wanted: int, row: CapacityRow) -> tuple[Quality, str]:
    what, fit, do = _what(added.fit, wanted), *(("fits", "does") if wanted == 1 else ("fit", "do"))
    now = row.preempting.fit.sets if row.preempting else row.fit.sets if row.fit else 0
    if added.nodes is None:
        with_them = f"even with {plural(added.limit, 'more node')} like {added.like} only {_fit(added.fit.sets)}"
        none = "more nodes do not help" if not added.limit else with_them
        return "bad", f"{wanted:,} more {what} {do} not fit: {none}"
    if not added.nodes:
        return "good", f"{wanted:,} more {what} {fit} as it is: no nodes are needed"
    nodes = f"{plural(added.nodes, 'more node')} like {added.like}"
    fewer = f"with {added.nodes - 1:,} only {_fit(added.fewer or 0)}" if added.nodes > 1 else f"without, {_fit(now)}"
    return "good", f"{wanted:,} more {what} {fit} with {nodes}; {fewer}"


def _fit(count: int) -> str:
    """`1 fits`, `3 fit`."""
    return plural(count, "fits", "fit")


def fit_number(fit: FitRow) -> str:
    """How many sets fit: `7`, or `1,000 or more` where the limit was reached first."""
    return f"{fit.sets:,}{'' if fit.stop else ' or more'}"


def _lacking(row: CapacityRow) -> str:
    """The total requests of the missing sets; "" if none are missing."""
    target = row.target
    if target is None or target.met:
        return ""
    return f"Missing: {target.missing:,}, which ask for {_amounts(target.lacking) or 'nothing'} in all"


def _asks(row: CountedRow) -> str:
    return _amounts(row.requests) or "nothing"


def _amounts(requests: Mapping[str, int]) -> str:
    """`0.5 cpu, 1Gi memory`."""
    return ", ".join(f"{amount(name, number)} {name}" for name, number in requests.items())


def _stop_sentence(stop: StopRow, fit: FitRow, report: Report, *, last: bool) -> str:
    """Why the next pod does not fit; `last`: with eviction."""
    is_single = len(fit.counted) == 1 and fit.counted[0].times == 1
    is_gang = _is_one_gang(fit)
    which = f"{'gang' if is_gang else 'pod' if is_single else 'set'} {fit.sets + 1:,}"
    about = f"{which} ({stop.workload})" if len(fit.counted) > 1 and not is_gang else which
    found = [decision for decision in report.decisions if decision.pod == stop.pod]
    decision = found[-1 if last else 0] if found else None
    why_not_more = _why(decision, stop) if stop.gang is None else why_not(stop.gang)
    match stop.outcome:
        case "Preempts" if last:
            return f"{about} fits only by evicting pods that are counted: {why_not_more}"
        case "Preempts":
            return f"{about} fits only by evicting others: {why_not_more}"
        case "Denied":
            hint = did_you_mean(decision) if decision else ""
            return f"{about} is refused by the API server: {stop.message}{hint}"
        case "Gated":
            gate = decision.pre_enqueue if decision else None
            return f"{about} is not queued: {gate.message if gate else stop.message}"
        case "Ignored":
            return f"{about} is ignored: {stop.message}"
        case _:
            return f"{about} stays pending: {why_not_more}"


def _why(decision: Decision | None, stop: StopRow) -> str:
    return why(decision) if decision else stop.message


def _closest(row: ReasonRow) -> str:
    """The objection of the node that comes closest."""
    evidence, node = row.evidence, row.node or ""
    if evidence is None:
        return ""
    if isinstance(evidence, InsufficientResource) and evidence.requested <= evidence.allocatable:
        free = free_on(evidence.resource, evidence.allocatable - evidence.used, node, only=row.nodes == 1)
        return f"needs {amount(evidence.resource, evidence.requested)}, {free}"
    return f"{node}: {sentence(evidence)}"


def _stranded(row: TightestRow) -> str:
    """Other resources that are free on these nodes, and cannot be used."""
    return _amounts({name: number for name, number in row.stranded.items() if number}) or "nothing else"


def _evictions(row: CapacityRow, report: Report) -> str:
    """The cost of the pods that fit by eviction; "" if none is evicted."""
    found = row.preempting
    if found is None or row.fit is None:
        return ""
    if not found.evicting:
        return "Evicting others makes room for no more"
    owners: dict[str, int] = {}
    for decision in report.decisions:
        for victim in decision.victims:
            name = victim.workload or f"Pod {victim.pod}"
            owners[name] = owners.get(name, 0) + 1
    told = {victim.pod for decision in report.decisions for victim in decision.victims}
    owners |= {f"Pod {pod}": 1 for pod in found.victims if pod not in told}
    who = some([f"{number:,} of {name}" for name, number in sorted(owners.items(), key=lambda each: -each[1])])
    if report.snapshot.pod_disruption_budgets is None:
        broken = "whether that violates budgets is not known"
    elif found.violations:
        broken = f"violating {plural(len(found.violations), 'budget')}: {some(found.violations)}"
    else:
        broken = "no budget violated"
    more = found.fit.sets - row.fit.sets
    return (
        f"With preemption {more:,} more: {plural(found.evicting, 'pod')}"
        f" evict{'s' * (found.evicting == 1)} {plural(len(found.victims), 'other')} ({who}), {broken}"
    )


def _shape_stop(stop: StopRow | None) -> str:
    """What stops one kind of pods, in few words."""
    if stop is None:
        return ""
    if stop.gang is not None:
        return why_not(stop.gang)
    return stop.message if stop.outcome == "Denied" else stop_reasons(stop, 3)


def stop_reasons(stop: StopRow, most: int | None = None) -> str:
    """`4 Insufficient cpu, 1 Insufficient memory`; else the message."""
    return ", ".join(f"{row.nodes:,} {row.reason}" for row in stop.reasons[:most]) or stop.message
