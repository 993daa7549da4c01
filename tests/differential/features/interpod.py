"""Inter-pod affinity and anti-affinity, required and preferred, the pod's own and that of running pods."""

from tests.differential.dice import Dice
from tests.differential.scene import HOSTNAME, REGION, ZONE, Object, Scene, namespace_of
from tests.differential.selectors import label_pods, namespace_selector, selector

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def add(scene: Scene) -> None:
    """Terms for the candidate, for running pods, or for both."""
    dice = scene.dice
    label_pods(scene)
    who = dice.pick("mine", "theirs", "both", "both")
    if who != "theirs":
        relate(scene, scene.pod, dice.pick(1, 1, 2, 3))
        if dice.chance(0.15):
            _like_itself(scene)
    if who != "mine":
        for pod in scene.some_pods(dice.pick(0.15, 0.4)):
            relate(scene, pod, dice.pick(1, 1, 2))
    scene.note(f"pod affinity ({who})")


def relate(scene: Scene, pod: Object, count: int) -> None:
    """Give the pod so many terms."""
    dice = scene.dice
    affinity = pod["spec"].setdefault("affinity", {})
    for _ in range(count):
        side = affinity.setdefault(dice.pick("podAffinity", "podAntiAffinity", "podAntiAffinity"), {})
        found = term(scene, pod)
        if dice.chance(0.5):
            side.setdefault(REQUIRED, []).append(found)
        else:
            weight = dice.pick(1, 7, 50, 100)
            side.setdefault(PREFERRED, []).append({"weight": weight, "podAffinityTerm": found})


def term(scene: Scene, pod: Object) -> Object:
    """One term about pods like the candidate, seen from `pod`."""
    dice = scene.dice
    found: Object = {"topologyKey": dice.weighted({HOSTNAME: 5, ZONE: 5, REGION: 1, "pool": 1, "rack": 0.5})}
    labels = (scene.pod if dice.chance(0.7) else pod)["metadata"].get("labels", {})
    chosen = selector(dice, labels)
    if chosen is not None:
        found["labelSelector"] = chosen
        _add_keys(dice, found, pod["metadata"].get("labels", {}))
    if dice.chance(0.25):
        found["namespaces"] = dice.some([*scene.namespaces, namespace_of(scene.pod), "nowhere"], 1, 2)
    if dice.chance(0.3):
        found["namespaceSelector"] = namespace_selector(dice)
    return found


def _add_keys(dice: Dice, found: Object, labels: dict[str, str]) -> None:
    """Keys whose value is the pod's own; `finish` merges them."""
    if not dice.chance(0.15) or not labels:
        return
    key = dice.one(sorted(labels))
    if f'"{key}"' in str(found["labelSelector"]).replace("'", '"'):
        return  # a key may not be in both
    found[dice.pick("matchLabelKeys", "mismatchLabelKeys")] = [key]


def _like_itself(scene: Scene) -> None:
    """Affinity to pods like itself, of which there may be none yet."""
    dice = scene.dice
    labels = scene.pod["metadata"].setdefault("labels", {})
    labels["app"] = dice.pick("lonely", labels.get("app", "web"))
    affinity = scene.spec.setdefault("affinity", {})
    affinity["podAffinity"] = {
        REQUIRED: [
            {"topologyKey": key, "labelSelector": {"matchLabels": {"app": labels["app"]}}}
            for key in dice.some([HOSTNAME, ZONE, "rack"], 1, 2)
        ]
    }
    scene.note("self-affinity")
