"""Label selectors, and labels for them to find."""

from tests.differential.cluster import APPS
from tests.differential.dice import Dice
from tests.differential.scene import Object, Scene, labels_of

VERSIONS = ("v1", "v2", "v3")


def label_pods(scene: Scene) -> None:
    """More labels on pods, so that selectors have something to tell apart; some pods have none."""
    dice = scene.dice
    mine = scene.pod["metadata"].get("labels", {}).get("app", APPS[0])
    for pod in scene.pods:
        if dice.chance(0.06):
            pod["metadata"].pop("labels", None)
            continue
        labels = labels_of(pod)
        if dice.chance(0.45):
            labels["app"] = mine
        labels |= dice.sometimes({"version": dice.one(VERSIONS)})
    if "labels" in scene.pod["metadata"]:
        scene.pod["metadata"]["labels"] |= dice.sometimes({"version": dice.one(VERSIONS)}, 0.7)


def selector(dice: Dice, labels: dict[str, str]) -> Object | None:
    """Any form of selector; it mostly finds pods like the one with these labels. None is one that is not set."""
    app = labels.get("app", "web")
    form = dice.weighted({"labels": 6, "in": 3, "negative": 2, "several": 2, "empty": 1, "none": 0.4})
    if form == "labels":
        return {"matchLabels": {"app": app}}
    if form == "in":
        return {"matchExpressions": [{"key": "app", "operator": "In", "values": [app, *dice.some(APPS, 0, 2)]}]}
    if form == "negative":
        return {"matchExpressions": [negative(dice)]}
    if form == "several":
        return {
            "matchLabels": {"app": dice.pick(app, app, dice.one(APPS))},
            "matchExpressions": [dice.pick(negative(dice), {"key": "tier", "operator": "Exists"})],
        }
    return {} if form == "empty" else None


def negative(dice: Dice) -> Object:
    """A requirement that pods without the label meet."""
    if dice.chance(0.4):
        return {"key": dice.pick("tier", "version", "none"), "operator": "DoesNotExist"}
    key, values = dice.pick(("app", APPS), ("version", VERSIONS), ("tier", ("front", "back")))
    return {"key": key, "operator": "NotIn", "values": dice.some(values, 1, 2)}


def namespace_selector(dice: Dice) -> Object:
    """A selector of namespaces; one that only excludes matches more than one would think."""
    return dice.pick(
        {},
        {"matchLabels": {"team": dice.pick("red", "blue")}},
        {"matchLabels": {"kubernetes.io/metadata.name": dice.pick("shop", "data", "default")}},
        {"matchExpressions": [{"key": "open", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "open", "operator": "DoesNotExist"}]},
        {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]},
        {
            "matchLabels": {"env": "test"},
            "matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}],
        },
    )
