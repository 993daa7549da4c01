"""The part of random scripts that is about devices: claims, classes and slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.queue_scripts.generate import Writer

Raw = dict[str, Any]
RESOURCE = "resource.k8s.io/v1"
CLAIMS = ["rc1", "rc2", "rc3", "rc4"]
#: A resource of its own for each class: two classes of one resource depend on what was before.
EXPLICIT = {"none-a": "example.com/none-c", "none-b": "example.com/none-d"}
IMPLICIT = "deviceclass.resource.kubernetes.io/"


def cluster(w: Writer) -> None:
    _make_class(w, "gpu")
    for name in CLAIMS[:3]:
        if w.chance(70):
            _make_claim(w, name)
    _make_slice(w, "n1")


def trait(w: Writer, spec: Raw) -> None:
    rng = w.rng
    if w.chance(35):
        name = rng.choice(["example.com/none-c", "example.com/none-d", f"{IMPLICIT}none-a", f"{IMPLICIT}none-b"])
        spec["containers"][0]["resources"]["requests"][name] = "1"
        spec["containers"][0]["resources"]["limits"] = {name: "1"}
        return
    claim = {"resourceClaimTemplateName": "tpl"} if w.chance(45) else {"resourceClaimName": rng.choice(CLAIMS)}
    spec["resourceClaims"] = [{"name": "x", **claim}]
    spec["containers"][0]["resources"]["claims"] = [{"name": "x"}]


def after_pod(w: Writer, pod: Raw) -> None:
    """Sometimes the controller makes the claim at once."""
    if w.chance(40):
        _generate(w, pod)


def operation(w: Writer) -> None:
    w.rng.choice(_OPERATIONS)(w)


def _make_class(w: Writer, name: str) -> None:
    spec: Raw = {"selectors": [{"cel": {"expression": f'device.driver == "{name}.example.com"'}}]}
    if w.started and name.startswith("none") and w.chance(40):
        spec["extendedResourceName"] = EXPLICIT[name]
    w.create("DeviceClass", name, api=RESOURCE, spec=spec)


def _make_slice(w: Writer, node: str) -> None:
    found = [{"name": f"d{number}"} for number in range(w.rng.choice([1, 2]))]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": found}
    w.create("ResourceSlice", f"s-{node}", api=RESOURCE, spec=spec)


def _make_claim(w: Writer, name: str, owner: Raw | None = None) -> None:
    class_name = w.rng.choice(["gpu", "gpu", "nic"])
    exactly = {"deviceClassName": class_name, "allocationMode": "ExactCount", "count": w.rng.choice([1, 1, 2])}
    meta = {**({"ownerReferences": [owner]} if owner else {}), "uid": f"uid-{name}-{w.next()}"}
    requests = [{"name": "r", "exactly": exactly}]
    w.create("ResourceClaim", name, "d", api=RESOURCE, meta=meta, spec={"devices": {"requests": requests}})


def _generate(w: Writer, pod: Raw) -> None:
    meta = pod["metadata"]
    if "resourceClaimTemplateName" not in pod["spec"]["resourceClaims"][0] or meta["namespace"] != "d":
        return
    name = f"{meta['name']}-x"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
    status = {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": name}]}
    steps: list[Callable[[], object]] = [
        lambda: _make_claim(w, name, owner),
        lambda: w.patch(("Pod", "d", meta["name"]), {"status": status}),
    ]
    w.rng.shuffle(steps)
    for step in steps:
        step()


def add_claim(w: Writer) -> None:
    _make_claim(w, w.rng.choice(CLAIMS))


def drop_claim(w: Writer) -> None:
    if key := w.pick("ResourceClaim"):
        w.delete(key)


def free(w: Writer) -> None:
    """A driver gives up what a claim was given; nothing here says whether it was given anything."""
    if key := w.pick("ResourceClaim"):
        patch = {"status": {"allocation": None, "reservedFor": None}}
        w.add(op="patch", kind="ResourceClaim", namespace=key[1], name=key[2], patch=patch)


def generate(w: Writer) -> None:
    pods = [raw for (kind, _, _), raw in w.objects.items() if kind == "Pod" and "resourceClaims" in raw["spec"]]
    if pods:
        _generate(w, w.rng.choice(pods))


def add_class(w: Writer) -> None:
    _make_class(w, w.rng.choice(["gpu", "nic", "none-a", "none-a", "none-b", "none-b"]))


def drop_class(w: Writer) -> None:
    key = w.pick("DeviceClass")
    if key is not None and key[2] != "gpu":
        w.delete(key)


def change_class(w: Writer) -> None:
    key = w.pick("DeviceClass")
    if key is None:
        return
    patch: Raw = {"metadata": {"labels": {"note": f"x{w.next()}"}}}
    if key[2].startswith("none") and w.chance(60):
        patch = {"spec": {"extendedResourceName": w.rng.choice([EXPLICIT[key[2]], None])}}
    w.patch(key, patch)


def add_slice(w: Writer) -> None:
    if key := w.pick("Node"):
        _make_slice(w, key[2])


def change_slice(w: Writer) -> None:
    if key := w.pick("ResourceSlice"):
        found = [{"name": f"d{number}"} for number in range(w.rng.choice([1, 2, 3]))]
        generation = w.objects[key]["spec"]["pool"]["generation"] + 1
        w.patch(key, {"spec": {"devices": found, "pool": {"generation": generation}}})


def note_claim(w: Writer) -> None:
    if key := w.pick("ResourceClaim"):
        w.patch(key, {"metadata": {"labels": {"note": f"x{w.next()}"}}})


_OPERATIONS = [
    *(add_claim, add_claim, drop_claim, free, free, generate, generate, generate, generate, add_class, add_class),
    *(drop_class, change_class, change_class, add_slice, change_slice, note_claim),
]
