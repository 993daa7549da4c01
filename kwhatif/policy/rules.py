"""The rules: each checks all workloads, and reports violations; and the level of each caveat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kwhatif.cel import CelRuntimeError, CostBudget, Program
from kwhatif.kube.matching.field_errors import Issue, hinted, is_like
from kwhatif.kube.matching.labels import Selector
from kwhatif.kube.model.caveat import CODES, Caveat
from kwhatif.kube.model.caveat.reading import StaleSnapshot
from kwhatif.kube.model.quantity import parse_duration
from kwhatif.policy.schema import (
    CAVEATS,
    ClassRule,
    ExpressionRule,
    Level,
    PlacementRule,
    Policy,
    Protection,
    VictimLimit,
)
from kwhatif.policy.violations import (
    BudgetsBroken,
    ClassesForbidden,
    ExpressionFails,
    ExpressionFalse,
    Fact,
    NodesForbidden,
    PodsEvict,
    PodsStuck,
    ProtectedEvicted,
    RolloutHangs,
    TooManyVictims,
    Violation,
)
from kwhatif.report.decision import Decision, JudgedWorkload, Outcome, VictimRow, WorkloadRow, after, evicted

Labels = Mapping[str, str]
#: The sentence about a workload, of its row and the decisions about its pods.
MessageOf = Callable[[WorkloadRow, Sequence[Decision]], str]


class Hit(NamedTuple):
    """What a rule finds in a workload; `decisions` are those about the pods that it concerns."""

    workload: JudgedWorkload
    decisions: tuple[Decision, ...]
    fact: Fact
    #: Why an expression cannot be evaluated: not a part of the fact.
    error: str = ""


Find = Callable[[Sequence[JudgedWorkload]], Iterator[Hit]]


class Rule(NamedTuple):
    """A rule with its name: its kind and the name that the policy gives it, if any (`placement/no-gpu`)."""

    name: str
    level: Level
    find: Find


def outcome_rule(outcome: Outcome) -> Find:
    """Pods with this outcome."""

    def find(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
        for workload, hits in _where(workloads, lambda decision: decision.outcome == outcome):
            row, names = workload.row, {decision.pod for decision in hits}
            counted = {"Unschedulable": row.unschedulable, "Denied": row.denied, "Gated": row.gated}.get(outcome, 0)
            fact = PodsStuck(outcome, max(len(hits), counted), after=after(hits))
            if any(decision.waits_for in names for decision in workload.decisions):
                fact = replace(fact, waiting=row.waiting, waited_for=len(hits))  # all wait for the same pod
            yield Hit(workload, hits, fact)

    return find


def unschedulable(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
    """Pods that stay pending, except those of a rollout that hangs (rule `rollout`)."""
    rest = [workload for workload in workloads if workload.row.rollout is None or workload.row.rollout.completed]
    yield from outcome_rule("Unschedulable")(rest)
    for workload in rest:  # counted, not judged
        count = workload.row.unschedulable
        if count and not any(each.outcome == "Unschedulable" for each in workload.decisions):
            yield Hit(workload, (), PodsStuck("Unschedulable", count))


def rollout(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
    """Rollouts that hang: after how many pods, and which pod is next."""
    for workload in workloads:
        row = workload.row.rollout
        if row is not None and not row.completed:
            blocking = tuple(decision for decision in workload.decisions if decision.pod == row.waits_for)
            yield Hit(workload, blocking, RolloutHangs(row.updated, row.wanted))


def preemption(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
    """Pods that evict others."""
    for workload, hits in _where(workloads, lambda decision: decision.outcome == "Preempts"):
        victims = evicted(victim for decision in hits for victim in decision.victims)
        yield Hit(workload, hits, PodsEvict(len(hits), victims, after(hits)))


def budget_violation(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
    """Pods whose evictions violate a budget."""
    for workload, hits in _where(workloads, lambda decision: any(victim.violates for victim in decision.victims)):
        victims = [victim for decision in hits for victim in decision.victims if victim.violates]
        budgets = dict.fromkeys(budget for victim in victims for budget in victim.violates)
        yield Hit(workload, hits, BudgetsBroken(evicted(victims), tuple(budgets)))


def victim_limit(limit: VictimLimit) -> Find:
    """The workload whose evictions exceed the limit, and later ones that evict."""

    def find(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
        victims = 0
        for workload in workloads:
            beyond: list[Decision] = []
            for decision in workload.decisions:
                victims += len(decision.victims)
                if decision.victims and victims > limit.count:
                    beyond.append(decision)
            if beyond:
                yield Hit(workload, tuple(beyond), TooManyVictims(victims, limit.count))

    return find


def protection(rule: Protection) -> Find:
    """Victims in a protected namespace, or with a protected priority."""

    def protected(victim: VictimRow) -> bool:
        if rule.min_priority is not None:
            return victim.priority >= rule.min_priority
        return _any(rule.namespaces, namespace_of(victim.pod))

    def find(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
        for workload, hits in _where(workloads, lambda decision: any(map(protected, decision.victims))):
            victims = evicted(victim for decision in hits for victim in decision.victims if protected(victim))
            yield Hit(workload, hits, ProtectedEvicted(len(hits), victims, rule.min_priority))

    return find


def class_rule(rule: ClassRule) -> Find:
    """Pods with a priority class that their namespace may not use; pods without a class are always allowed."""

    def refused(decision: Decision) -> bool:
        name = decision.priority_class_name
        if not name or not _any(rule.namespaces, namespace_of(decision.pod)):
            return False
        return _any(rule.forbidden, name) or (rule.allowed is not None and not _any(rule.allowed, name))

    def find(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
        for workload, hits in _where(workloads, refused):
            classes = dict.fromkeys(decision.priority_class_name or "" for decision in hits)
            namespaces = dict.fromkeys(namespace_of(decision.pod) for decision in hits)
            yield Hit(workload, hits, ClassesForbidden(tuple(classes), tuple(namespaces)))

    return find


def placement(rule: PlacementRule, selector: Selector, labels: Mapping[str, Labels]) -> Find:
    """Pods that are, or may be, placed on a node whose labels are forbidden or not allowed."""
    forbidden = rule.allowed is None
    nodes = frozenset(name for name, labels_ in labels.items() if selector.matches(labels_) is forbidden)

    def on_forbidden(decision: Decision) -> bool:
        return not nodes.isdisjoint(_nodes(decision)) and _any(rule.namespaces, namespace_of(decision.pod))

    def find(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
        for workload, hits in _where(workloads, on_forbidden):
            where = dict.fromkeys(node for decision in hits for node in _nodes(decision) if node in nodes)
            yield Hit(workload, hits, NodesForbidden(len(hits), tuple(where)))

    return find


def expression(
    rule: ExpressionRule,
    program: Program,
    labels: Mapping[str, Labels],
    budgets: Mapping[str, CostBudget],
    message_of: MessageOf,
) -> Find:
    """Pods for which the expression is false, or cannot be evaluated.

    Args:
        rule: the expression.
        program: the same, compiled.
        labels: the labels of every node, by name.
        budgets: the remaining CEL cost for all expressions of the policy, by pod.
        message_of: the sentence about a workload, which expressions may read.
    """
    fact = ExpressionFalse(rule.expression, rule.message)

    def objection(workload: object, decision: Decision) -> tuple[Fact, str] | None:
        node = {"name": decision.node, "labels": dict(labels.get(decision.node, {}))} if decision.node else None
        data = {"decision": _as_json(decision), "workload": workload, "node": node}
        try:
            return None if program.evaluate(data, budgets[decision.pod]) is True else (fact, "")
        except CelRuntimeError as wrong:
            return ExpressionFails(), wrong.message

    def find(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
        for workload in workloads:
            row = _as_json(replace(workload.row, message=message_of(workload.row, workload.decisions)))
            by_fact: dict[tuple[Fact, str], list[Decision]] = {}
            for decision in workload.decisions:
                found = objection(row, decision) if _any(rule.namespaces, namespace_of(decision.pod)) else None
                if found is not None:
                    by_fact.setdefault(found, []).append(decision)
            for (each, error), hits in by_fact.items():
                yield Hit(workload, tuple(hits), each, error)

    return find


def _as_json(row: msgspec.Struct) -> object:
    """The row as in the report's JSON: with lists, not tuples."""
    return msgspec.json.decode(msgspec.json.encode(row))


def namespace_of(pod: str) -> str:
    """The namespace in `namespace/name`."""
    return pod.partition("/")[0]


def _where(
    workloads: Iterable[JudgedWorkload], holds: Callable[[Decision], bool]
) -> Iterator[tuple[JudgedWorkload, tuple[Decision, ...]]]:
    for workload in workloads:
        hits = tuple(decision for decision in workload.decisions if holds(decision))
        if hits:
            yield workload, hits


def _nodes(decision: Decision) -> tuple[str, ...]:
    return decision.ties or ((decision.node,) if decision.node else ())


def _any(patterns: Iterable[str], name: str) -> bool:
    return any(is_like(name, pattern) for pattern in patterns)


# --- caveats ---------------------------------------------------------------------------------------------------------


def level_of(caveat: Caveat, policy: Policy, *, strict: bool) -> Level:
    """The level of a caveat: the policy's; without one, missing information fails if `strict`; otherwise its own level.

    If several patterns match, the exact code wins, then the first pattern.
    """
    if caveat.code in policy.caveats:
        return policy.caveats[caveat.code]
    for pattern, level in policy.caveats.items():
        if is_like(caveat.code, pattern):
            return level
    bounded = isinstance(caveat, StaleSnapshot) and policy.snapshot is not None
    if bounded or (strict and caveat.missing):
        return "fail"
    return "warn" if caveat.level == "warn" else "pass"


def doubts(
    caveats: Sequence[Caveat], workloads: Sequence[JudgedWorkload], policy: Policy, *, strict: bool
) -> Iterator[Violation]:
    """The caveats that fail or warn; those about workloads, workload by workload."""
    for caveat in caveats:
        level = level_of(caveat, policy, strict=strict)
        if level not in ("fail", "warn"):
            continue
        found = Violation(f"{CAVEATS}/{caveat.code}", level, caveat, pods=caveat.pods)
        concerned = [found._replace(workload=each, pods=pods) for each, pods in _concerned(caveat, workloads)]
        yield from concerned or [found]


def _concerned(caveat: Caveat, workloads: Sequence[JudgedWorkload]) -> Iterator[tuple[JudgedWorkload, tuple[str, ...]]]:
    about = frozenset(caveat.pods)
    for workload in workloads:
        pods = tuple(decision.pod for decision in workload.decisions if decision.pod in about)
        if pods or (caveat.subject and caveat.subject == workload.row.name):
            yield workload, pods


def max_age(policy: Policy) -> int | None:
    """The maximum age of a dump, in seconds; None: the policy does not set it."""
    return None if policy.snapshot is None else parse_duration(policy.snapshot.max_age) // 1_000_000_000


def caveat_mistakes(policy: Policy) -> Iterator[Issue]:
    """Codes that do not exist, and an invalid age."""
    for pattern in policy.caveats:
        if not any(is_like(code, pattern) for code in CODES):
            yield f"caveats.{pattern}", hinted(f"there is no caveat {pattern!r}", pattern, CODES)
    if policy.snapshot is None:
        return
    try:
        if parse_duration(policy.snapshot.max_age) <= 0:
            yield "snapshot.maxAge", "must be more than 0"
    except ValueError:
        yield "snapshot.maxAge", f"{policy.snapshot.max_age!r} is not a duration such as 6h or 90m"
