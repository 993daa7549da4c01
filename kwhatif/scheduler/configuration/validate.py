"""Validation of a configuration and of the arguments of plugins.

Follows `validation.go` and `validation_pluginargs.go` in `pkg/scheduler/apis/config/validation`. The types of values
have already been checked, and there are no nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.dra.devices import BINDING_GATES
from kwhatif.kube.gates import BASE_GATES, Gates
from kwhatif.kube.matching.field_errors import (
    Issue,
    duplicate,
    duration,
    forbidden,
    invalid,
    label_name,
    required,
    unsupported,
)
from kwhatif.kube.matching.nodes import PreferredTerms, Term, TermError
from kwhatif.kube.matching.requests import is_extended_resource
from kwhatif.kube.model.pod_spec import NodeSelectorTerm, PreferredSchedulingTerm
from kwhatif.kube.model.quantity import parse_duration
from kwhatif.scheduler.configuration.schema import (
    ExtenderConfig,
    KubeSchedulerConfiguration,
    LeaderElection,
    ProfileConfig,
)


def top_level(config: KubeSchedulerConfiguration) -> Iterator[Issue]:
    """Check everything except the profiles' plugins and their arguments."""
    if config.parallelism <= 0:
        yield invalid("parallelism", config.parallelism, "should be an integer value greater than zero")
    if config.client_connection.burst < 0:
        yield invalid("clientConnection.burst", config.client_connection.burst, "must be non-negative")
    yield from _leader_election("leaderElection", config.leader_election)
    yield from _percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    if config.pod_initial_backoff_seconds <= 0:
        yield invalid("podInitialBackoffSeconds", config.pod_initial_backoff_seconds, "must be greater than 0")
    if config.pod_max_backoff_seconds < config.pod_initial_backoff_seconds:
        yield invalid(
            "podMaxBackoffSeconds",
            config.pod_max_backoff_seconds,
            "must be greater than or equal to PodInitialBackoffSeconds",
        )
    yield from _profiles(config.profiles)
    yield from _extenders(config.extenders)


def _leader_election(path: str, election: LeaderElection) -> Iterator[Issue]:
    """Check leader election (`component-base/config/validation/validation.go`), after 0 durations got defaults."""
    durations = {
        "leaseDuration": (election.lease_duration, "15s"),
        "renewDeadline": (election.renew_deadline, "10s"),
        "retryPeriod": (election.retry_period, "2s"),
    }
    wrong = [issue for name, (text, _) in durations.items() for issue in duration(f"{path}.{name}", text)]
    yield from wrong
    if wrong or not election.leader_elect:
        return
    nanos = {name: parse_duration(text) or parse_duration(default) for name, (text, default) in durations.items()}
    for name, (text, _) in durations.items():
        if nanos[name] <= 0:
            yield invalid(f"{path}.{name}", text, "must be greater than zero")
    if nanos["leaseDuration"] <= nanos["renewDeadline"]:
        yield invalid(f"{path}.leaseDuration", election.renew_deadline, "must be greater than `RenewDeadline`")
    if election.resource_lock not in ("", "leases"):
        yield invalid(f"{path}.resourceLock", election.resource_lock, 'resourceLock value must be "leases"')


def _percentage(path: str, percentage: int | None) -> Iterator[Issue]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield invalid(path, percentage, "not in valid range [0-100]")


def _profiles(profiles: Sequence[ProfileConfig]) -> Iterator[Issue]:
    seen: dict[str, int] = {}
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        yield from _percentage(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
        name = profile.scheduler_name
        # A single profile gets the default name; an empty name counts as missing.
        if name is None and len(profiles) == 1:
            continue
        if not name:
            yield required(f"{path}.schedulerName")
        elif name in seen:
            yield duplicate(f"{path}.schedulerName", f"profiles[{seen[name]}].schedulerName")
        seen.setdefault(name or "", index)
    yield from _queue_sort(profiles)


def _queue_sort(profiles: Sequence[ProfileConfig]) -> Iterator[Issue]:
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}].plugins.queueSort"
        plugins = profile.plugins.queue_sort
        if index == 0 and len(plugins.enabled) > 1:
            yield invalid(f"{path}.enabled", len(plugins.enabled), "only one queue sort plugin can be enabled")
        if plugins != profiles[0].plugins.queue_sort:
            yield path, "must be the same for all profiles"
        if _queue_sort_args(profile) != _queue_sort_args(profiles[0]):
            yield f"profiles[{index}].pluginConfig", "queueSort must be the same for all profiles"


def _queue_sort_args(profile: ProfileConfig) -> object:
    return next((plugin.args for plugin in profile.plugin_config if plugin.name == "PrioritySort"), None)


def _extenders(extenders: Sequence[ExtenderConfig]) -> Iterator[Issue]:
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        yield from _extender(path, extender)
        for number, resource in enumerate(extender.managed_resources):
            name_path = f"{path}.managedResources[{number}].name"
            yield from _managed_resource(name_path, resource.name)
            if resource.name in managed:
                yield invalid(name_path, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        yield invalid("extenders", found, "only one extender can implement bind")


def _extender(path: str, extender: ExtenderConfig) -> Iterator[Issue]:
    if extender.prioritize_verb and extender.weight <= 0:
        yield invalid(f"{path}.weight", extender.weight, "must have a positive weight applied to it")
    yield from duration(f"{path}.httpTimeout", extender.http_timeout)
    tls = extender.tls_config
    if tls is not None and tls.insecure and (tls.ca_file or tls.ca_data):
        # Upstream does not validate this, but then fails to create the client (`TLSConfigFor` in client-go).
        detail = "specifying a root certificates file with the insecure flag is not allowed"
        yield f"{path}.tlsConfig", detail


def _managed_resource(path: str, name: str) -> Iterator[Issue]:
    wrong = list(label_name(path, name))
    yield from wrong
    if not wrong and not is_extended_resource(name):
        yield invalid(path, name, "is an invalid extended resource name")


Args = Mapping[str, Any]
_NO_RATIO = "must be specified when type is RequestedToCapacityRatio"


def within_100(path: str, number: int) -> Iterator[Issue]:
    """Check a percentage or a weight."""
    if not 0 <= number <= 100:
        yield invalid(path, number, "not in valid range [0, 100]")


def shape_issues(path: str, shape: Sequence[Args]) -> Iterator[Issue]:
    """Check the points of a function from utilization to score."""
    if not shape:
        yield required(path, "at least one point must be specified")
    points = [(point.get("utilization", 0), point.get("score", 0)) for point in shape]
    for index in range(1, len(points)):
        if points[index - 1][0] >= points[index][0]:
            yield invalid(f"{path}[{index}].utilization", points[index][0], "values must be sorted in increasing order")
            break
    for index, (utilization, score) in enumerate(points):
        yield from within_100(f"{path}[{index}].utilization", utilization)
        if not 0 <= score <= 10:
            yield invalid(f"{path}[{index}].score", score, "not in valid range [0, 10]")


def node_resources_fit(path: str, args: Args) -> Iterator[Issue]:
    """Check the arguments of NodeResourcesFit."""
    yield from _ignored(path, args)
    if "scoringStrategy" in args:
        strategy, here = args["scoringStrategy"], f"{path}.scoringStrategy"
        yield from (*_scoring_strategy(here, strategy), *_ratio(f"{here}.requestedToCapacityRatio", strategy))


def node_resources_fit_until_135(path: str, args: Args) -> Iterator[Issue]:
    """Up to 1.35: the shape is allowed and checked with any strategy."""
    yield from _ignored(path, args)
    if "scoringStrategy" in args:
        strategy, here = args["scoringStrategy"], f"{path}.scoringStrategy"
        yield from _scoring_strategy(here, strategy)
        ratio = strategy.get("requestedToCapacityRatio")
        if ratio is not None:
            # QUIRK: (validation_pluginargs.go) the path lacks `requestedToCapacityRatio`.
            yield from shape_issues(f"{here}.shape", ratio.get("shape", []))
        elif strategy.get("type") == "RequestedToCapacityRatio":
            # Upstream does not check this: the scheduler crashes when it creates the plugin (`fit.go`).
            yield required(f"{here}.requestedToCapacityRatio", _NO_RATIO)


def _ignored(path: str, args: Args) -> Iterator[Issue]:
    for index, resource in enumerate(args.get("ignoredResources", [])):
        yield from label_name(f"{path}.ignoredResources[{index}]", resource)
    for index, group in enumerate(args.get("ignoredResourceGroups", [])):
        here = f"{path}.ignoredResourceGroups[{index}]"
        if "/" in group:
            yield invalid(here, group, "resource group name can't contain '/'")
        yield from label_name(here, group)


def _scoring_strategy(path: str, strategy: Args) -> Iterator[Issue]:
    kind = strategy.get("type", "")
    kinds = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
    if kind not in kinds:
        yield unsupported(f"{path}.type", kind, kinds)
    for index, resource in enumerate(strategy.get("resources", [])):
        # A weight of 0 is defaulted to 1 before validation.
        weight = resource.get("weight", 0)
        if not 0 <= weight <= 100:
            detail = f"resource weight of {resource.get('name', '')} not in valid range (0, 100]"
            yield invalid(f"{path}.resources[{index}].weight", weight, detail)


def _ratio(path: str, strategy: Args) -> Iterator[Issue]:
    ratio = strategy.get("requestedToCapacityRatio")
    if strategy.get("type", "") != "RequestedToCapacityRatio":
        if ratio is not None:
            yield forbidden(path, "must be nil when type is not RequestedToCapacityRatio")
    elif ratio is None:
        yield required(path, _NO_RATIO)
    else:
        yield from shape_issues(f"{path}.shape", ratio.get("shape", []))


def balanced_allocation(path: str, args: Args) -> Iterator[Issue]:
    """Check the arguments of NodeResourcesBalancedAllocation."""
    seen: set[str] = set()
    for index, resource in enumerate(args.get("resources", [])):
        here = f"{path}.resources[{index}]"
        name = resource.get("name", "")
        if name in seen:
            yield duplicate(f"{here}.name", name)
        seen.add(name)
        if resource.get("weight", 0) not in (0, 1):
            yield invalid(f"{here}.weight", resource["weight"], "must be 1")


_SECOND = 10**9
_FILTER_GATES = frozenset({"DRASchedulerFilterTimeout"})
_BINDING_NAMES = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus"


def argument_issues(checks: str, path: str, args: Args, gates: Gates = BASE_GATES) -> Iterator[Issue]:
    """The problems in the arguments of a built-in plugin; `checks` is the name of the plugin or of an older variant."""
    gated, check = _GATED_CHECKS.get(checks), _CHECKS.get(checks)
    if gated is not None:
        yield from gated(path, args, gates)
    elif check is not None:
        yield from check(path, args)


def _default_preemption(path: str, args: Args) -> Iterator[Issue]:
    percentage = args.get("minCandidateNodesPercentage", 10)
    absolute = args.get("minCandidateNodesAbsolute", 100)
    yield from within_100(f"{path}.minCandidateNodesPercentage", percentage)
    if absolute < 0:
        yield invalid(f"{path}.minCandidateNodesAbsolute", absolute, "not in valid range [0, inf)")
    if percentage == 0 and absolute == 0:
        for mine, other in (("Percentage", "Absolute"), ("Absolute", "Percentage")):
            detail = f"cannot be zero at the same time as minCandidateNodes{other}"
            yield invalid(f"{path}.minCandidateNodes{mine}", 0, detail)


def _inter_pod_affinity(path: str, args: Args) -> Iterator[Issue]:
    yield from within_100(f"{path}.hardPodAffinityWeight", args.get("hardPodAffinityWeight", 1))


def _pod_topology_spread(path: str, args: Args) -> Iterator[Issue]:
    defaulting = args.get("defaultingType") or "System"
    constraints = args.get("defaultConstraints", [])
    if defaulting not in ("System", "List"):
        yield unsupported(f"{path}.defaultingType", defaulting, ("System", "List"))
    if defaulting == "System" and constraints:
        yield invalid(f"{path}.defaultingType", defaulting, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        here = f"{path}.defaultConstraints[{index}]"
        yield from _default_constraint(here, constraint)
        pair = (constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", ""))
        if pair in seen:
            yield duplicate(here, f"{{{pair[0]}, {pair[1]}}}")
        seen.add(pair)


def _default_constraint(path: str, constraint: Args) -> Iterator[Issue]:
    if constraint.get("maxSkew", 0) <= 0:
        yield invalid(f"{path}.maxSkew", constraint.get("maxSkew", 0), "not in valid range (0, inf)")
    key = constraint.get("topologyKey", "")
    if key:
        yield from label_name(f"{path}.topologyKey", key)
    else:
        yield required(f"{path}.topologyKey", "can not be empty")
    action = constraint.get("whenUnsatisfiable", "")
    if not action:
        yield required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif action not in ("DoNotSchedule", "ScheduleAnyway"):
        yield unsupported(f"{path}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
    if "labelSelector" in constraint:
        detail = "constraint must not define a selector, as they deduced for each pod"
        yield forbidden(f"{path}.labelSelector", detail)


def _volume_binding(path: str, args: Args, gates: Gates) -> Iterator[Issue]:
    timeout = args.get("bindTimeoutSeconds", 600)
    if timeout < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid(f"{path}.bindTimeoutSeconds", timeout, detail)
    shape = args.get("shape")
    if shape and "StorageCapacityScoring" in gates:
        yield from shape_issues(f"{path}.shape", shape)
    elif shape is not None and "StorageCapacityScoring" not in gates:
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        yield f"{path}.shape", f"Invalid value: {detail}"


def _dynamic_resources(path: str, args: Args, gates: Gates) -> Iterator[Issue]:
    for name, least, detail, needed, disabled in (
        # QUIRK: (validation_pluginargs.go) the message has a wrong name for the gate DRASchedulerFilterTimeout.
        ("filterTimeout", 0, "must be zero or positive", _FILTER_GATES, "DRASchedulingFilterTimeout"),
        ("bindingTimeout", _SECOND, "must be at least 1 second", BINDING_GATES, _BINDING_NAMES),
    ):
        if name not in args:
            continue
        here = f"{path}.{name}"
        wrong = list(duration(here, args[name]))
        yield from wrong
        if wrong:
            continue
        if not needed <= gates:
            yield forbidden(here, f"{disabled} feature gate is disabled")
        elif parse_duration(args[name]) < least:
            yield invalid(here, args[name], detail)


def _node_affinity(path: str, args: Args) -> Iterator[Issue]:
    affinity = args.get("addedAffinity", {})
    here = f"{path}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    for index, data in enumerate(terms):
        term = msgspec.convert(data, NodeSelectorTerm)
        try:
            Term(term.match_expressions, term.match_fields, f"nodeSelectorTerms[{index}].")
        except TermError as wrong:
            yield from (_term_issue(f"{here}.", problem) for problem in wrong.problems)
    here = f"{path}.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    try:
        PreferredTerms([msgspec.convert(data, PreferredSchedulingTerm) for data in preferred])
    except TermError as wrong:
        yield from (_term_issue(here, problem) for problem in wrong.problems)


def _term_issue(prefix: str, problem: str) -> Issue:
    """The issue for a problem of a term; the problem's text starts with its path below `prefix`."""
    path, _, message = problem.partition(": ")
    return prefix + path, message


_CHECKS: Mapping[str, Callable[[str, Args], Iterator[Issue]]] = {
    "DefaultPreemption": _default_preemption,
    "InterPodAffinity": _inter_pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": balanced_allocation,
    "NodeResourcesFit": node_resources_fit,
    "NodeResourcesFitUntil135": node_resources_fit_until_135,
    "PodTopologySpread": _pod_topology_spread,
}
#: The checks that depend on feature gates.
_GATED_CHECKS: Mapping[str, Callable[[str, Args, Gates], Iterator[Issue]]] = {
    "DynamicResources": _dynamic_resources,
    "VolumeBinding": _volume_binding,
}
