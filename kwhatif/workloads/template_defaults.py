"""What the API server fills into a pod template that does not say it (`pkg/apis/core/v1/defaults.go`).

Of a template, not of a pod: `requests` are not filled from `limits`, `enableServiceLinks` stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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
_POINTERS = frozenset({"defaultMode", "expirationSeconds", "optional", "terminationGracePeriodSeconds"})


def fill(template: dict[str, Any]) -> None:
    """Fill in everything that is missing, in place; `template` is decoded JSON of any form."""
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
        if given is None or (not given and name not in _POINTERS):
            obj[name] = value


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (entry for entry in value if isinstance(entry, dict)) if isinstance(value, list) else iter(())
