"""What is wrong with a policy is reported by field; what is right means what the schema says."""

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from kwhatif.errors import InputError
from kwhatif.policy.build import build_rulebook
from kwhatif.policy.schema import Policy
from kwhatif.report.row import schema_text

HEAD = {"apiVersion": "kwhatif.dev/v1", "kind": "Policy"}
EXCEPTION = {"rules": ["preemption"], "workloads": ["*"], "reason": "r", "expires": "2026-12-31"}
NODES = {"matchLabels": {"pool": "gpu"}}
FULL = HEAD | {
    "unschedulable": "fail",
    "denied": "warn",
    "gated": "ignore",
    "ignored": "warn",
    "preemption": "fail",
    "budgetViolation": "fail",
    "maxVictims": {"count": 3, "level": "warn"},
    "protectedVictims": [{"namespaces": ["kube-system"]}, {"name": "high", "minPriority": 1000}],
    "priorityClasses": [{"namespaces": ["a"], "forbidden": ["b"], "allowed": ["c"]}],
    "placement": [{"name": "gpu", "nodes": NODES, "namespaces": ["x"], "level": "warn"}],
    "expressions": [{"name": "e", "expression": "true", "message": "m", "level": "fail"}],
    "exceptions": [EXCEPTION],
}

WRONG: dict[str, tuple[object, list[tuple[str, str]]]] = {
    "an unknown field": (
        {"unscheduleable": "fail"},
        [("unscheduleable", "unknown field; did you mean unschedulable?")],
    ),
    "every unknown field": (
        {"a": 1, "placement": [{"nodes": NODES, "node": {}}]},
        [("a", "unknown field"), ("placement[0].node", "unknown field; did you mean nodes?")],
    ),
    "an unknown level": (
        {"preemption": "error"},
        [("preemption", "must be one of fail, ignore, pass, warn; it is 'error'")],
    ),
    "a wrong type": ({"maxVictims": {"count": "3"}}, [("maxVictims.count", "expected an integer, got a string")]),
    "more than 64 bits": (
        {"protectedVictims": [{"minPriority": 2**63}]},
        [("protectedVictims[0].minPriority", f"Invalid value: {2**63}: out of range")],
    ),
    "a missing field": ({"maxVictims": {}}, [("maxVictims.count", "Required value")]),
    "a negative limit": ({"maxVictims": {"count": -1}}, [("maxVictims.count", "must not be negative")]),
    "a protection of nobody": (
        {"protectedVictims": [{}]},
        [("protectedVictims[0]", "expected either namespaces or minPriority")],
    ),
    "a protection that could mean both or either": (
        {"protectedVictims": [{"namespaces": ["a"], "minPriority": 1}]},
        [("protectedVictims[0]", "expected either namespaces or minPriority")],
    ),
    "a class rule without classes": (
        {"priorityClasses": [{"namespaces": ["a"]}]},
        [("priorityClasses[0]", "expected forbidden or allowed classes")],
    ),
    "two rules of one name": (
        {"placement": [{"name": "x", "nodes": NODES}, {"name": "x", "nodes": NODES}]},
        [("placement[0].name", "'x' is there twice"), ("placement[1].name", "'x' is there twice")],
    ),
    "a selector that is none": (
        {"placement": [{"nodes": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}]},
        [("placement[0].nodes", '"Like" is not a valid label selector operator')],
    ),
    "an expression that is not boolean": (
        {"expressions": [{"name": "x", "expression": "1 + 1"}]},
        [("expressions[0].expression", "must evaluate to bool, not int")],
    ),
    "an exception without reason": (
        {"exceptions": [EXCEPTION | {"reason": " "}]},
        [("exceptions[0].reason", "must say why")],
    ),
    "an exception without end": (
        {"exceptions": [{key: value for key, value in EXCEPTION.items() if key != "expires"}]},
        [("exceptions[0].expires", "Required value")],
    ),
    "an exception that ends some day": (
        {"exceptions": [EXCEPTION | {"expires": "soon"}]},
        [("exceptions[0].expires", "Invalid RFC3339 encoded date")],
    ),
    "an exception from nothing": (
        {"exceptions": [EXCEPTION | {"rules": [], "workloads": []}]},
        [("exceptions[0].rules", "must not be empty"), ("exceptions[0].workloads", "must not be empty")],
    ),
    "an exception from no rule": (
        {"exceptions": [EXCEPTION | {"rules": ["preemption", "placement/gpu"]}]},
        [("exceptions[0].rules[1]", "there is no rule 'placement/gpu'; did you mean placement?")],
    ),
}


def issues(data: object) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        build_rulebook(data, "kwhatif.yaml")
    assert {problem.where for problem in caught.value.problems} == {"kwhatif.yaml"}
    return [(problem.field, problem.message) for problem in caught.value.problems]


@pytest.mark.parametrize(("data", "expected"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_reported_by_field(data: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert issues(HEAD | data) == expected


def test_an_expression_that_does_not_compile_is_reported_with_its_place() -> None:
    ((path, message),) = issues(HEAD | {"expressions": [{"name": "x", "expression": "decision.priority <"}]})
    assert path == "expressions[0].expression"
    assert "Syntax error" in message


@pytest.mark.parametrize("data", [[], {}, {"kind": "Policy"}, HEAD | {"apiVersion": "kwhatif.dev/v2"}])
def test_something_else_is_no_policy(data: object) -> None:
    ((_, message),) = issues(data)
    assert message == "is not a policy: expected an object with apiVersion kwhatif.dev/v1 and kind Policy"


def test_a_null_is_as_good_as_missing() -> None:
    assert build_rulebook(HEAD | {"placement": None, "preemption": None}, "").policy == build_rulebook(HEAD, "").policy


def test_the_schema_takes_what_the_code_takes() -> None:
    schema = json.loads((files("kwhatif") / "schema" / "policy.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(FULL)
    build_rulebook(FULL, "kwhatif.yaml")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(HEAD | {"unscheduleable": "fail"})


def test_the_schema_that_is_shipped_is_up_to_date() -> None:
    assert (files("kwhatif") / "schema" / "policy.json").read_text() == schema_text(Policy)
