"""From a configuration to profiles: what runs where, and everything that kube-scheduler would refuse."""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import pytest
import yaml

from kwhatif.errors import InputError
from kwhatif.scheduler.catalog import ENTRIES, Entry, default_profile
from kwhatif.scheduler.configuration.build import build_profiles
from kwhatif.scheduler.framework.profile import Point, Profile, names
from kwhatif.scheduler.plugins.default_preemption import DefaultPreemptionArgs
from kwhatif.scheduler.plugins.node_resources_fit import NodeResourcesFitArgs

NAME_RULE = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g."
    " 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def build(text: str, *own: Entry, enabled: Sequence[str] = ()) -> dict[str, Profile]:
    data = HEAD | (yaml.safe_load(text) or {})
    return build_profiles(data, "config.yaml", [*ENTRIES, *own], enabled)[0]


def profile(text: str, *own: Entry, enabled: Sequence[str] = ()) -> Profile:
    """The only profile, of which `text` is the inside."""
    (found,) = build(yaml.safe_dump({"profiles": [yaml.safe_load(text) or {}]}), *own, enabled=enabled).values()
    return found


def issues(text: str, *own: Entry, enabled: Sequence[str] = ()) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        build(text, *own, enabled=enabled)
    assert {problem.where for problem in caught.value.problems} == {"config.yaml"}
    return [(problem.field, problem.message) for problem in caught.value.problems]


def issue(text: str, *own: Entry, enabled: Sequence[str] = ()) -> tuple[str, str]:
    (found,) = issues(text, *own, enabled=enabled)
    return found


def points(found: Profile) -> dict[str, tuple[str, ...]]:
    return {
        point: names(getattr(found, point))
        for point in ("pre_enqueue", "pre_filter", "filter", "post_filter", "pre_score", "score")
    }


# --- what runs where ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "profiles:", "profiles: []", "profiles: [{}]", "profiles: [{plugins: null}]"])
def test_an_empty_configuration_is_the_default_profile(text: str) -> None:
    (found,) = build(text).items()
    assert found[0] == "default-scheduler"
    assert points(found[1]) == points(default_profile())
    assert dict(found[1].weights) == dict(default_profile().weights)


def test_several_profiles_by_name() -> None:
    found = build("profiles: [{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 7}]")
    assert {name: each.scheduler_name for name, each in found.items()} == {"a": "a", "b": "b"}
    assert [each.percentage_of_nodes_to_score for each in found.values()] == [0, 7]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{percentageOfNodesToScore: 40}", 40),
        ("{percentageOfNodesToScore: 40, profiles: [{percentageOfNodesToScore: 50}]}", 50),
        ("{percentageOfNodesToScore: 40, profiles: [{percentageOfNodesToScore: 0}]}", 0),
    ],
    ids=["for all profiles", "a profile's own counts first", "also when it is 0, which means adaptive"],
)
def test_percentage_of_nodes_to_score(text: str, expected: int) -> None:
    (found,) = build(text).values()
    assert found.percentage_of_nodes_to_score == expected


def test_a_plugin_disabled_everywhere_is_nowhere() -> None:
    found = profile("plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}")
    assert all("TaintToleration" not in at for at in points(found).values())


def test_a_plugin_disabled_at_one_point_stays_at_the_others() -> None:
    found = points(profile("plugins: {filter: {disabled: [{name: NodeAffinity}]}}"))
    assert "NodeAffinity" not in found["filter"]
    assert all("NodeAffinity" in found[point] for point in ("pre_filter", "pre_score", "score"))


def test_a_plugin_named_at_score_comes_first_there_and_without_a_weight_counts_once() -> None:
    found = profile("plugins: {score: {enabled: [{name: ImageLocality, weight: 20}, {name: TaintToleration}]}}")
    assert names(found.score)[:3] == ("ImageLocality", "TaintToleration", "NodeAffinity")
    assert {name: found.weights[name] for name in names(found.score)[:3]} == {
        "ImageLocality": 20,
        "TaintToleration": 1,
        "NodeAffinity": 2,
    }


def test_arguments_reach_their_plugin() -> None:
    found = profile("pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesAbsolute: 5}}]")
    (preemption,) = (plugin for plugin in found.post_filter if plugin.name == "DefaultPreemption")
    assert preemption.args == DefaultPreemptionArgs(min_candidate_nodes_absolute=5)  # type: ignore[attr-defined]


def test_arguments_may_say_their_type_and_hold_nulls() -> None:
    found = profile(
        "pluginConfig: [{name: NodeResourcesFit, args: {kind: NodeResourcesFitArgs,"
        " apiVersion: kubescheduler.config.k8s.io/v1, scoringStrategy: null, ignoredResources: null}}]"
    )
    (fit,) = (plugin for plugin in found.filter if plugin.name == "NodeResourcesFit")
    assert fit.args == NodeResourcesFitArgs()  # type: ignore[attr-defined]


@pytest.mark.parametrize("args", ["{anything: 1}", "3", "null"])
def test_arguments_of_plugins_that_do_not_exist_are_passed_over(args: str) -> None:
    assert points(profile(f"pluginConfig: [{{name: Elsewhere, args: {args}}}]")) == points(default_profile())


def test_a_plugin_named_twice_for_all_points_runs_once_where_each_point_speaks_of_it_itself() -> None:
    found = profile(
        "plugins: {multiPoint: {enabled: [{name: NodePorts}, {name: NodePorts}]},"
        " filter: {enabled: [{name: NodePorts}]}, preFilter: {disabled: [{name: NodePorts}]}}"
    )
    assert names(found.filter).count("NodePorts") == 1


def test_a_negative_weight_is_only_seen_by_those_that_follow() -> None:
    found = profile(
        "plugins: {multiPoint: {disabled: [{name: ImageLocality}], enabled: [{name: ImageLocality, weight: -2}]}}"
    )
    assert found.weights["ImageLocality"] == -2


@pytest.mark.parametrize(
    "text",
    [
        "parallelism: 1",
        "clientConnection: {burst: 0}",
        "percentageOfNodesToScore: 0",
        "percentageOfNodesToScore: 100",
        "{podInitialBackoffSeconds: 1, podMaxBackoffSeconds: 1}",
        "{leaderElection: {leaseDuration: 11s}}",
        "{leaderElection: {leaderElect: false, leaseDuration: 1s}}",
        "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 0}}]}]",
        "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 100}}]}]",
        "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio,"
        " requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}}]}]",
    ],
)
def test_the_last_values_that_are_allowed(text: str) -> None:
    assert list(build(text)) == ["default-scheduler"]


def test_a_profile_may_be_null() -> None:
    assert points(build("profiles: [null]")["default-scheduler"]) == points(default_profile())


def test_plugins_about_groups_of_pods_are_known_and_do_nothing_while_their_gate_is_off() -> None:
    found = profile("plugins: {multiPoint: {enabled: [{name: GangScheduling}]}}")
    assert points(found) == points(default_profile())


def test_resources_that_extenders_want_ignored_replace_the_own_list_in_every_profile() -> None:
    found = build(
        "{extenders: [{managedResources: [{name: a.io/x, ignoredByScheduler: true}, {name: a.io/y}]},"
        " {managedResources: [{name: b.io/z, ignoredByScheduler: true}]}],"
        " profiles: [{schedulerName: a}, {schedulerName: b,"
        " pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [c.io/own]}}]}]}"
    )
    for each in found.values():
        (fit,) = (plugin for plugin in each.filter if plugin.name == "NodeResourcesFit")
        assert fit._ignored == {"a.io/x", "b.io/z"}  # type: ignore[attr-defined]


# --- what is refused ----------------------------------------------------------------------------------

REFUSED: dict[str, tuple[str, str, str]] = {
    # fields and types
    "an unknown field": ("{parallelsim: 3}", "parallelsim", "unknown field; did you mean parallelism?"),
    "an unknown field deep inside": (
        "{profiles: [{plugins: {filter: {enable: []}}}]}",
        "profiles[0].plugins.filter.enable",
        "unknown field; did you mean enabled?",
    ),
    "an unknown extension point": (
        "{profiles: [{plugins: {filtre: {}}}]}",
        "profiles[0].plugins.filtre",
        "unknown field; did you mean filter?",
    ),
    "a wrong type": ("{parallelism: many}", "parallelism", "expected an integer, got a string"),
    "a number beyond 32 bits": (
        "{profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: 2147483648}]}}}]}",
        "profiles[0].plugins.score.enabled[0].weight",
        "Invalid value: 2147483648: out of range",
    ),
    "an unknown field of leader election": ("{leaderElection: {lead: true}}", "leaderElection.lead", "unknown field"),
    # numbers at the top
    "no parallelism": (
        "{parallelism: 0}",
        "parallelism",
        "Invalid value: 0: should be an integer value greater than zero",
    ),
    "a percentage above 100": (
        "{percentageOfNodesToScore: 101}",
        "percentageOfNodesToScore",
        "Invalid value: 101: not in valid range [0-100]",
    ),
    "a percentage below 0, in a profile": (
        "{profiles: [{percentageOfNodesToScore: -1}]}",
        "profiles[0].percentageOfNodesToScore",
        "Invalid value: -1: not in valid range [0-100]",
    ),
    "no backoff": (
        "{podInitialBackoffSeconds: 0}",
        "podInitialBackoffSeconds",
        "Invalid value: 0: must be greater than 0",
    ),
    "a backoff that shrinks": (
        "{podInitialBackoffSeconds: 11}",
        "podMaxBackoffSeconds",
        "Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
    ),
    "a negative burst": (
        "{clientConnection: {burst: -1}}",
        "clientConnection.burst",
        "Invalid value: -1: must be non-negative",
    ),
    # leader election
    "another lock than leases": (
        "{leaderElection: {resourceLock: endpoints}}",
        "leaderElection.resourceLock",
        'Invalid value: "endpoints": resourceLock value must be "leases"',
    ),
    "a lease shorter than its renewal": (
        "{leaderElection: {leaseDuration: 5s}}",
        "leaderElection.leaseDuration",
        'Invalid value: "10s": must be greater than `RenewDeadline`',
    ),
    "a negative retry period": (
        "{leaderElection: {retryPeriod: -2s}}",
        "leaderElection.retryPeriod",
        'Invalid value: "-2s": must be greater than zero',
    ),
    "no duration": (
        "{leaderElection: {retryPeriod: soon}}",
        "leaderElection.retryPeriod",
        'time: invalid duration "soon"',
    ),
    # profiles
    "an empty name": ("{profiles: [{schedulerName: ''}]}", "profiles[0].schedulerName", "Required value"),
    "one of two profiles without a name": (
        "{profiles: [{schedulerName: a}, {}]}",
        "profiles[1].schedulerName",
        "Required value",
    ),
    "two profiles of one name": (
        "{profiles: [{schedulerName: a}, {schedulerName: a}]}",
        "profiles[1].schedulerName",
        'Duplicate value: "profiles[0].schedulerName"',
    ),
    # plugin lists
    "an unknown plugin at a point": (
        "{profiles: [{plugins: {filter: {enabled: [{name: NodeName}, {name: Nope}]}}}]}",
        "profiles[0].plugins.filter.enabled[1]",
        'FilterPlugin "Nope" does not exist',
    ),
    "an unknown plugin at all points": (
        "{profiles: [{plugins: {multiPoint: {enabled: [{name: Nope}]}}}]}",
        "profiles[0].plugins.multiPoint.enabled[0]",
        'PreFilterPlugin "Nope" does not exist',
    ),
    "a plugin that was removed": (
        "{profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]}",
        "profiles[0].plugins.filter.enabled[0]",
        'Invalid value: "EBSLimits": was invalid in version "v1"'
        ' (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
    ),
    "a plugin at a point that it does not have": (
        "{profiles: [{plugins: {score: {enabled: [{name: NodeName}]}}}]}",
        "profiles[0].plugins.score.enabled[0]",
        'plugin "NodeName" does not extend ScorePlugin plugin',
    ),
    "a plugin twice at a point": (
        "{profiles: [{plugins: {preFilter: {enabled: [{name: NodePorts}, {name: NodePorts}]}}}]}",
        "profiles[0].plugins.preFilter.enabled[1]",
        'plugin "NodePorts" already registered as "PreFilterPlugin"',
    ),
    "a plugin twice at all points": (
        "{profiles: [{plugins: {multiPoint: {enabled: [{name: NodePorts}, {name: NodePorts}]}}}]}",
        "profiles[0].plugins.multiPoint.enabled[1]",
        'plugin "NodePorts" already registered as "PreFilterPlugin"',
    ),
    "a negative weight": (
        "{profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: -1}]}}}]}",
        "profiles[0].plugins.score",
        "score plugins: total score of Score plugins could overflow",
    ),
    "no queue": (
        "{profiles: [{plugins: {queueSort: {disabled: [{name: PrioritySort}]}}}]}",
        "profiles[0].plugins.queueSort",
        'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0',
    ),
    "nobody who binds": (
        "{profiles: [{schedulerName: a, plugins: {bind: {disabled: [{name: '*'}]}}}]}",
        "profiles[0].plugins.bind",
        'at least one bind plugin is needed for profile with scheduler name "a"',
    ),
    "different queues": (
        "{profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}]}",
        "profiles[1].plugins.queueSort",
        "must be the same for all profiles",
    ),
    "different arguments for the queues": (
        "{profiles: [{schedulerName: a}, {schedulerName: b, pluginConfig: [{name: PrioritySort, args: {x: 1}}]}]}",
        "profiles[1].pluginConfig",
        "queueSort must be the same for all profiles",
    ),
    "a plugin that does not exist, at a point for groups of pods": (
        "{profiles: [{plugins: {placementScore: {enabled: [{name: Nope}]}}}]}",
        "profiles[0].plugins.placementScore.enabled[0]",
        'PlacementScorePlugin "Nope" does not exist',
    ),
    # extenders
    "scores without a weight": (
        "{extenders: [{urlPrefix: 'http://x', prioritizeVerb: p}]}",
        "extenders[0].weight",
        "Invalid value: 0: must have a positive weight applied to it",
    ),
    "two who bind": (
        "{extenders: [{bindVerb: b}, {bindVerb: b}]}",
        "extenders",
        'Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
    ),
    "a managed resource of Kubernetes": (
        "{extenders: [{managedResources: [{name: kubernetes.io/x}]}]}",
        "extenders[0].managedResources[0].name",
        'Invalid value: "kubernetes.io/x": is an invalid extended resource name',
    ),
    "a managed resource without a domain": (
        "{extenders: [{managedResources: [{name: cpu}]}]}",
        "extenders[0].managedResources[0].name",
        'Invalid value: "cpu": is an invalid extended resource name',
    ),
    "a managed resource that is no name": (
        "{extenders: [{managedResources: [{name: a.io/b c}]}]}",
        "extenders[0].managedResources[0].name",
        f'Invalid value: "a.io/b c": name part must {NAME_RULE}',
    ),
    "a managed resource with a quotation mark": (
        "{extenders: [{managedResources: [{name: 'a.io/b\"c'}]}]}",
        "extenders[0].managedResources[0].name",
        f'Invalid value: "a.io/b\\"c": name part must {NAME_RULE}',
    ),
    "a resource managed twice": (
        "{extenders: [{managedResources: [{name: a.io/x}]}, {managedResources: [{name: a.io/x}]}]}",
        "extenders[1].managedResources[0].name",
        'Invalid value: "a.io/x": duplicate extender managed resource name',
    ),
    "a timeout that is no duration": (
        "{extenders: [{httpTimeout: 5}]}",
        "extenders[0].httpTimeout",
        "expected a string, got an integer",
    ),
    "a timeout that is no duration, but a text": (
        "{extenders: [{httpTimeout: '5'}]}",
        "extenders[0].httpTimeout",
        'time: missing unit in duration "5"',
    ),
    "a certificate authority that is not to be looked at": (
        "{extenders: [{tlsConfig: {insecure: true, caFile: /x}}]}",
        "extenders[0].tlsConfig",
        "specifying a root certificates file with the insecure flag is not allowed",
    ),
    "a resource to ignore, and no plugin that would": (
        "{extenders: [{managedResources: [{name: a.io/x, ignoredByScheduler: true}]}],"
        " profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]}",
        "profiles[0].pluginConfig",
        "can't find NodeResourcesFitArgs in plugin config",
    ),
    # pluginConfig
    "arguments twice": (
        "{profiles: [{pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]}]}",
        "profiles[0].pluginConfig[1]",
        'Duplicate value: "NodeAffinity"',
    ),
    "arguments of a plugin that was removed": (
        "{profiles: [{pluginConfig: [{name: CinderLimits}]}]}",
        "profiles[0].pluginConfig[0]",
        'Invalid value: "CinderLimits": was invalid in version "v1"'
        ' (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
    ),
    "arguments by the name of their type, for one plugin": (
        "{profiles: [{pluginConfig: [{name: NodeResourcesFitArgs, args: {}}]}]}",
        "profiles[0].pluginConfig[0].args",
        "Invalid value: has to match plugin args",
    ),
    "arguments that are no object": (
        "{profiles: [{pluginConfig: [{name: NodeAffinity, args: 3}]}]}",
        "profiles[0].pluginConfig[0].args",
        "expected an object, got an integer",
    ),
    "arguments of another type": (
        "{profiles: [{pluginConfig: [{name: NodeAffinity, args: {kind: PodTopologySpreadArgs}}]}]}",
        "profiles[0].pluginConfig[0].args",
        "args for plugin NodeAffinity were not of type NodeAffinityArgs of kubescheduler.config.k8s.io/v1,"
        " got PodTopologySpreadArgs of kubescheduler.config.k8s.io/v1",
    ),
    "arguments of another version": (
        "{profiles: [{pluginConfig: [{name: NodeAffinity, args: {apiVersion: kubescheduler.config.k8s.io/v1beta3}}]}]}",
        "profiles[0].pluginConfig[0].args",
        "args for plugin NodeAffinity were not of type NodeAffinityArgs of kubescheduler.config.k8s.io/v1,"
        " got NodeAffinityArgs of kubescheduler.config.k8s.io/v1beta3",
    ),
}


@pytest.mark.parametrize(("text", "path", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(text: str, path: str, message: str) -> None:
    assert issue(text) == (path, message)


ARGS: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "an unknown argument": ("DefaultPreemption", "{absolute: 1}", [("absolute", "unknown field")]),
    "too few candidates wanted": (
        "DefaultPreemption",
        "{minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1}",
        [
            ("minCandidateNodesPercentage", "Invalid value: 101: not in valid range [0, 100]"),
            ("minCandidateNodesAbsolute", "Invalid value: -1: not in valid range [0, inf)"),
        ],
    ),
    "no candidates wanted": (
        "DefaultPreemption",
        "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
        [
            (
                "minCandidateNodesPercentage",
                "Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute",
            ),
            (
                "minCandidateNodesAbsolute",
                "Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage",
            ),
        ],
    ),
    "a hard affinity above 100": (
        "InterPodAffinity",
        "{hardPodAffinityWeight: 101}",
        [("hardPodAffinityWeight", "Invalid value: 101: not in valid range [0, 100]")],
    ),
    "default constraints without saying so": (
        "PodTopologySpread",
        "{defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}",
        [("defaultingType", 'Invalid value: "System": when .defaultConstraints are not empty')],
    ),
    "another defaulting": (
        "PodTopologySpread",
        "{defaultingType: Mine}",
        [("defaultingType", 'Unsupported value: "Mine": supported values: "System", "List"')],
    ),
    "constraints that no pod may have": (
        "PodTopologySpread",
        "{defaultingType: List, defaultConstraints: [{labelSelector: {}},"
        " {maxSkew: 1, topologyKey: 'a b', whenUnsatisfiable: Never}]}",
        [
            ("defaultConstraints[0].maxSkew", "Invalid value: 0: not in valid range (0, inf)"),
            ("defaultConstraints[0].topologyKey", "Required value: can not be empty"),
            ("defaultConstraints[0].whenUnsatisfiable", "Required value: can not be empty"),
            (
                "defaultConstraints[0].labelSelector",
                "Forbidden: constraint must not define a selector, as they deduced for each pod",
            ),
            (
                "defaultConstraints[1].topologyKey",
                f'Invalid value: "a b": name part must {NAME_RULE}',
            ),
            (
                "defaultConstraints[1].whenUnsatisfiable",
                'Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"',
            ),
        ],
    ),
    "the same constraint twice": (
        "PodTopologySpread",
        "{defaultingType: List, defaultConstraints: [&c {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}, *c]}",
        [("defaultConstraints[1]", 'Duplicate value: "{zone, DoNotSchedule}"')],
    ),
    "names of resources": (
        "NodeResourcesFit",
        "{ignoredResources: [a b], ignoredResourceGroups: [a/b]}",
        [
            ("ignoredResources[0]", f'Invalid value: "a b": name part must {NAME_RULE}'),
            ("ignoredResourceGroups[0]", "Invalid value: \"a/b\": resource group name can't contain '/'"),
        ],
    ),
    "a strategy without a type": (
        "NodeResourcesFit",
        "{scoringStrategy: {}}",
        [
            (
                "scoringStrategy.type",
                'Unsupported value: "": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
            )
        ],
    ),
    "weights of resources": (
        "NodeResourcesFit",
        "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}, {name: memory, weight: 0}]}}",
        [
            (
                "scoringStrategy.resources[0].weight",
                "Invalid value: 101: resource weight of cpu not in valid range (0, 100]",
            )
        ],
    ),
    "a shape that nobody looks at": (
        "NodeResourcesFit",
        "{scoringStrategy: {type: LeastAllocated, requestedToCapacityRatio: {shape: []}}}",
        [
            (
                "scoringStrategy.requestedToCapacityRatio",
                "Forbidden: must be nil when type is not RequestedToCapacityRatio",
            )
        ],
    ),
    "no shape": (
        "NodeResourcesFit",
        "{scoringStrategy: {type: RequestedToCapacityRatio}}",
        [
            (
                "scoringStrategy.requestedToCapacityRatio",
                "Required value: must be specified when type is RequestedToCapacityRatio",
            )
        ],
    ),
    "an empty shape": (
        "NodeResourcesFit",
        "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {}}}",
        [
            (
                "scoringStrategy.requestedToCapacityRatio.shape",
                "Required value: at least one point must be specified",
            )
        ],
    ),
    "a shape out of bounds and out of order": (
        "NodeResourcesFit",
        "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio:"
        " {shape: [{utilization: 101, score: 0}, {utilization: 50, score: 11}, {utilization: 40, score: 1}]}}}",
        [
            (
                "scoringStrategy.requestedToCapacityRatio.shape[1].utilization",
                "Invalid value: 50: values must be sorted in increasing order",
            ),
            (
                "scoringStrategy.requestedToCapacityRatio.shape[0].utilization",
                "Invalid value: 101: not in valid range [0, 100]",
            ),
            (
                "scoringStrategy.requestedToCapacityRatio.shape[1].score",
                "Invalid value: 11: not in valid range [0, 10]",
            ),
        ],
    ),
    "a balance of one resource with itself": (
        "NodeResourcesBalancedAllocation",
        "{resources: [{name: cpu, weight: 2}, {name: cpu}]}",
        [
            ("resources[0].weight", "Invalid value: 2: must be 1"),
            ("resources[1].name", 'Duplicate value: "cpu"'),
        ],
    ),
    "volumes": (
        "VolumeBinding",
        "{bindTimeoutSeconds: -1, shape: []}",
        [
            (
                "bindTimeoutSeconds",
                "Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
            ),
            (
                "shape",
                "Invalid value: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
            ),
        ],
    ),
    "devices": (
        "DynamicResources",
        "{filterTimeout: -1s, bindingTimeout: 999ms}",
        [
            ("filterTimeout", 'Invalid value: "-1s": must be zero or positive'),
            ("bindingTimeout", 'Invalid value: "999ms": must be at least 1 second'),
        ],
    ),
    "devices, with no durations": (
        "DynamicResources",
        "{filterTimeout: '1', bindingTimeout: 5}",
        [("bindingTimeout", "expected a string, got an integer")],
    ),
    "added affinity that does not parse": (
        "NodeAffinity",
        "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{},"
        " {matchExpressions: [{key: a, operator: In}]}]}, preferredDuringSchedulingIgnoredDuringExecution: ["
        "{weight: 1, preference: {matchExpressions: [{key: a, operator: Around}]}},"
        " {weight: 0, preference: {matchExpressions: [{key: a, operator: Ignored}]}}]}}",
        [
            (
                "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1]"
                ".matchExpressions[0].values",
                "Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            ),
            (
                "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].matchExpressions[0].operator",
                'Unsupported value: "Around": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
            ),
        ],
    ),
    "added affinity of the wrong type": (
        "NodeAffinity",
        "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: []}}",
        [("addedAffinity.requiredDuringSchedulingIgnoredDuringExecution", "expected an object, got a list")],
    ),
}


@pytest.mark.parametrize(("plugin", "args", "expected"), ARGS.values(), ids=ARGS.keys())
def test_arguments_refused(plugin: str, args: str, expected: list[tuple[str, str]]) -> None:
    found = issues(f"{{profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]}}")
    assert found == [(f"profiles[0].pluginConfig[0].args.{path}", message) for path, message in expected]


def test_arguments_of_fit_are_not_looked_at_where_it_does_not_run() -> None:
    found = profile(
        "{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}},"
        " pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {}}}]}"
    )
    assert names(found.filter) == tuple(name for name in names(default_profile().filter) if name != "NodeResourcesFit")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "expected apiVersion kubescheduler.config.k8s.io/v1 and kind KubeSchedulerConfiguration, got neither"),
        (
            HEAD | {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
            "expected apiVersion kubescheduler.config.k8s.io/v1 and kind KubeSchedulerConfiguration,"
            " got kubescheduler.config.k8s.io/v1beta3 KubeSchedulerConfiguration",
        ),
    ],
    ids=["nothing", "an older version"],
)
def test_another_kind_is_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match="expected apiVersion") as caught:
        build_profiles(data, "config.yaml", ENTRIES)
    assert [problem.message for problem in caught.value.problems] == [message]


def test_problems_of_all_profiles_are_reported() -> None:
    found = issues(
        "{parallelism: 0, profiles: [{schedulerName: a, pluginConfig: [{name: InterPodAffinity,"
        " args: {hardPodAffinityWeight: -1}}]}, {schedulerName: b, plugins: {bind: {disabled: [{name: '*'}]}}}]}"
    )
    assert [path for path, _ in found] == [
        "parallelism",
        "profiles[0].pluginConfig[0].args.hardPodAffinityWeight",
        "profiles[1].plugins.bind",
    ]


# --- plugins of your own ------------------------------------------------------------------------------


class QuotaArgs(msgspec.Struct, rename="camel"):
    max_cpu: int


class Quota:
    name: ClassVar[str] = "Quota"

    def __init__(self, args: QuotaArgs) -> None:
        self.args = args

    def pre_filter(self, pod: object, snapshot: object) -> None:
        raise NotImplementedError


class Gentle:
    name: ClassVar[str] = "Gentle"

    def __init__(self, args: DefaultPreemptionArgs) -> None:
        self.args = args

    def post_filter(self, cycle: object) -> None:
        raise NotImplementedError


QUOTA = Entry("Quota", (Point.PRE_FILTER, Point.FILTER), Quota, QuotaArgs, default=False)
GENTLE = Entry(
    "Gentle",
    (Point.POST_FILTER,),
    Gentle,
    DefaultPreemptionArgs,
    default=False,
    replaces="DefaultPreemption",
)


def test_a_plugin_of_your_own_is_known_by_name() -> None:
    text = "{plugins: {multiPoint: {enabled: [{name: Quota}]}}, pluginConfig: [{name: Quota, args: {maxCpu: 3}}]}"
    found = profile(text, QUOTA)
    assert names(found.filter)[-1] == names(found.pre_filter)[-1] == "Quota"
    assert found.filter[-1].args == QuotaArgs(3)  # type: ignore[attr-defined]


def test_it_does_not_run_unless_it_is_enabled() -> None:
    assert "Quota" not in names(profile("", QUOTA).filter)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("{maxCpu: '3'}", ("profiles[0].pluginConfig[0].args.maxCpu", "expected an integer, got a string")),
        ("{}", ("profiles[0].pluginConfig[0].args.maxCpu", "Required value")),
    ],
)
def test_its_arguments_are_checked(args: str, expected: tuple[str, str]) -> None:
    text = f"{{profiles: [{{pluginConfig: [{{name: Quota, args: {args}}}]}}]}}"
    assert issue(text, QUOTA, enabled=["Quota"]) == expected


def test_arguments_that_it_needs_must_be_there() -> None:
    assert issue("", QUOTA, enabled=["Quota"]) == (
        "profiles[0].pluginConfig",
        "plugin Quota needs its argument maxCpu: Required value",
    )


def test_one_that_stands_in_anothers_place_takes_its_arguments() -> None:
    found = profile(
        "pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesAbsolute: 5}}]", GENTLE, enabled=["Gentle"]
    )
    assert names(found.post_filter) == ("DynamicResources", "Gentle")
    assert found.post_filter[1].args.min_candidate_nodes_absolute == 5  # type: ignore[attr-defined]


def test_naming_both_is_naming_one_twice() -> None:
    text = "{profiles: [{plugins: {postFilter: {enabled: [{name: DefaultPreemption}, {name: Gentle}]}}}]}"
    assert issue(text, GENTLE) == (
        "profiles[0].plugins.postFilter.enabled[1]",
        'plugin "Gentle" already registered as "PostFilterPlugin"',
    )
