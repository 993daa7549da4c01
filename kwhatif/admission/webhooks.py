"""The webhooks and admission policies that the API server would call for a new object; their answers are not known.

Follows `k8s.io/apiserver/pkg/admission/plugin/webhook` (predicates: rules, namespace, object, matchconditions) and
`plugin/policy/matching`. What cannot be evaluated here counts as matching.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from kwhatif.cel import MATCH_CONDITIONS_BUDGET, CelError, CostBudget, Program, compile_expression
from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import LabelSelector
from kwhatif.kube.model.policy import (
    MatchCondition,
    MatchResources,
    MatchRule,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)

#: The variables that an expression may read: the others are incomplete here, or are about the user.
_KNOWN = frozenset(
    {
        ("object", "kind"),
        ("object", "apiVersion"),
        ("object", "metadata", "labels"),
        ("object", "metadata", "namespace"),
        ("request", "namespace"),
        ("request", "operation"),
        ("request", "kind", "group"),
        ("request", "kind", "kind"),
        ("request", "kind", "version"),
        ("request", "resource", "group"),
        ("request", "resource", "resource"),
        ("request", "resource", "version"),
        ("request", "subResource"),
    }
)
_VARIABLES = dict.fromkeys(("object", "oldObject", "request", "params", "authorizer", "namespaceObject"), "dyn")
_EVERYTHING = "*"


class NewObject(NamedTuple):
    """An object to be created or changed in a namespace."""

    kind: str
    group: str
    resource: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    operation: str = "CREATE"
    version: str = "v1"


class WebhookCall(NamedTuple):
    """A webhook or policy that would be called: `MutatingWebhookConfiguration istio (sidecar.istio.io)`."""

    name: str
    #: Whether one of its conditions could not be evaluated.
    is_unsure: bool = False


def calls_for(obj: NewObject, cluster: Cluster) -> Iterator[WebhookCall]:
    """All webhooks and policies that would be called for the object."""
    for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
        configurations: Mapping[str, Any] = cluster.all(kind)
        for name, configuration in configurations.items():
            for webhook in configuration.webhooks:
                matches = any(_applies(rule, obj) for rule in webhook.rules) and _selected(
                    webhook.namespace_selector, webhook.object_selector, obj, cluster
                )
                holds = _hold(webhook.match_conditions, obj) if matches else False
                if holds is not False:
                    yield WebhookCall(f"{kind.__name__} {name} ({webhook.name})", holds is None)
    for policies, bindings in (
        (MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding),
        (ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding),
    ):
        yield from _policies(cluster.all(policies), cluster.all(bindings), policies.__name__, obj, cluster)


def _policies(
    policies: Mapping[str, Any], bindings: Mapping[str, Any], kind: str, obj: NewObject, cluster: Cluster
) -> Iterator[WebhookCall]:
    """The policies that match and have a matching binding."""
    for name, policy in policies.items():
        if not _constrained(policy.spec.match_constraints, obj, cluster):
            continue
        bound = (each.spec for each in bindings.values() if each.spec.policy_name == name)
        if not any(_constrained(each.match_resources, obj, cluster) for each in bound):
            continue
        holds = _hold(policy.spec.match_conditions, obj)
        if holds is not False:
            yield WebhookCall(f"{kind} {name}", holds is None)


def _constrained(match: MatchResources | None, obj: NewObject, cluster: Cluster) -> bool:
    if match is None:
        return True
    if any(_applies(rule, obj) for rule in match.exclude_resource_rules):
        return False
    if match.resource_rules and not any(_applies(rule, obj) for rule in match.resource_rules):
        return False
    return _selected(match.namespace_selector, match.object_selector, obj, cluster)


def _applies(rule: MatchRule, obj: NewObject) -> bool:
    """Whether a rule matches the request (`rules.Matcher`)."""
    return (
        rule.scope in ("", _EVERYTHING, "Namespaced" if obj.namespace else "Cluster")
        and _names(rule.operations, obj.operation)
        and _names(rule.api_groups, obj.group)
        and _names(rule.api_versions, obj.version)
        and any(_is_resource(each, obj.resource) for each in rule.resources)
        and (not rule.resource_names or obj.name in rule.resource_names)
    )


def _names(texts: Sequence[str], text: str) -> bool:
    return _EVERYTHING in texts or text in texts


def _is_resource(text: str, resource: str) -> bool:
    """Whether a rule's resource includes the resource itself: `pods`, `pods/*` and `*` do, `pods/exec` does not."""
    name, _, sub = text.partition("/")
    return name in (_EVERYTHING, resource) and sub in ("", _EVERYTHING)


def _selected(
    namespaces: LabelSelector | None, objects: LabelSelector | None, obj: NewObject, cluster: Cluster
) -> bool:
    """Whether the selectors match; absent selectors match everything."""
    if obj.namespace and not _matches(namespaces, cluster.namespace_labels(obj.namespace)):
        return False
    return _matches(objects, obj.labels)


def _matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return True
    try:
        return compile_selector(selector).matches(labels)
    except SelectorError:
        return True


def _hold(conditions: Sequence[MatchCondition], obj: NewObject) -> bool | None:
    """Whether all conditions are true; None if one cannot be evaluated and none is false."""
    budget = CostBudget(MATCH_CONDITIONS_BUDGET) if conditions else None
    found: list[bool | None] = [_holds(each.expression, obj, budget) for each in conditions]
    return False if False in found else None if None in found else True


def _holds(expression: str, obj: NewObject, budget: CostBudget | None) -> bool | None:
    program = _compiled(expression)
    if program is None:
        return None
    metadata: dict[str, Any] = {"namespace": obj.namespace} if obj.namespace else {}
    if obj.labels:
        metadata["labels"] = dict(obj.labels)
    version = f"{obj.group}/{obj.version}".lstrip("/")
    data = {
        "object": {"apiVersion": version, "kind": obj.kind, "metadata": metadata},
        "oldObject": None,
        "request": {
            "kind": {"group": obj.group, "version": obj.version, "kind": obj.kind},
            "resource": {"group": obj.group, "version": obj.version, "resource": obj.resource},
            "subResource": "",
            "operation": obj.operation,
            "namespace": obj.namespace,
        },
        "params": None,
        "authorizer": None,
        "namespaceObject": None,
    }
    try:
        found = program.evaluate(data, budget)
    except CelError:
        return None
    return found if isinstance(found, bool) else None


@lru_cache(maxsize=256)
def _compiled(expression: str) -> Program | None:
    """The program, if it reads only known variables and fields."""
    try:
        program = compile_expression(expression, _VARIABLES, result="bool")
    except CelError:
        return None
    is_known = all(_is_known(path, program.paths) for path in program.paths)
    return program if is_known else None


def _is_known(path: tuple[str, ...], paths: frozenset[tuple[str, ...]]) -> bool:
    if any(path[: len(known)] == known for known in _KNOWN):
        return True
    # A prefix of a known path is not read itself, unless the expression also uses it alone.
    return any(known[: len(path)] == path for known in _KNOWN) and any(
        longer != path and longer[: len(path)] == path for longer in paths
    )
