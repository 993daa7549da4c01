"""Claims bound and unbound, limits, zones, disks in use, ephemeral volumes."""

from collections.abc import Callable

from tests.differential.scene import HOSTNAME, Object, Scene, namespace_of, uid_of
from tests.differential.storage import (
    BOUND,
    DRIVER,
    EBS,
    ZONE_KEYS,
    ZONE_VALUES,
    Storage,
    mount,
    reference,
)


def add(scene: Scene) -> None:
    """One to three volumes for the candidate, some for running pods."""
    dice = scene.dice
    storage = Storage(scene)
    storage.drivers()
    kinds = dice.weighted({1: 5, 2: 3, 3: 1})
    for kind in [dice.weighted(_WEIGHTS) for _ in range(kinds)]:
        _KINDS[kind](scene, storage)
        scene.note(kind.replace("_", " "))
    if dice.chance(0.7):
        others(scene, storage)
    if dice.chance(0.2):
        _zone_labels(scene)


# --- claims that are bound ---------------------------------------------------------------------------


def bound(scene: Scene, storage: Storage) -> None:
    """Bound, and tied to nodes, zones, or nothing."""
    dice = scene.dice
    place = dice.pick("host", "zone", "none")
    fields: Object = {}
    if place == "host":
        fields = storage.on_nodes(dice.some([*scene.node_names(), "gone"], 1, 2))
    elif place == "zone":
        fields = storage.in_zones()
    source = dice.pick(storage.csi(), storage.csi(), storage.csi(EBS), storage.in_tree())
    volume = storage.volume(source, "fast", **fields)
    claim = storage.bind(storage.claim(scene.namespace, "fast"), volume)
    _use(scene, claim)


def zone_labels(scene: Scene, storage: Storage) -> None:
    """Bound to a volume that is tied to a zone by label."""
    dice = scene.dice
    labels = {
        key: "eu-1" if "region" in key and dice.chance(0.8) else dice.one(ZONE_VALUES)
        for key in dice.some(ZONE_KEYS, 1, dice.pick(1, 2))
    }
    volume = storage.volume(dice.pick(storage.csi(), storage.in_tree()), "fast", labels=labels)
    _use(scene, storage.bind(storage.claim(scene.namespace, "fast"), volume))


def rwop(scene: Scene, storage: Storage) -> None:
    """A claim for one pod at a time; its user, or that of a claim of the same name elsewhere, may be running."""
    dice = scene.dice
    modes = {"accessModes": ["ReadWriteOncePod"]}
    volume = storage.volume(storage.csi(), "fast", **modes)
    claim = storage.bind(storage.claim(scene.namespace, "fast", **modes), volume)
    name = claim["metadata"]["name"]
    mount(scene.pod, name)
    if dice.chance(0.15):
        mount(scene.pod, name, readOnly=True)
    users = scene.running()
    taken = {scene.namespace}
    for pod in dice.some(users, 0, min(2, len(users))):
        mount(pod, name)
        if dice.chance(0.5):
            pod["metadata"]["namespace"] = scene.namespace
        elif namespace_of(pod) not in taken and dice.chance(0.7):
            taken.add(namespace_of(pod))
            other = storage.volume(storage.csi(), "fast", **modes)
            storage.bind(storage.claim(namespace_of(pod), "fast", name=name, **modes), other)


# --- claims that wait for a pod ----------------------------------------------------------------------


def static(scene: Scene, storage: Storage) -> None:
    """Volumes made beforehand; the smallest that fits is taken."""
    dice = scene.dice
    wanted = storage.claim(scene.namespace, "local", **_wishes(scene))
    mount(scene.pod, wanted["metadata"]["name"])
    for _ in range(dice.pick(0, 2, 4, 6, 10)):
        names = dice.some([*scene.node_names(), "gone"], 1, 3)
        fields: Object = storage.on_nodes(names) if dice.chance(0.85) else {}
        fields["accessModes"] = dice.pick(
            ["ReadWriteOnce"], ["ReadWriteOnce", "ReadOnlyMany"], ["ReadWriteMany", "ReadWriteOnce"], ["ReadWriteMany"]
        )
        fields |= dice.sometimes({"labels": {"tier": dice.pick("gold", "silver")}})
        fields |= dice.sometimes({"volumeMode": dice.pick("Block", "Filesystem")}, 0.15)
        source = {"local": {"path": "/mnt/disk"}} if "nodeAffinity" in fields else storage.csi()
        volume = storage.volume(source, dice.pick(*["local"] * 6, "wait"), **fields)
        _fate(scene, volume, wanted)


def _wishes(scene: Scene) -> Object:
    dice = scene.dice
    wishes: Object = {"accessModes": dice.pick(*[["ReadWriteOnce"]] * 5, ["ReadWriteMany"])}
    if dice.chance(0.15):
        wishes["selector"] = {"matchLabels": {"tier": "gold"}}
    wishes |= dice.sometimes({"volumeMode": dice.pick("Block", "Filesystem")}, 0.12)
    wishes |= dice.sometimes({"volumeAttributesClassName": "gold"}, 0.05)
    return wishes


def _fate(scene: Scene, volume: Object, wanted: Object) -> None:
    """What may have become of a volume."""
    dice = scene.dice
    kind = dice.weighted({"free": 7, "mine": 1.2, "other": 1, "released": 0.7, "deleting": 0.7, "pending": 0.4})
    if kind == "mine":
        volume["spec"]["claimRef"] = reference(wanted)
        if dice.chance(0.5):
            del volume["spec"]["claimRef"]["uid"]
        elif dice.chance(0.3):
            volume["spec"]["claimRef"]["uid"] = "uid-of-an-earlier-claim"
    elif kind == "other":
        volume["spec"]["claimRef"] = {**reference(wanted), "name": "other", "uid": "uid-other"}
        volume["status"]["phase"] = "Bound"
    elif kind == "released":
        volume["status"]["phase"] = dice.pick("Released", "Failed")
    elif kind == "deleting":
        volume["metadata"]["deletionTimestamp"] = "2026-03-20T00:00:00Z"
    elif kind == "pending":
        volume["status"]["phase"] = "Pending"


def dynamic(scene: Scene, storage: Storage) -> None:
    """A claim to be provisioned once a node is chosen; perhaps one was chosen already."""
    dice = scene.dice
    fields: Object = {}
    if dice.chance(0.25):
        node = dice.one([*scene.node_names(), "gone"])
        fields["annotations"] = {"volume.kubernetes.io/selected-node": node}
    if dice.chance(0.05):
        fields["selector"] = {"matchLabels": {"tier": "gold"}}
    claim = storage.claim(scene.namespace, dice.pick("wait", "wait", "ebs"), **fields)
    _use(scene, claim)


# --- claims that stop everything ---------------------------------------------------------------------


def broken(scene: Scene, storage: Storage) -> None:
    """Something is missing, or in the wrong state."""
    dice = scene.dice
    namespace = scene.namespace
    kind = dice.pick("missing", "lost", "deleting", "immediate", "prebound", "no-volume", "no-class", "classless")
    name = "data-missing"
    if kind == "lost":
        name = _named(storage.claim(namespace, "fast", phase="Lost", volumeName="pv-lost", annotations=dict(BOUND)))
    elif kind == "deleting":
        claim = storage.claim(namespace, "fast", deletionTimestamp="2026-03-20T00:00:00Z")
        name = _named(storage.bind(claim, storage.volume(storage.csi(), "fast")))
    elif kind == "immediate":
        name = _named(storage.claim(namespace, dice.pick("fast", "fast", "")))
    elif kind == "prebound":
        name = _named(storage.claim(namespace, "wait", volumeName=_named(storage.volume(storage.csi(), "wait"))))
    elif kind == "no-volume":
        name = _named(storage.claim(namespace, "fast", volumeName="pv-gone", annotations=dict(BOUND), phase="Bound"))
    elif kind == "no-class":
        name = _named(storage.claim(namespace, "never-made"))
    elif kind == "classless":
        name = _named(storage.claim(namespace, None))
    mount(scene.pod, name)


def _named(obj: Object) -> str:
    return str(obj["metadata"]["name"])


# --- volumes without claims of their own -------------------------------------------------------------


def ephemeral(scene: Scene, storage: Storage) -> None:
    """A generic ephemeral volume: its claim bears the pod's name and the pod owns it."""
    _ephemeral(scene, storage, scene.pod, scene.dice.pick("there", "there", "waits", "missing", "foreign"))


def _ephemeral(scene: Scene, storage: Storage, pod: Object, state: str) -> None:
    dice = scene.dice
    volumes = pod["spec"].setdefault("volumes", [])
    name = f"scratch-{len(volumes)}"
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "wait",
        "resources": {"requests": {"storage": "2Gi"}},
    }
    template: Object = {"spec": wanted, **dice.sometimes({"metadata": {"labels": {"type": "scratch"}}}, 0.2)}
    volumes.append({"name": name, "ephemeral": {"volumeClaimTemplate": template}})
    if state == "missing" or storage.has_claim(namespace_of(pod), f"{pod['metadata']['name']}-{name}"):
        return  # the candidate may be there already, with a claim of that name
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": uid_of(pod), "controller": True}
    if state == "foreign":
        owner |= dice.pick({"name": "other", "uid": "uid-other"}, {"controller": False})
    claim = storage.claim(
        namespace_of(pod), "wait", name=f"{pod['metadata']['name']}-{name}", ownerReferences=[owner], storage="2Gi"
    )
    if state == "there":
        names = dice.some([*scene.node_names(), "gone"], 1)
        fields = storage.on_nodes(names) if pod is scene.pod and dice.chance(0.5) else {}
        storage.bind(claim, storage.volume(storage.csi(), "wait", **fields))


def inline(scene: Scene, storage: Storage) -> None:
    """The same disk on one node: only read-only, or not at all."""
    del storage
    dice = scene.dice
    disk = dice.pick("gce", "ebs", "iscsi", "rbd", "azure")
    number = dice.randint(1, 2)
    for pod in [scene.pod, *scene.some_pods(0.6)]:
        volumes = pod["spec"].setdefault("volumes", [])
        number = dice.pick(number, number, number + 1)
        volumes.append({"name": f"disk-{len(volumes)}", **_disk(scene, disk, number)})
    scene.note(disk)


def plain(scene: Scene, storage: Storage) -> None:
    """Volumes that no plugin asks about, and a driver's own ephemeral ones, which count for nothing."""
    del storage
    sources: tuple[Object, ...] = (
        {"emptyDir": {}},
        {"emptyDir": {"sizeLimit": "1Gi", "medium": "Memory"}},
        {"configMap": {"name": "settings"}},
        {"secret": {"secretName": "keys"}},
        {"hostPath": {"path": "/var/log"}},
        {"projected": {"sources": [{"configMap": {"name": "settings"}}]}},
        {"csi": {"driver": DRIVER}},
        {"nfs": {"server": "nfs.example.com", "path": "/"}},
        {"image": {"reference": "models/llm:70b", "pullPolicy": "IfNotPresent"}},
    )
    for pod in [scene.pod, *scene.some_pods(0.3)]:
        volumes = pod["spec"].setdefault("volumes", [])
        for source in scene.dice.some(sources, 1, 3):
            volumes.append({"name": f"plain-{len(volumes)}", **source})


def _disk(scene: Scene, disk: str, number: int) -> Object:
    dice = scene.dice
    read_only = dice.sometimes({"readOnly": True})
    if disk == "gce":
        return {"gcePersistentDisk": {"pdName": f"disk-{number}", **read_only}}
    if disk == "ebs":
        return {"awsElasticBlockStore": {"volumeID": f"vol-{number}", **read_only}}
    if disk == "azure":
        return {
            "azureDisk": {
                "diskName": f"disk-{number}",
                "diskURI": f"https://acme.blob.core.windows.net/disk-{number}",
                **read_only,
            }
        }
    if disk == "iscsi":
        target = {"targetPortal": "10.0.0.5:3260", "iqn": f"iqn.2026-01.com.example:disk-{number}"}
        return {"iscsi": {**target, "lun": dice.pick(0, 1), **read_only}}
    monitors = dice.some(["10.0.0.1:6789", "10.0.0.2:6789", "10.0.0.3:6789"], 1, 2)
    pool = dice.sometimes({"pool": dice.pick("rbd", "ssd")}, 0.2)
    return {"rbd": {"monitors": monitors, "image": f"image-{number}", **pool, **read_only}}


# --- what others use ---------------------------------------------------------------------------------


def others(scene: Scene, storage: Storage) -> None:
    """Running pods with volumes, and attachments that no pod explains."""
    dice = scene.dice
    shared = [
        volume["claimName"]
        for entry in scene.spec.get("volumes", [])
        if (volume := entry.get("persistentVolumeClaim")) is not None
    ]
    for pod in scene.some_pods(0.5):
        kind = dice.pick("own", "own", "shared", "ephemeral", "inline", "missing", "waits", "lost")
        if kind == "shared" and shared:
            mount(pod, dice.one(shared))
        elif kind == "own":
            source = dice.pick(storage.csi(), storage.csi(EBS), storage.in_tree())
            mount(pod, _named(storage.bind(storage.claim(namespace_of(pod), "fast"), storage.volume(source, "fast"))))
        elif kind == "ephemeral":
            _ephemeral(scene, storage, pod, dice.weighted({"there": 9, "waits": 2, "missing": 1, "foreign": 0.3}))
        elif kind == "inline":
            volumes = pod["spec"].setdefault("volumes", [])
            volumes.append({"name": f"disk-{len(volumes)}", **_disk(scene, dice.pick("ebs", "gce"), 1)})
        elif kind == "lost":
            fields: Object = dice.pick(
                {"volumeName": "pv-gone", "annotations": dict(BOUND)}, {"phase": "Lost"}, {"volumeName": "pv-gone"}
            )
            mount(pod, _named(storage.claim(namespace_of(pod), dice.pick("fast", "ebs", "", None), **fields)))
        elif kind == "waits":
            mount(pod, _named(storage.claim(namespace_of(pod), dice.pick("wait", "ebs", "never-made"))))
        else:
            mount(pod, "data-gone")
    volumes = [obj for obj in scene.objects if obj["kind"] == "PersistentVolume"]
    for index in range(dice.pick(0, 0, 1, 3)):
        if volumes and scene.nodes:
            _attach(scene, index, dice.one(volumes))


def _attach(scene: Scene, index: int, volume: Object) -> None:
    dice = scene.dice
    inline = {
        "inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"], "csi": {"driver": DRIVER, "volumeHandle": "handle-1"}}
    }
    by_name = {"persistentVolumeName": dice.pick(_named(volume), _named(volume), "pv-gone")}
    spec = {
        "attacher": dice.pick(DRIVER, DRIVER, EBS),
        "nodeName": dice.one(scene.node_names()),
        "source": inline if dice.chance(0.1) else by_name,
    }
    scene.add("storage.k8s.io/v1", "VolumeAttachment", f"attachment-{index}", spec=spec, status={"attached": True})


def _zone_labels(scene: Scene) -> None:
    """Nodes of another age: old labels, both, or none."""
    dice = scene.dice
    for node in scene.some_nodes(0.5):
        labels = node["metadata"]["labels"]
        if dice.chance(0.15):
            for key in ZONE_KEYS:
                labels.pop(key, None)
            continue
        for key in ZONE_KEYS:
            if dice.chance(0.4):
                labels[key] = dice.pick("eu-1a", "eu-1b") if "zone" in key else "eu-1"
            elif dice.chance(0.2) and key != HOSTNAME:
                labels.pop(key, None)


def _use(scene: Scene, claim: Object) -> None:
    mount(scene.pod, _named(claim))
    if scene.dice.chance(0.08):
        mount(scene.pod, _named(claim), readOnly=True)


_KINDS: dict[str, Callable[[Scene, Storage], None]] = {
    "bound": bound,
    "zone_labels": zone_labels,
    "rwop": rwop,
    "static": static,
    "dynamic": dynamic,
    "broken": broken,
    "ephemeral": ephemeral,
    "inline": inline,
    "plain": plain,
}
_WEIGHTS = {
    "bound": 4,
    "zone_labels": 2,
    "rwop": 2,
    "static": 4,
    "dynamic": 4,
    "broken": 1.5,
    "ephemeral": 2,
    "inline": 2,
    "plain": 1,
}
