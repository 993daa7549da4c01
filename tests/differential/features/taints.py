"""Taints of every effect, cordoned nodes, and tolerations of every form."""

from tests.differential.dice import Dice
from tests.differential.scene import Object, Scene

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
CONDITIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
KEYS = ("dedicated", "gpu", "spot", "example.com/team")
VALUES = ("", "web", "batch", "1")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def add(scene: Scene) -> None:
    """Taint nodes, and let the pod tolerate some of it."""
    dice = scene.dice
    keys = dice.some(KEYS, 1, 3)
    effects = dice.pick(EFFECTS, EFFECTS, ("PreferNoSchedule",))
    for node in scene.some_nodes(dice.pick(0.3, 0.6, 1.0)):
        taint_node(dice, node, keys, effects)
    tolerations = [toleration(dice, keys) for _ in range(dice.pick(0, 1, 1, 2, 3, 4))]
    if dice.chance(0.08):
        tolerations.append({"operator": "Exists"})
    if dice.chance(0.2):
        tolerations.append({"operator": "Exists", "effect": dice.one(EFFECTS)})
    if dice.chance(0.2):
        tolerations.append({"key": UNSCHEDULABLE, **dice.pick({"operator": "Exists"}, {"effect": "NoSchedule"}, {})})
    if tolerations:
        scene.spec.setdefault("tolerations", []).extend(tolerations)
    usual_tolerations(scene)
    if dice.chance(0.08):
        scene.spec["nodeName"] = dice.one([*scene.node_names(), "gone"])
        scene.note("node name")
    scene.note("taints and tolerations")


def taint_node(dice: Dice, node: Object, keys: list[str], effects: tuple[str, ...]) -> None:
    """Some taints; key and effect are unique together."""
    spec = node.setdefault("spec", {})
    found = {(taint["key"], taint["effect"]): taint for taint in spec.get("taints", [])}
    for _ in range(dice.randint(0, 3)):
        taint = {"key": dice.one(keys), "effect": dice.one(effects)}
        if value := dice.one(VALUES):
            taint["value"] = value
        if dice.chance(0.1):
            taint["timeAdded"] = "2026-03-01T00:00:00Z"
        found[taint["key"], taint["effect"]] = taint
    if dice.chance(0.15):
        key = dice.one([*CONDITIONS, "node.kubernetes.io/memory-pressure", UNSCHEDULABLE])
        effect = dice.pick("NoSchedule", "NoExecute") if key in CONDITIONS else "NoSchedule"
        found[key, effect] = {"key": key, "effect": effect}
    if dice.chance(0.12):
        spec["unschedulable"] = True
        if dice.chance(0.5):
            found[UNSCHEDULABLE, "NoSchedule"] = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}
    if found:
        spec["taints"] = list(found.values())


def toleration(dice: Dice, keys: list[str]) -> Object:
    """Any valid form."""
    found: Object = {"key": dice.one(keys)}
    if dice.chance(0.4):
        found["operator"] = "Exists"
    else:
        found |= dice.sometimes({"operator": "Equal"})
        if value := dice.one(VALUES):
            found["value"] = value
    if dice.chance(0.6):
        found["effect"] = dice.one(EFFECTS)
    if found.get("effect") == "NoExecute" and dice.chance(0.4):
        found["tolerationSeconds"] = dice.pick(0, 60, 300)
    return found


def usual_tolerations(scene: Scene) -> None:
    """Where nodes are not ready, the pod tolerates that for a while, as admission has it."""
    taints = [taint for node in scene.nodes for taint in node.get("spec", {}).get("taints", [])]
    if any(taint["key"] in CONDITIONS for taint in taints) or scene.dice.chance(0.1):
        scene.spec.setdefault("tolerations", []).extend(
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for key in CONDITIONS
        )
