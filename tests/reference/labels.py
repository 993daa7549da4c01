"""Label selectors the plain way: a list of requirements, looked at one by one."""

from collections.abc import Mapping

from kwhatif.kube.model.meta import LabelSelector, Requirement

#: None matches nothing, an empty list everything.
Plain = list[Requirement] | None


def equal_to(labels: Mapping[str, str]) -> list[Requirement]:
    """`key = value` for every pair."""
    return [Requirement(key=key, operator="In", values=(value,)) for key, value in labels.items()]


def requirements(selector: LabelSelector | None) -> Plain:
    """What a `metav1.LabelSelector` demands."""
    if selector is None:
        return None
    return [*equal_to(selector.match_labels), *selector.match_expressions]


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether one requirement holds."""
    match requirement.operator:
        case "In":
            return requirement.key in labels and labels[requirement.key] in requirement.values
        case "NotIn":
            return requirement.key not in labels or labels[requirement.key] not in requirement.values
        case "Exists":
            return requirement.key in labels
        case "DoesNotExist":
            return requirement.key not in labels
    raise AssertionError(requirement.operator)


def matches(selector: Plain, labels: Mapping[str, str]) -> bool:
    """Whether all requirements hold."""
    return selector is not None and all(holds(requirement, labels) for requirement in selector)
