"""The fields of a pod template one by one, also those that the model does not have, in a form that can be compared.

Defaults are filled in, quantities are numbers, and what is empty is absent, as where the API server compares two
templates (`equality.Semantic`). Fields that Go keeps as pointers are the exception: there, empty is not absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from kwhatif.kube.model.quantity import parse_quantity

_SPEC = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
}
_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HTTP_GET = {"path": "/", "scheme": "HTTP"}
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")
_MODE = 0o644
#: Volume sources with defaults; where the API has a pointer, an empty value stays.
_SOURCES: Mapping[str, Mapping[str, Any]] = {
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared"},
    "configMap": {"defaultMode": _MODE},
    "downwardAPI": {"defaultMode": _MODE},
    "iscsi": {"iscsiInterface": "default"},
    "projected": {"defaultMode": _MODE},
    "rbd": {"keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"},
    "scaleIO": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
    "secret": {"defaultMode": _MODE},
}
_DEFAULTED_POINTERS = frozenset({"defaultMode", "expirationSeconds", "optional", "terminationGracePeriodSeconds"})


def fill(template: dict[str, Any]) -> None:
    """Fill in what the API server does (`pkg/apis/core/v1/defaults.go`), in place; `template` is decoded JSON.

    Of a template, not of a pod: `requests` are not filled from `limits`, `enableServiceLinks` stays as it is.
    """
    spec = _object(template.setdefault("spec", {}))
    _default(spec, _SPEC)
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    # QUIRK: (pkg/apis/core/v1/conversion.go) the old name of the field is stored beside the new one.
    account = spec.pop("serviceAccount", None)
    spec["serviceAccountName"] = spec.get("serviceAccountName") or account
    for name in _CONTAINERS:
        for container in _objects(spec.get(name)):
            _fill_container(container)
    for volume in _objects(spec.get("volumes")):
        _fill_volume(volume)


def _fill_container(container: dict[str, Any]) -> None:
    _default(container, _CONTAINER)
    _default(container, {"imagePullPolicy": _pull_policy(container.get("image"))})
    for port in _objects(container.get("ports")):
        _default(port, {"protocol": "TCP"})
    for variable in _objects(container.get("env")):
        source = _object(variable.get("valueFrom"))
        _fill_reference(source)
        if isinstance(source.get("fileKeyRef"), dict):
            _default(source["fileKeyRef"], {"optional": False})
    for name in _PROBES:
        if isinstance(container.get(name), dict):
            _default(container[name], _PROBE)
            _fill_http(container[name])
    lifecycle = _object(container.get("lifecycle"))
    for name in _HOOKS:
        _fill_http(_object(lifecycle.get(name)))


def _fill_http(handler: dict[str, Any]) -> None:
    if isinstance(handler.get("httpGet"), dict):
        _default(handler["httpGet"], _HTTP_GET)


def _fill_reference(source: dict[str, Any]) -> None:
    if isinstance(source.get("fieldRef"), dict):
        _default(source["fieldRef"], {"apiVersion": "v1"})
    if isinstance(source.get("resourceFieldRef"), dict):
        _default(source["resourceFieldRef"], {"divisor": "0"})


def _fill_volume(volume: dict[str, Any]) -> None:
    if not any(value is not None for name, value in volume.items() if name != "name"):
        volume["emptyDir"] = {}
    for name, defaults in _SOURCES.items():
        if isinstance(volume.get(name), dict):
            _default(volume[name], defaults)
    if isinstance(volume.get("image"), dict):
        _default(volume["image"], {"pullPolicy": _pull_policy(volume["image"].get("reference"))})
    claim = _object(_object(volume.get("ephemeral")).get("volumeClaimTemplate"))
    if isinstance(claim.get("spec"), dict):
        _default(claim["spec"], {"volumeMode": "Filesystem"})
    projections = [volume, *_objects(_object(volume.get("projected")).get("sources"))]
    for each in projections:
        for item in _objects(_object(each.get("downwardAPI")).get("items")):
            _fill_reference(item)
        if isinstance(each.get("serviceAccountToken"), dict):
            _default(each["serviceAccountToken"], {"expirationSeconds": 3600})


def _pull_policy(image: Any) -> str:
    """Always for the tag latest, which is also that of an image without tag and digest (`parsers.ParseImageName`)."""
    text = str(image or "")
    name, at, _ = text.partition("@")
    _, colon, tag = name.rpartition("/")[2].partition(":")
    is_latest = tag == "latest" if colon else bool(name) and not at
    return "Always" if is_latest else "IfNotPresent"


def _default(obj: dict[str, Any], defaults: Mapping[str, Any]) -> None:
    for name, value in defaults.items():
        given = obj.get(name)
        if given is None or (not given and name not in _DEFAULTED_POINTERS):
            obj[name] = value


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (entry for entry in value if isinstance(entry, dict)) if isinstance(value, list) else iter(())


#: What controllers and the API server add to the labels of a template.
ADDED_LABELS = frozenset(
    {
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
        "controller-uid",
        "job-name",
        "pod-template-hash",
        "rollouts-pod-template-hash",
    }
)
#: By which fields the entries of a list are known (`patchMergeKey`, `x-kubernetes-list-map-keys` in the API's types).
#: All other lists are replaced as a whole.
_KEYS = {
    "containers": ("name",),
    "ephemeralContainers": ("name",),
    "env": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ports": ("containerPort", "protocol"),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
_DEFAULT_KEYS = {"protocol": "TCP"}
#: Maps with user-defined keys; empty values count there.
_MAPS = frozenset(
    {"annotations", "labels", "matchLabels", "nodeSelector", "options", "userAnnotations", "volumeAttributes"}
)
_QUANTITY_MAPS = frozenset({"limits", "overhead", "requests"})
_QUANTITIES = frozenset({"divisor", "sizeLimit"})
#: Objects that are always there: empty, they are as good as absent.
_NO_POINTERS = frozenset(
    {"", "metadata", "podAffinityTerm", "preference", "resources", "spec", *_MAPS, *_QUANTITY_MAPS}
)
#: Those of the pod are a pointer, unlike those of a container.
_POD_RESOURCES = ".spec.resources"
#: Scalars of which empty and absent differ in the API (`*bool`, `*int64`, `*string` in `k8s.io/api/core/v1/types.go`).
_POINTERS = frozenset(
    {
        "activeDeadlineSeconds",
        "allowPrivilegeEscalation",
        "automountServiceAccountToken",
        "defaultMode",
        "enableServiceLinks",
        "expirationSeconds",
        "fsGroup",
        "fsGroupChangePolicy",
        "hostProcess",
        "hostUsers",
        "hostnameOverride",
        "minDomains",
        "mode",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "optional",
        "podGroupName",
        "preemptionPolicy",
        "priority",
        "privileged",
        "readOnlyRootFilesystem",
        "resourceClaimName",
        "resourceClaimTemplateName",
        "runAsGroup",
        "runAsNonRoot",
        "runAsUser",
        "runtimeClassName",
        "seLinuxChangePolicy",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "storageClassName",
        "terminationGracePeriodSeconds",
        "tolerationSeconds",
        "volumeAttributesClassName",
    }
)


class Fields(NamedTuple):
    """Path -> value, None where a field is given and empty; and the order of the entries of lists with keys."""

    values: dict[str, str | None]
    orders: dict[str, tuple[str, ...]]


@lru_cache(maxsize=4096)
def fields_of(json: str) -> Fields | None:
    """The fields that the template gives; None if the text is not that of a JSON object."""
    template = _parsed(json)
    return None if template is None else _walked(template)


@lru_cache(maxsize=4096)
def filled_fields_of(json: str) -> Fields | None:
    """The fields of the template as the API server stores it: with all defaults, and without what is empty.

    None if the text is not that of a JSON object.
    """
    template = _parsed(json)
    if template is None:
        return None
    fill(template)
    found = _walked(template)
    return Fields({path: value for path, value in found.values.items() if value is not None}, found.orders)


def managed_paths(json: str) -> frozenset[str]:
    """The paths in a `fieldsV1` of `managedFields`, from the template on."""
    tree = _parsed(json)
    found: set[str] = set()
    if tree is not None:
        _walk_managed(tree, "", found)
    return frozenset(found)


@lru_cache(maxsize=4096)
def places_of(json: str) -> frozenset[str]:
    """The paths of all given fields, also of those that have others below them; none if it is not an object."""
    tree = _parsed(json)
    found: set[str] = set()
    if tree is not None:
        _add_places(tree, "", "", found)
    return frozenset(found)


def _add_places(value: Any, path: str, name: str, found: set[str]) -> None:
    if path:
        found.add(path)
    if isinstance(value, dict):
        for key, item in value.items():
            _add_places(item, path_below(path, name, key), key, found)
    elif isinstance(value, list) and (keys := entry_keys(value, name)) is not None:
        for key, entry in zip(keys, value, strict=True):
            _add_places(entry, f"{path}[{key}]", "entry", found)
    elif isinstance(value, list):
        found.update(f"{path}[{item}]" for item in value if isinstance(item, str))


def path_below(path: str, name: str, key: str) -> str:
    """The path of what stands under a key of the map at the path; `name` is that of the map's field."""
    return f"{path}[{key}]" if name in _MAPS | _QUANTITY_MAPS else f"{path}.{key}"


def entry_keys(entries: list[Any], name: str) -> tuple[str, ...] | None:
    """What the entries of a list of that name are known by in paths; None where it has no keys."""
    return _keys_of(entries, _KEYS.get(name, ()))


def _parsed(json: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(json)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _walked(template: dict[str, Any]) -> Fields:
    found = Fields({}, {})
    _walk(template, "", "", found)
    return found


def _walk(value: Any, path: str, name: str, found: Fields) -> None:
    """Add what stands at the path; `name` is that of the field."""
    if isinstance(value, dict):
        if name not in _NO_POINTERS or path == _POD_RESOURCES:
            found.values[path] = "{}"
        for key, item in value.items():
            if item is not None and not (name == "labels" and key in ADDED_LABELS):
                _walk_item(item, path, key, name, found)
    elif isinstance(value, list):
        _walk_list(value, path, name, found)
    else:
        found.values[path] = _scalar(value, name)


def _walk_item(item: Any, path: str, key: str, name: str, found: Fields) -> None:
    if name in _QUANTITY_MAPS:
        found.values[f"{path}[{key}]"] = _quantity(item)
    elif name in _MAPS:
        found.values[f"{path}[{key}]"] = _text(item)
    else:
        _walk(item, f"{path}.{key}", key, found)


def _walk_list(entries: list[Any], path: str, name: str, found: Fields) -> None:
    keys = _keys_of(entries, _KEYS.get(name, ()))
    if keys is None:
        found.values[path] = _text(_plain(entries, name)) if entries else None
        return
    found.orders[path] = keys
    for key, entry in zip(keys, entries, strict=True):
        _walk(entry, f"{path}[{key}]", "entry", found)


def _keys_of(entries: list[Any], by: tuple[str, ...]) -> tuple[str, ...] | None:
    """What the entries are known by; None if that cannot be said of every one."""
    if not by or not all(isinstance(entry, dict) for entry in entries):
        return None
    keys = [tuple(entry.get(field) or _DEFAULT_KEYS.get(field) for field in by) for entry in entries]
    found = tuple(",".join(map(str, key)) for key in keys if None not in key)
    return found if len(set(found)) == len(entries) else None


def _plain(value: Any, name: str) -> Any:
    """What stands in a list that is replaced as a whole: without what is empty, in order of the keys."""
    if isinstance(value, dict):
        if name in _MAPS:
            return dict(sorted(value.items())) or None
        if name in _QUANTITY_MAPS:
            return {key: _quantity(item) for key, item in sorted(value.items())} or None
        items = ((key, _plain(item, key)) for key, item in sorted(value.items()))
        plain = {key: item for key, item in items if item is not None}
        return None if not plain and name in _NO_POINTERS else plain
    if isinstance(value, list):
        return [_plain(item, "entry") for item in value] or None
    if name in _QUANTITIES:
        return _quantity(value)
    return value if name == "entry" or _scalar(value, name) is not None else None


def _scalar(value: Any, name: str) -> str | None:
    if name in _QUANTITIES:
        return _quantity(value)
    return None if not value and name not in _POINTERS else _text(value)


def _quantity(value: Any) -> str:
    """Rounded up to thousandths, as it is stored (`SetDefaults_ResourceList`)."""
    try:
        return str(-(-parse_quantity(value) // 1_000_000))
    except (TypeError, ValueError):
        return _text(value)


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _walk_managed(tree: dict[str, Any], path: str, found: set[str]) -> None:
    """`f:name` is a field, `k:{…}` an entry by its keys, `.` the thing itself (`structured-merge-diff`, fieldpath)."""
    if not tree or "." in tree:
        found.add(path)
    for step, below in tree.items():
        kind, _, rest = step.partition(":")
        if isinstance(below, dict) and kind == "f":
            _walk_managed(below, path_below(path, path.rpartition(".")[2], rest), found)
        elif isinstance(below, dict) and kind == "k":
            keys = _parsed(rest) or {}
            _walk_managed(below, f"{path}[{','.join(str(keys[key]) for key in sorted(keys))}]", found)
