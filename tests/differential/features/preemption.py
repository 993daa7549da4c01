"""Whom to evict: budgets, equal priorities, terminating victims, missing start times, policies."""

from typing import Any

from tests.differential.pressure import press
from tests.differential.scene import Object, Scene, namespace_of
from tests.differential.selectors import label_pods, selector

BY_SCHEDULER = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def add(scene: Scene) -> None:
    """Mostly a pod that must evict, and what makes that intricate."""
    dice = scene.dice
    label_pods(scene)
    if dice.chance(0.7):
        press(scene)
    if dice.chance(0.75):
        budgets(scene)
    if dice.chance(0.5):
        _priorities(scene)
    if dice.chance(0.35):
        leaving(scene)
    if dice.chance(0.3):
        _start_times(scene)
    if dice.chance(0.12):
        scene.spec["preemptionPolicy"] = dice.pick("Never", "PreemptLowerPriority")
        scene.spec["priority"] = dice.pick(1000, 10000)
        scene.spec.pop("priorityClassName", None)
    if dice.chance(0.1):
        _patient_class(scene)
    if dice.chance(0.08):
        _critical(scene)
    scene.note("preemption")


def budgets(scene: Scene) -> None:
    """Disruption budgets with and without room; several may hold one pod."""
    dice = scene.dice
    first = sum(obj["kind"] == "PodDisruptionBudget" for obj in scene.objects)
    for index in range(first, first + dice.pick(1, 1, 2, 3, 4)):
        of = dice.one(scene.running() or [scene.pod])
        spec: Object = {dice.pick("minAvailable", "maxUnavailable"): dice.pick(0, 1, 2, "50%")}
        chosen = selector(dice, of["metadata"].get("labels", {}))
        if chosen is not None:
            spec["selector"] = chosen
        status: dict[str, Any] = {
            "disruptionsAllowed": dice.pick(0, 0, 1, 1, 2, 3),
            "currentHealthy": 3,
            "desiredHealthy": 2,
            "expectedPods": 4,
        }
        if dice.chance(0.2):
            moment = "2026-03-19T00:00:00Z"
            status["disruptedPods"] = {of["metadata"]["name"]: moment}
        namespace = dice.pick(namespace_of(of), namespace_of(of), dice.one(scene.namespaces))
        scene.add("policy/v1", "PodDisruptionBudget", f"budget-{index}", namespace, spec=spec, status=status)
    scene.note("budgets")


def _priorities(scene: Scene) -> None:
    """Few different priorities, so that many things are equal."""
    dice = scene.dice
    values = dice.pick((0,), (0, 100), (-100, 0, 100), (0, 0, 100000), (-2147483648, 0), (999, 1000))
    for pod in scene.running():
        pod["spec"].pop("priorityClassName", None)
        pod["spec"]["priority"] = dice.one(values)


def leaving(scene: Scene) -> None:
    """Terminating pods, some of them victims of an earlier preemption by a pod that waits for its node."""
    dice = scene.dice
    for pod in scene.some_pods(dice.pick(0.1, 0.3)):
        pod["metadata"]["deletionTimestamp"] = "2026-03-20T00:00:00Z"
        if dice.chance(0.5):
            condition = dict(BY_SCHEDULER)
            if dice.chance(0.2):
                condition |= dice.pick({"status": "False"}, {"reason": "EvictionByEvictionAPI"})
            pod["status"].setdefault("conditions", []).append(condition)
    if dice.chance(0.6):
        scene.pod["status"] = {"nominatedNodeName": dice.one([*scene.node_names(), *scene.node_names(), "gone"])}
    scene.note("terminating pods")


def _start_times(scene: Scene) -> None:
    """A pod per node without start time; equal times on different nodes."""
    dice = scene.dice
    by_node: dict[str, list[Object]] = {}
    for pod in scene.running():
        by_node.setdefault(pod["spec"]["nodeName"], []).append(pod)
    for pods in by_node.values():
        for index, pod in enumerate(pods):
            pod["status"]["startTime"] = f"2026-03-01T{index:02}:00:00Z"
        if dice.chance(0.3):
            del dice.one(pods)["status"]["startTime"]
    scene.note("start times")


def _patient_class(scene: Scene) -> None:
    scene.add("scheduling.k8s.io/v1", "PriorityClass", "patient", value=50000, preemptionPolicy="Never")
    scene.spec["priorityClassName"] = "patient"
    scene.spec.pop("priority", None)
    scene.spec.pop("preemptionPolicy", None)
    if scene.dice.chance(0.5):
        scene.spec["priority"] = 50000
    scene.note("policy Never by class")


def _critical(scene: Scene) -> None:
    """The system's own classes exist without being in the dump."""
    dice = scene.dice
    for pod in [*scene.some_pods(0.3), *([scene.pod] if dice.chance(0.5) else [])]:
        pod["spec"].pop("priority", None)
        pod["spec"]["priorityClassName"] = dice.pick("system-cluster-critical", "system-node-critical")
    scene.note("critical pods")
