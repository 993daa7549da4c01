"""The part of random scripts that is about volumes: claims, classes, drivers and what they say of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.queue_scripts.generate import Writer

Raw = dict[str, Any]
DRIVER, OTHER, GCE = "csi.example.com", "other.example.com", "pd.csi.storage.gke.io"
STORAGE = "storage.k8s.io/v1"
ZONE = "topology.kubernetes.io/zone"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
#: Claims and the sizes that they ask for. No two are equal, as no two volumes are: which is taken would be chance.
SIZES = {"c1": "1Gi", "c2": "2Gi", "c3": "3Gi", "c4": "5Gi"}
CLAIMS = list(SIZES)
#: What a script is about: it decides what most claims are like.
THEMES = ["zones", "zones", "zones", "binding", "binding", "binding", "exclusive", "any"]


def cluster(w: Writer) -> None:
    w.theme = "limits" if w.family == "limits" else w.rng.choice(THEMES)
    for name in w.rng.sample(["wffc", "imm", "nop"], w.rng.choice([2, 3, 3])):
        _make_class(w, name)
    w.create("CSIDriver", DRIVER, api=STORAGE, spec={"attachRequired": True, "storageCapacity": w.chance(80)})
    for name in w.rng.sample(CLAIMS, 4 if w.theme == "limits" else w.rng.randint(2, 4)):
        _make_claim(w, name)
    attach(w)


def csi_node(w: Writer, node: str) -> None:
    count = w.rng.choice([0, 0, 0, 1]) if w.theme == "limits" else w.rng.choice([2, 50, 50])
    drivers = [
        {"name": DRIVER, "nodeID": node, "allocatable": {"count": count}},
        {"name": GCE, "nodeID": node, "allocatable": {"count": count}},
    ]
    meta = {"annotations": {MIGRATED: "kubernetes.io/gce-pd"}} if w.chance(40) else {}
    w.create("CSINode", node, api=STORAGE, meta=meta, spec={"drivers": drivers})


def trait(w: Writer, spec: Raw) -> None:
    rng = w.rng
    if w.theme == "limits" and w.chance(25):
        return
    if w.chance({"exclusive": 40, "limits": 35}.get(w.theme, 5)):
        spec["volumes"] = [{"name": "v", "gcePersistentDisk": {"pdName": rng.choice(["pd1", "pd2"])}}]
        return
    names = rng.sample(CLAIMS, rng.choice([1, 1, 2]))
    spec["volumes"] = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}} for i, name in enumerate(names)]
    if w.chance(50 if w.theme == "binding" else 15):
        spec["volumes"].insert(0, {"name": "i", "csi": {"driver": rng.choice([DRIVER, DRIVER, OTHER])}})


def operation(w: Writer) -> None:
    w.rng.choice(_OF_THEME.get(w.theme, _ALL) if w.chance(85) else _ALL)(w)


# --- objects -----------------------------------------------------------------------------------------------


def _make_class(w: Writer, name: str) -> None:
    mode = "Immediate" if name == "imm" else "WaitForFirstConsumer"
    provisioner = "kubernetes.io/no-provisioner" if name == "nop" else DRIVER
    w.create("StorageClass", name, api=STORAGE, provisioner=provisioner, volumeBindingMode=mode)


def _make_claim(w: Writer, name: str) -> None:
    rng, namespace = w.rng, "e" if w.chance(3 if w.theme == "limits" else 15) else "d"
    names = {"limits": ["imm"], "zones": ["imm", "imm", "wffc"], "binding": ["wffc", "wffc", "nop"]}
    class_name = rng.choice(names.get(w.theme, ["wffc", "imm", "imm", "nop"]))
    mode = rng.choice(
        ["ReadWriteOncePod" if w.theme == "exclusive" else "ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"]
    )
    storage = {"requests": {"storage": SIZES[name]}}
    spec: Raw = {"accessModes": [mode], "storageClassName": class_name, "resources": storage}
    bound = class_name == "imm" and w.chance({"limits": 100, "zones": 90}.get(w.theme, 60))
    meta: Raw = {}
    if bound:
        meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        spec["volumeName"] = f"bound-{namespace}-{name}"
        if w.theme == "limits" or w.chance(90):
            claim = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
            _make_volume(w, spec["volumeName"], class_name, claim)
    phase = "Bound" if bound else "Pending"
    w.create("PersistentVolumeClaim", name, namespace, meta=meta, spec=spec, status={"phase": phase})


def _make_volume(w: Writer, name: str, class_name: str, claim: Raw | None) -> None:
    rng = w.rng
    zoned = w.chance(90 if w.theme == "zones" else 10)
    labels = {ZONE: rng.choice(["z1", "z3", "z3"])} if zoned else {"note": "none"}
    spec: Raw = {
        "capacity": {"storage": f"{rng.choice([3000, 9000]) + w.next()}Mi"},
        "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"],
        "storageClassName": class_name,
        "csi": {"driver": DRIVER, "volumeHandle": name},
    }
    if claim:
        spec["claimRef"] = claim
    phase = "Bound" if claim else "Available"
    w.create("PersistentVolume", name, meta={"labels": labels}, spec=spec, status={"phase": phase})


# --- operations --------------------------------------------------------------------------------------------


def add_claim(w: Writer) -> None:
    _make_claim(w, w.rng.choice(CLAIMS))


def drop_claim(w: Writer) -> None:
    if key := w.pick("PersistentVolumeClaim"):
        w.delete(key)


def renew_claim(w: Writer) -> None:
    """Gone, and there again."""
    if key := w.pick("PersistentVolumeClaim", "d"):
        w.delete(key)
        if w.chance(50):
            w.add(op="advance", seconds=2)
        _make_claim(w, key[2])
        if w.theme == "limits":
            w.add(op="schedule", until="idle")


def note_claim(w: Writer) -> None:
    if key := w.pick("PersistentVolumeClaim"):
        w.patch(key, {"metadata": {"annotations": {"note": f"x{w.next()}"}}})


def add_volume(w: Writer) -> None:
    _make_volume(w, f"pv{w.next()}", w.rng.choice(["wffc", "nop"]), None)


def change_volume(w: Writer) -> None:
    if key := w.pick("PersistentVolume"):
        labels = {ZONE: w.rng.choice(["z1", "z2", "z3", None])} if w.chance(50) else {"note": f"x{w.next()}"}
        w.patch(key, {"metadata": {"labels": labels}})


def change_limit(w: Writer) -> None:
    if key := w.pick("CSINode"):
        drivers = [
            {**driver, "allocatable": {"count": w.rng.choice([0, 1, 2])}}
            for driver in w.objects[key]["spec"]["drivers"]
        ]
        w.patch(key, {"spec": {"drivers": drivers}})


def migrate(w: Writer) -> None:
    if key := w.pick("CSINode"):
        w.patch(key, {"metadata": {"annotations": {MIGRATED: w.rng.choice(["kubernetes.io/gce-pd", None])}}})


def change_driver(w: Writer) -> None:
    w.patch(("CSIDriver", "", DRIVER), {"spec": {"storageCapacity": not _tracks_capacity(w)}})


def _tracks_capacity(w: Writer) -> bool:
    return bool(w.objects["CSIDriver", "", DRIVER]["spec"].get("storageCapacity"))


def change_capacity(w: Writer) -> None:
    key = w.pick("CSIStorageCapacity")
    size = w.rng.choice(["1Gi", "4Gi", "10Gi"])
    if key is not None and w.chance(80):
        w.patch(key, {"capacity": size})
        return
    topology = {"matchLabels": {ZONE: w.rng.choice(["z1", "z2"])}}
    name = f"cap{w.next()}"
    w.create(
        "CSIStorageCapacity", name, "d", api=STORAGE, storageClassName="wffc", capacity=size, nodeTopology=topology
    )


def add_class(w: Writer) -> None:
    _make_class(w, w.rng.choice(["wffc", "imm", "imm", "nop"]))


def drop_class(w: Writer) -> None:
    if key := w.pick("StorageClass"):
        w.delete(key)


def change_class(w: Writer) -> None:
    if key := w.pick("StorageClass"):
        term = {"matchLabelExpressions": [{"key": ZONE, "values": [w.rng.choice(["z1", "z2"])]}]}
        note = {"metadata": {"labels": {"note": f"x{w.next()}"}}}
        w.patch(key, w.rng.choice([{"allowedTopologies": [term]}, note]))


def attach(w: Writer) -> None:
    number, node = w.next(), w.pick("Node")
    source = {"persistentVolumeName": f"x{number}"}
    spec = {"attacher": w.rng.choice([DRIVER, OTHER, GCE]), "nodeName": node[2] if node else "n1", "source": source}
    w.create("VolumeAttachment", f"va{number}", api=STORAGE, spec=spec, status={"attached": True})


def leave(w: Writer) -> None:
    """A pod that was bound from the beginning goes; half of those have volumes."""
    bound = [key for key, raw in w.objects.items() if key[0] == "Pod" and "nodeName" in raw["spec"]]
    if bound:
        w.delete(w.rng.choice(bound))


def detach(w: Writer) -> None:
    if key := w.pick("VolumeAttachment"):
        w.delete(key)


_ALL = [
    *(add_claim, add_claim, drop_claim, note_claim, add_volume, change_volume, change_limit, migrate, change_driver),
    *(change_capacity, add_class, drop_class, change_class, attach, detach),
]
_OF_THEME = {
    "limits": [
        *(change_limit, change_limit, migrate, migrate, migrate),
        *(renew_claim, renew_claim, leave, detach, attach) * 4,
    ],
    "zones": [*(change_volume, change_volume, note_claim, note_claim), *(drop_class, add_class) * 3, add_claim],
    "binding": [
        *(change_driver, change_driver, change_driver, change_capacity, change_capacity, change_class, change_class),
        *(migrate, migrate, change_capacity, change_capacity, note_claim, add_claim),
    ],
    "exclusive": [add_claim, drop_claim, note_claim],
}
