"""The meaning of an object, independent of its notation: equal if `equality.Semantic` of the API server says so."""

from __future__ import annotations

from typing import Any

from kwhatif.kube.matching.requests import resource_nanos
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.pod_spec import HostAction, PodSecurityContext, Probe, SecurityContext

#: Fields with quantities: `500m` and `0.5` are equal in these fields.
_QUANTITIES = frozenset({"limits", "overhead", "requests"})
#: Fields that are left out if they have the default value, so that hashes of older templates do not change.
_LATER = {
    "readiness_probe": None,
    "scheduling_group": None,
    "startup_probe": None,
    "termination_grace_period_seconds": 30,
    "workload_ref": None,
}
#: Fields that are left out if they are absent or an object without any field.
_SECURITY = frozenset(
    {
        *("host_pid", "host_ipc", "os", "security_context", "lifecycle", "liveness_probe", "http_get", "tcp_socket"),
        *("git_repo", "nfs", "glusterfs", "flex_volume", "cephfs", "flocker", "fc", "quobyte"),
        *("photon_persistent_disk", "scale_io", "storageos", "profiles"),
    }
)


def plain(value: Any) -> object:
    """The meaning of an object: quantities become numbers, and empty values become absent."""
    if isinstance(value, Model):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return tuple(
            (name, _quantities(field) if name in _QUANTITIES else plain(field))
            for name, field in fields
            if (name not in _LATER or field != _LATER[name]) and not (name in _SECURITY and _is_empty(name, field))
        )
    if isinstance(value, tuple):
        return tuple(map(plain, value)) or None
    if isinstance(value, dict):
        return tuple(sorted(value.items())) or None
    return value


def _is_empty(name: str, value: Any) -> bool:
    if isinstance(value, PodSecurityContext | SecurityContext | HostAction):
        return value == type(value)()
    return not value or (name == "liveness_probe" and value == Probe())


def _quantities(resources: Any) -> object:
    return tuple(sorted(resource_nanos(resources).items())) or None
