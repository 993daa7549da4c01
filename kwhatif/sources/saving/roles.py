"""What the texts in objects are: which are names that may be replaced, and which carry rules.

Whatever is not listed here is a name: a field that is added to the model is replaced until somebody decides otherwise.
"""

from __future__ import annotations

import re
from typing import Final

from kwhatif.matching.ports import ANY_IP

#: Replaced by a new name; the same text is replaced by the same name, wherever it stands.
NAME: Final = "name"
NODE: Final = "node"
NAMESPACE: Final = "namespace"
UID: Final = "uid"
VALUE: Final = "value"
ZONE: Final = "zone"
REGION: Final = "region"
IMAGE: Final = "image"
#: How a storage system calls a volume.
HANDLE: Final = "disk"
EBS: Final = "vol"
ADDRESS: Final = "address"

#: Texts that the API defines: enumerations, times, names of resources, drivers, devices and schedulers, expressions.
# fmt: off
_KEPT = frozenset({
    "access_modes", "action", "add", "allocation_mode", "allocation_timestamp", "api_groups", "api_version",
    "api_versions", "attacher", "operations", "resources", "scope",
    "binding_conditions", "binding_failure_conditions", "completion_mode", "config_source", "counter_set",
    "creation_timestamp", "declared_features", "deletion_timestamp", "device", "device_class_name",
    "distinct_attribute", "driver", "drop", "effect", "expression", "extended_resource_name", "key", "kind",
    "last_heartbeat_time", "last_transition_time", "match_attribute", "match_label_keys", "max_surge",
    "max_unavailable", "min_available", "mismatch_label_keys", "node_affinity_policy", "node_taints_policy", "operator",
    "phase", "preemption_policy", "proc_mount", "protocol", "provisioner", "qos_class", "reason", "request",
    "request_name", "resource", "resource_name", "restart_policy", "scheduler_name", "scope_name", "scopes", "share_id",
    "start_time",
    "status", "string_value", "time_added", "topology_key", "type", "unhealthy_pod_eviction_policy", "version_value",
    "volume_binding_mode", "volume_mode", "when_unsatisfiable",
})
# fmt: on
_ROLES: dict[str, str] = {
    "host_ip": ADDRESS,
    "image": IMAGE,
    "namespace": NAMESPACE,
    "namespaces": NAMESPACE,
    "node_name": NODE,
    "nominated_node_name": NODE,
    "reference": IMAGE,
    "secret_namespace": NAMESPACE,
    "uid": UID,
    "volume_handle": HANDLE,
    "volume_id": HANDLE,
}
#: Where the name of a field alone does not say it. None: kept.
_EXCEPTIONS: dict[tuple[str, str], str | None] = {
    ("CSINodeDriver", "name"): None,
    ("ContainerImage", "names"): IMAGE,
    ("CounterSet", "name"): None,
    ("Device", "name"): None,
    ("DeviceConstraint", "requests"): None,
    ("DeviceRequest", "name"): None,
    ("DeviceSubRequest", "name"): None,
    ("PodAnnotations", "profiles"): None,
    ("PodOS", "name"): None,
    ("PodSchedulingGate", "name"): None,
    ("RBD", "image"): NAME,
    ("Sysctl", "name"): None,
}

#: Kinds whose names are those of drivers, or parts of the names of resources.
NAMED_BY_RULE = frozenset({"CSIDriver", "DeviceClass"})


def role_of(type_name: str, field: str) -> str | None:
    """What the text in a field is; None: it is kept."""
    if (type_name, field) in _EXCEPTIONS:
        return _EXCEPTIONS[type_name, field]
    return None if field in _KEPT else _ROLES.get(field, NAME)


#: Labels whose values are everybody's words, and which manifests ask for.
_PUBLIC_LABELS = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
    }
)


def label_role(key: str) -> str | None:
    """What the value of a label (or taint) is; None: it is kept."""
    if key in _PUBLIC_LABELS:
        return None
    return ZONE if key.endswith("/zone") else REGION if key.endswith("/region") else VALUE


#: Names that are the same in every cluster, and words that name nobody.
_EVERYBODYS = frozenset(
    {
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
        "rbd",  # Ceph's default pool: who names it means who names none
        "system-cluster-critical",
        "system-node-critical",
        "true",
        "false",
        ANY_IP,
        "127.0.0.1",
    }
)
_NUMBER = re.compile(r"[+-]?[0-9]+")


def is_kept(text: str) -> bool:
    """Whether the text stays as it is, whatever it is: numbers are compared (Gt, Lt), and these names are rules."""
    return not text or text in _EVERYBODYS or _NUMBER.fullmatch(text) is not None
