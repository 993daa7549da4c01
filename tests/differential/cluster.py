"""The ground of every case: nodes in zones, priority classes, pods that fill the nodes, and a candidate."""

from tests.differential.dice import Dice
from tests.differential.scene import DEFAULT, HOSTNAME, REGION, ZONE, Object, Scene, uid_of

#: MiB of memory that go with one cpu.
MIB_PER_CPU = 2048

PRIORITIES = {"batch": -100, "low": 100, "standard": 1000, "high": 10000, "urgent": 100000}
APPS = ("web", "db", "cache", "cron", "etl", "shop")
IMAGES = ("nginx", "nginx:1.29", "redis", "postgres:17", "ghcr.io/acme/worker:v2", "registry.example.com/shop/web:1.4")


def build(scene: Scene, most_nodes: int = 9, pressure: float = 0.5) -> None:
    """Everything that features then change. Where room is what is missing, plugins after that go unasked."""
    dice = scene.dice
    scene.mood = dice.weighted({"roomy": 1 - pressure, "tight": pressure * 0.4, "full": pressure * 0.6})
    _namespaces(scene)
    for name in dice.some(list(PRIORITIES), 2):
        scene.add("scheduling.k8s.io/v1", "PriorityClass", name, value=PRIORITIES[name])
    sizes = {dice.randint(1, 3): 2, dice.randint(2, 6): 5, dice.randint(5, most_nodes): 3, dice.randint(20, 60): 0.15}
    _nodes(scene, dice.weighted(sizes))
    if dice.chance(0.06):
        _odd_topology(scene)
    for node in scene.nodes:
        _fill(scene, node)
    _candidate(scene)


def classes_of(scene: Scene) -> list[str]:
    """The priority classes of the scene."""
    return [obj["metadata"]["name"] for obj in scene.objects if obj["kind"] == "PriorityClass"]


def _namespaces(scene: Scene) -> None:
    dice = scene.dice
    scene.namespaces = [DEFAULT, *dice.some(["shop", "data", "ops"], 0, 2)]
    for namespace in scene.namespaces:
        if dice.chance(0.6):
            labels = dice.sometimes({"team": dice.pick("red", "blue"), "env": dice.pick("prod", "test"), "open": ""})
            fields: Object = {"labels": labels} if labels else {}
            scene.add("v1", "Namespace", namespace, **fields)


def _nodes(scene: Scene, count: int) -> None:
    dice = scene.dice
    pattern = dice.pick("node-{z}{i}", "worker-{z}-{i}", "ip-10-0-{z}-{i}", "{z}{i}")
    zones = dice.pick("a", "ab", "abc", "abc")
    cpus = dice.pick((4,), (4, 8), (2, 4, 16), (1, 2))
    for index in range(count):
        zone = zones[index % len(zones)]
        name = pattern.format(z=zone, i=index // len(zones) + 1)
        scene.cpu[name] = dice.one(cpus) * 1000
        scene.nodes.append(_node(dice, name, f"eu-1{zone}", scene.cpu[name] // 1000))


def _node(dice: Dice, name: str, zone: str, cpu: int) -> Object:
    labels = {HOSTNAME: name, ZONE: zone, REGION: "eu-1"}
    if dice.chance(0.05):
        del labels[dice.pick(HOSTNAME, ZONE)]
    if dice.chance(0.3):
        del labels[REGION]
    labels |= dice.sometimes({"pool": dice.pick("web", "batch"), "disk": dice.pick("ssd", "hdd")})
    allocatable = {"cpu": str(cpu), "memory": f"{cpu * MIB_PER_CPU}Mi", "pods": dice.pick("110", "110", "110", "8")}
    status: Object = {"allocatable": allocatable}
    if dice.chance(0.15):
        status["capacity"] = {**allocatable, "cpu": f"{cpu * 1000 + 80}m"}
    node: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}
    if dice.chance(0.8):
        node["metadata"]["uid"] = f"uid-node-{name}"
    return node


def _odd_topology(scene: Scene) -> None:
    """Nodes that share a host name, or say nothing as the name of their zone."""
    dice = scene.dice
    for node in scene.some_nodes(0.4):
        labels = node["metadata"]["labels"]
        if dice.chance(0.2):
            labels.clear()
            continue
        labels |= dice.pick(
            {HOSTNAME: dice.one(scene.node_names())}, {ZONE: ""}, {REGION: "eu-2"}, {ZONE: labels.get(REGION, "eu-1")}
        )
    scene.note("odd topology")


def cpu_of(scene: Scene, node: Object) -> int:
    """The cpu that a node was made with, in milli."""
    return scene.cpu[node["metadata"]["name"]]


# --- running pods ------------------------------------------------------------------------------------


def _fill(scene: Scene, node: Object) -> None:
    dice = scene.dice
    least, most = {"roomy": (0.0, 0.6), "tight": (0.5, 1.0), "full": (0.85, 1.0)}[scene.mood]
    room = cpu_of(scene, node)
    wanted = room * dice.uniform(least, most)
    used = 0
    pods: list[Object] = []
    while used < wanted and len(pods) < 6 and len(scene.pods) < 60:
        milli = dice.one([room // 8, room // 4, room // 3, room // 2, room // 5])
        if dice.chance(0.1):
            milli = 0
        if used + milli > room:
            milli = room - used
        used += milli
        pods.append(_running(scene, node, milli))
        scene.pods.append(pods[-1])
    times = [scene.moment() for _ in pods]
    dice.shuffle(times)
    for pod, time in zip(pods, times, strict=True):
        pod["status"]["startTime"] = time


def sized(dice: Dice, milli: int) -> Object:
    """A container's resources: about so much cpu, with memory in proportion."""
    mib = milli * MIB_PER_CPU // 1000
    requests: Object = {}
    if milli or dice.chance(0.5):
        requests["cpu"] = f"{milli}m"
    if dice.chance(0.8):
        requests["memory"] = f"{dice.one([mib, mib, mib // 2, mib * 7 // 8])}Mi"
    return {"requests": requests} if requests else {}


def _running(scene: Scene, node: Object, milli: int) -> Object:
    dice = scene.dice
    app = dice.one(APPS)
    spec: Object = {
        "nodeName": node["metadata"]["name"],
        "containers": [{"name": "main", "image": dice.one(IMAGES), "resources": sized(dice, milli)}],
    }
    rank(scene, spec)
    pod = new_pod(scene, f"{app}-{len(scene.pods)}", dice.one(scene.namespaces), spec)
    if dice.chance(0.92):
        pod["metadata"]["labels"] = {"app": app, **dice.sometimes({"tier": dice.pick("front", "back")}, 0.4)}
    pod["status"] = {"phase": "Running"}
    if dice.chance(0.04):
        pod["metadata"]["deletionTimestamp"] = "2026-03-20T00:00:00Z"
    if dice.chance(0.03):
        pod["status"]["phase"] = dice.pick("Succeeded", "Failed", "Pending")
    return pod


def new_pod(scene: Scene, name: str, namespace: str, spec: Object) -> Object:
    """A pod without status; `default` may go without saying."""
    metadata: Object = {"name": name, "namespace": namespace, "creationTimestamp": scene.moment()}
    if namespace == DEFAULT and scene.dice.chance(0.1):
        del metadata["namespace"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    if scene.dice.chance(0.9):
        uid_of(pod)
    return pod


def rank(scene: Scene, spec: Object) -> None:
    """A priority: by number, by class, or both; low ones prevail."""
    dice = scene.dice
    if dice.chance(0.5):
        spec["priority"] = dice.pick(-100, 0, 0, 0, 100, 100, 1000, 10000)
    elif dice.chance(0.6):
        name = dice.one(classes_of(scene))
        spec["priorityClassName"] = name
        if dice.chance(0.5):
            spec["priority"] = PRIORITIES[name]


# --- the candidate -----------------------------------------------------------------------------------


def _candidate(scene: Scene) -> None:
    dice = scene.dice
    app = dice.one(APPS)
    spec: Object = {"containers": [{"name": "main", "image": dice.one(IMAGES)}]}
    resources = sized(dice, _wanted(scene))
    if resources:
        spec["containers"][0]["resources"] = resources
    namespace = dice.one(scene.namespaces)
    scene.pod = new_pod(scene, f"{app}-{dice.pick('new', '7d9f-x2k', '0')}", namespace, spec)
    if dice.chance(0.95):
        scene.pod["metadata"]["labels"] = {"app": app, **dice.sometimes({"tier": "front"}, 0.4)}
    if dice.chance(0.75):
        important = [name for name in classes_of(scene) if PRIORITIES[name] >= 1000]
        if important and dice.chance(0.5):
            spec["priorityClassName"] = dice.one(important)
        else:
            spec["priority"] = dice.pick(100, 1000, 10000, 100000)


def _wanted(scene: Scene) -> int:
    """How much cpu the candidate asks for: so that it fits everywhere, somewhere, after eviction, or nowhere."""
    dice = scene.dice
    if scene.mood == "roomy" and dice.chance(0.6):
        return dice.pick(0, 50, 100, 250)
    sizes = [cpu_of(scene, node) for node in scene.nodes]
    return dice.weighted(
        {
            0: 1,
            100: 2,
            dice.one(sizes) // 10: 3,
            dice.one(sizes) // 4: 3,
            dice.one(sizes) // 2: 4,
            dice.one(sizes) * 9 // 10: 2,
            dice.one(sizes): 1,
            max(sizes) + 500: 0.3,
        }
    )
