"""The part of random scripts that is about volumes and devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.queue_scripts.generate import Writer

Raw = dict[str, Any]
DRIVER, OTHER = "csi.example.com", "other.example.com"
STORAGE, RESOURCE = "storage.k8s.io/v1", "resource.k8s.io/v1"
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
CLAIMS = ["c1", "c2", "c3", "c4"]


class volumes:  # noqa: N801 - a namespace
    """Claims, volumes, classes, drivers and what they say of themselves."""

    @staticmethod
    def cluster(w: Writer) -> None:
        for name in w.rng.sample(["wffc", "imm", "nop"], w.rng.choice([2, 3, 3])):
            volumes._class(w, name)
        w.create("CSIDriver", DRIVER, api=STORAGE, spec={"attachRequired": True, "storageCapacity": w.chance(60)})
        for name in w.rng.sample(CLAIMS, w.rng.randint(1, 4)):
            volumes._claim(w, name)
        volumes._attachment(w)

    @staticmethod
    def _class(w: Writer, name: str) -> None:
        mode = "Immediate" if name == "imm" else "WaitForFirstConsumer"
        provisioner = "kubernetes.io/no-provisioner" if name == "nop" else DRIVER
        w.create("StorageClass", name, api=STORAGE, provisioner=provisioner, volumeBindingMode=mode)

    @staticmethod
    def csi_node(w: Writer, node: str) -> None:
        drivers = [{"name": DRIVER, "nodeID": node, "allocatable": {"count": w.rng.choice([0, 1, 1, 2])}}]
        w.create("CSINode", node, api=STORAGE, spec={"drivers": drivers})

    @staticmethod
    def _claim(w: Writer, name: str) -> None:
        rng, namespace = w.rng, "e" if w.chance(20) else "d"
        class_name = rng.choice(["wffc", "imm", "imm", "nop"])
        modes = [rng.choice(["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"])]
        spec: Raw = {"accessModes": modes, "storageClassName": class_name, "resources": {"requests": {"storage": rng.choice(["1Gi", "5Gi"])}}}
        bound = class_name == "imm" and w.chance(70)
        meta: Raw = {}
        if bound:
            meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
            spec["volumeName"] = f"bound-{namespace}-{name}"
            if w.chance(85):
                volumes._volume(w, spec["volumeName"], class_name, {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name})
        w.create("PersistentVolumeClaim", name, namespace, meta=meta, spec=spec, status={"phase": "Bound" if bound else "Pending"})

    @staticmethod
    def _volume(w: Writer, name: str, class_name: str, claim: Raw | None) -> None:
        rng = w.rng
        labels = {ZONE: rng.choice(["z1", "z2", "z3"])} if w.chance(50) else {"note": "none"}
        spec: Raw = {
            "capacity": {"storage": rng.choice(["2Gi", "10Gi"])},
            "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"],
            "storageClassName": class_name,
            "csi": {"driver": DRIVER, "volumeHandle": name},
        }
        if claim:
            spec["claimRef"] = claim
        w.create("PersistentVolume", name, meta={"labels": labels}, spec=spec, status={"phase": "Bound" if claim else "Available"})

    @staticmethod
    def _attachment(w: Writer) -> None:
        number, node = w.next(), w.pick("Node")
        source = {"persistentVolumeName": f"x{number}"}
        spec = {"attacher": w.rng.choice([DRIVER, OTHER, "pd.csi.storage.gke.io"]), "nodeName": node[2] if node else "n1", "source": source}
        w.create("VolumeAttachment", f"va{number}", api=STORAGE, spec=spec, status={"attached": True})

    @staticmethod
    def trait(w: Writer, spec: Raw) -> None:
        rng = w.rng
        roll = rng.random()
        if roll < 0.15:
            spec["volumes"] = [{"name": "v", "gcePersistentDisk": {"pdName": rng.choice(["pd1", "pd2"])}}]
            return
        names = rng.sample(CLAIMS, rng.choice([1, 1, 2]))
        spec["volumes"] = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}} for i, name in enumerate(names)]
        if roll < 0.3:
            spec["volumes"].insert(0, {"name": "i", "csi": {"driver": rng.choice([DRIVER, OTHER])}})

    @staticmethod
    def operation(w: Writer) -> None:
        rng = w.rng
        match rng.choice(["claim", "claim", "unclaim", "bind", "volume", "zone", "zone", "limit", "limit", "migrate", "driver", "driver", "capacity", "capacity", "class", "topologies", "attach", "detach", "note"]):  # noqa: E501
            case "claim":
                volumes._claim(w, rng.choice(CLAIMS))
            case "unclaim":
                if key := w.pick("PersistentVolumeClaim"):
                    w.delete(key)
            case "bind" | "note":
                if key := w.pick("PersistentVolumeClaim"):
                    w.patch(key, {"metadata": {"annotations": {"note": f"x{w.next()}"}}})
            case "volume":
                volumes._volume(w, f"pv{w.next()}", rng.choice(["wffc", "nop"]), None)
            case "zone":
                if key := w.pick("PersistentVolume"):
                    labels = {ZONE: rng.choice(["z1", "z2", None])} if w.chance(60) else {"note": f"x{w.next()}"}
                    w.patch(key, {"metadata": {"labels": labels}})
            case "limit":
                if key := w.pick("CSINode"):
                    drivers = [{"name": DRIVER, "nodeID": key[2], "allocatable": {"count": rng.choice([0, 1, 2, 3])}}]
                    w.patch(key, {"spec": {"drivers": drivers}})
            case "migrate":
                if key := w.pick("CSINode"):
                    w.patch(key, {"metadata": {"annotations": {MIGRATED: rng.choice(["kubernetes.io/gce-pd", None])}}})
            case "driver":
                w.patch(("CSIDriver", "", DRIVER), {"spec": {"storageCapacity": w.chance(50)}})
            case "capacity":
                volumes._capacity(w)
            case "class":
                volumes._class(w, rng.choice(["wffc", "imm", "nop"]))
            case "topologies":
                if key := w.pick("StorageClass"):
                    term = {"matchLabelExpressions": [{"key": ZONE, "values": [rng.choice(["z1", "z2"])]}]}
                    w.patch(key, rng.choice([{"allowedTopologies": [term]}, {"metadata": {"labels": {"note": f"x{w.next()}"}}}]))
            case "attach":
                volumes._attachment(w)
            case "detach":
                if key := w.pick("VolumeAttachment"):
                    w.delete(key)

    @staticmethod
    def _capacity(w: Writer) -> None:
        key = w.pick("CSIStorageCapacity")
        size = w.rng.choice(["1Gi", "4Gi", "10Gi"])
        if key is not None and w.chance(70):
            w.patch(key, {"capacity": size})
            return
        topology = {"matchLabels": {ZONE: w.rng.choice(["z1", "z2"])}}
        w.create("CSIStorageCapacity", f"cap{w.next()}", "d", api=STORAGE, storageClassName="wffc", capacity=size, nodeTopology=topology)


class devices:  # noqa: N801 - a namespace
    """Claims of devices, classes and slices."""

    @staticmethod
    def cluster(w: Writer) -> None:
        devices._class(w, "gpu")
        for name in ("rc1", "rc2", "rc3"):
            if w.chance(70):
                devices._claim(w, name)
        devices._slice(w, "n1")

    @staticmethod
    def _class(w: Writer, name: str) -> None:
        spec: Raw = {"selectors": [{"cel": {"expression": f'device.driver == "{name}.example.com"'}}]}
        w.create("DeviceClass", name, api=RESOURCE, spec=spec)

    @staticmethod
    def _slice(w: Writer, node: str) -> None:
        found = [{"name": f"d{number}"} for number in range(w.rng.choice([1, 2]))]
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        w.create("ResourceSlice", f"s-{node}", api=RESOURCE, spec={"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": found})

    @staticmethod
    def _claim(w: Writer, name: str, owner: Raw | None = None) -> None:
        exactly = {"deviceClassName": w.rng.choice(["gpu", "gpu", "nic"]), "allocationMode": "ExactCount", "count": w.rng.choice([1, 1, 2])}
        meta = {"ownerReferences": [owner]} if owner else {}
        requests = [{"name": "r", "exactly": exactly}]
        w.create("ResourceClaim", name, "d", api=RESOURCE, meta={**meta, "uid": f"uid-{name}-{w.next()}"}, spec={"devices": {"requests": requests}})

    @staticmethod
    def trait(w: Writer, spec: Raw) -> None:
        rng = w.rng
        if w.chance(20):
            name = rng.choice(["example.com/none-a", "deviceclass.resource.kubernetes.io/none-a", "deviceclass.resource.kubernetes.io/none-b"])
            spec["containers"][0]["resources"]["requests"][name] = "1"
            spec["containers"][0]["resources"]["limits"] = {name: "1"}
            return
        claim = {"resourceClaimTemplateName": "tpl"} if w.chance(35) else {"resourceClaimName": rng.choice(["rc1", "rc2", "rc3", "rc4"])}
        spec["resourceClaims"] = [{"name": "x", **claim}]
        spec["containers"][0]["resources"]["claims"] = [{"name": "x"}]

    @staticmethod
    def after_pod(w: Writer, pod: Raw) -> None:
        """Sometimes the controller makes the claim at once."""
        if w.chance(40):
            devices._generate(w, pod)

    @staticmethod
    def _generate(w: Writer, pod: Raw) -> None:
        meta = pod["metadata"]
        if "resourceClaimTemplateName" not in pod["spec"]["resourceClaims"][0] or meta["namespace"] != "d":
            return
        name = f"{meta['name']}-x"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
        steps = [
            lambda: devices._claim(w, name, owner),
            lambda: w.patch(("Pod", "d", meta["name"]), {"status": {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": name}]}}),
        ]
        w.rng.shuffle(steps)
        for step in steps:
            step()

    @staticmethod
    def operation(w: Writer) -> None:
        rng = w.rng
        match rng.choice(["claim", "claim", "unclaim", "free", "generate", "generate", "class", "classNote", "slice", "slice", "sliceMore", "note"]):  # noqa: E501
            case "claim":
                devices._claim(w, rng.choice(["rc1", "rc2", "rc3", "rc4"]))
            case "unclaim":
                if key := w.pick("ResourceClaim"):
                    w.delete(key)
            case "free":
                if key := w.pick("ResourceClaim"):  # nothing says whether it is allocated
                    w.add(op="patch", kind="ResourceClaim", namespace=key[1], name=key[2], patch={"status": {"allocation": None, "reservedFor": None}})
            case "generate":
                pods = [raw for (kind, _, _), raw in w.objects.items() if kind == "Pod" and "resourceClaims" in raw["spec"]]
                if pods:
                    devices._generate(w, rng.choice(pods))
            case "class":
                devices._class(w, rng.choice(["gpu", "nic", "none-a", "none-b"]))
            case "classNote":
                if key := w.pick("DeviceClass"):
                    patch = {"metadata": {"labels": {"note": f"x{w.next()}"}}}
                    if key[2] != "gpu" and w.chance(50):
                        patch = {"spec": {"extendedResourceName": rng.choice(["example.com/none-c", "example.com/none-d"])}}
                    w.patch(key, patch)
            case "slice":
                if key := w.pick("Node"):
                    devices._slice(w, key[2])
            case "sliceMore":
                if key := w.pick("ResourceSlice"):
                    found = [{"name": f"d{number}"} for number in range(rng.choice([1, 2, 3]))]
                    generation = w.objects[key]["spec"]["pool"]["generation"] + 1
                    w.patch(key, {"spec": {"devices": found, "pool": {"generation": generation}}})
            case "note":
                if key := w.pick("ResourceClaim"):
                    w.patch(key, {"metadata": {"labels": {"note": f"x{w.next()}"}}})
