"""Summing up: what becomes of the pods of one workload, in a row and in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from kwhatif.policy.words import hang, victims_by_owner
from kwhatif.report import Decision, Outcome, RolloutRow, SourceRow, UpdateKind, WorkloadRow

_MOST_RUNS = 3


def workload_row(
    source: SourceRow,
    update: UpdateKind,
    removed: int,
    decisions: Sequence[Decision],
    rollout: RolloutRow | None = None,
) -> WorkloadRow:
    """The row about a workload, from the decisions about its pods in their controller's order."""
    counts = Counter(decision.outcome for decision in decisions)
    victims = [victim for decision in decisions for victim in decision.victims]
    is_pod = update == "unchanged" and len(decisions) == 1 and source.object == f"Pod {decisions[0].pod}"
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
        message=_hang(rollout, decisions) + sentence("new" if is_pod else update, removed, decisions),
        rollout=rollout,
    )


def _hang(rollout: RolloutRow | None, decisions: Sequence[Decision]) -> str:
    if rollout is None or rollout.completed:
        return ""
    return hang(rollout, [decision for decision in decisions if decision.pod == rollout.waits_for]) + "; "


def sentence(update: UpdateKind, removed: int, decisions: Sequence[Decision]) -> str:
    """`5 of 6 pods fit, 1 would evict 1 pod of batch/etl (priority -10)`."""
    gone = f"{removed} removed" if removed and update != "restarted" else ""
    if not decisions:
        return gone or ("unchanged" if update == "unchanged" else "makes no pods")
    if update == "unchanged":
        gone = "unchanged, but not all of its pods run"
    return "; ".join(filter(None, (gone, ", ".join(filter(None, _parts(decisions))))))


def _parts(decisions: Sequence[Decision]) -> Iterator[str]:
    count, outcomes = len(decisions), {decision.outcome for decision in decisions}
    if count == 1:
        (decision,) = decisions
        yield f"fits on {decision.node}" if decision.outcome == "Placed" else _fate(decisions, "")
    elif len(outcomes) == 1 and outcomes != {"Placed"}:
        yield _fate(decisions, f"all {count} pods")
    else:
        yield _placed(decisions)
        yield from _others(decisions)
        yield _waiting(decisions)


def _placed(decisions: Sequence[Decision]) -> str:
    placed = [decision for decision in decisions if decision.outcome == "Placed"]
    if len(placed) < len(decisions):
        fit = "fits" if len(placed) == 1 else "fit"
        return f"{len(placed) or 'none'} of {len(decisions)} pods {fit}"
    nodes = {decision.node for decision in placed}
    return f"all {len(decisions)} pods fit on {placed[0].node if len(nodes) == 1 else f'{len(nodes)} nodes'}"


def _others(decisions: Sequence[Decision]) -> Iterator[str]:
    """One part per outcome; of a StatefulSet, whose pods have names that last, one per run of pods that fare alike."""
    runs = [tuple(run) for _, run in groupby(decisions, lambda decision: decision.outcome)]
    runs = [run for run in runs if run[0].outcome not in ("Placed", "Waits")]
    if (decisions[0].owner or "").startswith("StatefulSet ") and len(runs) <= _MOST_RUNS:
        yield from (_fate(run, _named(run)) for run in runs)
        return
    by_outcome: dict[Outcome, list[Decision]] = {}
    for run in runs:
        by_outcome.setdefault(run[0].outcome, []).extend(run)
    yield from (_fate(fared, str(len(fared))) for fared in by_outcome.values())


def _named(run: Sequence[Decision]) -> str:
    one, last = (decision.pod.partition("/")[2] for decision in (run[0], run[-1]))
    return one if len(run) == 1 else f"{one} {'and' if len(run) == 2 else 'to'} {last}"


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
    "Preempts": ("would evict", "would evict"),
    "Unschedulable": ("stays pending", "stay pending"),
    "Gated": ("is not queued", "are not queued"),
    "Denied": ("is refused", "are refused"),
    "Ignored": ("is not judged", "are not judged"),
}


def _fate(alike: Sequence[Decision], which: str) -> str:
    one, many = _FATES[alike[0].outcome]
    said = f"{which} {one if len(alike) == 1 else many}".strip()
    victims = [victim for decision in alike for victim in decision.victims]
    if alike[0].outcome == "Preempts" and not victims:
        return f"{which} would be nominated".strip()
    return f"{said} {victims_by_owner(victims)}" if victims else said
