"""Pods that preemption promised a node: others in the candidate's way, and the candidate itself."""

import copy

from tests.differential.cluster import cpu_of, new_pod, sized
from tests.differential.features import interpod, ports, spread
from tests.differential.scene import Object, Scene, labels_of, main_container, namespace_of
from tests.differential.selectors import label_pods


def add(scene: Scene) -> None:
    """Nominate pods; sometimes the candidate."""
    dice = scene.dice
    label_pods(scene)
    about = dice.pick("room", "room", "ports", "affinity", "spread", "claim")
    if about == "ports":
        for pod in [*scene.some_pods(0.3), scene.pod]:
            ports.open_ports(dice, pod, [80])
    elif about == "affinity" and dice.chance(0.7):
        interpod.relate(scene, scene.pod, dice.pick(1, 2))
    elif about == "spread":
        scene.spec["topologySpreadConstraints"] = spread.constraints(scene)
    elif about == "claim":
        _shared_claim(scene)
    for index in range(dice.pick(0, 1, 1, 2, 3)):
        scene.pods.append(_nominated(scene, index, about))
    if dice.chance(0.35):
        scene.pod["status"] = {"nominatedNodeName": dice.one([*scene.node_names() * 3, "gone"])}
        scene.note("the pod itself is nominated")
    if dice.chance(0.15):
        _earlier_self(scene)
    scene.note(f"nominated pods ({about})")


def _nominated(scene: Scene, index: int, about: str) -> Object:
    dice = scene.dice
    mine = scene.spec.get("priority", 0)
    size = cpu_of(scene, dice.one(scene.nodes)) if scene.nodes else 1000
    spec: Object = {
        "priority": dice.pick(mine, mine, mine + 1, mine + 1000, mine - 1),
        "containers": [{"name": "main", "image": "nginx", "resources": sized(dice, size // dice.pick(2, 4, 10))}],
    }
    namespace = dice.pick(namespace_of(scene.pod), dice.one(scene.namespaces))
    pod = new_pod(scene, f"promised-{index}", namespace, spec)
    if dice.chance(0.8):
        labels_of(pod).update(scene.pod["metadata"].get("labels", {}))
    pod["status"] = {"phase": "Pending", "nominatedNodeName": dice.one([*scene.node_names() * 4, "gone"])}
    if about == "ports":
        ports.open_ports(dice, pod, [80])
    elif about == "affinity":
        interpod.relate(scene, pod, 1)
    elif about == "claim":
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "shared"}}]
    _quirks(scene, pod)
    return pod


def _quirks(scene: Scene, pod: Object) -> None:
    """A nominated pod that does not count after all."""
    dice = scene.dice
    kind = dice.weighted({"none": 8, "gated": 1, "scheduler": 1, "deleting": 0.7, "done": 0.5, "placed": 0.5})
    if kind == "gated":
        pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    elif kind == "scheduler":
        pod["spec"]["schedulerName"] = dice.pick("other", "default-scheduler")
    elif kind == "deleting":
        pod["metadata"]["deletionTimestamp"] = "2026-03-20T00:00:00Z"
    elif kind == "done":
        pod["status"]["phase"] = "Failed"
    elif kind == "placed":
        pod["spec"]["nodeName"] = dice.one(scene.node_names())


def _shared_claim(scene: Scene) -> None:
    """A claim that one pod at a time may use, wanted by the candidate and by nominated pods."""
    dice = scene.dice
    namespace = namespace_of(scene.pod)
    volume = {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOncePod"],
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": "fast",
        "claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": "shared"},
        "csi": {"driver": "csi.example.com", "volumeHandle": "shared"},
    }
    scene.add("v1", "PersistentVolume", "pv-shared", spec=volume, status={"phase": "Bound"})
    claim = {
        "accessModes": ["ReadWriteOncePod"],
        "resources": {"requests": {"storage": "10Gi"}},
        "storageClassName": "fast",
        "volumeName": "pv-shared",
    }
    done = {"pv.kubernetes.io/bind-completed": "yes"}
    scene.add(
        "v1", "PersistentVolumeClaim", "shared", namespace, annotations=done, spec=claim, status={"phase": "Bound"}
    )
    for pod in [scene.pod, *([dice.one(scene.running())] if scene.running() and dice.chance(0.5) else [])]:
        pod["spec"].setdefault("volumes", []).append({"name": "data", "persistentVolumeClaim": {"claimName": "shared"}})


def _earlier_self(scene: Scene) -> None:
    """The cluster holds the candidate already: pending and nominated, or running."""
    dice = scene.dice
    if any(_is_namesake(pod, scene.pod) for pod in scene.pods):
        return
    spec: Object = {"containers": [copy.deepcopy(main_container(scene.pod))]}
    pod = new_pod(scene, scene.pod["metadata"]["name"], namespace_of(scene.pod), spec)
    if uid := scene.pod["metadata"].get("uid"):
        pod["metadata"]["uid"] = dice.pick(uid, uid, "uid-of-an-earlier-one")
    node = dice.one(scene.node_names())
    pod["status"] = {"phase": "Pending", "nominatedNodeName": node}
    if dice.chance(0.3):
        spec["nodeName"] = node
        pod["status"] = {"phase": "Running", "startTime": scene.moment()}
    scene.pods.append(pod)
    scene.note("an earlier self")


def _is_namesake(pod: Object, other: Object) -> bool:
    return (namespace_of(pod), pod["metadata"]["name"]) == (namespace_of(other), other["metadata"]["name"])
