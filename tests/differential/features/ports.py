"""Host ports: protocols, addresses, the host's network, sidecars."""

from tests.differential.dice import Dice
from tests.differential.scene import Object, Scene

NUMBERS = (80, 443, 8080, 9100)
ADDRESSES = ("", "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::", "::1")


def add(scene: Scene) -> None:
    """Give running pods and the candidate host ports."""
    dice = scene.dice
    numbers = dice.some(NUMBERS, 1, 3)
    for pod in [*scene.some_pods(dice.pick(0.3, 0.7)), scene.pod]:
        open_ports(dice, pod, numbers)
    scene.note("host ports")


def open_ports(dice: Dice, pod: Object, numbers: list[int]) -> None:
    """Ports in one or two containers, perhaps in a sidecar or a plain init container."""
    spec = pod["spec"]
    if dice.chance(0.2):
        spec["hostNetwork"] = True
    if dice.chance(0.25):
        init: Object = {"name": f"init-port-{len(spec.get('initContainers', []))}", "image": "busybox:1"}
        init |= dice.sometimes({"restartPolicy": "Always"}, 0.7)
        spec.setdefault("initContainers", []).append(init)
    containers = [spec["containers"][0], *spec.get("initContainers", [])[-1:]]
    every = [*spec["containers"], *spec.get("initContainers", [])]
    taken = {_key(entry) for container in every for entry in container.get("ports", [])}
    for container in dice.some(containers, 1):
        for _ in range(dice.randint(1, 2)):
            entry = port(dice, numbers, host_network=spec.get("hostNetwork", False))
            if _key(entry) not in taken:
                taken.add(_key(entry))
                container.setdefault("ports", []).append(entry)


def _key(port: Object) -> tuple[int, str]:
    return port["containerPort"], port.get("protocol", "TCP")


def port(dice: Dice, numbers: list[int], *, host_network: bool) -> Object:
    """One port; in the host's network both numbers are the same or one is left out."""
    number = dice.one(numbers)
    entry: Object = {"containerPort": number}
    if dice.chance(0.85) or (host_network and dice.chance(0.5)):
        entry["hostPort"] = number
    if protocol := dice.pick("", "", "TCP", "UDP", "SCTP"):
        entry["protocol"] = protocol
    if address := dice.one(ADDRESSES):
        entry["hostIP"] = address
    return entry
