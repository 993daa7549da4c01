"""Topology spread: hard and soft, minDomains, node policies, label keys, defaults by Services and controllers."""

from typing import Any

from tests.differential.dice import Dice
from tests.differential.scene import HOSTNAME, REGION, ZONE, Object, Scene, labels_of, namespace_of
from tests.differential.selectors import label_pods, selector

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


def add(scene: Scene) -> None:
    """Constraints of the candidate's own, or the defaults."""
    dice = scene.dice
    label_pods(scene)
    gather(scene)
    if dice.chance(0.75):
        scene.spec["topologySpreadConstraints"] = constraints(scene)
        scene.note("spread")
    if dice.chance(0.4):
        owners(scene)
    for pod in scene.some_pods(0.08):
        pod["metadata"]["deletionTimestamp"] = "2026-03-20T00:00:00Z"
    if dice.chance(0.3):
        _uneven_nodes(scene)


def gather(scene: Scene) -> None:
    """Many pods like the candidate in its namespace, unevenly spread."""
    dice = scene.dice
    favourite = dice.one(scene.node_names()) if scene.nodes else ""
    mine = scene.pod["metadata"].get("labels", {})
    for pod in scene.running():
        if dice.chance(0.85 if pod["spec"]["nodeName"] == favourite else 0.4):
            pod["metadata"]["namespace"] = namespace_of(scene.pod)
            labels_of(pod).update(mine)


def constraints(scene: Scene) -> list[Object]:
    """One to four; key and action are unique together."""
    dice = scene.dice
    found: dict[tuple[str, str], Object] = {}
    action = dice.pick(HARD, HARD, SOFT, None)
    for _ in range(dice.pick(1, 1, 2, 3, 4)):
        made = constraint(dice, scene.pod, action or dice.pick(HARD, SOFT))
        found[made["topologyKey"], made["whenUnsatisfiable"]] = made
    return list(found.values())


def constraint(dice: Dice, pod: Object, action: str) -> Object:
    """One constraint with any of its options."""
    labels = pod["metadata"].get("labels", {})
    found: Object = {
        "maxSkew": dice.pick(1, 1, 1, 2, 3, 5),
        "topologyKey": dice.weighted({HOSTNAME: 5, ZONE: 6, REGION: 1, "pool": 1.5, "rack": 0.3}),
        "whenUnsatisfiable": action,
    }
    chosen = selector(dice, labels)
    if chosen is not None:
        found["labelSelector"] = chosen
        keys = [key for key in ("version", "pod-template-hash") if key not in str(chosen)]
        if dice.chance(0.25) and keys:
            found["matchLabelKeys"] = dice.some(keys, 1)
    if action == HARD and dice.chance(0.35):
        found["minDomains"] = dice.pick(1, 2, 3, 4, 10)
    found |= dice.sometimes({"nodeAffinityPolicy": dice.pick("Honor", "Ignore")}, 0.35)
    found |= dice.sometimes({"nodeTaintsPolicy": dice.pick("Honor", "Honor", "Ignore")}, 0.35)
    return found


def owners(scene: Scene) -> None:
    """Services and a controller from which the default constraints take their selector."""
    dice = scene.dice
    namespace = namespace_of(scene.pod)
    labels = scene.pod["metadata"].get("labels", {})
    for index in range(dice.pick(0, 1, 1, 2)):
        spec = dice.pick({"selector": dict(labels)}, {"selector": {"app": labels.get("app", "web")}}, {"selector": {}})
        if dice.chance(0.1):
            spec = {}
        elsewhere = dice.chance(0.1)
        scene.add("v1", "Service", f"service-{index}", "elsewhere" if elsewhere else namespace, spec=spec)
    if dice.chance(0.6):
        _controller(scene, namespace, labels)
    scene.note("selector from owners")


def _controller(scene: Scene, namespace: str, labels: dict[str, str]) -> None:
    dice = scene.dice
    chosen: Object = selector(dice, labels) or {"matchLabels": {"app": labels.get("app", "web")}}
    kind, version = dice.pick(
        ("ReplicaSet", "apps/v1"),
        ("StatefulSet", "apps/v1"),
        ("ReplicationController", "v1"),
        ("Job", "batch/v1"),
        ("ReplicaSet", "apps/v1beta1"),
    )
    name = dice.pick("owner", "owner", "owner", "missing")
    reference: dict[str, Any] = {"apiVersion": version, "kind": kind, "name": name, "uid": "uid-owner"}
    if dice.chance(0.9):
        reference["controller"] = True
    scene.pod["metadata"]["ownerReferences"] = [reference]
    template = {"metadata": {"labels": dict(labels)}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    plain = kind == "ReplicationController"
    spec: Object = {"selector": chosen.get("matchLabels", {"app": "web"}) if plain else chosen, "template": template}
    if kind == "StatefulSet":
        spec["serviceName"] = "service-0"
    scene.add("apps/v1" if "apps" in version else version, kind, "owner", namespace, uid="uid-owner", spec=spec)


def _uneven_nodes(scene: Scene) -> None:
    """Nodes that count or do not: tainted, cordoned, of another pool."""
    dice = scene.dice
    for node in scene.some_nodes(0.35):
        effect = dice.pick("NoSchedule", "NoExecute", "PreferNoSchedule")
        taints = node.setdefault("spec", {}).setdefault("taints", [])
        if not any(taint["key"] == "dedicated" for taint in taints):
            taints.append({"key": "dedicated", "value": "db", "effect": effect})
    if dice.chance(0.3):
        scene.spec.setdefault("tolerations", []).append({"key": "dedicated", "operator": "Exists"})
    if dice.chance(0.4):
        scene.spec["nodeSelector"] = {"pool": dice.pick("web", "batch")}
