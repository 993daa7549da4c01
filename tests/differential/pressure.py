"""Full nodes, and an important pod that finds no room: it must evict."""

from tests.differential.cluster import cpu_of
from tests.differential.scene import Scene, main_container, requests_of


def press(scene: Scene) -> None:
    """Let the candidate ask for more than is free anywhere, yet less than a whole node."""
    dice = scene.dice
    if not scene.nodes:
        return
    size = cpu_of(scene, dice.one(scene.nodes))
    requests_of(main_container(scene.pod))["cpu"] = f"{dice.pick(size // 4, size // 3, size // 2, size * 2 // 3)}m"
    scene.spec.pop("priorityClassName", None)
    scene.spec["priority"] = dice.pick(100, 1000, 1000, 10000, 100000)
    for node in scene.nodes:
        pods = [pod for pod in scene.running() if pod["spec"]["nodeName"] == node["metadata"]["name"]]
        if pods and dice.chance(0.85):
            share = cpu_of(scene, node) // len(pods)
            for pod in pods:
                requests_of(main_container(pod))["cpu"] = f"{share}m"
