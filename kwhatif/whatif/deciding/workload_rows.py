"""Summing up: what becomes of the pods of one workload, in a row and in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from kwhatif.framework.profile import Profile
from kwhatif.model.cluster import Cluster
from kwhatif.plugins.node_resources_fit import NodeResourcesFit
from kwhatif.policy.words import after, hang, victims_by_owner
from kwhatif.report.decision import Decision, Outcome
from kwhatif.report.inputs import SourceRow
from kwhatif.report.workload import RolloutRow, UpdateKind, WorkloadRow
from kwhatif.workloads.many import allowed_pods

_MOST_RUNS = 3
#: Pods that are counted without a decision of their own: how many, by what becomes of them.
Beyond = Mapping[Outcome, int]
NONE_BEYOND: Beyond = {}


def workload_row(
    source: SourceRow,
    update: UpdateKind,
    removed: int,
    decisions: Sequence[Decision],
    rollout: RolloutRow | None = None,
    left_out: int = 0,
    room: int | None = None,
) -> WorkloadRow:
    """The row about a workload, from the decisions about its pods in their controller's order.

    Args:
        source: where it stands.
        update: what becomes of it.
        removed: how many of its pods go.
        decisions: about its pods.
        rollout: how far it gets.
        left_out: how many more pods it asks for, which were not judged one by one.
        room: how many pods all nodes can take; None: any number.
    """
    beyond = Counter(_beyond(decisions, left_out, room))
    counts = Counter(decision.outcome for decision in decisions) + beyond
    victims = [victim for decision in decisions for victim in decision.victims]
    is_pod = update == "unchanged" and len(decisions) == 1 and source.object == f"Pod {decisions[0].pod}"
    return WorkloadRow(
        name=source.object,
        source=source,
        update=update,
        removed=removed,
        replicas=len(decisions) + left_out,
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
        message=_message(rollout, decisions, sentence("new" if is_pod else update, removed, decisions, beyond)),
        rollout=rollout,
    )


def room_for_pods(profiles: Mapping[str, Profile], cluster: Cluster) -> int | None:
    """How many pods all nodes can take; None where a profile puts any number on a node."""
    counts = (any(isinstance(plugin, NodeResourcesFit) for plugin in each.filter) for each in profiles.values())
    return allowed_pods(cluster) if all(counts) else None


def _beyond(decisions: Sequence[Decision], left_out: int, room: int | None) -> Beyond:
    """What becomes of the pods that are left out: the same as of the last one that was judged.

    Where that one gets a place, those are pending for which nodes have no room, and the others are not judged.
    """
    last = decisions[-1].outcome if decisions else "Ignored"
    if not left_out or last not in ("Placed", "Preempts"):
        return {last: left_out} if left_out else NONE_BEYOND
    on_nodes = sum(decision.outcome in ("Placed", "Preempts") for decision in decisions)
    open_ = left_out if room is None else min(left_out, max(0, room - on_nodes))
    fates: Beyond = {"Unschedulable": left_out - open_, "Ignored": open_}
    return {outcome: count for outcome, count in fates.items() if count}


def _message(rollout: RolloutRow | None, decisions: Sequence[Decision], said: str) -> str:
    if rollout is None or rollout.completed:
        return said
    blocking = [decision for decision in decisions if decision.pod == rollout.waits_for]
    hangs = hang(rollout, blocking)
    return hangs if blocking and said == _fared(blocking, "") else f"{hangs}; {said}"


def sentence(update: UpdateKind, removed: int, decisions: Sequence[Decision], beyond: Beyond = NONE_BEYOND) -> str:
    """`5 of 6 pods fit, 1 would evict 1 pod of batch/etl (priority -10)`."""
    gone = f"{removed} removed" if removed and update != "restarted" else ""
    if not decisions and not beyond:
        return gone or ("unchanged" if update == "unchanged" else "makes no pods")
    if update == "unchanged":
        gone = "unchanged, but not all of its pods run"
    return "; ".join(filter(None, (gone, ", ".join(filter(None, _parts(decisions, beyond))))))


def _parts(decisions: Sequence[Decision], beyond: Beyond) -> Iterator[str]:
    count, outcomes = len(decisions) + sum(beyond.values()), {decision.outcome for decision in decisions} | {*beyond}
    if len(outcomes) == 1 and outcomes != {"Placed"}:
        (outcome,) = outcomes
        one = "" if decisions else "1 pod"
        yield _fate(outcome, count, decisions, one if count == 1 else f"all {count} pods")
    elif count == 1:
        yield f"fits on {decisions[0].node}"
    else:
        yield _placed(decisions, count)
        yield from _others(decisions, beyond)
        yield _waiting(decisions, beyond)


def _placed(decisions: Sequence[Decision], count: int) -> str:
    placed = [decision for decision in decisions if decision.outcome == "Placed"]
    if len(placed) < count:
        fit = "fits" if len(placed) == 1 else "fit"
        return f"{len(placed) or 'none'} of {count} pods {fit}"
    nodes = {decision.node for decision in placed}
    return f"all {len(decisions)} pods fit on {placed[0].node if len(nodes) == 1 else f'{len(nodes)} nodes'}"


def _others(decisions: Sequence[Decision], beyond: Beyond) -> Iterator[str]:
    """One part per outcome; of a StatefulSet, whose pods have names that last, one per run of pods that fare alike."""
    runs = [tuple(run) for _, run in groupby(decisions, lambda decision: decision.outcome)]
    runs = [run for run in runs if run[0].outcome not in ("Placed", "Waits")]
    has_names = bool(decisions) and (decisions[0].owner or "").startswith("StatefulSet ")
    if has_names and len(runs) <= _MOST_RUNS and not {*beyond} - {"Waits"}:
        yield from (_fared(run, _named(run)) for run in runs)
        return
    by_outcome: dict[Outcome, list[Decision]] = {}
    for run in runs:
        by_outcome.setdefault(run[0].outcome, []).extend(run)
    for outcome in dict.fromkeys((*by_outcome, *(each for each in beyond if each != "Waits"))):
        fared = by_outcome.get(outcome, ())
        count = len(fared) + beyond.get(outcome, 0)
        yield _fate(outcome, count, fared, str(count))


def _named(run: Sequence[Decision]) -> str:
    one, last = (decision.pod.partition("/")[2] for decision in (run[0], run[-1]))
    return one if len(run) == 1 else f"{one} {'and' if len(run) == 2 else 'to'} {last}"


def _waiting(decisions: Sequence[Decision], beyond: Beyond) -> str:
    """Those that are not made: `3 wait for it`, after the pod that they wait for has just been named."""
    waiting = [decision for decision in decisions if decision.outcome == "Waits"]
    if not waiting:
        return ""
    last = [decision for decision in decisions if decision.outcome not in ("Placed", "Waits")][-1]
    name = str(waiting[0].waits_for)
    what = "it" if last.pod == name else name.partition("/")[2]
    count = len(waiting) + beyond.get("Waits", 0)
    return f"{count} {'waits' if count == 1 else 'wait'} for {what}"


_FATES: dict[Outcome, tuple[str, str]] = {
    "Preempts": ("would evict", "would evict"),
    "Unschedulable": ("stays pending", "stay pending"),
    "Gated": ("is not queued", "are not queued"),
    "Denied": ("is refused", "are refused"),
    "Ignored": ("is not judged", "are not judged"),
}


def _fared(alike: Sequence[Decision], which: str) -> str:
    return _fate(alike[0].outcome, len(alike), alike, which)


def _fate(outcome: Outcome, number: int, alike: Sequence[Decision], which: str) -> str:
    """What becomes of so many pods; `alike` are the decisions about them, as far as there are any."""
    one, many = _FATES[outcome]
    said = f"{which} {one if number == 1 else many}".strip()
    victims = [victim for decision in alike for victim in decision.victims]
    if outcome == "Preempts" and not victims:
        said = f"{which} would be nominated".strip()
    return said + (f" {victims_by_owner(victims)}" if victims else "") + after(alike)
