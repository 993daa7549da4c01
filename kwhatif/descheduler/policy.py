"""DeschedulerPolicy, version `descheduler/v1alpha2` (`api/v1alpha2/types.go`), and the runnable policy made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import Meta, field

from kwhatif.descheduler.arguments import Args, Int64, Uint
from kwhatif.kube.model.meta import Model

API_VERSION = "descheduler/v1alpha2"
KIND = "DeschedulerPolicy"


class DeschedulerPluginSet(Model):
    """Plugins of one extension point; `disabled` has no effect."""

    go: ClassVar[str] = "v1alpha2.PluginSet"
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


class DeschedulerPlugins(Model):
    """Plugins by extension point; `presort` and `sort` have no effect."""

    go: ClassVar[str] = "v1alpha2.Plugins"
    presort: DeschedulerPluginSet = DeschedulerPluginSet()
    sort: DeschedulerPluginSet = DeschedulerPluginSet()
    deschedule: DeschedulerPluginSet = DeschedulerPluginSet()
    balance: DeschedulerPluginSet = DeschedulerPluginSet()
    filter: DeschedulerPluginSet = DeschedulerPluginSet()
    pre_eviction_filter: DeschedulerPluginSet = field(name="preevictionfilter", default=DeschedulerPluginSet())


class DeschedulerPluginConfig(Model):
    """Arguments of one plugin, not decoded yet."""

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
    """The Secret with a token."""

    go: ClassVar[str] = "v1alpha2.SecretReference"
    namespace: str = ""
    name: str = ""


class AuthToken(Model):
    """The token for Prometheus."""

    go: ClassVar[str] = "v1alpha2.AuthToken"
    secret_reference: SecretReference | None = None


class Prometheus(Model):
    """The URL and authentication of Prometheus."""

    go: ClassVar[str] = "v1alpha2.Prometheus"
    url: str = ""
    auth_token: AuthToken | None = None


class MetricsProvider(Model):
    """A source of measured usage."""

    go: ClassVar[str] = "v1alpha2.MetricsProvider"
    source: Annotated[str, Meta(extra={"go": "v1alpha2.MetricsSource"})] = ""
    prometheus: Prometheus | None = None


class DeschedulerPolicy(Model):
    """The policy as written in the file."""

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
