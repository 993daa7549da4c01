"""Checks of single values and selectors (`ValidateLabelSelector`, `pkg/apis/core/validation`).

Values that were found valid are remembered: a cluster repeats the same ones a million times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from kwhatif.kube.matching.field_errors import label_key_errors, label_value_errors
from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.model.meta import LabelSelector, Requirement
from kwhatif.kube.model.pod_spec import (
    NodeSelector,
    NodeSelectorTerm,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
)
from kwhatif.kube.model.quantity import QuantityText, parse_quantity
from kwhatif.sources.text.problems import FieldPath

#: Takes what is wrong, and the path to it.
AddProblem = Callable[[str, FieldPath], None]
#: Looks at a value, which stands at the path.
Check = Callable[[Any, FieldPath, AddProblem], None]

good_quantities: set[QuantityText] = set()
good_hours: set[str] = set()
_DATE_LENGTH, _HOUR_LENGTH = len("2026-01-31"), len("2026-01-31T12")
_HOUR = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3])", re.ASCII)
_A_CLOCK = r":[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
_CLOCKS = re.compile(rf"{_A_CLOCK}(?:\n{_A_CLOCK})*", re.ASCII)
#: A time of day as the API server writes it, with each digit replaced by 0.
_PLAIN = ":00:00Z\n"
_TO_ZERO = str.maketrans("123456789", "0" * 9)
_PERCENT = re.compile(r"[0-9]+%")


def quantities(amounts: Mapping[str, QuantityText], path: FieldPath, add: AddProblem) -> None:
    """A list of resources."""
    if not good_quantities.issuperset(amounts.values()):
        for name, amount in amounts.items():
            quantity(amount, (*path, name), add)


def quantity(amount: QuantityText, path: FieldPath, add: AddProblem) -> None:
    """One quantity (`resource.ParseQuantity`)."""
    if amount in good_quantities:
        return
    try:
        parse_quantity(amount)
    except ValueError:
        add(f"{_shown(amount)} is not a quantity such as 2, 0.5, 500m or 1.5Gi", path)
    else:
        good_quantities.add(amount)


def time(text: str, path: FieldPath, add: AddProblem) -> None:
    """A time as the API server writes it (RFC 3339)."""
    if not are_times([text]):
        add(f"{_shown(text)} is not a time such as 2026-01-31T12:00:00Z", path)


def are_times(texts: Sequence[str]) -> bool:
    """Whether all of them are valid; times rarely repeat, so all are checked together."""
    if not texts:
        return True
    hours = {text[:_HOUR_LENGTH] for text in texts}
    if not (hours <= good_hours or all(map(_is_hour, hours))):
        return False
    good_hours.update(hours)
    clocks = "\n".join([text[_HOUR_LENGTH:] for text in texts])
    if clocks.translate(_TO_ZERO) == (_PLAIN * len(texts))[:-1]:
        return max(clocks[1 :: len(_PLAIN)]) < "6" and max(clocks[4 :: len(_PLAIN)]) < "6"
    return clocks.count("\n") < len(texts) and _CLOCKS.fullmatch(clocks) is not None


def _is_hour(text: str) -> bool:
    if not _HOUR.fullmatch(text):
        return False
    try:
        date.fromisoformat(text[:_DATE_LENGTH])
    except ValueError:
        return False
    return True


def int_or_percent(value: int | str, path: FieldPath, add: AddProblem) -> None:
    """A number of pods or a share of them (`ValidatePositiveIntOrPercent`, `IsNotMoreThan100Percent`)."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            add(f"{_shown(value)} is neither a number nor a percentage such as 50%", path)
        elif len(value.lstrip("0")) > len("100%") or int(value[:-1]) > 100:
            add(f"{_shown(value)} is more than 100%", path)
    elif value < 0:
        add(f"{value} is negative", path)


def _shown(value: object) -> str:
    """A value in a message, cut where it would fill the screen."""
    try:
        text = str(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a number of thousands of digits"
    return repr(text if len(text) <= 64 else text[:61] + "...")


#: Pairs of label key and value that were found to be valid.
good_labels: set[tuple[str, str]] = set()
_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")


def labels(pairs: Mapping[str, str], path: FieldPath, add: AddProblem) -> None:
    """Labels that are looked for."""
    if good_labels.issuperset(pairs.items()):
        return
    for key, value in pairs.items():
        errors = (*label_key_errors(key), *label_value_errors(value))
        for error in errors:
            add(error, (*path, key))
        if not errors:
            good_labels.add((key, value))


def label_selector(selector: LabelSelector, path: FieldPath, add: AddProblem) -> None:
    """A selector of pods or namespaces."""
    labels(selector.match_labels, (*path, "matchLabels"), add)
    for index, requirement in enumerate(selector.match_expressions):
        try:
            compile_selector(LabelSelector(match_expressions=(requirement,)))
        except SelectorError as error:
            for problem in error.problems:
                add(problem, (*path, "matchExpressions", index))


def node_selector(selector: NodeSelector, path: FieldPath, add: AddProblem) -> None:
    """Required node affinity."""
    if not selector.node_selector_terms:
        add("must have at least one term", (*path, "nodeSelectorTerms"))
    for index, term in enumerate(selector.node_selector_terms):
        where: FieldPath = (*path, "nodeSelectorTerms", index)
        _node_term(term, where, add)
        for at, requirement in enumerate(term.match_expressions):
            for value in requirement.values:
                for error in label_value_errors(value):
                    add(error, (*where, "matchExpressions", at, "values"))


def preferred_term(term: PreferredSchedulingTerm, path: FieldPath, add: AddProblem) -> None:
    """Preferred node affinity: here values need not be label values (the API server lets them pass)."""
    _weight(term.weight, path, add)
    _node_term(term.preference, (*path, "preference"), add)


def _node_term(term: NodeSelectorTerm, path: FieldPath, add: AddProblem) -> None:
    for index, requirement in enumerate(term.match_expressions):
        where: FieldPath = (*path, "matchExpressions", index)
        if _operator(requirement, _NODE_OPERATORS, where, add):
            _values(requirement, where, add)
        for error in label_key_errors(requirement.key):
            add(error, (*where, "key"))
    for index, requirement in enumerate(term.match_fields):
        where = (*path, "matchFields", index)
        if _operator(requirement, _FIELD_OPERATORS, where, add) and len(requirement.values) != 1:
            add("must have exactly one entry", (*where, "values"))
        if requirement.key != "metadata.name":
            add(f"{requirement.key!r} is not metadata.name, the only field to select by", (*where, "key"))


def _operator(requirement: Requirement, supported: Sequence[str], path: FieldPath, add: AddProblem) -> bool:
    if requirement.operator in supported:
        return True
    add(f"{requirement.operator!r} is none of {', '.join(supported)}", (*path, "operator"))
    return False


def _values(requirement: Requirement, path: FieldPath, add: AddProblem) -> None:
    count, operator = len(requirement.values), requirement.operator
    match operator:
        case "In" | "NotIn" if count == 0:
            add(f"must not be empty with operator {operator}", (*path, "values"))
        case "Exists" | "DoesNotExist" if count > 0:
            add(f"must be empty with operator {operator}", (*path, "values"))
        case "Gt" | "Lt" if count != 1:
            add(f"must have exactly one entry with operator {operator}", (*path, "values"))


def _weight(weight: int, path: FieldPath, add: AddProblem) -> None:
    if not 1 <= weight <= 100:
        add(f"{weight} is not in the range 1-100", (*path, "weight"))


def pod_affinity_term(term: PodAffinityTerm, path: FieldPath, add: AddProblem) -> None:
    """A term of inter-pod affinity; its selectors have their own check."""
    _topology_key(term.topology_key, path, add)


def spread_constraint(constraint: TopologySpreadConstraint, path: FieldPath, add: AddProblem) -> None:
    """A topology spread constraint; its selector has its own check."""
    _topology_key(constraint.topology_key, path, add)
    if constraint.max_skew <= 0:
        add(f"{constraint.max_skew} is not greater than 0", (*path, "maxSkew"))
    if constraint.when_unsatisfiable not in _UNSATISFIABLE:
        add(f"{constraint.when_unsatisfiable!r} is none of {', '.join(_UNSATISFIABLE)}", (*path, "whenUnsatisfiable"))


def _topology_key(key: str, path: FieldPath, add: AddProblem) -> None:
    if not key:
        add("is not set", (*path, "topologyKey"))
    else:
        for error in label_key_errors(key):
            add(error, (*path, "topologyKey"))
