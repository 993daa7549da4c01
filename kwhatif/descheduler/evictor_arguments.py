"""The arguments of DefaultEvictor (`framework/plugins/defaultevictor/types.go`)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta, field

from kwhatif.descheduler.go_types import Args, Int32, Uint, go_type
from kwhatif.kube.model.meta import LabelSelector, Model

#: `SystemCriticalPriority` (`utils/priority.go`).
SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
#: A Go duration such as `2h`.
Duration = Annotated[str, Meta(extra={"duration": True})]
_NoEvictionPolicy = Annotated[str, go_type("defaultevictor.NoEvictionPolicy")]
_Protection = Annotated[str, go_type("defaultevictor.PodProtection")]


class PriorityThreshold(Model):
    """A priority, or the name of a priority class."""

    go: ClassVar[str] = "api.PriorityThreshold"
    value: Int32 | None = None
    name: str = ""


class ProtectedStorageClass(Model):
    """A storage class whose claims protect pods."""

    go: ClassVar[str] = "defaultevictor.ProtectedStorageClass"
    name: str = ""


class PodsWithPVCConfig(Model):
    """`podProtections.config.PodsWithPVC`."""

    go: ClassVar[str] = "defaultevictor.PodsWithPVCConfig"
    protected_storage_classes: tuple[ProtectedStorageClass, ...] = ()


class PodProtectionsConfig(Model):
    """`podProtections.config`."""

    go: ClassVar[str] = "defaultevictor.PodProtectionsConfig"
    pods_with_pvc: PodsWithPVCConfig | None = field(name="PodsWithPVC", default=None)


class PodProtections(Model):
    """Protections that are enabled besides, or instead of, the default ones."""

    go: ClassVar[str] = "defaultevictor.PodProtections"
    extra_enabled: tuple[_Protection, ...] = ()
    default_disabled: tuple[_Protection, ...] = ()
    config: PodProtectionsConfig | None = None


class DefaultEvictorArgs(Args):
    """DefaultEvictor."""

    node_selector: str = ""
    label_selector: LabelSelector | None = None
    namespace_label_selector: LabelSelector | None = None
    priority_threshold: PriorityThreshold | None = None
    node_fit: bool = False
    min_replicas: Uint = 0
    min_pod_age: Duration | None = None
    no_eviction_policy: _NoEvictionPolicy = ""
    pod_protections: PodProtections = PodProtections()
    evict_local_storage_pods: bool = False
    evict_daemon_set_pods: bool = False
    evict_system_critical_pods: bool = False
    ignore_pvc_pods: bool = False
    ignore_pods_without_pdb: bool = field(name="ignorePodsWithoutPDB", default=False)
    evict_failed_bare_pods: bool = False


DEFAULT_EVICTOR = "DefaultEvictor"
