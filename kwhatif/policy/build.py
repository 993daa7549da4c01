"""Builds a `Rulebook` from a policy file, and collects all problems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

import msgspec
from msgspec import inspect

from kwhatif.cel import CelCompileError, CostBudget, Program, compile_expression
from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import Issue, hinted, problems, without_nulls
from kwhatif.kube.matching.labels import Selector, SelectorError, compile_selector
from kwhatif.policy import aftermath, rules
from kwhatif.policy.rules import Find, Labels, MessageOf, Rule
from kwhatif.policy.schema import KIND, Level, Policy, all_names, unknown_rule
from kwhatif.report.decision import Decision, WorkloadRow
from kwhatif.report.risks import AuditHarm
from kwhatif.report.row import API_VERSION

_TYPES = {"decision": Decision, "workload": WorkloadRow}
_NODE = ("labels", "name")
_SCALARS: Mapping[type[inspect.Type], str] = {
    inspect.BoolType: "bool",
    inspect.IntType: "int",
    inspect.StrType: "string",
}


def mistakes(program: Program) -> Iterator[str]:
    """Mistakes in an expression: fields that no decision, workload or node has; or a lone field that is not a bool.

    So a typo in a policy is an error, instead of a rule that never applies.
    """
    for path in sorted(program.paths):
        wrong = _unknown(path)
        if wrong:
            yield wrong
    found = _type_at(program.root) if program.root else None
    name = "bool" if found is None else _SCALARS.get(type(found), "bool")
    if name != "bool":
        yield f"must evaluate to bool, not {name}"


def _unknown(path: tuple[str, ...]) -> str:
    variable, *fields = path
    if variable == "node":
        known, field = _NODE, fields[0] if fields else _NODE[0]
        return "" if field in known else _no_such_field("node", field, known)
    for depth, field in enumerate(fields):
        above = _type_at((variable, *fields[:depth]))
        if isinstance(above, inspect.StructType):
            names = [each.encode_name for each in above.fields]
            if field not in names:
                return _no_such_field(".".join(path[: depth + 1]), field, names)
    return ""


def _no_such_field(above: str, field: str, known: tuple[str, ...] | list[str]) -> str:
    return hinted(f"{above} has no field {field!r}", field, known)


def _type_at(path: tuple[str, ...]) -> inspect.Type | None:
    """The type of a field; None if it is not known."""
    variable, *fields = path
    if variable not in _TYPES:
        return None
    found: inspect.Type | None = inspect.type_info(_TYPES[variable])
    for field in fields:
        if not isinstance(found, inspect.StructType):
            return None
        found = next((_plain(each.type) for each in found.fields if each.encode_name == field), None)
    return found


def _plain(info: inspect.Type) -> inspect.Type:
    """The X of `X | None`."""
    if not isinstance(info, inspect.UnionType):
        return info
    others = [member for member in info.types if not isinstance(member, inspect.NoneType)]
    return others[0] if len(others) == 1 else info


_VARIABLES = {"decision": "dyn", "workload": "dyn", "node": "dyn"}


class Rulebook:
    """A policy, compiled."""

    def __init__(self, policy: Policy, source: str = "", exception_lines: Sequence[int] = ()) -> None:
        self.policy = policy
        #: The policy file, and the line of each exception in it.
        self.source = source
        self.exception_lines = tuple(exception_lines) or (0,) * len(policy.exceptions)
        self._programs: list[Program] = []
        self._selectors: list[Selector] = []
        #: The problems of the policy: path and message.
        self.issues = [
            *self._compile(),
            *_contradictions(policy),
            *_exceptions(policy),
            *_suppressions(policy),
            *rules.caveat_mistakes(policy),
        ]

    def _compile(self) -> Iterator[Issue]:
        for index, expression in enumerate(self.policy.expressions):
            path = f"expressions[{index}].expression"
            try:
                program = compile_expression(expression.expression, _VARIABLES, result="bool")
            except CelCompileError as wrong:
                yield path, wrong.message
            else:
                self._programs.append(program)
                yield from ((path, wrong) for wrong in mistakes(program))
        for index, placement in enumerate(self.policy.placement):
            given = [name for name in ("allowed", "forbidden", "nodes") if getattr(placement, name) is not None]
            if len(given) != 1:
                yield f"placement[{index}]", "expected either allowed or forbidden nodes"
                continue
            try:
                self._selectors.append(compile_selector(getattr(placement, given[0])))
            except SelectorError as wrong:
                yield f"placement[{index}].{given[0]}", str(wrong)

    def rules(self, labels: Mapping[str, Labels], message_of: MessageOf) -> Iterator[Rule]:
        """The rules that are not ignored, for a cluster whose nodes have these labels."""
        return (rule for rule in self._all(labels, message_of) if rule.level in ("fail", "warn"))

    def names(self) -> Iterator[tuple[str, str, Sequence[str]]]:
        """Namespaces and priority classes that rules name: rule, kind, names."""
        policy = self.policy
        for field, named in _named(policy).items():
            for rule in named:
                yield _name(field, rule.name), "namespace", rule.namespaces
        for classes in policy.priority_classes:
            named = (*classes.forbidden, *(classes.allowed or ()))
            yield _name("priorityClasses", classes.name), "priority class", named

    def _all(self, labels: Mapping[str, Labels], message_of: MessageOf) -> Iterator[Rule]:
        policy = self.policy
        for kind, level, find in _outcomes(policy):
            yield Rule(kind, level, find)
        if policy.max_victims is not None:
            yield Rule("maxVictims", policy.max_victims.level, rules.victim_limit(policy.max_victims))
        for protection in policy.protected_victims:
            yield _rule("protectedVictims", protection.name, protection.level, rules.protection(protection))
        for classes in policy.priority_classes:
            yield _rule("priorityClasses", classes.name, classes.level, rules.class_rule(classes))
        for place, selector in zip(policy.placement, self._selectors, strict=True):
            yield _rule("placement", place.name, place.level, rules.placement(place, selector, labels))
        budgets: dict[str, CostBudget] = defaultdict(CostBudget)
        for expression, program in zip(policy.expressions, self._programs, strict=True):
            find = rules.expression(expression, program, labels, budgets, message_of)
            yield _rule("expressions", expression.name, expression.level, find)


def _rule(kind: str, name: str, level: Level, find: Find) -> Rule:
    return Rule(_name(kind, name), level, find)


def _name(kind: str, name: str) -> str:
    """The name of a rule: its kind, with the name that the policy gives it, if any."""
    return f"{kind}/{name}" if name else kind


def _outcomes(policy: Policy) -> Iterator[tuple[str, Level, Find]]:
    yield "denied", policy.denied, rules.outcome_rule("Denied")
    yield "unschedulable", policy.unschedulable, rules.unschedulable
    yield "rollout", policy.rollout, rules.rollout
    yield "budgetViolation", policy.budget_violation, rules.budget_violation
    yield "preemption", policy.preemption, rules.preemption
    yield "gated", policy.gated, rules.outcome_rule("Gated")
    yield "ignored", policy.ignored, rules.outcome_rule("Ignored")


def default_rulebook() -> Rulebook:
    """The default policy."""
    return Rulebook(Policy())


def build_rulebook(data: object, where: str, line_of: Callable[[str], int] = lambda _: 0) -> Rulebook:
    """Build the policy of a parsed file with the name `where`; `line_of` returns the line of a field.

    Raises:
        InputError: with all problems, by field.
    """
    policy, issues = _decode(without_nulls(data))
    if policy is not None:
        lines = [line_of(f"exceptions[{index}]") for index in range(len(policy.exceptions))]
        book = Rulebook(policy, where, lines)
        if not book.issues:
            return book
        issues = book.issues
    raise InputError([Problem(where, message, path) for path, message in issues])


def _decode(data: object) -> tuple[Policy | None, list[Issue]]:
    if not isinstance(data, Mapping) or (data.get("apiVersion"), data.get("kind")) != (API_VERSION, KIND):
        return None, [("", f"is not a policy: expected an object with apiVersion {API_VERSION} and kind {KIND}")]
    issues = list(problems(data, Policy))
    if issues:
        return None, issues
    try:
        return msgspec.convert(data, Policy), []
    except msgspec.ValidationError as wrong:
        message, _, path = str(wrong).partition(" - at `$")
        return None, [(path.rstrip("`").lstrip("."), message)]


def _contradictions(policy: Policy) -> Iterator[Issue]:
    for index, protection in enumerate(policy.protected_victims):
        if bool(protection.namespaces) is (protection.min_priority is not None):
            yield f"protectedVictims[{index}]", "expected either namespaces or minPriority"
    for index, classes in enumerate(policy.priority_classes):
        if not classes.forbidden and classes.allowed is None:
            yield f"priorityClasses[{index}]", "expected forbidden or allowed classes"
    for field, named in _named(policy).items():
        names = [rule.name for rule in named if rule.name]
        for index, rule in enumerate(named):
            if names.count(rule.name) > 1:
                yield f"{field}[{index}].name", f"{rule.name!r} is there twice"
    if len(set(policy.survives)) < len(policy.survives):
        yield "survives", "names the same twice"
    if policy.max_victims is not None and policy.max_victims.count < 0:
        yield "maxVictims.count", "must not be negative"


def _named(policy: Policy) -> Mapping[str, Sequence[Any]]:
    return {
        "protectedVictims": policy.protected_victims,
        "priorityClasses": policy.priority_classes,
        "placement": policy.placement,
        "expressions": policy.expressions,
    }


def _rule_names(policy: Policy) -> list[str]:
    named = [f"{kind}/{rule.name}" for kind, rules in _named(policy).items() for rule in rules]
    return all_names(
        [*named, *aftermath.NAMES, *(f"survives/{kind}" for kind in policy.survives), *_audit_rules(policy)]
    )


def _audit_rules(policy: Policy) -> list[str]:
    return [] if policy.audit is None else [f"audit/{harm}" for harm in get_args(AuditHarm)]


def _suppressions(policy: Policy) -> Iterator[Issue]:
    names = _rule_names(policy)
    for place, pattern in enumerate(policy.annotations.allow):
        if wrong := unknown_rule(pattern, names):
            yield f"annotations.allow[{place}]", wrong


def _exceptions(policy: Policy) -> Iterator[Issue]:
    names = _rule_names(policy)
    for index, exception in enumerate(policy.exceptions):
        path = f"exceptions[{index}]"
        if not exception.reason.strip():
            yield f"{path}.reason", "must say why"
        for field, patterns in (("rules", exception.rules), ("workloads", exception.workloads)):
            if not patterns:
                yield f"{path}.{field}", "must not be empty"
        for place, pattern in enumerate(exception.rules):
            if wrong := unknown_rule(pattern, names):
                yield f"{path}.rules[{place}]", wrong
        for place, pattern in enumerate(exception.workloads):
            if " " not in pattern and "*" not in pattern:
                yield (
                    f"{path}.workloads[{place}]",
                    f"{pattern!r} matches no workload: write its kind, namespace and name, such as `* */{pattern}`",
                )
