"""DeschedulerPolicy, version `descheduler/v1alpha2` (`api/v1alpha2/types.go`), and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import Meta, field

from kwhatif.descheduler.go_types import Args, Int64, Uint
from kwhatif.kube.model.meta import Model

API_VERSION = "descheduler/v1alpha2"
KIND = "DeschedulerPolicy"


class DeschedulerPluginSet(Model):
    """Plugins of one extension point; `disabled` does nothing."""

    go: ClassVar[str] = "v1alpha2.PluginSet"
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


class DeschedulerPlugins(Model):
    """Plugins by extension point; `presort` and `sort` do nothing."""

    go: ClassVar[str] = "v1alpha2.Plugins"
    presort: DeschedulerPluginSet = DeschedulerPluginSet()
    sort: DeschedulerPluginSet = DeschedulerPluginSet()
    deschedule: DeschedulerPluginSet = DeschedulerPluginSet()
    balance: DeschedulerPluginSet = DeschedulerPluginSet()
    filter: DeschedulerPluginSet = DeschedulerPluginSet()
    pre_eviction_filter: DeschedulerPluginSet = field(name="preevictionfilter", default=DeschedulerPluginSet())


class DeschedulerPluginConfig(Model):
    """Arguments of one plugin, yet to be decoded."""

    go: ClassVar[str] = "v1alpha2.PluginConfig"
    name: str = ""
    args: Any = None


class DeschedulerProfile(Model):
    """One profile."""

    go: ClassVar[str] = "v1alpha2.DeschedulerProfile"
    name: str = ""
    plugin_config: tuple[DeschedulerPluginConfig, ...] = ()
    plugins: DeschedulerPlugins = DeschedulerPlugins()


class MetricsCollector(Model):
    """`metricsCollector`, which is deprecated."""

    go: ClassVar[str] = "v1alpha2.MetricsCollector"
    enabled: bool = False


class SecretReference(Model):
    """Where a token is."""

    go: ClassVar[str] = "v1alpha2.SecretReference"
    namespace: str = ""
    name: str = ""


class AuthToken(Model):
    """The token for Prometheus."""

    go: ClassVar[str] = "v1alpha2.AuthToken"
    secret_reference: SecretReference | None = None


class Prometheus(Model):
    """Where Prometheus is."""

    go: ClassVar[str] = "v1alpha2.Prometheus"
    url: str = ""
    auth_token: AuthToken | None = None


class MetricsProvider(Model):
    """A source of actual use."""

    go: ClassVar[str] = "v1alpha2.MetricsProvider"
    source: Annotated[str, Meta(extra={"go": "v1alpha2.MetricsSource"})] = ""
    prometheus: Prometheus | None = None


class DeschedulerPolicy(Model):
    """The policy as it is written."""

    go: ClassVar[str] = "v1alpha2.DeschedulerPolicy"
    api_version: str = ""
    kind: str = ""
    profiles: tuple[DeschedulerProfile, ...] = ()
    node_selector: str | None = None
    max_no_of_pods_to_evict_per_node: Uint | None = None
    max_no_of_pods_to_evict_per_namespace: Uint | None = None
    max_no_of_pods_to_evict_total: Uint | None = None
    eviction_failure_event_notification: bool | None = None
    metrics_collector: MetricsCollector | None = None
    metrics_providers: tuple[MetricsProvider, ...] = ()
    grace_period_seconds: Int64 | None = None


class RunnableProfile(Model):
    """A profile that can be run: plugins by extension point, in order, and the arguments of each."""

    name: str
    deschedule: tuple[str, ...] = ()
    balance: tuple[str, ...] = ()
    args: Mapping[str, Args] = {}


class RunnablePolicy(Model):
    """A policy that can be run. None: no limit."""

    profiles: tuple[RunnableProfile, ...] = ()
    #: Label selector of the nodes that are processed; "" is all.
    node_selector: str = ""
    max_per_node: int | None = None
    max_per_namespace: int | None = None
    max_total: int | None = None
    #: Whether actual use is collected from the metrics API, and whether Prometheus is asked.
    collects_metrics: bool = False
    asks_prometheus: bool = False
