"""The same objects, written otherwise: bare numbers, nulls, empty fields, defaults spelled out, older API versions."""

import re
from collections.abc import Iterator
from typing import Any

from tests.differential.dice import Dice
from tests.differential.scene import Object, Scene

_AMOUNTS = ("requests", "limits", "allocatable", "capacity", "podFixed")
_NUMBER = re.compile(r"\d{1,15}|\d{1,6}\.\d{1,3}")

#: Fields that a pod may leave out, by their empty forms.
_EMPTY_SPEC: Object = {
    "affinity": (None, {}, {"nodeAffinity": None, "podAffinity": {}, "podAntiAffinity": None}),
    "nodeSelector": (None, {}),
    "tolerations": (None, []),
    "topologySpreadConstraints": (None, []),
    "initContainers": (None, []),
    "volumes": (None, []),
    "overhead": (None, {}),
    "resources": (None, {}),
    "schedulingGates": (None, []),
    "resourceClaims": (None, []),
    "nodeName": (None, ""),
    "priorityClassName": (None, ""),
    "schedulerName": (None, "", "default-scheduler"),
    "runtimeClassName": (None,),
    "hostNetwork": (None, False),
    "preemptionPolicy": (None,),
    "ephemeralContainers": (None, [], [{"name": "debug", "image": "busybox:1"}]),
    "notInvented": ("yet", None, [1, {"a": None}]),
    "restartPolicy": ("Always", "Never", None),
    "hostname": ("web-0",),
    "subdomain": ("web",),
    "enableServiceLinks": (True,),
    "serviceAccountName": ("default",),
    "os": ({"name": "linux"},),
    "terminationGracePeriodSeconds": (0, 30),
}
_EMPTY_CONTAINER: Object = {
    "ports": (None, []),
    "resources": (None, {}, {"requests": None}, {"limits": {}}),
    "env": ([{"name": "A", "value": "b"}],),
    "volumeMounts": (None, []),
    "securityContext": ({"privileged": True}, None),
    "resizePolicy": ([{"resourceName": "cpu", "restartPolicy": "NotRequired"}],),
}
_EMPTY_METADATA: Object = {
    "labels": (None, {}),
    "annotations": (None, {}, {"note": "null"}),
    "ownerReferences": (None, []),
    "creationTimestamp": (None,),
    "finalizers": (None, [], ["example.com/keep"]),
    "generateName": ("made-",),
    "managedFields": (None, []),
}


def vary(scene: Scene) -> None:
    """Rewrite some of the objects; none of it changes what they mean."""
    dice = scene.dice
    steps = dice.some([numbers, empties, defaults, older], 1, 3)
    for step in steps:
        for obj in (*scene.nodes, *scene.pods, *scene.objects, scene.pod):
            if dice.chance(0.5):
                step(dice, obj)


def numbers(dice: Dice, obj: Object) -> None:
    """Quantities without quotes."""
    if obj["kind"] not in ("Pod", "Node"):
        return
    for amounts in _maps(obj, _AMOUNTS):
        for name, text in amounts.items():
            if isinstance(text, str) and _NUMBER.fullmatch(text) and dice.chance(0.7):
                amounts[name] = float(text) if "." in text else int(text)


def empties(dice: Dice, obj: Object) -> None:
    """Null and empty fields mean what missing ones do."""
    _add(dice, obj["metadata"], _EMPTY_METADATA)
    if obj["kind"] == "Pod":
        _add(dice, obj["spec"], _EMPTY_SPEC)
        for container in obj["spec"]["containers"]:
            _add(dice, container, _EMPTY_CONTAINER)
        if not obj.get("status"):
            obj["status"] = dice.pick(None, {}, {"phase": "Pending"}, {"nominatedNodeName": ""})
    elif obj["kind"] == "Node" and "spec" not in obj:
        obj["spec"] = dice.pick(None, {}, {"taints": None}, {"unschedulable": False}, {"podCIDRs": ["10.0.0.0/24"]})


def _add(dice: Dice, fields: Object, forms: Object) -> None:
    for name in dice.some(sorted(forms), 0, 4):
        if name not in fields:
            fields[name] = dice.one(forms[name])


def defaults(dice: Dice, obj: Object) -> None:
    """What goes without saying, said."""
    for inner in _objects(obj):
        if "containerPort" in inner and dice.chance(0.5):
            inner.setdefault("protocol", "TCP")
        elif "whenUnsatisfiable" in inner and dice.chance(0.5):
            inner.setdefault("nodeAffinityPolicy", "Honor")
            inner.setdefault("nodeTaintsPolicy", "Ignore")
        elif "deviceClassName" in inner and inner.get("allocationMode") is None and dice.chance(0.5):
            inner |= {"allocationMode": "ExactCount", "count": inner.get("count", 1)}
        elif inner.get("kind") == "StorageClass":
            inner.setdefault("volumeBindingMode", "Immediate")
            inner.setdefault("reclaimPolicy", "Delete")
        elif inner.get("kind") == "PriorityClass":
            inner.setdefault("preemptionPolicy", "PreemptLowerPriority")
            inner.setdefault("globalDefault", False)
        elif inner.get("kind") == "CSIDriver":
            inner["spec"].setdefault("attachRequired", True)


def older(dice: Dice, obj: Object) -> None:
    """Beta versions that are still served, or were until lately."""
    if obj["apiVersion"] == "resource.k8s.io/v1":
        if dice.chance(0.5):
            obj["apiVersion"] = "resource.k8s.io/v1beta2"
        else:
            _as_v1beta1(obj)
    elif obj["kind"] == "CSIStorageCapacity":
        obj["apiVersion"] = "storage.k8s.io/v1beta1"


def _as_v1beta1(obj: Object) -> None:
    """What is asked for exactly stands in the request itself, what a device is in `basic`."""
    obj["apiVersion"] = "resource.k8s.io/v1beta1"
    for inner in _objects(obj.get("spec", {})):
        for request in inner.get("requests", ()) if isinstance(inner.get("requests"), list) else ():
            if isinstance(request, dict):
                request.update(request.pop("exactly", {}))
    for device in obj.get("spec", {}).get("devices", ()) if obj["kind"] == "ResourceSlice" else ():
        basic = {field: device.pop(field) for field in list(device) if field != "name"}
        device["basic"] = basic


def _maps(value: Any, names: tuple[str, ...]) -> Iterator[Object]:
    for inner in _objects(value):
        for name in names:
            if isinstance(inner.get(name), dict):
                yield inner[name]


def _objects(value: Any) -> Iterator[Object]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)
