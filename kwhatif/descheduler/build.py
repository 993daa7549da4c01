"""Builds a runnable policy from a policy file, or fails with the descheduler's error.

Follows `descheduler/policyconfig.go` and `framework/profile/profile.go`; decoding is in `decode.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.descheduler import policy as written
from kwhatif.descheduler.decode import NamedArgs, PolicyReader, refusal
from kwhatif.descheduler.policy import (
    ARGUMENTS,
    BALANCE,
    DEFAULT_EVICTOR,
    DESCHEDULE,
    SYSTEM_CRITICAL_PRIORITY,
    Args,
    DefaultEvictorArgs,
    LowNodeUtilizationArgs,
    PriorityThreshold,
    RemovePodsViolatingTopologySpreadConstraintArgs,
)
from kwhatif.descheduler.validate import KUBERNETES_METRICS, PROMETHEUS, validate
from kwhatif.errors import InputError
from kwhatif.kube.matching.field_errors import aggregate, did_you_mean, nearest, quoted
from kwhatif.kube.matching.labels import SelectorError, compile_selector, parse_selector
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.scheduling import PolicyIsEmpty
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.policy import PriorityClass


class RunnableProfile(Model):
    """A runnable profile: plugins by extension point, in order, and their arguments."""

    name: str
    deschedule: tuple[str, ...] = ()
    balance: tuple[str, ...] = ()
    args: Mapping[str, Args] = {}


class RunnablePolicy(Model):
    """A runnable policy. For limits, None means no limit."""

    profiles: tuple[RunnableProfile, ...] = ()
    #: Label selector of the nodes to process; "" selects all.
    node_selector: str = ""
    max_per_node: int | None = None
    max_per_namespace: int | None = None
    max_total: int | None = None
    #: Whether usage is read from the metrics API, and whether Prometheus is queried.
    collects_metrics: bool = False
    asks_prometheus: bool = False


#: The resource for thresholds of Prometheus metrics.
METRIC_RESOURCE = "MetricResource"
_FILTERS = frozenset({DEFAULT_EVICTOR})


class ProfileBuilder:
    """Builds profiles after decoding and validation (`newDescheduler`, `NewProfile`)."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _failed(self, message: str, field: str) -> InputError:
        return refusal(self._name, f"failed to create new descheduler: {message}", field)

    def node_selector(self, text: str | None) -> str:
        """The selector, after checking that it can be parsed."""
        try:
            parse_selector(text or "")
        except SelectorError as wrong:
            raise self._failed(str(wrong), "nodeSelector") from wrong
        return text or ""

    def profile(self, config: written.DeschedulerProfile, args: Mapping[str, Args], path: str) -> RunnableProfile:
        """A profile, after checking that its plugins exist, have these extension points, and have valid arguments."""
        points = {
            "deschedule": (config.plugins.deschedule, DESCHEDULE),
            "balance": (config.plugins.balance, BALANCE),
            "filter": (config.plugins.filter, _FILTERS),
            "preEvictionFilter": (config.plugins.pre_eviction_filter, _FILTERS),
        }
        for point, (plugins, known) in points.items():
            unknown = sorted({*plugins.enabled} - known)
            if unknown:
                names = " ".join(f"{plugin}:{{}}" for plugin in unknown)
                raise self._unbuilt(
                    config.name,
                    f"profile {quoted(config.name)} configures {point} extension point of non-existing plugins:"
                    f" map[{names}]",
                    f"{path}.plugins.{point.lower()}.enabled",
                )
        enabled = (*config.plugins.deschedule.enabled, *config.plugins.balance.enabled, DEFAULT_EVICTOR)
        for plugin in dict.fromkeys(enabled):
            wrong = _unusable(plugin, args)
            if wrong:
                raise self._unbuilt(config.name, f"unable to build {plugin} plugin: {wrong}", f"{path}.pluginConfig")
        return RunnableProfile(
            name=config.name,
            deschedule=config.plugins.deschedule.enabled,
            balance=config.plugins.balance.enabled,
            args=args,
        )

    def _unbuilt(self, profile: str, message: str, field: str) -> InputError:
        return self._failed(f"unable to create {quoted(profile)} profile: {message}", field)


def _unusable(plugin: str, known: Mapping[str, Args]) -> str:
    """Why the plugin cannot be built; "" if it can."""
    args = known.get(plugin)
    if args is None:
        return f"unable to find {quoted(plugin)} plugin config"
    wrong = ""
    if isinstance(args, DefaultEvictorArgs):
        wrong = _evictor_error(args)
    elif isinstance(args, LowNodeUtilizationArgs):
        wrong = _prometheus_thresholds(args)
    return f"unable to initialize {quoted(plugin)} plugin: {wrong}" if wrong else ""


def _evictor_error(args: DefaultEvictorArgs) -> str:
    for selector, prefix in (
        (args.label_selector, ""),
        (args.namespace_label_selector, "unable to convert namespaceLabelSelector to label selector: "),
    ):
        try:
            compile_selector(selector)
        except SelectorError as wrong:
            return f"{prefix}{wrong}"
    return ""


def _prometheus_thresholds(args: LowNodeUtilizationArgs) -> str:
    if args.metrics_utilization is None or args.metrics_utilization.source != PROMETHEUS:
        return ""
    for name, thresholds in (("thresholds", args.thresholds), ("targetThresholds", args.target_thresholds)):
        if list(thresholds) != [METRIC_RESOURCE]:
            found = " ".join(sorted(thresholds))
            return (
                f"{name} are expected to specify a single instance of {quoted(METRIC_RESOURCE)} resource,"
                f" got [{found}] instead"
            )
    return ""


def build_policy(data: Mapping[str, Any], name: str, cluster: Cluster) -> tuple[RunnablePolicy, list[Caveat]]:
    """The policy in the data of a file, and caveats about it.

    Args:
        data: the file, parsed.
        name: name of the file, without directories, which the descheduler's messages contain.
        cluster: has the priority classes that thresholds may name.

    Raises:
        InputError: the descheduler rejects the policy; with its message.
    """
    reading = PolicyReader(name)
    config, ignored = reading.config(data)
    if config is None:
        return RunnablePolicy(), [PolicyIsEmpty(why="it has no apiVersion")]
    arguments = [
        [reading.arguments(plugin, f"profiles[{i}].pluginConfig[{j}]") for j, plugin in enumerate(each.plugin_config)]
        for i, each in enumerate(config.profiles)
    ]
    _validate(config, arguments, name)
    known = [
        _with_defaults(each, args, f"profiles[{index}]", name, cluster)
        for index, (each, args) in enumerate(zip(config.profiles, arguments, strict=True))
    ]
    built = ProfileBuilder(name)
    policy = RunnablePolicy(
        node_selector=built.node_selector(config.node_selector),
        profiles=tuple(
            built.profile(each, args, f"profiles[{index}]")
            for index, (each, args) in enumerate(zip(config.profiles, known, strict=True))
        ),
        max_per_node=config.max_no_of_pods_to_evict_per_node,
        max_per_namespace=config.max_no_of_pods_to_evict_per_namespace,
        max_total=config.max_no_of_pods_to_evict_total,
        collects_metrics=_collects_metrics(config),
        asks_prometheus=any(
            each.source == PROMETHEUS and each.prometheus and each.prometheus.url for each in config.metrics_providers
        ),
    )
    empty = [] if policy.profiles else [PolicyIsEmpty(why="it has no profiles")]
    return policy, [*ignored, *empty]


def strategy_policy(strategy: str) -> RunnablePolicy:
    """A policy that runs only one strategy, with default arguments for it and for the evictor.

    If the descheduler has no default for a required argument, the value is that of its README.

    Raises:
        ValueError: the strategy does not exist.
    """
    args = STRATEGIES.get(strategy)
    if args is None:
        hint = did_you_mean(nearest(strategy, STRATEGIES), f"choose from {', '.join(STRATEGIES)}")
        raise ValueError(f"there is no strategy {strategy!r}: {hint}")
    evictor = DefaultEvictorArgs(priority_threshold=PriorityThreshold(value=SYSTEM_CRITICAL_PRIORITY))
    profile = RunnableProfile(
        name="default",
        deschedule=(strategy,) if strategy in DESCHEDULE else (),
        balance=(strategy,) if strategy in BALANCE else (),
        args={strategy: _defaulted(args), DEFAULT_EVICTOR: evictor},
    )
    return RunnablePolicy(profiles=(profile,))


#: The arguments for `--strategy`, if the zero values are not valid.
_README: Mapping[str, Mapping[str, Any]] = {
    "HighNodeUtilization": {"thresholds": {"cpu": 20.0, "memory": 20.0, "pods": 20.0}},
    "LowNodeUtilization": {
        "thresholds": {"cpu": 20.0, "memory": 20.0, "pods": 20.0},
        "target_thresholds": {"cpu": 50.0, "memory": 50.0, "pods": 50.0},
    },
    "PodLifeTime": {"max_pod_life_time_seconds": 86_400},
    "RemovePodsHavingTooManyRestarts": {"pod_restart_threshold": 100, "including_init_containers": True},
    "RemovePodsViolatingNodeAffinity": {"node_affinity_type": ("requiredDuringSchedulingIgnoredDuringExecution",)},
}
STRATEGIES: Mapping[str, Args] = {
    name: type_(**_README.get(name, {})) for name, type_ in ARGUMENTS.items() if name != DEFAULT_EVICTOR
}


def _collects_metrics(config: written.DeschedulerPolicy) -> bool:
    collector = config.metrics_collector
    provided = any(each.source == KUBERNETES_METRICS for each in config.metrics_providers)
    return provided or (collector is not None and collector.enabled)


def _validate(config: written.DeschedulerPolicy, arguments: Sequence[Sequence[NamedArgs]], name: str) -> None:
    """`validateDeschedulerConfiguration`."""
    errors: list[tuple[str, str]] = []
    for i, (profile, plugins) in enumerate(zip(config.profiles, arguments, strict=True)):
        for j, (plugin, args) in enumerate(plugins):
            if args is None:
                wrong, field = f"plugin {plugin} in pluginConfig not registered", "name"
            else:
                wrong, field = validate(args), "args"
            if wrong:
                errors.append((f"in profile {profile.name}: {wrong}", f"profiles[{i}].pluginConfig[{j}].{field}"))
    errors += ((wrong, "metricsProviders") for wrong in _metrics_errors(config))
    if errors:
        fields = list(dict.fromkeys(field for _, field in errors))
        hint = f"at {', '.join(fields)}" if len(fields) > 1 else _plugins_near(config)
        raise refusal(name, aggregate(wrong for wrong, _ in errors), fields[0] if len(fields) == 1 else "", hint)


def _plugins_near(config: written.DeschedulerPolicy) -> str:
    """A hint for names of plugins that do not exist."""
    names = dict.fromkeys(plugin.name for profile in config.profiles for plugin in profile.plugin_config)
    near = [found[0] for name in names if name not in ARGUMENTS and (found := nearest(name, ARGUMENTS))]
    return did_you_mean([" and ".join(near)] if near else [])


def _metrics_errors(config: written.DeschedulerPolicy) -> Iterator[str]:
    providers: dict[str, written.MetricsProvider] = {}
    for provider in config.metrics_providers:
        if provider.source in providers:
            yield (
                f"metric provider {quoted(provider.source)} is already configured,"
                " each source can be configured only once"
            )
        else:
            providers[provider.source] = provider
    if KUBERNETES_METRICS in providers and config.metrics_collector is not None and config.metrics_collector.enabled:
        yield "it is not allowed to combine metrics provider when metrics collector is enabled"
    if PROMETHEUS in providers:
        yield from _prometheus_errors(providers[PROMETHEUS].prometheus)


def _prometheus_errors(prometheus: written.Prometheus | None) -> Iterator[str]:
    if prometheus is None:
        yield "prometheus configuration is required when prometheus source is enabled"
        return
    if not prometheus.url:
        yield "prometheus URL is required when prometheus is enabled"
    elif prometheus.url.startswith(":"):
        yield f"error parsing prometheus URL: parse {quoted(prometheus.url)}: missing protocol scheme"
    if prometheus.auth_token is None:
        return
    secret = prometheus.auth_token.secret_reference
    if secret is None:
        yield "prometheus authToken secret is expected to be set when authToken field is"
    elif not (secret.name and secret.namespace):
        yield "prometheus authToken secret reference does not set both namespace and name"


def _with_defaults(
    profile: written.DeschedulerProfile, plugins: Sequence[NamedArgs], path: str, name: str, cluster: Cluster
) -> dict[str, Args]:
    """Arguments by plugin (the first with each name), with defaults and the evictor's priority (`setDefaults`)."""
    known: dict[str, Args] = {}
    for plugin, args in plugins:
        assert args is not None, "unknown plugins were rejected before"
        known.setdefault(plugin, _defaulted(args))
    evictor = known.setdefault(DEFAULT_EVICTOR, DefaultEvictorArgs())
    assert isinstance(evictor, DefaultEvictorArgs)
    number = next((index for index, each in enumerate(profile.plugin_config) if each.name == DEFAULT_EVICTOR), 0)
    field = f"{path}.pluginConfig[{number}].args.priorityThreshold"
    priority = _priority(evictor.priority_threshold, cluster)
    if isinstance(priority, str):
        raise refusal(name, priority, field)
    known[DEFAULT_EVICTOR] = msgspec.structs.replace(evictor, priority_threshold=PriorityThreshold(value=priority))
    return known


def _defaulted(args: Args) -> Args:
    if isinstance(args, RemovePodsViolatingTopologySpreadConstraintArgs):
        return msgspec.structs.replace(
            args,
            constraints=args.constraints or ("DoNotSchedule",),
            topology_balance_node_fit=args.topology_balance_node_fit is not False,
        )
    return args


def _priority(threshold: PriorityThreshold | None, cluster: Cluster) -> int | str:
    """The lowest priority that protects a pod, or an error (`utils/priority.go`)."""
    if threshold is None or (threshold.value is None and not threshold.name):
        return SYSTEM_CRITICAL_PRIORITY
    priority = threshold.value
    if priority is None:
        found = cluster.get(PriorityClass, threshold.name)
        if found is None:
            return (
                "unable to get priority value from the priority class:"
                f" priorityclasses.scheduling.k8s.io {quoted(threshold.name)} not found"
            )
        priority = found.value
    if priority > SYSTEM_CRITICAL_PRIORITY:
        return f"priority threshold can't be greater than {SYSTEM_CRITICAL_PRIORITY}"
    return priority
