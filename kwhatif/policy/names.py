"""Names of rules: kinds, names in the policy, and `caveats/CODE`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwhatif.kube.matching.names import hinted, is_like
from kwhatif.kube.model.caveat import CODES

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
