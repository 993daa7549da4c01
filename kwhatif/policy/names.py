"""The names of rules: their kinds, those that a policy gives them, and `caveats/CODE`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwhatif.kube.matching.names import is_like, nearest
from kwhatif.kube.model.caveat import CODES

#: The kind of findings about caveats; their names are `caveats/CODE`.
CAVEATS = "caveats"

#: Every kind of rule, and what it is about.
KINDS: Mapping[str, str] = {
    "unschedulable": "A pod stays pending: no node has room, and evicting pods does not help",
    "rollout": "A rollout does not come to its end: it hangs at a step",
    "denied": "The API server refuses a pod",
    "gated": "A pod is not queued: it has scheduling gates",
    "ignored": "A pod is not judged: no profile has the name of its scheduler",
    "preemption": "A pod fits only where other pods are evicted",
    "budgetViolation": "An eviction breaks a PodDisruptionBudget",
    "maxVictims": "More pods are evicted than the policy allows",
    "protectedVictims": "A pod is evicted that the policy protects",
    "priorityClasses": "A pod uses a PriorityClass that its namespace may not use",
    "placement": "A pod may land on a node that the policy keeps it from",
    "expressions": "An expression of the policy does not hold for a pod",
    "aftermath": "What is so after everybody has reacted is not allowed: pods pending, a loop, a budget broken",
    "survives": "A node, or a zone, may not fail once this is applied, and might without it",
    CAVEATS: "Something is not known or not modelled",
    "expiredException": "An exception of the policy, or an annotation, has expired",
    "annotation": "An annotation that should suppress a rule cannot be understood, or is not allowed to",
    "unknownName": "The policy names a namespace or priority class that the cluster does not have",
}


def matches(pattern: str, rule: str) -> bool:
    """Whether a pattern means the rule: by its name, by its kind alone, or by the code of its caveat."""
    kind, _, rest = rule.partition("/")
    names = (rule, kind, rest) if kind == CAVEATS else (rule, kind)
    return any(is_like(name, pattern) for name in names)


def about(rule: str) -> str:
    """What a rule is about, in a sentence."""
    kind, _, rest = rule.partition("/")
    caveat = CODES.get(rest) if kind == CAVEATS else None
    return (caveat and caveat.__doc__) or KINDS[kind]


def all_names(named: Iterable[str] = ()) -> list[str]:
    """Everything that a pattern of rule names can mean; `named` are those of one policy."""
    return [*KINDS, *named, *(f"{CAVEATS}/{code}" for code in CODES)]


def unknown_rule(pattern: str, names: Iterable[str]) -> str:
    """What is wrong with a pattern of rule names: it matches none of these; "" if it does."""
    known = list(names)
    if any(matches(pattern, name) for name in known):
        return ""
    return f"there is no rule {pattern!r}{did_you_mean(pattern, [*known, *CODES])}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question with the nearest name; "" where none is near."""
    found = nearest(name, known)
    return f"; did you mean {found[0]}?" if found else ""
