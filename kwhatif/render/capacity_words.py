"""Words about how many more pods fit: the same for tables and Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.render.outcomes import Quality, doubted
from kwhatif.render.sentences import free_on, sentence
from kwhatif.render.why import did_you_mean, why
from kwhatif.report import Report
from kwhatif.report.capacity import AddedNodesRow, CapacityRow, CountedRow, FitRow, ReasonRow, StopRow, TightestRow
from kwhatif.report.decision import Decision
from kwhatif.scheduler.framework.evidence import InsufficientResource
from kwhatif.words.amounts import amount, but, plural, some


def headline(row: CapacityRow, doubt: str = "") -> tuple[Quality, str]:
    """How many fit, in one line, and what that depends on."""
    quality, said = _headline(row)
    return doubted(quality, doubt), but(said, doubt)


def _headline(row: CapacityRow) -> tuple[Quality, str]:
    best = row.best
    if best is None and not row.shapes:
        return "doubtful", "no pod runs that could be counted: name a manifest"
    if best is None:
        return "good", f"how many more fit of the {plural(len(row.shapes), 'most common kind')} of pods, each alone"
    if row.added_nodes is not None and row.target is not None:
        return _with_nodes(row.added_nodes, row.target.wanted, row)
    sets, fit = best.sets, "fits" if best.sets == 1 else "fit"
    if row.target is not None and not row.target.met:
        only = f"only {sets:,}" if sets else "not one"
        return "bad", f"{only} of {row.target.wanted:,} more {_what(best, 2)} {'fit' if sets else 'fits'}{_how(row)}"
    if not sets:
        return "bad", f"not one more {_what(best, 1)} fits{_how(row)}"
    number = f"at least {sets:,} more" if best.stop is None and row.target is None else f"{sets:,} more"
    return ("doubtful" if _evicts(row) else "good"), f"{number} {_what(best, sets)} {fit}{_how(row)}"


def _evicts(row: CapacityRow) -> bool:
    return row.preempting is not None and row.preempting.evicting > 0


def _how(row: CapacityRow) -> str:
    """Whether that takes evictions, where they are possible."""
    if row.fit is None:
        return ""
    if _evicts(row):
        return f", {row.fit.sets:,} of them without evicting anybody"
    is_possible = row.preempting is None and row.fit.stop is not None and row.fit.stop.outcome == "Preempts"
    return " without evicting anybody" if is_possible else ""


def _what(fit: FitRow, sets: int) -> str:
    """`pods of Deployment shop/web`; `sets of 2 pods of …`."""
    first, *others = fit.counted
    if not others and first.times == 1:
        return f"pod{'s' * (sets != 1)} {_of(first)}"
    each = " and ".join(f"{counted.times} {_of(counted)}" for counted in fit.counted)
    return f"set{'s' * (sets != 1)} ({each})"


def _of(counted: CountedRow) -> str:
    return f"like {counted.workload}" if counted.workload.startswith("Pod ") else f"of {counted.workload}"


def _with_nodes(added: AddedNodesRow, wanted: int, row: CapacityRow) -> tuple[Quality, str]:
    what = _what(added.fit, wanted)
    now = row.preempting.fit.sets if row.preempting else row.fit.sets if row.fit else 0
    if added.nodes is None:
        with_them = f"even with {plural(added.limit, 'more node')} like {added.like} only {added.fit.sets:,} fit"
        none = "more nodes do not help" if not added.limit else with_them
        return "bad", f"{wanted:,} more {what} do not fit: {none}"
    if not added.nodes:
        return "good", f"{wanted:,} more {what} fit as it is: no nodes are needed"
    nodes = f"{plural(added.nodes, 'more node')} like {added.like}"
    fewer = f"with {added.nodes - 1:,} only {added.fewer:,} fit" if added.nodes > 1 else f"without, {now:,} fit"
    return "good", f"{wanted:,} more {what} fit with {nodes}; {fewer}"


def fit_number(fit: FitRow) -> str:
    """How many sets fit: `7`, or `1,000 or more` where the limit was reached first."""
    return f"{fit.sets:,}{'' if fit.stop else ' or more'}"


def lacking(row: CapacityRow) -> str:
    """What the missing ones ask for in all; "" if none are missing."""
    target = row.target
    if target is None or target.met:
        return ""
    return f"missing: {target.missing:,}, which ask for {amounts(target.lacking) or 'nothing'} in all"


def amounts(requests: Mapping[str, int]) -> str:
    """`0.5 cpu, 1Gi memory`."""
    return ", ".join(f"{amount(name, number)} {name}" for name, number in requests.items())


def stop_sentence(stop: StopRow, fit: FitRow, report: Report, *, last: bool) -> str:
    """Why the next pod does not fit; `last`: with eviction."""
    is_single = len(fit.counted) == 1 and fit.counted[0].times == 1
    which = f"{'pod' if is_single else 'set'} {fit.sets + 1:,}"
    about = f"{which} ({stop.workload})" if len(fit.counted) > 1 else which
    found = [decision for decision in report.decisions if decision.pod == stop.pod]
    decision = found[-1 if last else 0] if found else None
    match stop.outcome:
        case "Preempts" if last:
            return f"{about} fits only by evicting pods that are counted: {_why(decision, stop)}"
        case "Preempts":
            return f"{about} fits only by evicting others: {_why(decision, stop)}"
        case "Denied":
            hint = did_you_mean(decision) if decision else ""
            return f"{about} is refused by the API server: {stop.message}{hint}"
        case "Gated":
            gate = decision.pre_enqueue if decision else None
            return f"{about} is not queued: {gate.message if gate else stop.message}"
        case "Ignored":
            return f"{about} is ignored: {stop.message}"
        case _:
            return f"{about} stays pending: {_why(decision, stop)}"


def _why(decision: Decision | None, stop: StopRow) -> str:
    return why(decision) if decision else stop.message


def closest(row: ReasonRow) -> str:
    """What the node says that comes closest."""
    evidence, node = row.evidence, row.node or ""
    if evidence is None:
        return ""
    if isinstance(evidence, InsufficientResource) and evidence.requested <= evidence.allocatable:
        free = free_on(evidence.resource, evidence.allocatable - evidence.used, node, only=row.nodes == 1)
        return f"needs {amount(evidence.resource, evidence.requested)}, {free}"
    return f"{node}: {sentence(evidence)}"


def stranded(row: TightestRow) -> str:
    """What is free of the other resources on these nodes, and cannot be used."""
    return amounts({name: number for name, number in row.stranded.items() if number}) or "nothing else"


def evictions(row: CapacityRow, report: Report) -> str:
    """What the pods cost that fit by eviction; "" where nobody is evicted."""
    found = row.preempting
    if found is None or row.fit is None:
        return ""
    if not found.evicting:
        return "evicting others makes room for no more"
    owners: dict[str, int] = {}
    for decision in report.decisions:
        for victim in decision.victims:
            name = victim.workload or f"Pod {victim.pod}"
            owners[name] = owners.get(name, 0) + 1
    who = some([f"{number:,} of {name}" for name, number in sorted(owners.items(), key=lambda each: -each[1])])
    if report.snapshot.pod_disruption_budgets is None:
        broken = "whether that violates budgets is not known"
    elif found.violations:
        broken = f"violating {plural(len(found.violations), 'budget')}: {some(found.violations)}"
    else:
        broken = "no budget violated"
    more = found.fit.sets - row.fit.sets
    return (
        f"with preemption {more:,} more: {plural(found.evicting, 'pod')}"
        f" evict{'s' * (found.evicting == 1)} {plural(len(found.victims), 'other')} ({who}), {broken}"
    )


def shape_stop(stop: StopRow | None) -> str:
    """What stops one kind of pods, in few words."""
    if stop is None:
        return ""
    if stop.outcome == "Denied":
        return stop.message
    return ", ".join(f"{row.nodes:,} {row.reason}" for row in stop.reasons[:3]) or stop.message


def zones(fit: FitRow) -> list[tuple[str, Sequence[int]]]:
    """The zones that take pods, and how many of each workload."""
    names = sorted({zone for counted in fit.counted for zone in counted.zones})
    return [(zone, [counted.zones.get(zone, 0) for counted in fit.counted]) for zone in names]


def nodes(fit: FitRow) -> list[tuple[str, Sequence[int]]]:
    """The nodes that take pods, those that take most first, and how many of each workload."""
    names = {name for counted in fit.counted for name in counted.nodes}
    rows = [(name, [counted.nodes.get(name, 0) for counted in fit.counted]) for name in names]
    return sorted(rows, key=lambda row: (-sum(row[1]), row[0]))
