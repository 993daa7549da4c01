"""Sentences about the pods of workloads and groups, about victims, and about pods that have taken the room first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.amounts import amount, listed, ordinal, plural, some
from kwhatif.report import Report
from kwhatif.report.decision import Decision, Evicted, Outcome, RolloutRow, UpdateKind, WorkloadRow, after, evicted
from kwhatif.report.inputs import SourceRow
from kwhatif.report.pod_groups import GroupRow
from kwhatif.scheduler.framework.evidence import InsufficientResource

# --- workloads -------------------------------------------------------------------------------------------------------


#: The maximum number of owners of victims that are named.
_MOST_OWNERS = 3
#: Up to this number, all names of pods are listed.
_MOST_NAMES = 4


def victims_by_owner(victims: Sequence[Evicted]) -> str:
    """`6 pods of Deployment batch/etl (priority -1000)`; a pod without an owner by its own name."""
    words = [f"{_victims(each)} (priority {each.priority})" for each in victims[:_MOST_OWNERS]]
    rest = sum(each.pods for each in victims[_MOST_OWNERS:])
    return listed([*words, f"{rest:,} more"] if rest else words)


def _victims(group: Evicted) -> str:
    if group.pod:
        return f"pod {group.pod}"
    return f"{plural(group.pods, 'pod')} {f'of {group.owner}' if group.owner else 'without an owner'}"


def earlier(names: Sequence[str]) -> str:
    """` after shop/debug, which was pending`: the pods that took the room first; "" if there are none."""
    if not names:
        return ""
    words = listed(names) if len(names) <= _MOST_NAMES else some(names)
    return f" after {words}, which {'was' if len(names) == 1 else 'were'} pending"


#: The maximum number of runs of equal outcomes of a StatefulSet's pods; more are harder to read than counts.
_MOST_RUNS = 3
#: Number of pods without a separate decision, by outcome.
Beyond = Mapping[Outcome, int]
NONE_BEYOND: Beyond = {}

#: Applying a CronJob creates no pods.
_RUN = "its next run, judged last and alone"
_OBSTACLES: dict[Outcome, str] = {
    "Unschedulable": "fits nowhere",
    "Denied": "is refused",
    "Gated": "is not queued",
}


def decisions_by_workload(report: Report) -> tuple[list[tuple[WorkloadRow, list[Decision]]], list[Decision]]:
    """The workloads of the report, each with the decisions about its pods; and the decisions about other pods."""
    by_source: dict[SourceRow | None, list[Decision]] = {}
    for decision in report.decisions:
        by_source.setdefault(decision.source, []).append(decision)
    found = []
    for row in report.workloads:
        left = by_source.get(row.source, [])
        found.append((row, left[: row.replicas]))
        del left[: row.replicas]
    return found, [decision for decisions in by_source.values() for decision in decisions]


def workload_message(row: WorkloadRow, decisions: Sequence[Decision]) -> str:
    """The sentence about a workload, from its counts and the decisions about its judged pods."""
    if row.update == "changed" and ObjectRef.parse(row.name).kind == "Pod" and not (decisions or row.removed):
        return "changed in place"
    is_pod = row.update == "unchanged" and len(decisions) == 1 and row.name == f"Pod {decisions[0].pod}"
    judged = Counter(decision.outcome for decision in decisions)
    beyond = {outcome: more for outcome, count in _counts(row).items() if (more := count - judged[outcome]) > 0}
    said = sentence("new" if is_pod else row.update, row.removed, decisions, beyond)
    if row.name.startswith("CronJob ") and (decisions or beyond):
        return f"{said} ({_RUN})"
    if row.rollout is None or row.rollout.completed:
        return said
    blocking = [decision for decision in decisions if decision.pod == row.rollout.waits_for]
    hangs = hang(row.rollout, blocking)
    return hangs if blocking and said == _fared(blocking, "") else f"{hangs}; {said}"


def _counts(row: WorkloadRow) -> Beyond:
    return {
        "Placed": row.placed,
        "Preempts": row.preempting,
        "Unschedulable": row.unschedulable,
        "Gated": row.gated,
        "Denied": row.denied,
        "Ignored": row.ignored,
        "Waits": row.waiting,
    }


def hang(row: RolloutRow, blocking: Sequence[Decision]) -> str:
    """`hangs after 2 of 6 new pods: the 3rd fits nowhere while 5 old pods stay (maxUnavailable 0)`.

    Args:
        row: the rollout.
        blocking: the decision about the pod that it waits for; empty if that was in the cluster before.
    """
    said = f"hangs after {row.updated} of {row.wanted} new pods"
    if blocking:
        has_name = ObjectRef.parse(blocking[0].owner or "").kind == "StatefulSet"
        which = blocking[0].pod.partition("/")[2] if has_name else f"the {ordinal(row.updated + 1)}"
        said += f": {which} {_OBSTACLES.get(blocking[0].outcome, 'does not run')}"
    elif row.waits_for:
        said += f": {row.waits_for.partition('/')[2]} is not ready"
    if not row.old:
        return said
    limit = f" ({row.limit})" if row.limit else ""
    return f"{said} while {row.old} old {'pod stays' if row.old == 1 else 'pods stay'}{limit}"


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
    """One part per outcome; for a StatefulSet, whose pods have fixed names, one per run of equal outcomes."""
    runs = [tuple(run) for _, run in groupby(decisions, lambda decision: decision.outcome)]
    runs = [run for run in runs if run[0].outcome not in ("Placed", "Waits")]
    has_names = bool(decisions) and ObjectRef.parse(decisions[0].owner or "").kind == "StatefulSet"
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
    """Pods that are not created: `3 wait for it`, after the pod that they wait for was named."""
    waiting = [decision for decision in decisions if decision.outcome == "Waits"]
    if not waiting:
        return ""
    others = [decision.pod for decision in decisions if decision.outcome not in ("Placed", "Waits")]
    name = str(waiting[0].waits_for)
    what = "it" if others[-1:] == [name] else name.partition("/")[2]
    count = len(waiting) + beyond.get("Waits", 0)
    return f"{count} {'waits' if count == 1 else 'wait'} for {what}"


_FATES: dict[Outcome, tuple[str, str]] = {
    "Preempts": ("would evict", "would evict"),
    "Unschedulable": ("stays pending", "stay pending"),
    "Gated": ("is not queued", "are not queued"),
    "Denied": ("is refused", "are refused"),
    "Ignored": ("is not judged", "are not judged"),
}


def _fared(same: Sequence[Decision], which: str) -> str:
    return _fate(same[0].outcome, len(same), same, which)


def _fate(outcome: Outcome, number: int, same: Sequence[Decision], which: str) -> str:
    """The text about `number` pods with the same outcome; `same` are the decisions about them, if any."""
    if outcome == "Waits":
        what = str(same[0].waits_for).partition("/")[2] if same else "others"
        return f"{which} {'waits' if number == 1 else 'wait'} for {what}".strip()
    one, many = _FATES[outcome]
    said = f"{which} {one if number == 1 else many}".strip()
    victims = [victim for decision in same for victim in decision.victims]
    if outcome == "Preempts" and not victims:
        said = f"{which} would be nominated".strip()
    return said + (f" {victims_by_owner(evicted(victims))}" if victims else "") + earlier(after(same))


# --- groups of pods --------------------------------------------------------------------------------------------------


def group_name(row: GroupRow) -> str:
    """`gang ml/train (needs 8 of 8)`; a group without a minimum is just a group."""
    if row.policy == "basic":
        return f"group {row.group}"
    return f"gang {row.group} (needs {row.min_count} of {row.pods})"


def group_line(row: GroupRow) -> str:
    """Which group, and its result."""
    return f"{group_name(row)} {group_sentence(row)}"


def group_sentence(row: GroupRow) -> str:
    """The result of the group, in a few words."""
    if row.outcome == "waiting":
        return f"is not tried: {row.waits_for}" if row.waits_for else "is not tried"
    if row.outcome == "unscheduled":
        return f"does not fit{': ' if row.fitting else '; '}{why_not(row)}"
    found = f"{_of(row.placed, row)}{_where(row)}"
    if row.victims:
        return f"fits only by preemption: {found}; {_cost(row)}"
    return f"fits: {found}"


def why_not(row: GroupRow) -> str:
    """How many pods of a failing group fit, and what is missing."""
    came = _of(row.fitting, row) if row.fitting else ""
    return "; ".join(filter(None, [came, ", ".join(_why(row)), _other_order(row)]))


def _of(count: int, row: GroupRow) -> str:
    return f"{count:,} of {row.pods:,}"


def _where(row: GroupRow) -> str:
    return f" in {row.topology_key} {row.placement}" if row.topology_key and row.placement else ""


def _why(row: GroupRow) -> list[str]:
    found = []
    if row.topology_key and row.placement and row.placements:
        found.append(f"{row.topology_key} {row.placement} is nearest")
    if row.shortages:
        shortage = row.shortages[0]
        lack = next(
            (
                f"{amount(each.resource, each.requested + each.used - each.allocatable)} {each.resource} short"
                f" on {shortage.node}"
                for each in shortage.evidence
                if isinstance(each, InsufficientResource)
            ),
            "",
        )
        on = f"on {plural(shortage.nodes, 'node')}"
        found.append(f"{lack}, the nearest of {plural(shortage.nodes, 'node')}" if lack else f"{shortage.reason} {on}")
    elif not row.placements:
        found.append(row.message)
    return found


def _other_order(row: GroupRow) -> str:
    first = next(iter(row.fits_in_order), "").partition("/")[2]
    return f"it would fit if {first} were tried first" if first else ""


def _cost(row: GroupRow) -> str:
    groups = f", {plural(len(row.victim_groups), 'gang')} as a whole" if row.victim_groups else ""
    broken = f"violating {some(row.violations)}" if row.violations else "no budget violated"
    return f"evicts {plural(len(row.victims), 'pod')}{groups}, {broken}"
