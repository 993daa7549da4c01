"""What an object says, however it is written: equal where the API server takes two for equal (`equality.Semantic`)."""

from __future__ import annotations

from typing import Any

from kwhatif.kube.matching.requests import resource_nanos
from kwhatif.kube.model.meta import Model
from kwhatif.kube.model.pod_spec import HostAction, PodSecurityContext, Probe, SecurityContext

#: Fields that hold quantities: `500m` and `0.5` are the same there.
_QUANTITIES = frozenset({"limits", "overhead", "requests"})
#: Left out where they are the default: the hash of a template that does not give them is what it was without them.
_LATER = {
    "readiness_probe": None,
    "scheduling_group": None,
    "startup_probe": None,
    "termination_grace_period_seconds": 30,
    "workload_ref": None,
}
#: Left out where they say nothing: absent, or an object without a single field.
_SECURITY = frozenset(
    {
        *("host_pid", "host_ipc", "os", "security_context", "lifecycle", "liveness_probe", "http_get", "tcp_socket"),
        *("git_repo", "nfs", "glusterfs", "flex_volume", "cephfs", "flocker", "fc", "quobyte"),
        *("photon_persistent_disk", "scale_io", "storageos", "profiles"),
    }
)


def plain(value: Any) -> object:
    """What an object says: quantities are numbers, and what is empty is absent."""
    if isinstance(value, Model):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return tuple(
            (name, _quantities(field) if name in _QUANTITIES else plain(field))
            for name, field in fields
            if (name not in _LATER or field != _LATER[name]) and not (name in _SECURITY and _says_nothing(name, field))
        )
    if isinstance(value, tuple):
        return tuple(map(plain, value)) or None
    if isinstance(value, dict):
        return tuple(sorted(value.items())) or None
    return value


def _says_nothing(name: str, value: Any) -> bool:
    if isinstance(value, PodSecurityContext | SecurityContext | HostAction):
        return value == type(value)()
    return not value or (name == "liveness_probe" and value == Probe())


def _quantities(resources: Any) -> object:
    return tuple(sorted(resource_nanos(resources).items())) or None
