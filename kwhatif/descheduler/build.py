"""From a policy as it is written to one that can be run, or to the descheduler's refusal.

Follows `descheduler/policyconfig.go`, `api/v1alpha2/conversion.go` and `framework/profile/profile.go`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif.descheduler import policy as written
from kwhatif.descheduler.arguments import (
    ARGUMENTS,
    BALANCE,
    DEFAULT_EVICTOR,
    DESCHEDULE,
    Args,
    DefaultEvictorArgs,
    LowNodeUtilizationArgs,
    PriorityThreshold,
    RemovePodsViolatingTopologySpreadConstraintArgs,
)
from kwhatif.descheduler.decode import go_decode, json_name
from kwhatif.descheduler.policy import API_VERSION, KIND, Policy, Profile
from kwhatif.descheduler.validate import KUBERNETES_METRICS, PROMETHEUS, aggregate, validate
from kwhatif.errors import InputError, Problem
from kwhatif.matching.labels import SelectorError, compile_selector
from kwhatif.matching.selector_text import parse_selector
from kwhatif.model.caveat import Caveat, FieldIgnored, PolicyIsEmpty
from kwhatif.model.cluster import Cluster
from kwhatif.model.nearest import nearest
from kwhatif.model.policy import PriorityClass

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
#: The resource of thresholds about what Prometheus measures.
METRIC_RESOURCE = "MetricResource"
_SCHEME = '"pkg/runtime/scheme.go:111"'
_NO_VERSION = "couldn't get version/kind; json parse error: json: "
#: The Go type that version and kind are read into.
_GO_META = r"""struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"""
_FILTERS = frozenset({DEFAULT_EVICTOR})

Args_ = tuple[str, Args | None]


def build_policy(data: Mapping[str, Any], name: str, cluster: Cluster) -> tuple[Policy, list[Caveat]]:
    """The policy that the data of a file is, and what is to be said about it.

    Args:
        data: the file, parsed.
        name: of the file, without folders; the descheduler names it in messages.
        cluster: whose priority classes thresholds may name.

    Raises:
        InputError: the descheduler refuses the policy; the message is its own.
    """
    reading = _Reading(name)
    config, ignored = reading.config(data)
    if config is None:
        return Policy(), [PolicyIsEmpty(why="it has no apiVersion")]
    arguments = [
        [reading.arguments(plugin, f"profiles[{i}].pluginConfig[{j}]") for j, plugin in enumerate(each.plugin_config)]
        for i, each in enumerate(config.profiles)
    ]
    _validate(config, arguments, name)
    known = [
        _with_defaults(each, args, f"profiles[{index}]", name, cluster)
        for index, (each, args) in enumerate(zip(config.profiles, arguments, strict=True))
    ]
    built = _Building(name)
    policy = Policy(
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


def strategy_policy(strategy: str) -> Policy:
    """The policy in which one strategy runs alone, with its defaults and those of the evictor.

    Where the descheduler has no default for what a strategy cannot go without, the values are those of its README.

    Raises:
        ValueError: there is no such strategy.
    """
    args = STRATEGIES.get(strategy)
    if args is None:
        near = nearest(strategy, STRATEGIES)
        meant = f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(STRATEGIES)}"
        raise ValueError(f"there is no strategy {strategy!r}: {meant}")
    profile = Profile(
        name="default",
        deschedule=(strategy,) if strategy in DESCHEDULE else (),
        balance=(strategy,) if strategy in BALANCE else (),
        args={strategy: _defaulted(args), DEFAULT_EVICTOR: _system_critical(DefaultEvictorArgs())},
    )
    return Policy(profiles=(profile,))


#: What `--strategy` runs with, where the zero values will not do.
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


def _collects_metrics(config: written.PolicyConfig) -> bool:
    collector = config.metrics_collector
    provided = any(each.source == KUBERNETES_METRICS for each in config.metrics_providers)
    return provided or (collector is not None and collector.enabled)


def _refusal(name: str, message: str, field: str = "", hint: str = "") -> InputError:
    return InputError([Problem(name, message, field, hint)])


class _Reading:
    """Decoding, as the descheduler's codec does it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _failed(self, message: str, field: str = "", hint: str = "") -> InputError:
        return _refusal(
            self._name, f"failed decoding descheduler's policy config {_quoted(self._name)}: {message}", field, hint
        )

    def config(self, data: Mapping[str, Any]) -> tuple[written.PolicyConfig | None, list[Caveat]]:
        """The policy as it is written; None where the descheduler takes it for an empty one.

        QUIRK: (policyconfig.go, decode) without an apiVersion, it is decoded into a type that has none of the fields.
        """
        version, kind = self._version_and_kind(data)
        kind = kind or KIND
        hint = f"a policy begins with apiVersion: {API_VERSION}, kind: {KIND}"
        if not version:
            if kind == KIND:
                return None, []
            group = API_VERSION.partition("/")[0]
            wrong = f'no kind "{kind}" is registered for the internal version of group "{group}" in scheme {_SCHEME}'
            raise self._failed(wrong, "kind", hint)
        if version.count("/") > 1:
            raise self._failed(f"unexpected GroupVersion string: {version}", "apiVersion")
        if version != API_VERSION or kind != KIND:
            raise self._failed(
                f'no kind "{kind}" is registered for version "{version}" in scheme {_SCHEME}',
                "kind" if version == API_VERSION else "apiVersion",
                hint,
            )
        decoded = go_decode(data, written.PolicyConfig)
        if decoded.value is None:
            raise self._failed(decoded.error, decoded.error_at)
        return decoded.value, [
            FieldIgnored(
                where=f"{self._name}: {field}",
                problem="the descheduler has no such field, and ignores it",
                hint=_meant(near),
            )
            for field, near in decoded.unknown.items()
        ]

    def _version_and_kind(self, data: Mapping[str, Any], path: str = "") -> tuple[str, str]:
        """QUIRK: (Interpret, of apimachinery) here, upper and lower case count as the same; the last field counts."""
        found = {"apiversion": "", "kind": ""}
        for name, value in data.items():
            if value is None or name.lower() not in found:
                continue
            if not isinstance(value, str):
                field = "kind" if name.lower() == "kind" else "apiVersion"
                wrong = f"cannot unmarshal {json_name(value)} into Go struct field .{field} of type string"
                raise self._failed(f"{_NO_VERSION}{wrong}", f"{path}{name}")
            found[name.lower()] = value
        return found["apiversion"], found["kind"]

    def arguments(self, config: written.PluginConfig, path: str) -> Args_:
        """The arguments of a plugin with their type; None: there is no such plugin."""
        type_ = ARGUMENTS.get(config.name)
        if type_ is None:
            return config.name, None
        if config.args is None:
            return config.name, type_()
        if not isinstance(config.args, dict):
            wrong = f"cannot unmarshal {json_name(config.args)} into Go value of type {_GO_META}"
            raise self._failed(f"{_NO_VERSION}{wrong}", f"{path}.args")
        self._version_and_kind(config.args, f"{path}.args.")
        decoded = go_decode(config.args, type_)
        if decoded.value is None:
            raise self._failed(decoded.error, f"{path}.args.{decoded.error_at}")
        if decoded.unknown:
            fields = ", ".join(f"unknown field {_quoted(field)}" for field in decoded.unknown)
            first, near = next(iter(decoded.unknown.items()))
            raise self._failed(f"strict decoding error: {fields}", f"{path}.args.{first}", _meant(near))
        return config.name, decoded.value


def _meant(near: str) -> str:
    return f"did you mean {near}?" if near else ""


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _validate(config: written.PolicyConfig, arguments: Sequence[Sequence[Args_]], name: str) -> None:
    """`validateDeschedulerConfiguration`."""
    errors: list[tuple[str, str]] = []
    for i, (profile, plugins) in enumerate(zip(config.profiles, arguments, strict=True)):
        for j, (plugin, args) in enumerate(plugins):
            path = f"profiles[{i}].pluginConfig[{j}]"
            if args is None:
                errors.append((f"plugin {plugin} in pluginConfig not registered", f"{path}.name"))
            elif wrong := validate(args):
                errors.append((wrong, f"{path}.args"))
            else:
                continue
            errors[-1] = f"in profile {profile.name}: {errors[-1][0]}", errors[-1][1]
    errors += ((wrong, "metricsProviders") for wrong in _metrics_errors(config))
    if errors:
        fields = list(dict.fromkeys(field for _, field in errors))
        places = f"at {', '.join(fields)}" if len(fields) > 1 else _plugins_near(config)
        raise _refusal(name, aggregate(wrong for wrong, _ in errors), fields[0] if len(fields) == 1 else "", places)


def _plugins_near(config: written.PolicyConfig) -> str:
    """What names of plugins that do not exist may mean."""
    names = dict.fromkeys(plugin.name for profile in config.profiles for plugin in profile.plugin_config)
    near = [found[0] for name in names if name not in ARGUMENTS and (found := nearest(name, ARGUMENTS))]
    return _meant(" and ".join(near))


def _metrics_errors(config: written.PolicyConfig) -> Iterator[str]:
    providers: dict[str, written.MetricsProvider] = {}
    for provider in config.metrics_providers:
        if provider.source in providers:
            yield (
                f"metric provider {_quoted(provider.source)} is already configured,"
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
        yield f"error parsing prometheus URL: parse {_quoted(prometheus.url)}: missing protocol scheme"
    if prometheus.auth_token is None:
        return
    secret = prometheus.auth_token.secret_reference
    if secret is None:
        yield "prometheus authToken secret is expected to be set when authToken field is"
    elif not (secret.name and secret.namespace):
        yield "prometheus authToken secret reference does not set both namespace and name"


def _with_defaults(
    profile: written.ProfileConfig, plugins: Sequence[Args_], path: str, name: str, cluster: Cluster
) -> dict[str, Args]:
    """Arguments by plugin, the first of each name, with defaults and the evictor's priority (`setDefaults`)."""
    known: dict[str, Args] = {}
    for plugin, args in plugins:
        assert args is not None, "unknown plugins have been refused"
        known.setdefault(plugin, _defaulted(args))
    evictor = known.setdefault(DEFAULT_EVICTOR, DefaultEvictorArgs())
    assert isinstance(evictor, DefaultEvictorArgs)
    place = next((index for index, each in enumerate(profile.plugin_config) if each.name == DEFAULT_EVICTOR), 0)
    field = f"{path}.pluginConfig[{place}].args.priorityThreshold"
    priority = _priority(evictor.priority_threshold, cluster)
    if isinstance(priority, str):
        raise _refusal(name, priority, field)
    known[DEFAULT_EVICTOR] = _with_priority(evictor, priority)
    return known


def _with_priority(evictor: DefaultEvictorArgs, priority: int) -> DefaultEvictorArgs:
    return msgspec.structs.replace(evictor, priority_threshold=PriorityThreshold(value=priority))


def _system_critical(evictor: DefaultEvictorArgs) -> DefaultEvictorArgs:
    return _with_priority(evictor, SYSTEM_CRITICAL_PRIORITY)


def _defaulted(args: Args) -> Args:
    if isinstance(args, RemovePodsViolatingTopologySpreadConstraintArgs):
        return msgspec.structs.replace(
            args,
            constraints=args.constraints or ("DoNotSchedule",),
            topology_balance_node_fit=args.topology_balance_node_fit is not False,
        )
    return args


def _priority(threshold: PriorityThreshold | None, cluster: Cluster) -> int | str:
    """The priority that protects pods, or why there is none (`utils/priority.go`)."""
    if threshold is None:
        return SYSTEM_CRITICAL_PRIORITY
    priority = threshold.value
    if priority is None:
        if not threshold.name:
            return SYSTEM_CRITICAL_PRIORITY
        found = cluster.get(PriorityClass, threshold.name)
        if found is None:
            return (
                "unable to get priority value from the priority class:"
                f" priorityclasses.scheduling.k8s.io {_quoted(threshold.name)} not found"
            )
        priority = found.value
    if priority > SYSTEM_CRITICAL_PRIORITY:
        return f"priority threshold can't be greater than {SYSTEM_CRITICAL_PRIORITY}"
    return priority


class _Building:
    """Making profiles of what has been decoded and validated (`newDescheduler`, `NewProfile`)."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _failed(self, message: str, field: str) -> InputError:
        return _refusal(self._name, f"failed to create new descheduler: {message}", field)

    def node_selector(self, text: str | None) -> str:
        """The selector, if it can be parsed."""
        try:
            parse_selector(text or "")
        except SelectorError as wrong:
            raise self._failed(str(wrong), "nodeSelector") from wrong
        return text or ""

    def profile(self, config: written.ProfileConfig, args: Mapping[str, Args], path: str) -> Profile:
        """A profile whose plugins exist, stand where they may, and have arguments that they can work with."""
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
                    f"profile {_quoted(config.name)} configures {point} extension point of non-existing plugins:"
                    f" map[{names}]",
                    f"{path}.plugins.{point.lower()}.enabled",
                )
        enabled = (*config.plugins.deschedule.enabled, *config.plugins.balance.enabled, DEFAULT_EVICTOR)
        for plugin in dict.fromkeys(enabled):
            wrong = _unusable(plugin, args)
            if wrong:
                raise self._unbuilt(config.name, f"unable to build {plugin} plugin: {wrong}", f"{path}.pluginConfig")
        return Profile(
            name=config.name,
            deschedule=config.plugins.deschedule.enabled,
            balance=config.plugins.balance.enabled,
            args=args,
        )

    def _unbuilt(self, profile: str, message: str, field: str) -> InputError:
        return self._failed(f"unable to create {_quoted(profile)} profile: {message}", field)


def _unusable(plugin: str, known: Mapping[str, Args]) -> str:
    """Why the plugin cannot be built; "" if it can."""
    args = known.get(plugin)
    if args is None:
        return f"unable to find {_quoted(plugin)} plugin config"
    wrong = ""
    if isinstance(args, DefaultEvictorArgs):
        wrong = _evictor_error(args)
    elif isinstance(args, LowNodeUtilizationArgs):
        wrong = _prometheus_thresholds(args)
    return f"unable to initialize {_quoted(plugin)} plugin: {wrong}" if wrong else ""


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
                f"{name} are expected to specify a single instance of {_quoted(METRIC_RESOURCE)} resource,"
                f" got [{found}] instead"
            )
    return ""
