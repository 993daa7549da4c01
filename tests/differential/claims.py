"""Claims for devices: what they ask for, what they hold already."""

import json
from typing import Any

from tests import FIXTURES
from tests.differential.devices import API, GPU, HUGE, NIC, SHARE, Devices, Slot
from tests.differential.dice import Dice
from tests.differential.scene import Object, Scene, main_container, namespace_of, uid_of

CLASSES = {
    "gpu": f'device.driver == "{GPU}"',
    "nic": f'device.driver == "{NIC}"',
    "big": f'device.driver == "{GPU}" && device.capacity["{GPU}"].memory.compareTo(quantity("40Gi")) >= 0',
}
_GPU_ATTRIBUTES = f'device.attributes["{GPU}"]'
EXPRESSIONS = (
    f'{_GPU_ATTRIBUTES}.model == "A100"',
    f'{_GPU_ATTRIBUTES}.model in ["A100", "H100"]',
    f'"model" in {_GPU_ATTRIBUTES} && {_GPU_ATTRIBUTES}.model.startsWith("A")',
    f'{_GPU_ATTRIBUTES}.model.matches("^[AH]100$")',
    f'device.capacity["{GPU}"].memory.isGreaterThan(quantity("20Gi"))',
    f'device.capacity["{GPU}"].memory.compareTo(quantity("40Gi")) == 0 || {_GPU_ATTRIBUTES}.index > 1',
    f'{_GPU_ATTRIBUTES}.version.isGreaterThan(semver("1.9.0"))',
    f'{_GPU_ATTRIBUTES}.version.compareTo(semver("1.10.0")) < 0',
    f"{_GPU_ATTRIBUTES}.?healthy.orValue(false)",
    f"has({_GPU_ATTRIBUTES}.numa) ? {_GPU_ATTRIBUTES}.numa == 0 : false",
    'device.attributes["other.example.com"].?rack.orValue("none") != "r1"',
    f"cel.bind(mine, {_GPU_ATTRIBUTES}, mine.index < 2 && mine.healthy)",
    f"!({_GPU_ATTRIBUTES}.?healthy.orValue(true)) || device.allowMultipleAllocations",
    'device.attributes["nowhere.example.com"].size() == 0',
    f'{_GPU_ATTRIBUTES}.exists(name, name == "numa")',
    f'{_GPU_ATTRIBUTES}.model.lowerAscii() == "a100"',
)


#: Seldom seen corners of the language and its libraries.
RARE_EXPRESSIONS = (
    f'device.capacity["{GPU}"].memory.asInteger() > 20000000000',
    f'device.capacity["{GPU}"].memory.sub(quantity("1Gi")).isGreaterThan(quantity("15Gi"))',
    f'device.capacity["{GPU}"].memory.add(quantity("1Gi")) == quantity("41Gi")',
    f'device.capacity["{GPU}"].memory.asApproximateFloat() < 2.0e10',
    f'sign(device.capacity["{GPU}"].?memory.orValue(quantity("0"))) == 1',
    f'quantity("40960Mi") == device.capacity["{GPU}"].memory',
    f'"memory" in device.capacity["{GPU}"] && !("cores" in device.capacity["{GPU}"])',
    f'device.capacity["{GPU}"].cores.isGreaterThan(quantity("1"))',
    f"{_GPU_ATTRIBUTES}.version.major() == 1 && {_GPU_ATTRIBUTES}.version.minor() < 10",
    f'{_GPU_ATTRIBUTES}.version == semver("2.0.0") || isSemver("1.2.3")',
    f'{_GPU_ATTRIBUTES}.version.isLessThan(semver("v1.5", true))',
    f'["A100", "H100"].exists(name, name == {_GPU_ATTRIBUTES}.model)',
    f'["A100", "H100"].exists_one(name, {_GPU_ATTRIBUTES}.model.startsWith(name))',
    f'["A100", "T4"].filter(name, name.size() > 2).map(name, name.lowerAscii())[0] == {_GPU_ATTRIBUTES}.model.lowerAscii()',
    f'sets.contains(["A100", "T4"], [{_GPU_ATTRIBUTES}.model])',
    f'{_GPU_ATTRIBUTES}.model.replace("A", "B").contains("B1")',
    f'{_GPU_ATTRIBUTES}.model.find("[0-9]+") == "100"',
    f'{_GPU_ATTRIBUTES}.model.split("1")[0] in ["A", "H"]',
    f'{_GPU_ATTRIBUTES}.model.charAt(0) == "A" && {_GPU_ATTRIBUTES}.model.indexOf("0") == 2',
    f"{_GPU_ATTRIBUTES}.index % 2 == 0 ? true : {_GPU_ATTRIBUTES}.healthy",
    f'{_GPU_ATTRIBUTES}.index + 1 > 1 && string({_GPU_ATTRIBUTES}.index) != "3"',
    f"{_GPU_ATTRIBUTES}.index == 1.0",
    f'int("3") / ({_GPU_ATTRIBUTES}.index - 1) > 0',
    f'{_GPU_ATTRIBUTES}.all(name, name != "numa")',
    f"size({_GPU_ATTRIBUTES}) == 5",
    f"[1, 2, 3].sum() == 6 && [{_GPU_ATTRIBUTES}.index].max() == 1",
    f'{_GPU_ATTRIBUTES}[?"model"].hasValue()',
    f"{_GPU_ATTRIBUTES}.?model.optMap(name, name.size()).orValue(0) == 4",
    f'{_GPU_ATTRIBUTES}.missing == "x" || device.driver != ""',
    f'device.driver != "" || {_GPU_ATTRIBUTES}.missing == "x"',
    f'{_GPU_ATTRIBUTES}.missing == "x" && device.driver != "{GPU}"',
    f'{_GPU_ATTRIBUTES}.healthy == "true"',
    f'{_GPU_ATTRIBUTES}.model < "B" && {_GPU_ATTRIBUTES}.model >= "A"',
    'device.attributes["other.example.com"].rack.matches("r[12]")',
    'device.attributes["other.example.com"].rack == "r1"',
    "device.allowMultipleAllocations == false",
    "device.attributes.size() == 2",
)


#: Selectors that an API server may have stored, of which `tests/oracle/selectors` wrote down what they say of one device.
_STORED = FIXTURES / "cel" / "selectors.json"
STORED_EXPRESSIONS = tuple(
    entry["expression"] for entry in json.loads(_STORED.read_text("utf-8")) if "refused" not in entry
)


def _expression(dice: Dice) -> str:
    if dice.chance(0.05):
        return dice.one(STORED_EXPRESSIONS)
    return dice.one(RARE_EXPRESSIONS if dice.chance(0.25) else EXPRESSIONS)


def classes(scene: Scene) -> None:
    """The device classes; sometimes one is missing."""
    for name, expression in CLASSES.items():
        if scene.dice.chance(0.98):
            spec: Object = {"selectors": [{"cel": {"expression": expression}}]}
            if scene.dice.chance(0.03):
                spec = {}
            elif scene.dice.chance(0.04):
                spec["selectors"].append({"cel": {"expression": _expression(scene.dice)}})
            elif scene.dice.chance(0.05):
                spec["config"] = [{"opaque": {"driver": GPU, "parameters": {"mode": "fast"}}}]
            scene.add(API, "DeviceClass", name, spec=spec)


def exactly(dice: Dice, devices: Devices, class_name: str) -> Object:
    """What one request, or one alternative, asks for."""
    wanted: Object = {"deviceClassName": class_name}
    if class_name != "nic" and dice.chance(0.35):
        expressions = [_expression(dice) for _ in range(dice.pick(1, 1, 1, 2))]
        wanted["selectors"] = [{"cel": {"expression": expression}} for expression in expressions]
    mode = dice.weighted({"": 4, "count": 4, "All": 1.5})
    if mode == "count":
        wanted["allocationMode"] = "ExactCount"
        wanted["count"] = dice.weighted({1: 5, 2: 4, 3: 1, 33: 0.1})
    elif mode == "All":
        wanted["allocationMode"] = "All"
    if devices.style == "taints" and dice.chance(0.5):
        wanted["tolerations"] = [_toleration(dice)]
    if devices.style == "shares" and dice.chance(0.7):
        amounts = {"memory": dice.one(HUGE) if dice.chance(0.1) else dice.pick("1Gi", "3Gi", "6Gi", "9500Mi", "20Gi")}
        if dice.chance(0.08):
            amounts["cores"] = "1"
        wanted["capacity"] = {"requests": amounts}
    return wanted


def _toleration(dice: Dice) -> Object:
    return dice.pick(
        {"operator": "Exists"},
        {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
        {"key": "example.com/broken", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "example.com/reserved", "value": "team-a", "effect": "NoSchedule"},
        {"key": "example.com/reserved", "operator": "Equal", "value": "yes"},
    )


def spec_of(scene: Scene, devices: Devices) -> Object:
    """One to three requests, perhaps with alternatives and constraints."""
    dice = scene.dice
    requests = []
    for index in range(dice.pick(1, 1, 1, 1, 2, 2, 3)):
        request: Object = {"name": dice.pick(f"req-{index}", f"{'zwv'[index]}")}
        if dice.chance(0.25):
            request["firstAvailable"] = [
                {"name": f"sub-{sub}", **exactly(dice, devices, dice.pick("gpu", "big", "nic"))}
                for sub in range(dice.randint(1, 3))
            ]
        else:
            request["exactly"] = exactly(dice, devices, dice.weighted({"gpu": 6, "big": 2, "nic": 2, "none": 0.05}))
            _admin(scene, request["exactly"])
        requests.append(request)
    spec: Object = {"requests": requests}
    if dice.chance(0.25):
        spec["constraints"] = [_constraint(dice, requests) for _ in range(dice.pick(1, 1, 2))]
    return {"devices": spec}


def _admin(scene: Scene, wanted: Object) -> None:
    """Looking at devices in use needs a namespace that allows it."""
    if not scene.dice.chance(0.08):
        return
    wanted["adminAccess"] = True
    namespace = scene.find("Namespace", scene.namespace) or scene.add("v1", "Namespace", scene.namespace)
    namespace["metadata"].setdefault("labels", {})["resource.kubernetes.io/admin-access"] = "true"


def _constraint(dice: Dice, requests: list[Object]) -> Object:
    names = [request["name"] for request in requests]
    for request in requests:
        names.extend(f"{request['name']}/{sub['name']}" for sub in request.get("firstAvailable", ()))
    names_of_attributes = ("model", "numa", "index", "version", "healthy")
    attribute = dice.pick("other.example.com/rack", *(f"{GPU}/{name}" for name in names_of_attributes))
    found: Object = {dice.pick("matchAttribute", "distinctAttribute"): attribute}
    if dice.chance(0.5):
        found["requests"] = dice.some(names, 1)
    return found


def orphan(scene: Scene, slots: list[Slot]) -> None:
    """A claim that holds a device although nobody uses it."""
    spec: Object = {"devices": {"requests": [{"name": "all", "exactly": {"deviceClassName": "gpu"}}]}}
    extra = scene.dice.sometimes({"deletionTimestamp": "2026-03-20T00:00:00Z"}, 0.2)
    allocate(claim(scene, "left-behind", spec, scene.dice.one(scene.namespaces), **extra), slots, scene.dice)


def claim(scene: Scene, name: str, spec: Object, namespace: str | None = None, **fields: Any) -> Object:
    """A claim, by default in the candidate's namespace."""
    return scene.add(API, "ResourceClaim", name, namespace or scene.namespace, spec=spec, **fields)


def use(pod: Object, name: str, entry: str | None = None) -> None:
    """Let the pod use a claim by name."""
    pod["spec"].setdefault("resourceClaims", []).append({"name": entry or name, "resourceClaimName": name})
    main_container(pod).setdefault("resources", {}).setdefault("claims", []).append({"name": entry or name})


def allocate(made: Object, slots: list[Slot], dice: Dice) -> None:
    """Give a claim these devices, as the scheduler writes it down; one per request, as far as they go."""
    requests = made["spec"]["devices"]["requests"]
    results = []
    for index, slot in enumerate(slots):
        request = requests[min(index, len(requests) - 1)]
        name = request["name"]
        if subs := request.get("firstAvailable"):
            name = f"{name}/{subs[0]['name']}"
        result: Object = {"request": name, "driver": slot.driver, "pool": slot.pool, "device": slot.device["name"]}
        if slot.device.get("allowMultipleAllocations"):
            result["shareID"] = SHARE.format(dice.randrange(10**9))
            result["consumedCapacity"] = {"memory": dice.pick("2Gi", "6Gi", "12Gi")}
        if request.get("exactly", {}).get("adminAccess"):
            result["adminAccess"] = True
        for field in ("bindingConditions", "bindingFailureConditions"):
            if field in slot.device:
                result[field] = slot.device[field]
        results.append(result)
    # Devices that were never made ready in time would count as lost, by the clock of whoever is asked.
    allocation: Object = {"devices": {"results": results}, "allocationTimestamp": "2199-01-01T00:00:00Z"}
    nodes = {slot.node for slot in slots if slot.node}
    if nodes:
        name = {"key": "metadata.name", "operator": "In", "values": sorted(nodes)[:1]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [name]}]}
    made["status"] = {"allocation": allocation}


def reserve(made: Object, *pods: Object) -> None:
    """Say who uses it."""
    made["status"]["reservedFor"] = [
        {"resource": "pods", "name": pod["metadata"]["name"], "uid": uid_of(pod)} for pod in pods
    ]


def owned_by(pod: Object) -> Object:
    """The owner reference of a claim that was made from a template."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod["metadata"]["name"],
        "uid": uid_of(pod),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def in_namespace(scene: Scene, namespace: str) -> list[Object]:
    """Running pods of a namespace."""
    return [pod for pod in scene.running() if namespace_of(pod) == namespace]
