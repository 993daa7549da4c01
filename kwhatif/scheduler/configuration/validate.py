"""Validation of a configuration, except plugins.

(`pkg/scheduler/apis/config/validation/validation.go`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.kube.matching.field_errors import Issue, duplicate, duration, invalid, label_name, required
from kwhatif.kube.matching.requests import is_extended_resource
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
    """Check leader election (`component-base/config/validation/validation.go`); a duration of 0 is defaulted before."""
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
        for place, resource in enumerate(extender.managed_resources):
            name_path = f"{path}.managedResources[{place}].name"
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
        # Not validated, but the scheduler fails to create its client (`TLSConfigFor` in client-go).
        detail = "specifying a root certificates file with the insecure flag is not allowed"
        yield f"{path}.tlsConfig", detail


def _managed_resource(path: str, name: str) -> Iterator[Issue]:
    wrong = list(label_name(path, name))
    yield from wrong
    if not wrong and not is_extended_resource(name):
        yield invalid(path, name, "is an invalid extended resource name")
