"""Builds runnable profiles from decoded ones, or fails with the descheduler's error.

Follows `framework/profile/profile.go`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.descheduler import policy as written
from kwhatif.descheduler.arguments import BALANCE, DESCHEDULE, LowNodeUtilizationArgs
from kwhatif.descheduler.evictor_arguments import DEFAULT_EVICTOR, DefaultEvictorArgs
from kwhatif.descheduler.go_types import Args, quoted
from kwhatif.descheduler.policy import RunnableProfile
from kwhatif.descheduler.reading import refusal
from kwhatif.descheduler.validate import PROMETHEUS
from kwhatif.errors import InputError
from kwhatif.kube.matching.labels import SelectorError, compile_selector
from kwhatif.kube.matching.selector_text import parse_selector

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
