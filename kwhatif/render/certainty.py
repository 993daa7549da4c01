"""How certain a statement is: proven, one of several outcomes, or assumed; and in short, what a verdict depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from kwhatif.kube.model.caveat import Caveat, autoscaling, manifests, reading, scheduling, workloads
from kwhatif.render.amounts import plural
from kwhatif.render.blocks import DEGREES, PROVEN, Sure
from kwhatif.render.caveats import in_short
from kwhatif.render.outcomes import Part
from kwhatif.report import Report
from kwhatif.report.decision import Decision, WorkloadRow
from kwhatif.report.risks import AuditFindingRow
from kwhatif.report.story import Story

#: Caveats of which the cluster may decide differently, at random or by an unknown order.
SEVERAL = frozenset[type](
    {
        scheduling.OrderOfEquals,
        scheduling.EvictionOrder,
        scheduling.Sampling,
        scheduling.PreemptionSampling,
        autoscaling.ExpanderTied,
    }
)
#: Caveats that only say how it was judged: the cluster does the same.
EXACT = frozenset[type](
    {
        scheduling.BudgetComputed,
        scheduling.BudgetNotComputed,
        scheduling.BudgetRecounted,
        scheduling.Batching,
        scheduling.ClaimUnbound,
        scheduling.ExtenderBinds,
        scheduling.NodeNameSet,
        scheduling.PendingAsleep,
        scheduling.TaintRulesIgnored,
        autoscaling.AutoscalerSettingsRead,
        autoscaling.AutoscalerKnowsNoGroups,
        manifests.PodSecurityWarns,
        manifests.HelmHooks,
        workloads.ReplicasKept,
        workloads.OneOfEqualPods,
        reading.DanglingReference,
    }
)
#: Random choices of a story, as `conventions` count them.
_CHOICES = {"nodes": "node", "evictions": "preemption", "drains": "drain"}


def of_report(report: Report) -> Sequence[Sure]:
    """The answer as a whole."""
    return _sure([*_report_choices(report), *_cut(report)], filter(of_command(report), report.caveat_details))


def of_decision(decision: Decision, report: Report) -> Sequence[Sure]:
    """The outcome of a pod."""
    return _sure(_ties([decision]), _about(report, about_pod(decision)))


def of_workload(row: WorkloadRow, decisions: Sequence[Decision], report: Report) -> Sequence[Sure]:
    """The outcome of the pods of a workload."""
    return _sure(_ties(decisions), _about(report, about_workload(row, decisions)))


def of_story(story: Story, report: Report) -> Sequence[Sure]:
    """How a story ends."""
    return _sure([*_story_choices(story), *_unfinished(story)], filter(of_command(report), report.caveat_details))


def of_finding(found: AuditFindingRow, report: Report) -> Sequence[Sure]:
    """A finding of an audit."""
    told = [] if found.worst.cut is None else [_NOT_OVER]
    if found.worst.autoscaled:
        told.append(Sure("assumed", "an autoscaler may add nodes"))
    return _sure(told, report.caveat_details)


def choices(story: Story) -> str:
    """`of equal choices the first by name is taken: 1 node, 2 preemptions`; "" if there were none."""
    made = [plural(number, words) for what, words in _CHOICES.items() if (number := story.conventions.get(what))]
    return f"of equal choices the first by name is taken: {', '.join(made)}" if made else ""


def _sure(found: Iterable[Sure], caveats: Iterable[Caveat]) -> Sequence[Sure]:
    """The reasons for uncertainty, the weakest degree first."""
    kept = [caveat for caveat in caveats if type(caveat) not in EXACT]
    several = in_short([caveat for caveat in kept if type(caveat) in SEVERAL])
    assumed = in_short([caveat for caveat in kept if type(caveat) not in SEVERAL])
    said = [*found, *([Sure("several", several)] if several else []), *([Sure("assumed", assumed)] if assumed else [])]
    return sorted(dict.fromkeys(said), key=lambda each: DEGREES.index(each.degree)) or (PROVEN,)


def _about(report: Report, concerns: Callable[[Caveat], bool]) -> Iterable[Caveat]:
    return filter(concerns, report.caveat_details)


# --- facts besides the caveats ---------------------------------------------------------------------------------------

_NOT_OVER = Sure("assumed", "it was not played to its end")


def _ties(decisions: Sequence[Decision]) -> Iterator[Sure]:
    tied = [count for each in decisions if (count := _equals(each)) > 1]
    if len(decisions) == 1 and tied:
        yield Sure("several", f"{plural(tied[0], 'node')} are equally good")
    else:
        yield from _tied(len(tied), len(decisions))


def _tied(tied: int, pods: int) -> Iterator[Sure]:
    if tied:
        yield Sure("several", f"{tied:,} of {plural(pods, 'pod')} {'has' if tied == 1 else 'have'} equally good nodes")


def _equals(decision: Decision) -> int:
    """The number of nodes that are equally good for the pod."""
    if decision.outcome == "Preempts" and decision.preemption is not None:
        return len(decision.preemption.ties)
    return len(decision.ties) if decision.outcome == "Placed" else 0


def _report_choices(report: Report) -> Iterator[Sure]:
    if report.command not in ("upgrade", "capacity", "advise", "autoscale"):
        yield from _ties(report.decisions)
    if report.story is not None:
        yield from _story_choices(report.story)
    evicted = () if report.deschedule is None else report.deschedule.evicted
    tied = sum(each.replacement is not None and len(each.replacement.ties) > 1 for each in evicted)
    yield from _tied(tied, len(evicted))


def _story_choices(story: Story) -> Iterator[Sure]:
    runs = story.runs
    if runs is not None:
        if any(each.runs < runs.runs for each in runs.facts):
            yield Sure("several", f"{plural(runs.runs, 'run')} with other choices and times end differently")
    elif made := choices(story):
        yield Sure("several", made)


def _cut(report: Report) -> Iterator[Sure]:
    if report.story is not None:
        yield from _unfinished(report.story)
    unjudged = 0 if report.audit is None else sum(each.scenarios - each.judged for each in report.audit.probes)
    if unjudged:
        yield Sure("assumed", f"{plural(unjudged, 'what-if')} not reached")


def _unfinished(story: Story) -> Iterator[Sure]:
    if story.outcome == "horizon" or (story.cycle is not None and story.cycle.suspected):
        yield _NOT_OVER


# --- what a verdict depends on ---------------------------------------------------------------------------------------


def qualifier(report: Report, concerns: Callable[[Caveat], bool] = lambda _: True) -> str:
    """What the verdict depends on: `no pod is known; the cluster is as of 3h ago`; "" if nothing.

    Args:
        report: for a gate, only caveats count of which its policy warns, or on which it fails.
        concerns: whether a caveat is about the subject of the verdict, see `about_pod` and `about_workload`.
    """
    return in_short(filter(concerns, _that_count(report)))


def shared(report: Report, parts: Sequence[Part]) -> frozenset[Caveat]:
    """The caveats on which all verdicts depend; they are shown once, below the verdicts."""
    about = [about_pod(decisions[0]) if row is None else about_workload(row, decisions) for row, decisions in parts]
    return frozenset(caveat for caveat in _that_count(report) if all(concerns(caveat) for concerns in about))


def _that_count(report: Report) -> Iterator[Caveat]:
    if report.policy is None:
        yield from (caveat for caveat in report.caveat_details if caveat.level == "warn")
        return
    for finding in report.policy.findings:
        if finding.caveat is not None and finding.suppressed is None:
            yield finding.caveat


def of_command(report: Report) -> Callable[[Caveat], bool]:
    """Whether a caveat concerns the whole answer; budgets matter only if pods are, or would have to be, evicted."""
    if report.deschedule is not None:
        has_evictions = bool(report.deschedule.evicted)
    else:
        story = report.story
        has_evictions = report.is_judged or story is None or bool(story.verdict or story.gone)
    return lambda caveat: has_evictions or not isinstance(caveat, reading.NoBudgets)


def about_pod(decision: Decision) -> Callable[[Caveat], bool]:
    """Whether a caveat concerns the pod, and is not already part of the sentence about it."""

    def concerns(caveat: Caveat) -> bool:
        if isinstance(caveat, manifests.PodSecurityNotChecked):  # there may be thousands of pods
            return decision.pod.partition("/")[0] in dict(caveat.namespaces)
        if caveat.pods:
            return decision.pod in caveat.pods
        match caveat:
            case reading.NoBudgets() | reading.NoNodes():
                return False  # part of the sentence
            case reading.NoPriorityClasses():
                return decision.outcome in ("Preempts", "Unschedulable")
            case (
                reading.NoWorkloads()
                | workloads.ImagesNotCompared()
                | workloads.FieldsNotCompared()
                | workloads.AutoscalerNotModelled()
                | workloads.AutoscalersNotRead()
            ):
                return False  # about workloads
        return True

    return concerns


def about_workload(row: WorkloadRow, decisions: Sequence[Decision]) -> Callable[[Caveat], bool]:
    """Whether a caveat concerns the workload, or one of its pods."""
    pods = {decision.pod for decision in decisions}

    def concerns(caveat: Caveat) -> bool:
        if caveat.pods:
            return not pods.isdisjoint(caveat.pods)
        match caveat:
            case workloads.FieldsNotCompared():
                return row.update in ("unchanged", "scaled") and caveat.subject in ("", row.name)
            case reading.NoBudgets():
                return row.preempting > 0
            case reading.NoPriorityClasses():
                return row.preempting + row.unschedulable > 0
        return caveat.subject in ("", row.name)

    return concerns
