"""Dynamic resource allocation: claims to satisfy, claims held by others, extended resources behind devices."""

from tests.differential import claims
from tests.differential.claims import allocate, claim, owned_by, reserve, spec_of, use
from tests.differential.devices import API, GPU, NIC, Devices, Slot
from tests.differential.features.resources import request
from tests.differential.scene import Object, Scene, add_container, main_container, namespace_of, uid_of

EXTENDED = "example.com/gpu"


def add(scene: Scene) -> None:
    """Devices, holders, and what the candidate wants."""
    dice = scene.dice
    claims.classes(scene)
    devices = Devices(scene)
    devices.on_nodes(GPU)
    if dice.chance(0.4):
        devices.on_nodes(NIC, 0.6)
    if dice.chance(0.35):
        devices.shared(dice.pick(GPU, GPU, NIC))
    free = holders(scene, devices)
    if free and dice.chance(0.1):
        claims.orphan(scene, [free.pop()])
    kind = dice.weighted({"claims": 7, "template": 2, "allocated": 3, "extended": 3, "missing": 0.5})
    if kind == "claims":
        for index in range(dice.pick(1, 1, 1, 2, 3)):
            use(scene.pod, claim(scene, f"mine-{index}", spec_of(scene, devices))["metadata"]["name"])
    elif kind == "template":
        _template(scene, devices)
    elif kind == "allocated":
        _allocated(scene, devices, free)
    elif kind == "extended":
        extended(scene)
        if dice.chance(0.3):
            use(scene.pod, claim(scene, "mine", spec_of(scene, devices))["metadata"]["name"])
    else:
        use(scene.pod, "never-made")
    scene.note(f"devices by {kind}")


def holders(scene: Scene, devices: Devices) -> list[Slot]:
    """Claims of running pods; returns the devices that nobody holds."""
    dice = scene.dice
    free = list(devices.slots)
    dice.shuffle(free)
    for index, pod in enumerate(list(scene.some_pods(0.35))):
        here = [slot for slot in free if slot.node in ("", pod["spec"]["nodeName"])]
        if not here:
            continue
        taken = here[: dice.pick(1, 1, 2)]
        of_class = "gpu" if taken[0].driver == GPU else "nic"
        wanted = {"deviceClassName": of_class, "allocationMode": "ExactCount", "count": len(taken)}
        spec: Object = {"devices": {"requests": [{"name": "all", "exactly": wanted}]}}
        made = claim(scene, f"held-{index}", spec, namespace_of(pod))
        allocate(made, taken, dice)
        reserve(made, pod)
        use(pod, made["metadata"]["name"])
        free = [slot for slot in free if slot not in taken or slot.device.get("allowMultipleAllocations")]
    return free


def _template(scene: Scene, devices: Devices) -> None:
    """A claim made for the pod alone, or not yet."""
    dice = scene.dice
    spec = spec_of(scene, devices)
    scene.add(API, "ResourceClaimTemplate", "per-pod", scene.namespace, spec={"spec": spec})
    scene.spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "per-pod"}]
    main_container(scene.pod).setdefault("resources", {})["claims"] = [{"name": "gpu"}]
    state = dice.weighted({"made": 6, "not yet": 1, "none": 1, "foreign": 0.7})
    status = scene.pod.setdefault("status", {})
    if state == "none":
        status["resourceClaimStatuses"] = [{"name": "gpu"}]
    elif state != "not yet":
        owner = owned_by(scene.pod)
        if state == "foreign":
            owner |= {"uid": "uid-other", "name": "other"}
        claim(scene, "per-pod-x7k", spec, ownerReferences=[owner])
        status["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": "per-pod-x7k"}]


def _allocated(scene: Scene, devices: Devices, free: list[Slot]) -> None:
    """The candidate's claim has its devices already; perhaps another one has not."""
    dice = scene.dice
    made = claim(scene, "mine", spec_of(scene, devices))
    use(scene.pod, "mine")
    if free:
        first = free[0]
        slots = [slot for slot in free if (slot.node, slot.driver) == (first.node, first.driver)]
        allocate(made, slots[: dice.pick(1, 1, 2)], dice)
        others = claims.in_namespace(scene, scene.namespace)
        reserved = [*([dice.one(others)] if others and dice.chance(0.5) else []), *([scene.pod] * dice.chance(0.3))]
        if reserved:
            reserve(made, *reserved)
        elif dice.chance(0.1):
            _crowd(made)
        if devices.style == "binding":
            _device_status(scene, made)
    if dice.chance(0.35):
        use(scene.pod, claim(scene, "also-mine", spec_of(scene, devices))["metadata"]["name"])


def _crowd(made: Object) -> None:
    """As many users as a claim may have."""
    made["status"]["reservedFor"] = [
        {"resource": "pods", "name": f"user-{index}", "uid": f"uid-user-{index}"} for index in range(256)
    ]


def _device_status(scene: Scene, made: Object) -> None:
    """What drivers report about devices that must be made ready."""
    dice = scene.dice
    made["status"]["devices"] = [
        {
            "driver": result["driver"],
            "pool": result["pool"],
            "device": result["device"],
            "conditions": [
                {
                    "type": dice.pick("example.com/ready", "example.com/ready", "example.com/failed"),
                    "status": dice.pick("True", "False"),
                    "reason": "Reported",
                    "message": "",
                    "lastTransitionTime": "2026-03-01T00:00:00Z",
                }
            ],
        }
        for result in made["status"]["allocation"]["devices"]["results"]
        if dice.chance(0.8) and "shareID" not in result
    ]


# --- extended resources ------------------------------------------------------------------------------


def extended(scene: Scene) -> None:
    """An extended resource that a DeviceClass provides on some nodes, a device plugin on others."""
    dice = scene.dice
    implicit = "deviceclass.resource.kubernetes.io/gpu"
    if gpu := scene.find("DeviceClass", "gpu"):
        if dice.chance(0.8):
            gpu["spec"]["extendedResourceName"] = EXTENDED
        if dice.chance(0.3):
            gpu["metadata"]["creationTimestamp"] = "2026-02-01T00:00:00Z"
    if (big := scene.find("DeviceClass", "big")) and dice.chance(0.25):
        big["spec"]["extendedResourceName"] = dice.pick(EXTENDED, "example.com/big-gpu")
        big["metadata"]["creationTimestamp"] = dice.pick("2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z")
    for node in scene.some_nodes(0.35):
        node["status"].setdefault("allocatable", {})[EXTENDED] = str(dice.pick(0, 1, 2, 4))
    names = dice.weighted({(EXTENDED,): 6, (implicit,): 2, (EXTENDED, implicit): 1, ("example.com/big-gpu",): 1})
    for name in names:
        request(main_container(scene.pod), name, str(dice.pick(0, 1, 1, 1, 2)), dice)
    if dice.chance(0.3):
        more: Object = {"name": "", "image": "redis"}
        request(more, dice.one(names), "1", dice)
        add_container(scene.pod, more)
    for index in range(dice.pick(0, 0, 0, 1, 2)):
        init: Object = {"name": f"init-device-{index}", "image": "busybox:1"}
        request(init, dice.one(names), str(dice.pick(1, 2)), dice)
        scene.spec.setdefault("initContainers", []).append(init | dice.sometimes({"restartPolicy": "Always"}, 0.4))
    if dice.chance(0.04):
        _leftover(scene)


def _leftover(scene: Scene) -> None:
    """The claim of an earlier attempt."""
    wanted = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    spec: Object = {"devices": {"requests": [{"name": "container-0-request-0", "exactly": wanted}]}}
    name = f"{scene.pod['metadata']['name']}-extended-resources-abcde"
    uid_of(scene.pod)
    note = {"resource.kubernetes.io/extended-resource-claim": "true"}
    claim(scene, name, spec, ownerReferences=[owned_by(scene.pod)], annotations=note)
