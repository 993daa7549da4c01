"""Requests of every shape: init containers, sidecars, pod level, overhead, resizes, devices, odd notations."""

from tests.differential import quantities
from tests.differential.dice import Dice
from tests.differential.scene import Object, Scene, main_container, requests_of

#: Extended resources by how many a node has.
DEVICES = ("nvidia.com/gpu", "example.com/nic", "example.com/fpga")
HUGE = {"hugepages-2Mi": 64, "hugepages-1Gi": 2048}


def add(scene: Scene) -> None:
    """Some of all."""
    steps = (
        devices,
        hugepages,
        ephemeral,
        many_containers,
        overhead,
        pod_level,
        resized,
        gaps,
        shrunk,
        limits,
        odd,
        huge,
    )
    for step in scene.dice.some(steps, 1, 5):
        step(scene)


def _allocatable(node: Object) -> Object:
    return node["status"].get("allocatable") or node["status"]["capacity"]


def request(container: Object, name: str, amount: str, dice: Dice) -> None:
    """Ask for something that cannot be overcommitted: limits and requests are equal, or limits say it alone."""
    resources = container.setdefault("resources", {})
    resources.setdefault("limits", {})[name] = amount
    if dice.chance(0.5):
        resources.setdefault("requests", {})[name] = amount


def devices(scene: Scene) -> None:
    """Extended resources from device plugins."""
    dice = scene.dice
    names = dice.some([*DEVICES, "storage.kubernetes.io/slots"], 1, 2)
    for node in scene.some_nodes(0.7):
        for name in names:
            _allocatable(node)[name] = str(dice.pick(0, 1, 2, 4, 8))
    for pod in scene.some_pods(0.4):
        request(main_container(pod), dice.one(names), str(dice.pick(0, 1, 1, 2)), dice)
    if dice.chance(0.7):
        for name in names:
            request(main_container(scene.pod), name, str(dice.pick(0, 1, 1, 2, 3)), dice)
    scene.note(f"extended resources {' '.join(names)}")


def hugepages(scene: Scene) -> None:
    """Huge pages; they need cpu or memory beside them."""
    dice = scene.dice
    name = dice.one(list(HUGE))
    for node in scene.some_nodes(0.7):
        _allocatable(node)[name] = f"{HUGE[name] * dice.pick(1, 2, 4)}Mi"
    for pod in [*scene.some_pods(0.3), scene.pod]:
        requests_of(main_container(pod)).setdefault("memory", "64Mi")
        request(main_container(pod), name, f"{HUGE[name] // dice.pick(1, 2)}Mi", dice)
    scene.note(name)


def ephemeral(scene: Scene) -> None:
    """Local ephemeral storage."""
    dice = scene.dice
    for node in scene.some_nodes(0.8):
        _allocatable(node)["ephemeral-storage"] = dice.pick("20Gi", "100Gi", "5000000000")
    for pod in [*scene.some_pods(0.4), scene.pod]:
        requests_of(main_container(pod))["ephemeral-storage"] = dice.pick("1Gi", "8Gi", "500M", "19.5Gi", "0")
    scene.note("ephemeral-storage")


def _amounts(dice: Dice, share: int) -> Object:
    requests = dice.sometimes({"cpu": f"{dice.pick(0, 50, 250, share, share)}m"}, 0.8)
    requests |= dice.sometimes({"memory": f"{dice.pick(0, 64, 300, share * 2)}Mi"}, 0.7)
    return {"requests": requests} if requests else {}


def many_containers(scene: Scene) -> None:
    """Several containers, ordered init containers and sidecars among them."""
    dice = scene.dice
    for pod in [*scene.some_pods(0.3), scene.pod]:
        share = quantities.milli(main_container(pod).get("resources", {}).get("requests", {}).get("cpu")) or 200
        for index in range(dice.randint(0, 2)):
            container = {"name": f"side-{index}", "image": "redis", "resources": _amounts(dice, share // 2)}
            pod["spec"]["containers"].append(container)
        pod["spec"].setdefault("initContainers", []).extend(
            {"name": f"init-{index}", "image": "busybox:1", "resources": _amounts(dice, share)}
            | dice.sometimes({"restartPolicy": "Always"}, 0.4)
            for index in range(dice.randint(0, 4))
        )
    scene.note("init containers and sidecars")


def overhead(scene: Scene) -> None:
    """A RuntimeClass with overhead; the pods have it written in, as admission does."""
    dice = scene.dice
    fixed = dice.sometimes({"cpu": dice.pick("250m", "100m", "1"), "memory": dice.pick("120Mi", "2Gi")}, 0.8)
    scene.add("node.k8s.io/v1", "RuntimeClass", "kata", handler="kata", overhead={"podFixed": fixed})
    for pod in [*scene.some_pods(0.3), *([scene.pod] if dice.chance(0.7) else [])]:
        pod["spec"]["runtimeClassName"] = "kata"
        pod["spec"]["overhead"] = dict(fixed)
    scene.note("overhead")


def pod_level(scene: Scene) -> None:
    """`spec.resources`: at least what the containers ask for together."""
    dice = scene.dice
    for pod in [*scene.some_pods(0.3), *([scene.pod] if dice.chance(0.7) else [])]:
        containers = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]
        asked = [container.get("resources", {}).get("requests", {}) for container in containers]
        cpu = sum(quantities.milli(requests.get("cpu")) for requests in asked)
        mib = sum(quantities.mib(requests.get("memory")) for requests in asked)
        amounts = {"cpu": f"{cpu + dice.pick(0, 100, 500)}m", "memory": f"{mib + dice.pick(0, 128, 1024)}Mi"}
        kept = dice.some(list(amounts), 1)
        resources = {dice.pick("requests", "requests", "limits"): {name: amounts[name] for name in kept}}
        if "requests" in resources and dice.chance(0.3):
            resources["limits"] = {name: amounts[name] for name in kept}
        pod["spec"]["resources"] = resources
        if dice.chance(0.2) and "hugepages" not in str(containers):
            main_container(pod).get("resources", {}).pop("requests", None)
    scene.note("pod-level resources")


def resized(scene: Scene) -> None:
    """Resized in place: the status says what was granted."""
    dice = scene.dice
    for pod in scene.some_pods(0.5):
        status = pod["status"]
        containers = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]
        statuses = [_granted(dice, container) for container in containers if dice.chance(0.8)]
        of_init = [entry for entry in statuses if entry["name"].startswith("init")]
        status["containerStatuses"] = [entry for entry in statuses if entry not in of_init]
        if of_init:
            status["initContainerStatuses"] = of_init
        if pod["spec"].get("resources") and dice.chance(0.6):
            status["resources"] = {"requests": _amounts(dice, 700).get("requests", {})}
        if pod["spec"].get("resources") and dice.chance(0.6):
            status["allocatedResources"] = _amounts(dice, 900).get("requests", {})
        if dice.chance(0.5):
            reason = dice.pick("Infeasible", "Deferred", "Error")
            kind = dice.pick("PodResizePending", "PodResizePending", "PodResizeInProgress")
            state = dice.pick("True", "True", "True", "False")
            status.setdefault("conditions", []).append({"type": kind, "status": state, "reason": reason})
    scene.note("resized pods")


def _granted(dice: Dice, container: Object) -> Object:
    share = quantities.milli(container.get("resources", {}).get("requests", {}).get("cpu")) or 100
    found: Object = {"name": container["name"], "image": container["image"], "imageID": "", "ready": True}
    found["restartCount"] = 0
    if dice.chance(0.8):
        found["resources"] = _amounts(dice, dice.pick(share // 2, share, share * 2))
    if dice.chance(0.7):
        found["allocatedResources"] = _amounts(dice, dice.pick(share // 2, share, share * 3 // 2)).get("requests", {})
    return found


def gaps(scene: Scene) -> None:
    """Nodes that do not say everything: no pods, no memory, no allocatable at all."""
    dice = scene.dice
    for node in scene.some_nodes(0.4):
        allocatable = _allocatable(node)
        kind = dice.pick("nothing", "nothing", "pods", "memory", "cpu", "few")
        if kind == "nothing":
            node["status"] = {"capacity": allocatable}
        elif kind == "few":
            allocatable["pods"] = str(dice.randint(0, 4))
        else:
            allocatable.pop(kind, None)
    scene.note("nodes with gaps")


def shrunk(scene: Scene) -> None:
    """Nodes that hold more than they have by now."""
    dice = scene.dice
    for node in scene.some_nodes(0.5):
        allocatable = _allocatable(node)
        cpu = scene.cpu[node["metadata"]["name"]]
        allocatable |= dice.sometimes({"cpu": f"{cpu // dice.pick(2, 3, 8)}m", "memory": f"{cpu // 2}Mi", "pods": "1"})
    if dice.chance(0.4):
        container = main_container(scene.pod)
        container["resources"] = {"requests": dice.sometimes({"cpu": "0", "memory": dice.pick("0", "64Mi")})}
    scene.note("overcommitted nodes")


def limits(scene: Scene) -> None:
    """Limits without requests become requests."""
    dice = scene.dice
    for pod in [*scene.some_pods(0.4), scene.pod]:
        resources = main_container(pod).get("resources", {})
        if requests := resources.get("requests"):
            resources["limits"] = {**resources.get("limits", {}), **requests}
            for name in dice.some(sorted(requests), 0):
                del requests[name]
    scene.note("limits")


def odd(scene: Scene) -> None:
    """The same amounts, written otherwise."""
    for pod in scene.everyone():
        for container in [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]:
            for name in ("requests", "limits"):
                if scene.dice.chance(0.5):
                    quantities.rewrite(scene.dice, container.get("resources", {}).get(name, {}))
    for node in scene.some_nodes(0.5):
        quantities.rewrite(scene.dice, _allocatable(node))
    scene.note("odd quantities")


#: Large, but below what floats hold exactly (`LARGEST_EXACT`) in bytes and thousandths, also a few of them together.
_BYTES = ("16Ti", "17Ti", "300Ti", "999T", "1Pi", "1P", "2Pi", "1234567890123456")
_CPUS = ("16e9", "1e12", "17G", "1T", "1234567890123")


def huge(scene: Scene) -> None:
    """As much as no cluster has, and as kwhatif still counts as the scheduler does."""
    dice = scene.dice
    if not dice.chance(0.6):
        return
    for node in scene.some_nodes(0.6):
        _allocatable(node).update(_huge(dice))
    for pod in [*scene.some_pods(0.2), *([scene.pod] if dice.chance(0.7) else [])]:
        containers = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]
        for container in dice.some(containers, 1, 3):
            requests_of(container).update(_huge(dice))
        if dice.chance(0.2):
            request(main_container(pod), DEVICES[0], dice.pick("1e12", "1234567890123456"), dice)
    scene.note("huge amounts")


def _huge(dice: Dice) -> Object:
    return dice.sometimes(
        {"memory": dice.one(_BYTES), "ephemeral-storage": dice.one(_BYTES), "cpu": dice.one(_CPUS)}, 0.5
    )
