"""Completes a report: adds the sentences that depend only on the rest of the report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.render.amounts import in_seconds
from kwhatif.render.caveats import sentence, sentences
from kwhatif.render.certainty import choices
from kwhatif.render.edits import worded_capacity, worded_edit
from kwhatif.render.harm import finding_message, why_blocked, why_harmful
from kwhatif.render.policy import worded_finding
from kwhatif.render.workloads import decisions_by_workload, workload_message
from kwhatif.report import Report
from kwhatif.report.deciders import DescheduleRow
from kwhatif.report.inputs import StandInRow
from kwhatif.report.risks import AuditFindingRow, AuditRow
from kwhatif.report.story import CycleRow, GoneRow, ScenarioRow, Story, VerdictRow


def worded_story(story: Story) -> Story:
    """The story with sentences about the assumptions, the worst harm, and how to end a loop."""
    cycle = None if story.cycle is None else replace(story.cycle, remedies=tuple(_remedies(story.cycle, story.gone)))
    return replace(
        story,
        assumptions=tuple(_assumptions(story)),
        cycle=cycle,
        blocked=tuple(replace(row, why=why_blocked(row)) for row in story.blocked),
        verdict=None if story.verdict is None else worded_verdict(story.verdict),
    )


def worded_verdict(verdict: VerdictRow) -> VerdictRow:
    """The verdict with its worst harm in words."""
    return replace(verdict, why=why_harmful(verdict))


def _assumptions(story: Story) -> Iterator[str]:
    given = story.parameters
    ready = "as soon as its probes allow" if given["readiness"] == "probe" else f"{_seconds(given['readiness'])} later"
    yield f"a pod's containers run {_seconds(given['start'])} after it got its node, and it is ready {ready}"
    end = (
        "its whole grace period"
        if given["termination"] == "grace"
        else f"{_seconds(given['termination'])} (or its grace period, if that is shorter)"
    )
    yield f"a pod takes {end} to end"
    if any(ObjectRef.parse(row.workload).kind == "Job" for row in story.workloads):
        yield "Jobs run on, unless it is said for how long, or a deadline within 10 minutes makes room for others"
    if "nodeStartup" in given:
        yield f"a new node is ready {_seconds(given['nodeStartup'])} after the autoscaler has asked for it"
        yield "nothing else acts: no operator, descheduler, or person"
    else:
        yield "nothing else acts: no autoscaler, operator, descheduler, or person"
    yield _conventions(story)
    yield "volumes are provisioned, images pulled, pods admitted by their kubelets, without a failure"


def _conventions(story: Story) -> str:
    """The number of choices between equals, by kind."""
    made = choices(story)
    return f"{made} (simulate --runs tries others)" if made else "no choice was between equals"


def _remedies(cycle: CycleRow, gone: Sequence[GoneRow]) -> Iterator[str]:
    """How to end the loop, depending on how the pods in it are removed."""
    how = {row.how for row in gone if (row.owner or f"Pod {row.pod}") in cycle.participants}
    if "Preempted" in how:
        yield "give the pods that are evicted again and again their own nodes (a pool with a taint, or node affinity)"
        yield "let the pods that evict them have preemptionPolicy: Never"
    if "anti-affinity" in cycle.causes:
        yield "let the anti-affinity of the pods that evict them not select them, or choose a smaller topology"
    if "spread" in cycle.causes:
        yield "let the spread constraint of the pods that evict them not select them, or raise its maxSkew"
    if "TaintEviction" in how:
        yield "the taint is tolerated for a time only: do not tolerate it, or add the taint with effect NoSchedule"
    if "DeviceTaintEviction" in how:
        yield "a device's taint is tolerated by the scheduler alone: tolerate it with effect NoExecute, or not at all"
    if cycle.suspected:
        yield "look for two controllers that undo each other's work"


def _seconds(value: object) -> str:
    return in_seconds(value) if isinstance(value, float | int) else str(value)


def worded(report: Report) -> Report:
    """The report with every caveat, workload, replacement, story and scenario in words, and custom resources named."""
    details = tuple(replace(caveat, message=sentence(caveat)) for caveat in report.caveat_details)
    policy = report.policy
    complete = replace(
        report,
        changes=tuple(map(worded_edit, report.changes)),
        capacity=None if report.capacity is None else worded_capacity(report.capacity),
        caveats=sentences(details),
        caveat_details=details,
        workloads=tuple(
            replace(row, message=workload_message(row, decisions))
            for row, decisions in decisions_by_workload(report)[0]
        ),
        policy=None if policy is None else replace(policy, findings=tuple(map(worded_finding, policy.findings))),
        deschedule=None if report.deschedule is None else _cycle(report.deschedule),
        story=None if report.story is None else worded_story(report.story),
        scenarios=tuple(map(_scenario, report.scenarios)),
        audit=None if report.audit is None else _audit(report.audit),
    )
    return with_own_names(complete)


def _cycle(row: DescheduleRow) -> DescheduleRow:
    from kwhatif.render.deschedule import worded_cycle  # other answers do not need it

    return replace(worded_cycle(row), story=None if row.story is None else worded_story(row.story))


def _audit(row: AuditRow) -> AuditRow:
    return replace(row, findings=tuple(map(_audit_finding, row.findings)))


def _audit_finding(row: AuditFindingRow) -> AuditFindingRow:
    story = None if row.story is None else worded_story(row.story)
    return replace(row, message=finding_message(row), story=story)


def _scenario(row: ScenarioRow) -> ScenarioRow:
    story = None if row.story is None else worded_story(row.story)
    return replace(row, verdict=worded_verdict(row.verdict), story=story)


# --- custom resources have their own names: Rollout shop/web, not the Deployment as which it is judged ---------------


#: The name of an object in a text: `Deployment shop/web`.
_NAME = re.compile(r"(?<![\w./-])[A-Z][A-Za-z]+ [\w-]+/[\w-]+(?:\.[\w-]+)*(?![\w/-])")


def with_own_names(report: Report) -> Report:
    """The report with the names of custom resources; `stand_ins` are reduced to those that it names."""
    names = {row.judged_as: row.object for row in report.stand_ins}
    if not names:
        return report
    names |= {_whole(row): "" for row in report.stand_ins}
    used: set[str] = set()

    def own_name(match: re.Match[str]) -> str:
        if match[0] in names:
            used.add(match[0])
        return names.get(match[0]) or match[0]

    def named(text: str) -> str:
        return _NAME.sub(own_name, text)

    renamed: Report = _walked(replace(report, stand_ins=()), named)
    kept = tuple(row for row in report.stand_ins if row.judged_as in used or _whole(row) in used)
    return replace(renamed, stand_ins=kept)


def _whole(row: StandInRow) -> str:
    """The custom resource without the part."""
    return row.object.partition(" (")[0]


def _walked(value: Any, named: Callable[[str], str]) -> Any:
    """The value with all texts renamed."""
    new: Any = value
    if isinstance(value, str):
        new = named(value)
    elif isinstance(value, msgspec.Struct):
        fields = {name: (was, _walked(was, named)) for name in value.__struct_fields__ if (was := getattr(value, name))}
        changed = {name: now for name, (was, now) in fields.items() if now is not was}
        new = replace(value, **changed) if changed else value
    elif isinstance(value, tuple | list):
        items = [_walked(each, named) for each in value]
        new = value if all(now is was for now, was in zip(items, value, strict=True)) else type(value)(items)
    elif isinstance(value, Mapping):
        new = {_walked(key, named): _walked(each, named) for key, each in value.items()}
    return new
