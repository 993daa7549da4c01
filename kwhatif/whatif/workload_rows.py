"""Summing up: what becomes of the pods of one workload, in a row and in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from kwhatif.report import Decision, Outcome, SourceRow, UpdateKind, WorkloadRow

_MOST_NAMED = 3
_MOST_RUNS = 3


def workload_row(source: SourceRow, update: UpdateKind, removed: int, decisions: Sequence[Decision]) -> WorkloadRow:
    """The row about a workload, from the decisions about its pods in their controller's order."""
    counts = Counter(decision.outcome for decision in decisions)
    victims = [victim for decision in decisions for victim in decision.victims]
    return WorkloadRow(
        name=source.object,
        source=source,
        update=update,
        removed=removed,
        replicas=len(decisions),
        placed=counts["Placed"],
        preempting=counts["Preempts"],
        unschedulable=counts["Unschedulable"],
        gated=counts["Gated"],
        denied=counts["Denied"],
        ignored=counts["Ignored"],
        waiting=counts["Waits"],
        nodes=dict(sorted(Counter(decision.node for decision in decisions if decision.node).items())),
        victims=tuple(victim.pod for victim in victims),
        violations=tuple(dict.fromkeys(budget for victim in victims for budget in victim.violates)),
        message=sentence(update, removed, decisions),
    )


def sentence(update: UpdateKind, removed: int, decisions: Sequence[Decision]) -> str:
    """`5 of 6 placed; the 6th evicts batch/etl-1`."""
    gone = f"{removed} removed" if removed else ""
    if not decisions:
        return gone or ("unchanged" if update == "unchanged" else "makes no pods")
    if len(decisions) == 1:
        (decision,) = decisions
        said = [f"placed on {decision.node}" if decision.outcome == "Placed" else _fate((decision,), "")]
    elif len({decision.outcome for decision in decisions}) == 1 and decisions[0].outcome != "Placed":
        said = [_fate(decisions, f"all {len(decisions)}")]
    else:
        said = [_placed(decisions), *_others(decisions), _waiting(decisions)]
    return "; ".join(filter(None, (gone, *said)))


def _placed(decisions: Sequence[Decision]) -> str:
    placed = [decision for decision in decisions if decision.outcome == "Placed"]
    nodes = {decision.node for decision in placed}
    where = f" on {len(nodes)} nodes" if len(nodes) > 1 else f" on {placed[0].node}" if placed else ""
    if len(placed) == len(decisions):
        return f"all {len(decisions)} placed{where}"
    return f"{len(placed) or 'none'} of {len(decisions)} placed"


def _others(decisions: Sequence[Decision]) -> Iterator[str]:
    """One part per run of replicas that fare alike; one per outcome where there are many runs."""
    runs: list[tuple[str, Sequence[Decision]]] = []
    first = 1
    for outcome, run in groupby(decisions, lambda decision: decision.outcome):
        alike = tuple(run)
        if outcome not in ("Placed", "Waits"):
            runs.append((_which(first, alike), alike))
        first += len(alike)
    if len(runs) > _MOST_RUNS:
        by_outcome: dict[Outcome, list[Decision]] = {}
        for _, fared in runs:
            by_outcome.setdefault(fared[0].outcome, []).extend(fared)
        runs = [(str(len(fared)), fared) for fared in by_outcome.values()]
    yield from (_fate(fared, which) for which, fared in runs)


def _which(first: int, alike: Sequence[Decision]) -> str:
    """Pods of a StatefulSet by the names that they will have, others by their number."""
    count = len(alike)
    if (alike[0].owner or "").startswith("StatefulSet "):
        one, last = (decision.pod.partition("/")[2] for decision in (alike[0], alike[-1]))
    else:
        one, last = f"the {ordinal(first)}", ordinal(first + count - 1)
    return one if count == 1 else f"{one} {'and' if count == 2 else 'to'} {last}"


def _waiting(decisions: Sequence[Decision]) -> str:
    """Those that are not made: `3 wait for it`, after the pod that they wait for has just been named."""
    waiting = [decision for decision in decisions if decision.outcome == "Waits"]
    if not waiting:
        return ""
    last = [decision for decision in decisions if decision.outcome not in ("Placed", "Waits")][-1]
    name = str(waiting[0].waits_for)
    what = "it" if last.pod == name else name.partition("/")[2]
    return f"{len(waiting)} {'waits' if len(waiting) == 1 else 'wait'} for {what}"


_FATES: dict[Outcome, tuple[str, str]] = {
    "Preempts": ("evicts", "evict"),
    "Unschedulable": ("stays pending", "stay pending"),
    "Gated": ("is not queued", "are not queued"),
    "Denied": ("is refused", "are refused"),
    "Ignored": ("is not judged", "are not judged"),
}


def _fate(alike: Sequence[Decision], which: str) -> str:
    one, many = _FATES[alike[0].outcome]
    said = f"{which} {one if len(alike) == 1 else many}".strip()
    victims = [victim.pod for decision in alike for victim in decision.victims]
    if not victims:
        return said
    shown = ", ".join(victims[:_MOST_NAMED]) if len(victims) > _MOST_NAMED + 1 else ", ".join(victims)
    return f"{said} {shown}" + (f" and {len(victims) - _MOST_NAMED} more" if len(victims) > _MOST_NAMED + 1 else "")


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `11th`."""
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
