"""Decoding and refusing policies in the descheduler's words."""

from typing import Any

import pytest

from kwhatif.descheduler import policy as of
from kwhatif.descheduler.build import STRATEGIES, build_policy, strategy_policy
from kwhatif.descheduler.decode import go_decode
from kwhatif.descheduler.policy import Args, DefaultEvictorArgs
from kwhatif.errors import InputError
from kwhatif.kube.model.caveat.manifests import FieldIgnored
from kwhatif.kube.model.caveat.scheduling import PolicyIsEmpty
from kwhatif.kube.model.cluster import Cluster

HEAD = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}


def policy(name: str, args: Any, **others: Any) -> dict[str, Any]:
    point = "balance" if name in of.BALANCE else "deschedule"
    config = [{"name": name, "args": args}, *others.pop("pluginConfig", [])]
    profile = {"name": "p", "pluginConfig": config, "plugins": {point: {"enabled": [name]}}}
    return {**HEAD, "profiles": [profile], **others}


@pytest.mark.parametrize(
    ("type_", "data", "error"),
    [
        (
            of.PodLifeTimeArgs,
            {"maxPodLifeTimeSeconds": -1},
            "json: cannot unmarshal number -1 into Go struct field PodLifeTimeArgs.maxPodLifeTimeSeconds of type uint",
        ),
        (
            of.PodLifeTimeArgs,
            {"namespaces": {"include": "x"}},
            "json: cannot unmarshal string into Go struct field Namespaces.namespaces.include of type []string",
        ),
        (
            of.LowNodeUtilizationArgs,
            {"thresholds": {"cpu": "20"}},
            "json: cannot unmarshal string into Go struct field LowNodeUtilizationArgs.thresholds"
            " of type api.Percentage",
        ),
        (
            of.RemovePodsViolatingNodeTaintsArgs,
            {"includePreferNoSchedule": "yes"},
            "json: cannot unmarshal string into Go struct field"
            " RemovePodsViolatingNodeTaintsArgs.includePreferNoSchedule of type bool",
        ),
        (DefaultEvictorArgs, {"minPodAge": "soon"}, 'time: invalid duration "soon"'),
        (DefaultEvictorArgs, {"minPodAge": "5"}, 'time: missing unit in duration "5"'),
    ],
)
def test_a_value_of_a_wrong_type(type_: type[Args], data: dict[str, Any], error: str) -> None:
    assert go_decode(data, type_).error == error


def test_nulls_and_whole_floats_are_fine() -> None:
    decoded = go_decode({"maxPodLifeTimeSeconds": 600.0, "states": None}, of.PodLifeTimeArgs)
    assert decoded.value == of.PodLifeTimeArgs(max_pod_life_time_seconds=600)


@pytest.mark.parametrize(
    ("data", "message", "field"),
    [
        (
            policy("PodLifeTime", {"maxPodLifeTimeSeconds": 1, "conditions": [{"typ": "Ready"}]}),
            'strict decoding error: unknown field "conditions[0].typ"',
            "profiles[0].pluginConfig[0].args.conditions[0].typ",
        ),
        (
            policy("RemoveDuplicates", {}, nodeSelector="a="),
            "",
            "",
        ),
        (
            policy("RemoveDuplicates", {}, nodeSelector="=a"),
            "failed to create new descheduler: found '=', expected: !, identifier, or 'end of string'",
            "nodeSelector",
        ),
        (
            policy(
                "RemoveDuplicates",
                {},
                pluginConfig=[{"name": "DefaultEvictor", "args": {"priorityThreshold": {"name": "gone"}}}],
            ),
            'unable to get priority value from the priority class: priorityclasses.scheduling.k8s.io "gone" not found',
            "profiles[0].pluginConfig[1].args.priorityThreshold",
        ),
        (
            {**HEAD, "profiles": [{"name": "p", "plugins": {"balance": {"enabled": ["RemoveDuplicates"]}}}]},
            'failed to create new descheduler: unable to create "p" profile: unable to build RemoveDuplicates plugin:'
            ' unable to find "RemoveDuplicates" plugin config',
            "profiles[0].pluginConfig",
        ),
        (
            {**HEAD, "profiles": [{"name": "p", "pluginConfig": [{"name": "X", "args": {"a": 1}}]}]},
            "in profile p: plugin X in pluginConfig not registered",
            "profiles[0].pluginConfig[0].name",
        ),
        (
            {"apiVersion": "v1", "kind": "Pod"},
            'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
            "apiVersion",
        ),
        (
            {"apiVersion": "v1"},
            'no kind "DeschedulerPolicy" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
            "apiVersion",
        ),
        (
            {"kind": "Pod"},
            'no kind "Pod" is registered for the internal version of group "descheduler" in scheme'
            ' "pkg/runtime/scheme.go:111"',
            "kind",
        ),
    ],
)
def test_what_the_descheduler_refuses(data: dict[str, Any], message: str, field: str) -> None:
    if not message:
        build_policy(data, "policy.yaml", Cluster())
        return
    with pytest.raises(InputError) as refused:
        build_policy(data, "policy.yaml", Cluster())
    (problem,) = refused.value.problems
    assert message in problem.message
    assert problem.field == field


def test_what_the_descheduler_ignores_is_a_caveat() -> None:
    _, caveats = build_policy(policy("RemoveDuplicates", {}, maxPods=3), "policy.yaml", Cluster())
    (caveat,) = caveats
    assert isinstance(caveat, FieldIgnored)
    assert caveat.where == "policy.yaml: maxPods"


@pytest.mark.parametrize("data", [{}, {"kind": "DeschedulerPolicy", "profiles": [{"name": 1}]}, HEAD])
def test_an_empty_policy_is_a_caveat(data: dict[str, Any]) -> None:
    made, caveats = build_policy(data, "policy.yaml", Cluster())
    assert made.profiles == ()
    assert any(isinstance(caveat, PolicyIsEmpty) for caveat in caveats)


@pytest.mark.parametrize("name", STRATEGIES)
def test_each_strategy_has_a_policy_of_its_own(name: str) -> None:
    (profile,) = strategy_policy(name).profiles
    assert (*profile.deschedule, *profile.balance) == (name,)
    from kwhatif.descheduler.validate import validate

    assert validate(profile.args[name]) == ""


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (policy("PodLifeTime", {"maxPodLifetimeSeconds": 1}), "did you mean maxPodLifeTimeSeconds?"),
        (policy("RemoveFailedPod", {}), "did you mean RemoveFailedPods?"),
        (policy("RemoveDuplicates", {"zzz": 1}), ""),
        (
            policy("PodLifeTime", {}, pluginConfig=[{"name": "RemovePodsViolatingNodeAffinity"}]),
            "at profiles[0].pluginConfig[0].args, profiles[0].pluginConfig[1].args",
        ),
        ({"apiVersion": "v1", "kind": "Pod"}, "a policy begins with apiVersion: descheduler/v1alpha2,"),
    ],
)
def test_a_refusal_says_what_may_be_meant_and_where(data: dict[str, Any], hint: str) -> None:
    with pytest.raises(InputError) as refused:
        build_policy(data, "policy.yaml", Cluster())
    (problem,) = refused.value.problems
    assert problem.hint.startswith(hint)
    assert bool(problem.hint) is bool(hint)


def test_an_ignored_field_says_what_may_be_meant() -> None:
    _, (caveat,) = build_policy(policy("RemoveDuplicates", {}, profile=[]), "policy.yaml", Cluster())
    assert isinstance(caveat, FieldIgnored)
    assert caveat.hint == "did you mean profiles?"


def test_there_is_no_such_strategy() -> None:
    with pytest.raises(ValueError, match=r"there is no strategy 'Duplicates': did you mean RemoveDuplicates\?"):
        strategy_policy("Duplicates")
    with pytest.raises(ValueError, match="there is no strategy 'x': choose from HighNodeUtilization, "):
        strategy_policy("x")
