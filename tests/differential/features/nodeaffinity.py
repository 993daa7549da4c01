"""Node selectors, required and preferred node affinity, numbers, and names of nodes."""

from tests.differential.dice import Dice
from tests.differential.scene import HOSTNAME, ZONE, Object, Scene, labels_of

LABELS = {
    "pool": ("web", "batch", "gpu"),
    "disk": ("ssd", "hdd"),
    "cores": ("4", "8", "16", "3", "007", "x", "", "1.5", "9223372036854775807", "9223372036854775808"),
    ZONE: ("eu-1a", "eu-1b", "eu-1c"),
}


def add(scene: Scene) -> None:
    """Label nodes, and let the pod be choosy."""
    dice = scene.dice
    label_nodes(scene)
    if dice.chance(0.4):
        keys = dice.some([key for key in LABELS if key != "cores"], 0, 2)
        scene.spec["nodeSelector"] = {key: dice.one(LABELS[key]) for key in keys}
    affinity: Object = {}
    if dice.chance(0.6):
        terms = [term(dice, scene) for _ in range(dice.pick(1, 1, 2, 3))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if dice.chance(0.6):
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": dice.pick(1, 5, 30, 100), "preference": term(dice, scene, numbers_only=True)}
            for _ in range(dice.randint(0, 4))
        ]
    if affinity or dice.chance(0.05):
        scene.spec.setdefault("affinity", {})["nodeAffinity"] = affinity
    scene.note("node affinity")


def label_nodes(scene: Scene) -> None:
    """Labels to choose by; numbers among them that are none."""
    dice = scene.dice
    for node in scene.nodes:
        for key, values in LABELS.items():
            if key != ZONE and dice.chance(0.6):
                labels_of(node)[key] = dice.one(values)


def term(dice: Dice, scene: Scene, *, numbers_only: bool = False) -> Object:
    """A node selector term; an empty one matches nothing."""
    found: Object = {}
    if dice.chance(0.85):
        count = dice.pick(1, 1, 1, 1, 2, 3)
        found["matchExpressions"] = [expression(dice, numbers_only=numbers_only) for _ in range(count)]
    if dice.chance(0.25):
        name = dice.one([*scene.node_names(), *scene.node_names(), "gone"])
        operator = dice.pick("In", "In", "NotIn")
        found["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [name]}]
        if dice.chance(0.2):
            other = {"key": "metadata.name", "operator": "In", "values": [dice.one(scene.node_names())]}
            found["matchFields"].append(other)
    return found


def expression(dice: Dice, *, numbers_only: bool = False) -> Object:
    """One requirement on labels. A number to compare with that is none makes the scheduler give up."""
    operator = dice.pick("In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    if operator in ("Gt", "Lt"):
        odd = () if numbers_only and dice.chance(0.95) else ("x", "1.5", "", "9223372036854775808")
        value = dice.one(["4", "7", "0", "08", "12", "12", "15", *odd])
        return {"key": dice.pick("cores", "cores", "pool", "none"), "operator": operator, "values": [value]}
    key = dice.one([*LABELS, HOSTNAME, "none"])
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    values = LABELS.get(key, ("web",))
    return {"key": key, "operator": operator, "values": dice.some(values, 1, 2)}
