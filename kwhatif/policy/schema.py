"""The types of a policy file, `kwhatif.yaml`, and the names of its rules.

`schema/policy.json` is made from them by `make generated`. Rules without details have a level; rules with details are
lists, and a rule in a list may have a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Literal

import msgspec

from kwhatif.kube.matching.field_errors import hinted, is_like
from kwhatif.kube.model.caveat import CODES
from kwhatif.kube.model.meta import FrozenMeta, LabelSelector
from kwhatif.report.risks import ProbeName

# --- the file --------------------------------------------------------------------------------------------------------


KIND = "Policy"

#: `pass` and `ignore` mean the same: there is no finding.
Level = Literal["fail", "warn", "pass", "ignore"]


class _Part(
    msgspec.Struct, metaclass=FrozenMeta, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Base of all parts of a policy. Lists of names are patterns with `*`, `?` and `[…]`."""


class Protection(_Part):
    """Pods that must not be evicted: those in some namespaces, or those with at least a priority (one of the two)."""

    name: str = ""
    level: Level = "fail"
    namespaces: tuple[str, ...] = ()
    min_priority: int | None = None


class VictimLimit(_Part):
    """The most pods that all manifests together may evict."""

    count: int
    level: Level = "fail"


class ClassRule(_Part):
    """Priority classes that pods in some namespaces may not use: forbidden ones, or all except allowed ones."""

    name: str = ""
    level: Level = "fail"
    namespaces: tuple[str, ...] = ("*",)
    forbidden: tuple[str, ...] = ()
    allowed: tuple[str, ...] | None = None


class PlacementRule(_Part):
    """Nodes, by labels, where pods in some namespaces must not be placed: forbidden ones, or all except allowed ones.

    `nodes` means the same as `forbidden`.
    """

    allowed: LabelSelector | None = None
    forbidden: LabelSelector | None = None
    nodes: LabelSelector | None = None
    name: str = ""
    level: Level = "fail"
    namespaces: tuple[str, ...] = ("*",)


class ExpressionRule(_Part):
    """A CEL expression that must be true for every pod.

    It may use `decision` and `workload`, as in `-o json`, and `node`, the chosen node's `name` and `labels` (null if
    there is none). An expression that cannot be evaluated counts as false.
    """

    name: str
    expression: str
    message: str = ""
    level: Level = "fail"
    namespaces: tuple[str, ...] = ("*",)


class ExceptionRule(_Part):
    """An exception of some workloads from rules, with a reason and its last day.

    `rules` are patterns of rule names, such as `preemption` or `placement/*`; `workloads` of names such as
    `Deployment shop/web`.
    """

    rules: tuple[str, ...]
    workloads: tuple[str, ...]
    reason: str
    expires: date


class PendingRule(_Part):
    """Pods with at least this priority that are pending at the end, and were not pending at the start."""

    min_priority: int = 0
    level: Level = "fail"


class AftermathRule(_Part):
    """What is not allowed once the cluster has settled; the gate then simulates that, as `kwhatif simulate` does.

    `loop`: it never settles. `budget_overrun`: a budget has fewer healthy pods than it requires, by more than at the
    start.
    """

    pending: PendingRule | None = None
    loop: Level = "fail"
    budget_overrun: Level = "fail"


class AuditRule(_Part):
    """The manifests must not cause new findings of `kwhatif audit`.

    `min_level`: findings of this level, and worse ones. `only`: the kinds of what-ifs; by default all about pods, nodes
    and budgets.
    """

    level: Level = "fail"
    min_level: Literal["high", "medium", "low"] = "medium"
    only: tuple[ProbeName, ...] = ()


class AnnotationRule(_Part):
    """The rules that an object may suppress with its annotation `kwhatif.dev/ignore`: patterns of rule names."""

    allow: tuple[str, ...] = ("*",)


class SnapshotRule(_Part):
    """The maximum age of a dump, such as `6h`; an older one fails with the caveat `stale-snapshot`."""

    max_age: str


class Policy(_Part):
    """All rules. Without a file, the defaults are the policy."""

    api_version: Literal["kwhatif.dev/v1"] = "kwhatif.dev/v1"
    kind: Literal["Policy"] = "Policy"
    unschedulable: Level = "fail"
    rollout: Level = "fail"
    denied: Level = "fail"
    gated: Level = "warn"
    ignored: Level = "warn"
    preemption: Level = "warn"
    budget_violation: Level = "fail"
    max_victims: VictimLimit | None = None
    protected_victims: tuple[Protection, ...] = ()
    priority_classes: tuple[ClassRule, ...] = ()
    placement: tuple[PlacementRule, ...] = ()
    expressions: tuple[ExpressionRule, ...] = ()
    aftermath: AftermathRule | None = None
    #: A single node, or zone, must be able to fail after the manifests are applied, if it could before.
    survives: tuple[Literal["node", "zone"], ...] = ()
    audit: AuditRule | None = None
    exceptions: tuple[ExceptionRule, ...] = ()
    #: Code of a caveat, or a pattern -> level.
    caveats: dict[str, Level] = {}
    annotations: AnnotationRule = AnnotationRule()
    snapshot: SnapshotRule | None = None


# --- names of rules --------------------------------------------------------------------------------------------------


#: The kind of findings about caveats, whose names are `caveats/CODE`.
CAVEATS = "caveats"

#: Kind of rule -> its description.
KINDS: Mapping[str, str] = {
    "unschedulable": "A pod stays pending: no node has room, and evicting pods does not help",
    "rollout": "A rollout does not complete: it hangs at a step",
    "denied": "The API server rejects a pod",
    "gated": "A pod is not queued: it has scheduling gates",
    "ignored": "A pod is not judged: no profile has the name of its scheduler",
    "preemption": "A pod fits only if other pods are evicted",
    "budgetViolation": "An eviction breaks a PodDisruptionBudget",
    "maxVictims": "More pods are evicted than the policy allows",
    "protectedVictims": "A pod is evicted that the policy protects",
    "priorityClasses": "A pod uses a PriorityClass that its namespace may not use",
    "placement": "A pod may be placed on a node that the policy forbids",
    "expressions": "An expression of the policy is false for a pod",
    "aftermath": "The state after all reactions is not allowed: pending pods, a loop, a broken budget",
    "survives": "A node or a zone can no longer fail without harm once this is applied, but could before",
    "audit": "Something would hurt once this is applied, and would not before: a finding of kwhatif audit",
    CAVEATS: "Something is not known or not modelled",
    "expiredException": "An exception of the policy, or an annotation, has expired",
    "annotation": "An annotation that should suppress a rule is not valid, or not allowed",
    "unknownName": "The policy names a namespace or priority class that the cluster does not have",
}


def matches(pattern: str, rule: str) -> bool:
    """Whether a pattern matches the rule: by its name, its kind, or the code of its caveat."""
    kind, _, rest = rule.partition("/")
    names = (rule, kind, rest) if kind == CAVEATS else (rule, kind)
    return any(is_like(name, pattern) for name in names)


def about(rule: str) -> str:
    """The description of a rule, in a sentence."""
    kind, _, rest = rule.partition("/")
    caveat = CODES.get(rest) if kind == CAVEATS else None
    return (caveat and caveat.__doc__) or KINDS[kind]


def all_names(named: Iterable[str] = ()) -> list[str]:
    """All names that a pattern can match; `named` are those of one policy."""
    return [*KINDS, *named, *(f"{CAVEATS}/{code}" for code in CODES)]


def unknown_rule(pattern: str, names: Iterable[str]) -> str:
    """The error if a pattern of rule names matches none of these; "" if it matches one."""
    known = list(names)
    if any(matches(pattern, name) for name in known):
        return ""
    return hinted(f"there is no rule {pattern!r}", pattern, [*known, *CODES])
