"""Volumes, claims, classes and drivers for a scene."""

from typing import Any

from tests.differential.scene import HOSTNAME, ZONE, Object, Scene, namespace_of, uid_of

DRIVER = "csi.example.com"
EBS = "ebs.csi.aws.com"
#: Where the class stood before it had a field; it still counts.
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
ZONE_KEYS = (
    ZONE,
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/region",
)
ZONE_VALUES = ("eu-1a", "eu-1b", "eu-1a__eu-1b", "eu-1b__eu-1c", "eu-1a____eu-1b", "eu-1")

#: Sizes that no volume has.
_HUGE = ("16Ti", "1Pi", "8Pi", "9P", "5e15")


class Storage:
    """Adds storage objects; every volume has a size of its own, as the smallest that fits is taken."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._dice = scene.dice
        self._count = 0
        self._classes()

    def _classes(self) -> None:
        dice = self._dice
        wait = {"volumeBindingMode": "WaitForFirstConsumer"}
        self._class("local", "kubernetes.io/no-provisioner", **wait)
        topologies = {}
        if dice.chance(0.4):
            topologies = {"allowedTopologies": self._topology_terms()}
        self._class("wait", DRIVER, **wait, **topologies)
        self._class("fast", DRIVER, **dice.pick({}, {"volumeBindingMode": "Immediate"}))
        self._class("ebs", dice.pick("kubernetes.io/aws-ebs", EBS), **wait)

    def _class(self, name: str, provisioner: str, **fields: Any) -> None:
        self._scene.add("storage.k8s.io/v1", "StorageClass", name, provisioner=provisioner, **fields)

    def _topology_terms(self) -> list[Object]:
        dice = self._dice
        zones = dice.some(["eu-1a", "eu-1b", "eu-1c"], 1, 3)
        split = dice.randint(1, len(zones))
        terms = [
            {"matchLabelExpressions": [{"key": ZONE, "values": part}]}
            for part in (zones[:split], zones[split:])
            if part
        ]
        if dice.chance(0.3):
            nodes = dice.some(self._scene.node_names() or ["gone"], 1)
            terms[0]["matchLabelExpressions"].append({"key": HOSTNAME, "values": nodes})
        return terms

    def drivers(self) -> None:
        """What nodes can attach, and what drivers know about room."""
        dice, scene = self._dice, self._scene
        for node in scene.some_nodes(0.85):
            name = node["metadata"]["name"]
            entries = [
                {"name": driver, "nodeID": name, **self._limit(), **dice.sometimes({"topologyKeys": [ZONE]}, 0.2)}
                for driver in (DRIVER, EBS, "pd.csi.storage.gke.io")
                if dice.chance(0.7)
            ]
            extra: Object = {}
            if dice.chance(0.4):
                plugins = dice.some(["kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/cinder"], 1)
                extra["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(plugins)}
            scene.add("storage.k8s.io/v1", "CSINode", name, spec={"drivers": entries}, **extra)
            if dice.chance(0.3) and ZONE in node["metadata"]["labels"]:
                node["metadata"]["labels"]["topology.ebs.csi.aws.com/zone"] = node["metadata"]["labels"][ZONE]
        if dice.chance(0.6):
            spec = {"storageCapacity": dice.pick(True, True, False)}
            scene.add("storage.k8s.io/v1", "CSIDriver", DRIVER, spec=spec)
            self._capacities()

    def _limit(self) -> Object:
        dice = self._dice
        return {} if dice.chance(0.3) else {"allocatable": {"count": dice.pick(0, 1, 1, 2, 3, 25)}}

    def _capacities(self) -> None:
        dice = self._dice
        for index in range(dice.randint(0, 4)):
            extra: Object = dice.sometimes({"capacity": dice.pick("1Gi", "20Gi", "1Ti", *_HUGE)}, 0.8)
            extra |= dice.sometimes({"maximumVolumeSize": dice.pick("2Gi", "50Gi")}, 0.3)
            if dice.chance(0.9):
                key, values = dice.pick((ZONE, ["eu-1a", "eu-1b"]), (HOSTNAME, self._scene.node_names() or ["gone"]))
                expression = {"key": key, "operator": dice.pick("In", "NotIn"), "values": dice.some(values, 1, 2)}
                extra["nodeTopology"] = dice.pick(
                    {"matchLabels": {key: dice.one(values)}},
                    {"matchLabels": {key: dice.one(values)}},
                    {"matchExpressions": [expression]},
                    {"matchExpressions": [{"key": key, "operator": "Exists"}]},
                    {"matchLabels": {}},
                    {},
                )
            namespace = dice.pick("kube-system", "default")
            extra["storageClassName"] = dice.pick("wait", "wait", "fast")
            self._scene.add("storage.k8s.io/v1", "CSIStorageCapacity", f"room-{index}", namespace, **extra)

    # --- volumes -------------------------------------------------------------------------------------

    def size(self) -> str:
        """A size that no other volume has."""
        self._count += 1
        return f"{self._dice.pick(1, 5, 10, 20, 20, 50) * 1024 + self._count}Mi"

    def volume(self, source: Object, class_name: str, **fields: Any) -> Object:
        """A PersistentVolume, not bound yet."""
        size = self.size()
        name = f"pv-{self._count}"
        labels = fields.pop("labels", None)
        spec = {
            "capacity": {"storage": size},
            "accessModes": fields.pop("accessModes", ["ReadWriteOnce"]),
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": class_name,
            **source,
            **fields,
        }
        extra: Object = {"labels": labels} if labels else {}
        if self._dice.chance(0.1):
            extra["annotations"] = {OLD_CLASS: spec.pop("storageClassName")}
        if self._dice.chance(0.3):
            extra["uid"] = f"uid-{name}"
        return self._scene.add("v1", "PersistentVolume", name, spec=spec, status={"phase": "Available"}, **extra)

    def csi(self, driver: str = DRIVER) -> Object:
        """A source of a handle that is seldom shared."""
        return {"csi": {"driver": driver, "volumeHandle": f"handle-{self._dice.randint(0, 40)}"}}

    def in_tree(self) -> Object:
        """A source from before CSI."""
        number = self._dice.randint(1, 5)
        return self._dice.pick(
            {"awsElasticBlockStore": {"volumeID": f"vol-{number}"}},
            {"awsElasticBlockStore": {"volumeID": f"aws://eu-1a/vol-{number}"}},
            {"gcePersistentDisk": {"pdName": f"disk-{number}"}},
            {"cinder": {"volumeID": f"cinder-{number}"}},
            {
                "azureDisk": {
                    "diskName": f"disk-{number}",
                    "diskURI": f"https://acme.blob.core.windows.net/disk-{number}",
                }
            },
            {"vsphereVolume": {"volumePath": f"[ds] disk-{number}.vmdk"}},
            {"portworxVolume": {"volumeID": f"px-{number}"}},
            {"nfs": {"server": "nfs.example.com", "path": "/data"}},
        )

    def on_nodes(self, names: list[str]) -> Object:
        """Node affinity to these."""
        return _affinity([{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": names}]}])

    def in_zones(self) -> Object:
        """Node affinity to a zone or two, in one term or in two."""
        zones = self._dice.some(["eu-1a", "eu-1b", "eu-1c"], 1, 2)
        if self._dice.chance(0.5):
            return _affinity([{"matchExpressions": [{"key": ZONE, "operator": "In", "values": zones}]}])
        return _affinity([{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]} for zone in zones])

    # --- claims --------------------------------------------------------------------------------------

    def claim(self, namespace: str, class_name: str | None, **fields: Any) -> Object:
        """A claim that is not bound."""
        self._count += 1
        name = fields.pop("name", None) or f"data-{self._count}"
        storage = fields.pop("storage", None) or self._dice.pick("1Gi", "1Gi", "4Gi", "8Gi", "15000M", "6.5Gi")
        if self._dice.chance(0.03):
            storage = self._dice.one(_HUGE)
        extra = {
            key: fields.pop(key) for key in ("annotations", "deletionTimestamp", "ownerReferences") if key in fields
        }
        phase = fields.pop("phase", "Pending")
        spec = {
            "accessModes": fields.pop("accessModes", ["ReadWriteOnce"]),
            "resources": {"requests": {"storage": storage}},
            **fields,
        }
        if class_name and self._dice.chance(0.05):
            extra["annotations"] = {**extra.get("annotations", {}), OLD_CLASS: class_name}
        elif class_name is not None:
            spec["storageClassName"] = class_name
        return self._scene.add(
            "v1", "PersistentVolumeClaim", name, namespace, spec=spec, status={"phase": phase}, **extra
        )

    def has_claim(self, namespace: str, name: str) -> bool:
        """Whether there is a claim of that name."""
        claims = (obj for obj in self._scene.objects if obj["kind"] == "PersistentVolumeClaim")
        return any((namespace_of(claim), claim["metadata"]["name"]) == (namespace, name) for claim in claims)

    def bind(self, claim: Object, volume: Object) -> Object:
        """Make the two a pair, as the volume controller leaves them."""
        claim["metadata"].setdefault("annotations", {}).update(BOUND)
        claim["spec"]["volumeName"] = volume["metadata"]["name"]
        claim["status"]["phase"] = volume["status"]["phase"] = "Bound"
        volume["spec"]["claimRef"] = reference(claim)
        return claim


def reference(claim: Object) -> Object:
    """`claimRef` of a volume that belongs to the claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": namespace_of(claim),
        "name": claim["metadata"]["name"],
        "uid": uid_of(claim),
    }


def mount(pod: Object, claim_name: str, **fields: Any) -> None:
    """Let the pod use a claim."""
    volumes = pod["spec"].setdefault("volumes", [])
    source = {"claimName": claim_name, **fields}
    volumes.append({"name": f"vol-{len(volumes)}", "persistentVolumeClaim": source})


def _affinity(terms: list[Object]) -> Object:
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
