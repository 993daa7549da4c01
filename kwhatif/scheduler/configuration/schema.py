"""The fields of the configuration (`staging/src/k8s.io/kube-scheduler/config/v1/types.go`)."""

from __future__ import annotations

from typing import Any

from msgspec import field

from kwhatif.kube.model.meta import Int32, Int64, Model

API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"


class PluginRef(Model):
    """One plugin in a set; weight 0 means unset."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(Model):
    """Plugins of one extension point, or of all points (`multiPoint`)."""

    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class Plugins(Model):
    """Plugin sets by extension point."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()


class PluginConfig(Model):
    """Arguments of one plugin; the plugin's name decides their type. Arguments of an unknown plugin are not checked."""

    name: str = ""
    args: Any = None


class ProfileConfig(Model):
    """One profile; a missing `schedulerName` gets the default only if there is no other profile."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class ManagedResource(Model):
    """`managedResources[]` of an extender."""

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(Model):
    """`tlsConfig` of an extender; the `*Data` fields are base64."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class ExtenderConfig(Model):
    """One extender; `http_timeout` is a Go duration such as `5s` (0 or missing: 5 seconds)."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: str = field(name="httpTimeout", default="0s")
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False


class LeaderElection(Model):
    """`LeaderElectionConfiguration` (`component-base/config/v1alpha1`); empty names are defaulted."""

    leader_elect: bool = True
    lease_duration: str = "15s"
    renew_deadline: str = "10s"
    retry_period: str = "2s"
    resource_lock: str = ""
    resource_name: str = ""
    resource_namespace: str = ""


class ClientConnection(Model):
    """`ClientConnectionConfiguration` (`component-base/config/v1alpha1`)."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 0.0
    burst: Int32 = 0


class KubeSchedulerConfiguration(Model):
    """`KubeSchedulerConfiguration`; fields that have no effect here are still validated."""

    api_version: str = ""
    kind: str = ""
    parallelism: Int32 = 16
    percentage_of_nodes_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[ProfileConfig, ...] = ()
    extenders: tuple[ExtenderConfig, ...] = ()
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    delay_cache_until_active: bool = False
