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
from kwhatif.report.decision import Decision, JudgedWorkload, Outcome, VictimRow
from kwhatif.words.amounts import some
from kwhatif.words.workload import after, hang, subject, victims_by_owner, workload_message

Labels = Mapping[str, str]


class Hit(NamedTuple):
    """A violation of a rule: the pods of a workload that it concerns, and why."""

    workload: JudgedWorkload
    pods: tuple[str, ...]
    message: str


class Violation(NamedTuple):
    """The violation of a rule, about a workload of the manifests, or about other objects that it names."""

    rule: str
    level: Level
    #: "": `render` adds the sentence of the caveat.
    message: str = ""
    workload: JudgedWorkload | None = None
    pods: tuple[str, ...] = ()
    caveat: Caveat | None = None
    #: All subjects, the main one first: workloads of the manifests, or other objects.
    names: tuple[str, ...] = ()


Find = Callable[[Sequence[JudgedWorkload]], Iterator[Hit]]


class Rule(NamedTuple):
    """A rule with its name: its kind and the name that the policy gives it, if any (`placement/no-gpu`)."""

    name: str
    level: Level
    find: Find


def outcome_rule(outcome: Outcome, verb: str, verbs: str) -> Find:
    """Pods with this outcome; the message is that of the first one."""

    def find(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
        for workload, hits in _where(workloads, lambda decision: decision.outcome == outcome):
            row = workload.row
            counted = {"Unschedulable": row.unschedulable, "Denied": row.denied, "Gated": row.gated}.get(outcome, 0)
            said = subject(row, hits, verb, verbs, counted)
            yield _hit(workload, hits, f"{said}{_held_up(workload, hits)}{after(hits)}: {hits[0].said}")

    return find


def unschedulable(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
    """Pods that stay pending, except those of a rollout that hangs (rule `rollout`)."""
    rest = [workload for workload in workloads if workload.row.rollout is None or workload.row.rollout.completed]
    yield from outcome_rule("Unschedulable", "stays pending", "stay pending")(rest)
    for workload in rest:  # counted, not judged
        row = workload.row
        if row.unschedulable and not any(each.outcome == "Unschedulable" for each in workload.decisions):
            said = subject(row, (), "stays pending", "stay pending", row.unschedulable)
            yield Hit(workload, (), f"{said}: all nodes together cannot take this number of pods")


def rollout(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
    """Rollouts that hang: after how many pods, which pod is next, and why it does not run."""
    for workload in workloads:
        row = workload.row.rollout
        if row is None or row.completed:
            continue
        blocking = [decision for decision in workload.decisions if decision.pod == row.waits_for]
        why = f": {blocking[0].message}" if blocking and blocking[0].message else ""
        yield Hit(workload, tuple(decision.pod for decision in blocking), f"{hang(row, blocking)}{why}")


def _held_up(workload: JudgedWorkload, hits: Sequence[Decision]) -> str:
    """The number of pods that are not created because these pods do not run; part of this finding."""
    names = {decision.pod for decision in hits}
    if not any(decision.waits_for in names for decision in workload.decisions):
        return ""
    waiting = workload.row.waiting  # all are about the same pod
    return f", {waiting} {'waits' if waiting == 1 else 'wait'} for {'it' if len(hits) == 1 else 'them'}"


def preemption(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
    """Pods that evict others."""
    for workload, hits in _where(workloads, lambda decision: decision.outcome == "Preempts"):
        victims = victims_by_owner([victim for decision in hits for victim in decision.victims])
        evicts = subject(workload.row, hits, "would evict", "would evict")
        yield _hit(workload, hits, f"{evicts} {victims or 'others'}{after(hits)}")


def budget_violation(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
    """Pods whose evictions violate a budget."""
    for workload, hits in _where(workloads, lambda decision: any(victim.violates for victim in decision.victims)):
        broken = {budget: None for decision in hits for victim in decision.victims for budget in victim.violates}
        victims = victims_by_owner([victim for decision in hits for victim in decision.victims if victim.violates])
        yield _hit(workload, hits, f"evicting {victims} violates {some(broken)}")


def victim_limit(limit: VictimLimit) -> Find:
    """The workload whose evictions exceed the limit, and later ones that evict."""
    allowed = f"{limit.count} {'is' if limit.count == 1 else 'are'}"

    def find(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
        victims = 0
        for workload in workloads:
            beyond: list[Decision] = []
            for decision in workload.decisions:
                victims += len(decision.victims)
                if decision.victims and victims > limit.count:
                    beyond.append(decision)
            if beyond:
                yield _hit(workload, beyond, f"brings the number of victims to {victims}; {allowed} allowed")

    return find


def protection(rule: Protection) -> Find:
    """Victims in a protected namespace, or with a protected priority."""

    def protected(victim: VictimRow) -> bool:
        if rule.min_priority is not None:
            return victim.priority >= rule.min_priority
        return _any(rule.namespaces, namespace_of(victim.pod))

    why = f"of priority {rule.min_priority} or more" if rule.min_priority is not None else "in a protected namespace"

    def find(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
        for workload, hits in _where(workloads, lambda decision: any(map(protected, decision.victims))):
            victims = [victim for decision in hits for victim in decision.victims if protected(victim)]
            evicts = subject(workload.row, hits, "would evict", "would evict")
            yield _hit(workload, hits, f"{evicts} {victims_by_owner(victims)}, {why}")

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
            classes = some(dict.fromkeys(decision.priority_class_name for decision in hits))
            namespaces = some(dict.fromkeys(namespace_of(decision.pod) for decision in hits))
            yield _hit(workload, hits, f"uses priority class {classes}, which namespace {namespaces} may not use")

    return find


def placement(rule: PlacementRule, selector: Selector, labels: Mapping[str, Labels]) -> Find:
    """Pods that are, or may be, placed on a node whose labels are forbidden or not allowed."""
    forbidden = rule.allowed is None
    nodes = frozenset(name for name, labels_ in labels.items() if selector.matches(labels_) is forbidden)

    def on_forbidden(decision: Decision) -> bool:
        return not nodes.isdisjoint(_nodes(decision)) and _any(rule.namespaces, namespace_of(decision.pod))

    def find(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
        for workload, hits in _where(workloads, on_forbidden):
            where = {node: None for decision in hits for node in _nodes(decision) if node in nodes}
            yield _hit(workload, hits, f"{subject(workload.row, hits, 'may land', 'may land')} on {some(where)}")

    return find


def expression(
    rule: ExpressionRule, program: Program, labels: Mapping[str, Labels], budgets: Mapping[str, CostBudget]
) -> Find:
    """Pods for which the expression is false, or cannot be evaluated.

    `budgets`: the remaining CEL cost for all expressions of the policy, by pod.
    """

    def objection(workload: object, decision: Decision) -> str:
        node = {"name": decision.node, "labels": dict(labels.get(decision.node, {}))} if decision.node else None
        data = {"decision": _as_json(decision), "workload": workload, "node": node}
        try:
            holds = program.evaluate(data, budgets[decision.pod])
        except CelRuntimeError as wrong:
            return f"cannot be evaluated: {wrong.message}"
        return "" if holds is True else rule.message or f"does not hold: {rule.expression}"

    def find(workloads: Sequence[JudgedWorkload]) -> Iterator[Hit]:
        for workload in workloads:
            row = _as_json(replace(workload.row, message=workload_message(workload.row, workload.decisions)))
            by_message: dict[str, list[Decision]] = {}
            for decision in workload.decisions:
                message = objection(row, decision) if _any(rule.namespaces, namespace_of(decision.pod)) else ""
                if message:
                    by_message.setdefault(message, []).append(decision)
            for message, hits in by_message.items():
                yield _hit(workload, hits, message)

    return find


def _as_json(row: msgspec.Struct) -> object:
    """The row as in the report's JSON: with lists, not tuples."""
    return msgspec.json.decode(msgspec.json.encode(row))


def namespace_of(pod: str) -> str:
    """The namespace in `namespace/name`."""
    return pod.partition("/")[0]


def _where(
    workloads: Iterable[JudgedWorkload], holds: Callable[[Decision], bool]
) -> Iterator[tuple[JudgedWorkload, Sequence[Decision]]]:
    for workload in workloads:
        hits = [decision for decision in workload.decisions if holds(decision)]
        if hits:
            yield workload, hits


def _hit(workload: JudgedWorkload, decisions: Iterable[Decision], message: str) -> Hit:
    return Hit(workload, tuple(decision.pod for decision in decisions), message)


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
        found = Violation(f"{CAVEATS}/{caveat.code}", level, pods=caveat.pods, caveat=caveat)
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
