"""Findings of the policy in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from msgspec.structs import replace

from kwhatif.kube.matching.field_errors import did_you_mean
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.cluster import ObjectRef
from kwhatif.policy import violations as facts
from kwhatif.policy.violations import Fact, Finding, Violation
from kwhatif.render.amounts import some
from kwhatif.render.caveats import sentence
from kwhatif.render.harm import finding_message, new_what_if, why_harmful
from kwhatif.render.workloads import earlier, hang, victims_by_owner
from kwhatif.report.decision import ANNOTATION, FindingRow, Outcome

_STUCK: Mapping[Outcome, tuple[str, str]] = {
    "Unschedulable": ("stays pending", "stay pending"),
    "Denied": ("is refused", "are refused"),
    "Gated": ("is not queued", "are not queued"),
    "Ignored": ("is not judged", "are not judged"),
}


def worded_finding(finding: FindingRow) -> FindingRow:
    """The finding with its sentence."""
    if not isinstance(finding, Finding):
        return finding
    fields = {name: getattr(finding, name) for name in FindingRow.__struct_fields__}
    text, caveat = violation_message(finding.violation), finding.caveat
    return FindingRow(**fields | {"message": text, "caveat": None if caveat is None else replace(caveat, message=text)})


def violation_message(violation: Violation) -> str:
    """The sentence about the violation."""
    fact = violation.fact
    text = sentence(fact) if isinstance(fact, Caveat) else _sentence(violation, fact)
    return f"once all have reacted, {text}" if violation.reacted else text


def _sentence(violation: Violation, fact: Fact) -> str:  # noqa: C901, PLR0911, PLR0912 - one sentence for each kind
    match fact:
        case facts.PodsStuck():
            return _stuck(violation, fact)
        case facts.RolloutHangs():
            return _hangs(violation)
        case facts.PodsEvict():
            evicts = _pods(violation, fact.pods, "would evict", "would evict")
            return f"{evicts} {victims_by_owner(fact.victims) or 'others'}{earlier(fact.after)}"
        case facts.BudgetsBroken():
            return f"evicting {victims_by_owner(fact.victims)} violates {some(fact.budgets)}"
        case facts.TooManyVictims():
            allowed = f"{fact.limit} {'is' if fact.limit == 1 else 'are'} allowed"
            return f"brings the number of victims to {fact.victims}; {allowed}"
        case facts.ProtectedEvicted():
            evicts, least = _pods(violation, fact.pods, "would evict", "would evict"), fact.min_priority
            why = "in a protected namespace" if least is None else f"of priority {least} or more"
            return f"{evicts} {victims_by_owner(fact.victims)}, {why}"
        case facts.ClassesForbidden():
            classes, namespaces = some(fact.classes), some(fact.namespaces)
            return f"uses priority class {classes}, which namespace {namespaces} may not use"
        case facts.NodesForbidden():
            return f"{_pods(violation, fact.pods, 'may land', 'may land')} on {some(fact.nodes)}"
        case facts.ExpressionFalse():
            return fact.message or f"does not hold: {fact.expression}"
        case facts.ExpressionFails():
            return f"cannot be evaluated: {violation.error}"
        case facts.StaysPending():
            return f"{_who(fact)} pending once all has settled; no pod of priority {fact.min_priority} or more may be"
        case facts.StaysRefused():
            return f"pods of {fact.workload} are refused once all has settled: {fact.message}"
        case facts.NeverSettles():
            return f"it never settles{f': {some(fact.participants)} replace each other' if fact.participants else ''}"
        case facts.BudgetOverrun():
            pods = "a healthy pod" if fact.pods == 1 else f"{fact.pods} healthy pods"
            return f"budget {fact.budget} falls short of {pods} on the way"
        case facts.Fragile():
            return _fragile(fact)
        case facts.Brought():
            return f"{finding_message(fact.finding)}; {_what_is_new(fact)}"
        case facts.AuditUnjudged():
            return f"cannot be judged: {fact.why}"
        case facts.AnnotationWrong():
            return f"{ANNOTATION}: {fact.message}"
        case facts.AnnotationExpired():
            return f"{ANNOTATION}: expired on {fact.until}: {fact.reason}"
        case facts.AnnotationForbidden():
            return f"{ANNOTATION}: the policy does not let an annotation suppress {fact.rule}"
        case facts.ExceptionExpired():
            rule = fact.exception
            exempt = f"{', '.join(rule.workloads)} from {', '.join(rule.rules)}"
            return f"the exception of {exempt} expired on {rule.expires}: {rule.reason}"
        case facts.NameUnknown():
            hint = did_you_mean(fact.nearest)
            unknown = f"{fact.rule} names {fact.kind} {fact.name}, which the cluster does not have"
            return f"{unknown}; {hint}" if hint else unknown
        case _:
            assert_never(fact)


def _pods(violation: Violation, count: int, verb: str, verbs: str) -> str:
    """`stays pending` for a single pod; `2 of 6 pods stay pending` for many."""
    replicas = 1 if violation.workload is None else violation.workload.row.replicas
    return verb if replicas == 1 else f"{count} of {replicas} pods {verb if count == 1 else verbs}"


def _stuck(violation: Violation, fact: facts.PodsStuck) -> str:
    waits = f", {fact.waiting} {'waits' if fact.waiting == 1 else 'wait'} for" if fact.waited_for else ""
    waits += f" {'it' if fact.waited_for == 1 else 'them'}" if waits else ""
    why = [each.said for each in violation.decisions[:1]] or ["all nodes together cannot take this number of pods"]
    verb = _pods(violation, fact.pods, *_STUCK[fact.outcome])
    return f"{verb}{waits}{earlier(fact.after)}{_later(violation.later, fact.pods)}: {why[0]}"


def _later(nodes: Sequence[str], pods: int) -> str:
    """Where pods land that stay pending at first."""
    if not nodes:
        return ""
    gets = f"gets {nodes[0]}" if pods == 1 else f"{len(nodes)} of them {'gets' if len(nodes) == 1 else 'get'} a node"
    return f" at first, but {gets} once all have reacted"


def _hangs(violation: Violation) -> str:
    """After how many pods it hangs, which pod is next, and why that does not run."""
    assert violation.workload is not None, "a rollout is that of a workload"
    row, blocking = violation.workload.row.rollout, violation.decisions
    assert row is not None, "the rule looks at nothing else"
    why = f": {blocking[0].message}" if blocking and blocking[0].message else ""
    return f"{hang(row, blocking)}{why}"


def _who(fact: facts.StaysPending) -> str:
    if ObjectRef.parse(fact.owner).kind == "Pod":
        return f"{fact.owner} is"
    return f"{fact.pods} pods of {fact.owner} are" if fact.pods > 1 else f"a pod of {fact.owner} is"


def _fragile(fact: facts.Fragile) -> str:
    if fact.verdict is None:
        return f"cannot be judged: {fact.unjudged}"
    more = f"; the same for {fact.more} more" if fact.more else ""
    return f"{fact.kind} {fact.name} can no longer fail without harm: {why_harmful(fact.verdict)}{more}"


def _what_is_new(brought: facts.Brought) -> str:
    if not brought.is_worse:
        return "it was not so before"
    worse = [f"at level {brought.finding.level} ({brought.was_level})"] if brought.was_level is not None else []
    worse += map(new_what_if, brought.what_ifs)
    worse += [f"for {some(brought.subjects)}"] if brought.subjects else []
    return f"it was so before, but not {'; not '.join(worse)}"
