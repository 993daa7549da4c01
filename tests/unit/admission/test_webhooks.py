"""Which webhooks and admission policies would be asked about a new object."""

from typing import Any

import pytest

from kwhatif.admission.webhooks import NewObject, WebhookCall, calls_for
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import LabelSelector, ObjectMeta, Requirement
from kwhatif.kube.model.policy import (
    AdmissionPolicySpec,
    MatchCondition,
    MatchResources,
    MatchRule,
    MutatingWebhookConfiguration,
    PolicyBindingSpec,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    Webhook,
)
from tests.builders import namespace

POD = NewObject("Pod", "", "pods", "shop", "", {"app": "web"})
DEPLOYMENT = NewObject("Deployment", "apps", "deployments", "shop", "web", {})
WEB = LabelSelector(match_labels={"app": "web"})
INJECTED = LabelSelector(match_labels={"inject": "yes"})
NOT_SYSTEM = LabelSelector(
    match_expressions=(Requirement(key="kubernetes.io/metadata.name", operator="NotIn", values=("kube-system",)),)
)


def rule(**changes: Any) -> MatchRule:
    found = {"operations": ("CREATE",), "api_groups": ("",), "api_versions": ("v1",), "resources": ("pods",)}
    return MatchRule(**{**found, **changes})


def asked(
    obj: NewObject = POD, *rules: MatchRule, conditions: tuple[str, ...] = (), **fields: Any
) -> list[WebhookCall]:
    webhook = Webhook(
        name="w.example.com",
        rules=rules or (rule(),),
        match_conditions=tuple(MatchCondition(name="c", expression=each) for each in conditions),
        **fields,
    )
    configuration = MutatingWebhookConfiguration(metadata=ObjectMeta(name="m"), webhooks=(webhook,))
    return list(calls_for(obj, Cluster([namespace("shop", inject="no"), configuration])))


@pytest.mark.parametrize(
    ("obj", "changes", "expected"),
    [
        (POD, {}, True),
        (POD, {"operations": ("*",)}, True),
        (POD, {"operations": ("UPDATE", "DELETE")}, False),
        (POD, {"api_groups": ("cert-manager.io",), "resources": ("*",)}, False),
        (POD, {"api_groups": ("*",), "api_versions": ("*",), "resources": ("*/*",)}, True),
        (POD, {"api_versions": ("v1beta1",)}, False),
        (POD, {"resources": ("*",)}, True),
        (POD, {"resources": ("pods/*",)}, True),
        (POD, {"resources": ("pods/exec", "deployments")}, False),
        (POD, {"scope": "Namespaced"}, True),
        (POD, {"scope": "Cluster"}, False),
        (DEPLOYMENT, {}, False),
        (DEPLOYMENT, {"api_groups": ("apps",), "resources": ("deployments",)}, True),
        (DEPLOYMENT._replace(operation="UPDATE"), {"api_groups": ("apps",), "resources": ("deployments",)}, False),
    ],
)
def test_rules(obj: NewObject, changes: dict[str, Any], *, expected: bool) -> None:
    assert bool(asked(obj, rule(**changes))) is expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"object_selector": WEB}, True),
        ({"object_selector": INJECTED}, False),
        ({"namespace_selector": INJECTED}, False),
        ({"namespace_selector": LabelSelector(match_labels={"inject": "no"})}, True),
        ({"namespace_selector": NOT_SYSTEM}, True),
        ({"namespace_selector": LabelSelector()}, True),
    ],
)
def test_selectors(fields: dict[str, Any], *, expected: bool) -> None:
    assert bool(asked(**fields)) is expected


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (('object.metadata.labels["app"] == "web"',), True),
        (('object.metadata.labels["app"] == "api"',), False),
        (("request.namespace != 'kube-system'", "request.operation == 'CREATE'"), True),
        (("!('skip' in object.metadata.labels)", "object.metadata.namespace == 'shop'"), True),
        (("has(object.metadata.labels) && oldObject == null",), True),
        (("request.resource.group != 'apps'",), True),
        # What is not all known here counts as matching.
        (("!request.userInfo.username.startsWith('system:node:')",), None),
        (("object.spec.containers.all(c, c.image.startsWith('x'))",), None),
        (("has(object.metadata.annotations)",), None),
        (("object.metadata.size() > 1",), None),
        (("this is not CEL",), None),
        (("object.metadata.labels['none'] == 'x'",), None),
        # One that is false decides it.
        (("request.userInfo.username == 'x'", "request.namespace == 'other'"), False),
    ],
)
def test_conditions(conditions: tuple[str, ...], expected: bool | None) -> None:
    found = asked(conditions=conditions)
    if expected is False:
        assert found == []
    else:
        assert found == [WebhookCall("MutatingWebhookConfiguration m (w.example.com)", expected is None)]


@pytest.mark.parametrize(
    ("policy", "bindings", "expected"),
    [
        (MatchResources(resource_rules=(rule(),)), [PolicyBindingSpec(policy_name="p")], True),
        (MatchResources(resource_rules=(rule(),)), [], False),
        (MatchResources(resource_rules=(rule(),)), [PolicyBindingSpec(policy_name="other")], False),
        (MatchResources(resource_rules=(rule(resources=("services",)),)), [PolicyBindingSpec(policy_name="p")], False),
        (
            MatchResources(resource_rules=(rule(),), exclude_resource_rules=(rule(),)),
            [PolicyBindingSpec(policy_name="p")],
            False,
        ),
        (
            MatchResources(resource_rules=(rule(),)),
            [PolicyBindingSpec(policy_name="p", match_resources=MatchResources(namespace_selector=INJECTED))],
            False,
        ),
        (None, [PolicyBindingSpec(policy_name="p", match_resources=MatchResources(object_selector=WEB))], True),
    ],
)
def test_policies_have_a_say_where_a_binding_matches_too(
    policy: MatchResources | None, bindings: list[PolicyBindingSpec], *, expected: bool
) -> None:
    spec = AdmissionPolicySpec(match_constraints=policy)
    objects = [
        ValidatingAdmissionPolicy(metadata=ObjectMeta(name="p"), spec=spec),
        *(
            ValidatingAdmissionPolicyBinding(metadata=ObjectMeta(name=f"b{place}"), spec=each)
            for place, each in enumerate(bindings)
        ),
    ]
    found = list(calls_for(POD, Cluster([namespace("shop"), *objects])))
    assert found == ([WebhookCall("ValidatingAdmissionPolicy p")] if expected else [])


def test_the_conditions_of_a_webhook_share_a_budget() -> None:
    """Each is within the limit of one; all together are not, and so nothing is known of the last ones."""
    numbers = str(list(range(90)))
    dear = f"{numbers}.all(x, {numbers}.all(y, request.namespace != 'other' || x == y))"
    (few,), (many,) = asked(conditions=(dear,)), asked(conditions=(dear,) * 40)
    assert (few.is_unsure, many.is_unsure) == (False, True)
