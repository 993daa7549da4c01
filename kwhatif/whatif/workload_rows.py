"""Summing up: what becomes of the pods of one workload, in a row and in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from kwhatif.model.cluster import Cluster
from kwhatif.model.meta import controller_of
from kwhatif.model.workload import Job, ReplicaSet
from kwhatif.report import Decision, Outcome, SourceRow, UpdateKind, VictimRow, WorkloadRow

_MOST_NAMED = 3
_MOST_RUNS = 3


def workload_row(
    source: SourceRow, update: UpdateKind, removed: int, decisions: Sequence[Decision], cluster: Cluster
) -> WorkloadRow:
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
        message=sentence(update, removed, decisions, cluster),
    )


def sentence(update: UpdateKind, removed: int, decisions: Sequence[Decision], cluster: Cluster) -> str:
    """`5 of 6 pods fit, 1 would evict 1 pod of batch/etl (priority -10)`."""
    gone = f"{removed} removed; " if removed and update != "restarted" else ""
    if not decisions:
        return gone.removesuffix("; ") or ("unchanged" if update == "unchanged" else "makes no pods")
    return gone + ", ".join(filter(None, _parts(decisions, cluster)))


def _parts(decisions: Sequence[Decision], cluster: Cluster) -> Iterator[str]:
    count, outcomes = len(decisions), {decision.outcome for decision in decisions}
    if count == 1:
        (decision,) = decisions
        yield f"fits on {decision.node}" if decision.outcome == "Placed" else _fate(decisions, "", cluster)
    elif len(outcomes) == 1 and outcomes != {"Placed"}:
        yield _fate(decisions, f"all {count} pods", cluster)
    else:
        yield _placed(decisions)
        yield from _others(decisions, cluster)
        yield _waiting(decisions)


def _placed(decisions: Sequence[Decision]) -> str:
    placed = [decision for decision in decisions if decision.outcome == "Placed"]
    if len(placed) < len(decisions):
        fit = "fits" if len(placed) == 1 else "fit"
        return f"{len(placed) or 'none'} of {len(decisions)} pods {fit}"
    nodes = {decision.node for decision in placed}
    return f"all {len(decisions)} pods fit on {placed[0].node if len(nodes) == 1 else f'{len(nodes)} nodes'}"


def _others(decisions: Sequence[Decision], cluster: Cluster) -> Iterator[str]:
    """One part per outcome; of a StatefulSet, whose pods have names that last, one per run of pods that fare alike."""
    runs = [tuple(run) for _, run in groupby(decisions, lambda decision: decision.outcome)]
    runs = [run for run in runs if run[0].outcome not in ("Placed", "Waits")]
    if (decisions[0].owner or "").startswith("StatefulSet ") and len(runs) <= _MOST_RUNS:
        yield from (_fate(run, _named(run), cluster) for run in runs)
        return
    by_outcome: dict[Outcome, list[Decision]] = {}
    for run in runs:
        by_outcome.setdefault(run[0].outcome, []).extend(run)
    yield from (_fate(fared, str(len(fared)), cluster) for fared in by_outcome.values())


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


def _fate(alike: Sequence[Decision], which: str, cluster: Cluster) -> str:
    one, many = _FATES[alike[0].outcome]
    said = f"{which} {one if len(alike) == 1 else many}".strip()
    victims = [victim for decision in alike for victim in decision.victims]
    if alike[0].outcome == "Preempts" and not victims:
        return f"{which} would be nominated".strip()
    return f"{said} {_victims(victims, cluster)}" if victims else said


def _victims(victims: Sequence[VictimRow], cluster: Cluster) -> str:
    """`6 pods of batch/etl (priority -1000) and batch/lonely (priority 0)`."""
    groups: dict[tuple[str, int], list[VictimRow]] = {}
    for victim in victims:
        groups.setdefault((workload_of(victim, cluster), victim.priority), []).append(victim)
    shown = list(groups.items())[:_MOST_NAMED]
    said = [f"{_counted(owner, group)} (priority {priority})" for (owner, priority), group in shown]
    left = len(victims) - sum(len(group) for _, group in shown)
    if left:
        said.append(f"{left} more")
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _counted(owner: str, group: Sequence[VictimRow]) -> str:
    if not owner:
        return group[0].pod if len(group) == 1 else f"{len(group)} pods without an owner"
    return f"{len(group)} {'pod' if len(group) == 1 else 'pods'} of {owner}"


def workload_of(victim: VictimRow, cluster: Cluster) -> str:
    """`namespace/name` of the workload that the pod belongs to, "" for none: not of its ReplicaSet, nor of a run of it.

    A ReplicaSet or Job that is not in the input stands for itself.
    """
    kind, _, key = (victim.owner or "").partition(" ")
    between: ReplicaSet | Job | None = None
    if kind == "ReplicaSet":
        between = cluster.get(ReplicaSet, key)
    elif kind == "Job":
        between = cluster.get(Job, key)
    owner = controller_of(between.metadata) if between is not None else None
    return f"{key.partition('/')[0]}/{owner.name}" if owner else key
