"""KubeSchedulerConfiguration: arguments of every plugin, plugins switched on, off and re-weighted, several profiles."""

from collections.abc import Callable
from typing import Any

from tests.differential.features.nodeaffinity import expression, label_nodes
from tests.differential.features.resources import DEVICES
from tests.differential.scene import HOSTNAME, REGION, ZONE, Object, Scene

FILTERING = ("preFilter", "filter")
SCORING = ("preScore", "score")
#: Plugin -> the points it has and a configuration may name.
PLUGINS: dict[str, tuple[str, ...]] = {
    "SchedulingGates": ("preEnqueue",),
    "NodeUnschedulable": ("filter",),
    "NodeName": ("filter",),
    "TaintToleration": ("filter", *SCORING),
    "NodeAffinity": (*FILTERING, *SCORING),
    "NodePorts": FILTERING,
    "NodeResourcesFit": (*FILTERING, *SCORING),
    "VolumeRestrictions": FILTERING,
    "NodeVolumeLimits": FILTERING,
    "VolumeBinding": (*FILTERING, "reserve", "preBind", *SCORING),
    "VolumeZone": FILTERING,
    "PodTopologySpread": (*FILTERING, *SCORING),
    "InterPodAffinity": (*FILTERING, *SCORING),
    "DynamicResources": ("preEnqueue", *FILTERING, "postFilter", "score", "reserve", "preBind"),
    "DefaultPreemption": ("preEnqueue", "postFilter"),
    "NodeResourcesBalancedAllocation": SCORING,
    "ImageLocality": ("score",),
    "NodeDeclaredFeatures": FILTERING,
}
POINTS = ("preEnqueue", *FILTERING, "postFilter", *SCORING)


def add(scene: Scene) -> None:
    """One profile that the candidate uses, perhaps with others beside it."""
    dice = scene.dice
    profile: Object = {}
    if dice.chance(0.75):
        configured = dice.some(list(_ARGS), 1, 3)
        if scene.find("DeviceClass", "gpu") and dice.chance(0.6):
            compared = dice.some(["NodeResourcesFit", "NodeResourcesBalancedAllocation"], 1)
            configured = sorted({*configured, *compared})
        profile["pluginConfig"] = [{"name": name, "args": _ARGS[name](scene)} for name in configured]
        if dice.chance(0.15):
            for entry in profile["pluginConfig"]:
                entry["args"] |= {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": f"{entry['name']}Args"}
        scene.note(f"args of {' '.join(configured)}")
    if dice.chance(0.6):
        profile["plugins"] = plugins(scene)
        # PostFilter reads the pod anew, and the judge's informer has to hold it without a node: a pod that names one
        # would count as bound. It shows only where NodeName does not come before all that eviction can help with.
        scene.spec.pop("nodeName", None)
        scene.note(f"plugins at {' '.join(profile['plugins'])}")
    if dice.chance(0.1):
        profile["percentageOfNodesToScore"] = dice.pick(0, 5, 100)
    _profiles(scene, profile)


def _profiles(scene: Scene, profile: Object) -> None:
    dice = scene.dice
    if dice.chance(0.25):
        profile["schedulerName"] = "packer"
        scene.spec["schedulerName"] = "packer"
        others: list[Object] = [{"schedulerName": "default-scheduler"}]
        if dice.chance(0.2):
            others.append({"schedulerName": "third", "plugins": plugins(scene)})
        scene.profiles = dice.pick([profile, *others], [*others, profile])
        scene.note("several profiles")
    else:
        if dice.chance(0.5):
            profile["schedulerName"] = "default-scheduler"
        scene.profiles = [profile]
    for pod in scene.some_pods(0.1):
        pod["spec"]["schedulerName"] = dice.pick("packer", "default-scheduler", "other")


# --- plugins -----------------------------------------------------------------------------------------


def plugins(scene: Scene) -> Object:
    """Sets for one to three points."""
    dice = scene.dice
    found: Object = {}
    for point in dice.some(["multiPoint", "multiPoint", "score", "score", *POINTS], 1, 3):
        having = [name for name, points in PLUGINS.items() if point in ("multiPoint", *points)]
        found[point] = _set(scene, point, having)
    if scene.spec.get("volumes") and dice.chance(0.3):
        _score_volumes(found)
    if dice.chance(0.1):
        found["reserve"] = {"disabled": [{"name": "VolumeBinding"}]}
    return found


def _score_volumes(found: Object) -> None:
    """Off by default; it compares static volumes by size."""
    for point in SCORING:
        enabled = found.setdefault(point, {}).setdefault("enabled", [])
        if all(entry["name"] != "VolumeBinding" for entry in enabled):
            enabled.append({"name": "VolumeBinding"})


def _set(scene: Scene, point: str, having: list[str]) -> Object:
    dice = scene.dice
    found: Object = {}
    if dice.chance(0.6):
        disabled = dice.some(having, 1, 3)
        if dice.chance(0.15) and point != "multiPoint":
            disabled = ["*", *disabled[:1]]
        elif dice.chance(0.1):
            disabled.append("NeverHeardOf")
        found["disabled"] = [{"name": name} for name in disabled]
    if not found or dice.chance(0.6):
        found["enabled"] = [
            {"name": name, **({"weight": dice.pick(0, 1, 2, 5, 100)} if point in ("score", "multiPoint") else {})}
            for name in dice.some(having, 1, 4)
        ]
        for entry in found["enabled"]:
            if entry.get("weight") is not None and dice.chance(0.3):
                del entry["weight"]
    return found


#: What nodes may be compared by.
_RESOURCES = ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "example.com/nic", "hugepages-2Mi")


# --- arguments ---------------------------------------------------------------------------------------


def _fit(scene: Scene) -> Object:
    dice = scene.dice
    args: Object = {}
    if dice.chance(0.3):
        args["ignoredResources"] = dice.some([*DEVICES, "cpu", "hugepages-2Mi"], 1, 2)
    if dice.chance(0.3):
        args["ignoredResourceGroups"] = dice.some(["example.com", "nvidia.com", "storage.kubernetes.io"], 1, 2)
    if dice.chance(0.8):
        kind = dice.pick("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", "RequestedToCapacityRatio")
        strategy: Object = {"type": kind}
        if dice.chance(0.75):
            strategy["resources"] = [
                {"name": name, **dice.sometimes({"weight": dice.pick(0, 1, 3, 7, 100)}, 0.8)}
                for name in [*dice.some([*_RESOURCES, "pods"], 0, 4), *_of_devices(scene)]
            ]
        if kind == "RequestedToCapacityRatio":
            strategy["requestedToCapacityRatio"] = {"shape": _shape(scene)}
        args["scoringStrategy"] = strategy
    return args


def _shape(scene: Scene) -> list[Object]:
    dice = scene.dice
    points = sorted(dice.some([0, 1, 10, 33, 50, 67, 90, 99, 100], 1, 5))
    return [{"utilization": point, "score": dice.randint(0, 10)} for point in points]


def _balanced(scene: Scene) -> Object:
    weights = scene.dice.pick({}, {"weight": 1})
    names = [*scene.dice.some(_RESOURCES, 0, 5), *_of_devices(scene)]
    return {"resources": [{"name": name, **weights} for name in names]}


def _of_devices(scene: Scene) -> list[str]:
    """Extended resources that device classes provide."""
    if scene.find("DeviceClass", "gpu") is None:
        return []
    return scene.dice.some(["example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"], 0, 2)


def _interpod(scene: Scene) -> Object:
    dice = scene.dice
    return dice.sometimes(
        {"hardPodAffinityWeight": dice.pick(0, 1, 10, 100), "ignorePreferredTermsOfExistingPods": dice.chance(0.7)}, 0.8
    )


def _added_affinity(scene: Scene) -> Object:
    dice = scene.dice
    label_nodes(scene)
    added: Object = {}
    if dice.chance(0.6):
        terms = [_term(scene) for _ in range(dice.pick(1, 2))]
        added["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if dice.chance(0.6):
        added["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": dice.pick(1, 10, 100), "preference": _term(scene)} for _ in range(dice.randint(0, 2))
        ]
    return {"addedAffinity": added}


def _term(scene: Scene) -> Object:
    """A term that the scheduler accepts here: numbers must be numbers."""
    dice = scene.dice
    while True:
        found = {"matchExpressions": [expression(dice) for _ in range(dice.pick(1, 1, 2))]}
        if dice.chance(0.15):
            names = {"key": "metadata.name", "operator": dice.pick("In", "NotIn")}
            found["matchFields"] = [{**names, "values": [dice.one([*scene.node_names(), "gone"])]}]
        values = [
            value
            for entry in found["matchExpressions"]
            if entry["operator"] in ("Gt", "Lt")
            for value in entry["values"]
        ]
        if not {"x", "1.5", "", "9223372036854775808"} & set(values):
            return found


def _spread(scene: Scene) -> Object:
    dice = scene.dice
    if dice.chance(0.15):
        return {"defaultingType": "System"}
    found: dict[tuple[str, str], Object] = {}
    for _ in range(dice.pick(0, 1, 1, 2, 3)):
        entry: Object = {
            "maxSkew": dice.pick(1, 1, 2, 3),
            "topologyKey": dice.pick(HOSTNAME, ZONE, ZONE, REGION, "pool"),
            "whenUnsatisfiable": dice.pick("DoNotSchedule", "ScheduleAnyway"),
        }
        if entry["whenUnsatisfiable"] == "DoNotSchedule":
            entry |= dice.sometimes({"minDomains": dice.pick(1, 3, 5)}, 0.2)
        entry |= dice.sometimes({"nodeTaintsPolicy": "Honor"}, 0.2)
        entry |= dice.sometimes({"nodeAffinityPolicy": "Ignore"}, 0.2)
        entry |= dice.sometimes({"matchLabelKeys": ["version"]}, 0.1)
        found[entry["topologyKey"], entry["whenUnsatisfiable"]] = entry
    return {"defaultingType": "List", "defaultConstraints": list(found.values())}


def _preemption(scene: Scene) -> Object:
    dice = scene.dice
    return dice.sometimes({"minCandidateNodesPercentage": dice.pick(1, 10, 100), "minCandidateNodesAbsolute": 1}, 0.7)


def _volume_binding(scene: Scene) -> Object:
    return {"bindTimeoutSeconds": scene.dice.pick(0, 60, 600)}


def _dynamic_resources(scene: Scene) -> Object:
    dice = scene.dice
    return dice.sometimes(
        {"filterTimeout": dice.pick("30s", "0s", "1m"), "bindingTimeout": dice.pick("1s", "300s")}, 0.6
    )


_ARGS: dict[str, Callable[[Scene], dict[str, Any]]] = {
    "NodeResourcesFit": _fit,
    "NodeResourcesBalancedAllocation": _balanced,
    "InterPodAffinity": _interpod,
    "NodeAffinity": _added_affinity,
    "PodTopologySpread": _spread,
    "DefaultPreemption": _preemption,
    "VolumeBinding": _volume_binding,
    "DynamicResources": _dynamic_resources,
}
