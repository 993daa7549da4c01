"""What dynamic resource allocation gives away: pools of devices, in slices."""

from typing import Any, NamedTuple

from tests.differential.dice import Dice
from tests.differential.scene import HOSTNAME, ZONE, Object, Scene

GPU = "gpu.example.com"
NIC = "nic.example.com"
API = "resource.k8s.io/v1"
SHARE = "4f1c8b1e-0000-4000-8000-{:012}"


#: Amounts that no device has; none that upstream holds by reference, and changes as it adds (from 1Pi on).
HUGE = ("16Ti", "2P", "5e15")


class Slot(NamedTuple):
    """One device, and where it is."""

    driver: str
    pool: str
    device: Object
    #: The only node that can use it; "" for a device that is tied to none.
    node: str


class Devices:
    """Adds slices; remembers every device in `slots`."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._dice = scene.dice
        self.slots: list[Slot] = []
        #: What the devices of this case can do.
        self.style = scene.dice.weighted(
            {"plain": 6, "taints": 2, "counters": 3, "shares": 3, "binding": 2, "many": 0.3}
        )
        scene.note(f"{self.style} devices")

    def on_nodes(self, driver: str, probability: float = 0.9) -> None:
        """A pool on each of some nodes."""
        for node in self._scene.some_nodes(probability):
            name = node["metadata"]["name"]
            pool = self._dice.pick(name, name, name, f"{name}/{driver.partition('.')[0]}")
            self._pool(driver, pool, {"nodeName": name}, name)

    def shared(self, driver: str) -> None:
        """A pool that several nodes can reach."""
        dice, scene = self._dice, self._scene
        where = dice.pick("all", "zone", "per device")
        if where == "all":
            self._pool(driver, "shared", {"allNodes": True}, "")
        elif where == "zone":
            self._pool(driver, "shared", {"nodeSelector": _selector(ZONE, dice.some(["eu-1a", "eu-1b"], 1))}, "")
        else:
            self._pool(driver, "shared", {"perDeviceNodeSelection": True}, "")
        scene.note(f"shared pool ({where})")

    def _pool(self, driver: str, pool: str, place: Object, node: str) -> None:
        dice = self._dice
        count = dice.pick(1, 1, 1, 2)
        generation = dice.pick(1, 1, 3)
        announced = count
        counters = self.style == "counters" and driver == GPU
        if counters:
            announced += 1
            self._slice(driver, pool, place, generation, announced, "counters", sharedCounters=_counter_sets(dice))
        if dice.chance(0.06):
            announced += dice.pick(-1, 1) if announced > 1 else 1
        index = 0
        for part in range(count):
            devices = []
            for _ in range(40 if self.style == "many" else dice.pick(1, 2, 3, 4, 5)):
                devices.append(self._device(driver, index, place))
                index += 1 if dice.chance(0.985) else 0
            unique = {device["name"]: device for device in devices}
            self._slice(driver, pool, place, generation, announced, str(part), devices=list(unique.values()))
            self.slots.extend(Slot(driver, pool, device, node) for device in unique.values())
        if dice.chance(0.06):
            old = [self._device(driver, 0, place)]
            self._slice(driver, pool, place, generation - 1, 1, "old", devices=old)
        if dice.chance(0.06) and node:
            # The driver moves the pool elsewhere: what it said before is out of date.
            new = [self._device(driver, 0, place)]
            self._slice(driver, pool, {"nodeName": "elsewhere"}, generation + 1, dice.pick(1, 2), "new", devices=new)

    def _slice(
        self, driver: str, pool: str, place: Object, generation: int, count: int, suffix: str, **content: Any
    ) -> None:
        name = f"{pool.replace('/', '.')}-{driver.partition('.')[0]}-{suffix}"
        announced = {"name": pool, "generation": generation, "resourceSliceCount": count}
        self._scene.add(API, "ResourceSlice", name, spec={"driver": driver, "pool": announced, **place, **content})

    def _device(self, driver: str, index: int, place: Object) -> Object:
        dice = self._dice
        prefix = driver.partition(".")[0]
        attributes: Object = {
            "model": {"string": dice.pick("A100", "A100", "H100", "T4")},
            "index": {"int": index},
            "numa": {"int": dice.pick(0, 1)},
            "healthy": {"bool": dice.chance(0.8)},
            "version": {"version": dice.pick("1.2.3", "2.0.0", "1.10.0-rc.1")},
            "other.example.com/rack": {"string": dice.pick("r1", "r2")},
        }
        for name in dice.some(sorted(attributes), 0, dice.pick(0, 0, 1)):
            del attributes[name]
        device: Object = {"name": f"{prefix}-{index}", "attributes": attributes}
        device["capacity"] = {"memory": {"value": dice.pick("16Gi", "40Gi", "80Gi")}}
        if dice.chance(0.03):
            device["capacity"]["memory"]["value"] = dice.one(HUGE)
        if dice.chance(0.1):
            device["attributes"][f"{driver}/model"] = {"string": "X1"}
            device["attributes"].pop("model", None)
        self._dress(device, driver)
        if "perDeviceNodeSelection" in place:
            device |= _own_place(dice, self._scene)
        return device

    def _dress(self, device: Object, driver: str) -> None:
        dice = self._dice
        if self.style == "taints" and dice.chance(0.6):
            device["taints"] = [_taint(dice) for _ in range(dice.pick(1, 1, 2))]
        elif self.style == "counters" and driver == GPU and dice.chance(0.85):
            device["consumesCounters"] = _consumption(dice)
        elif self.style == "shares" and dice.chance(0.8):
            device["allowMultipleAllocations"] = True
            device["capacity"]["memory"] = _shareable(dice)
        elif self.style == "binding" and dice.chance(0.5):
            device |= {
                "bindsToNode": dice.chance(0.5),
                "bindingConditions": ["example.com/ready"],
                "bindingFailureConditions": ["example.com/failed"],
            }


def _selector(key: str, values: list[str]) -> Object:
    expression = {"key": key, "operator": "In", "values": values}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def _own_place(dice: Dice, scene: Scene) -> Object:
    return dice.pick(
        {"nodeName": dice.one(scene.node_names() or ["gone"])},
        {"allNodes": True},
        {"nodeSelector": _selector(ZONE, ["eu-1a"])},
        {"nodeSelector": _selector(HOSTNAME, dice.some(scene.node_names() or ["gone"], 1, 2))},
    )


def _taint(dice: Dice) -> Object:
    taint: Object = {"key": dice.pick("example.com/broken", "example.com/reserved")}
    taint["effect"] = dice.pick("NoSchedule", "NoSchedule", "NoExecute", "None")
    taint |= dice.sometimes({"value": dice.pick("yes", "team-a")})
    return taint | dice.sometimes({"timeAdded": "2026-03-01T00:00:00Z"}, 0.1)


def _counter_sets(dice: Dice) -> list[Object]:
    sets = [{"name": "card", "counters": {"memory": {"value": dice.pick("40Gi", "80Gi")}, "slices": {"value": "4"}}}]
    if dice.chance(0.3):
        sets.append({"name": "link", "counters": {"lanes": {"value": dice.pick("2", "4")}}})
    return sets


def _consumption(dice: Dice) -> list[Object]:
    counters = dice.some(["memory", "slices"], 1)
    amounts = {"memory": dice.pick("10Gi", "20Gi", "40Gi"), "slices": dice.pick("1", "2", "3")}
    used = [{"counterSet": "card", "counters": {name: {"value": amounts[name]} for name in counters}}]
    if dice.chance(0.06):
        used.append({"counterSet": dice.pick("link", "unheard-of"), "counters": {"lanes": {"value": "1"}}})
    return used


def _shareable(dice: Dice) -> Object:
    capacity: Object = {"value": dice.pick("16Gi", "40Gi")}
    policy = dice.pick("none", "default", "values", "range", "step")
    if policy == "default":
        capacity["requestPolicy"] = {"default": "4Gi"}
    elif policy == "values":
        capacity["requestPolicy"] = {"default": "2Gi", "validValues": ["2Gi", "6Gi", "12Gi"]}
    elif policy in ("range", "step"):
        valid: Object = {"min": "2Gi"} | dice.sometimes({"max": "14Gi"})
        if policy == "step":
            valid["step"] = "3Gi"
        capacity["requestPolicy"] = {"default": "5Gi", "validRange": valid}
    return capacity
