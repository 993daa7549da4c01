"""Images that nodes have already, under odd names."""

from tests.differential.scene import Object, Scene, main_container

NAMES = (
    "nginx",
    "nginx:latest",
    "nginx:1.29",
    "docker.io/library/nginx:latest",
    "redis",
    "localhost:5000/app",
    "localhost:5000/app:latest",
    "localhost:5000/app:v2",
    "ghcr.io/acme/worker@sha256:1111111111111111111111111111111111111111111111111111111111111111",
    "ghcr.io/acme/worker:v2",
    "ghcr.io/acme/worker:v2@sha256:1111111111111111111111111111111111111111111111111111111111111111",
    "models/llm:70b",
)
MIB = 1 << 20
SIZES = (1, 10 * MIB, 23 * MIB, 23 * MIB + 1, 90 * MIB, 333 * MIB + 7, 1000 * MIB, 4000 * MIB)


def add(scene: Scene) -> None:
    """Spread images over the nodes; let the candidate use several."""
    dice = scene.dice
    names = dice.some(NAMES, 2, 7)
    for node in scene.some_nodes(dice.pick(0.4, 0.9)):
        node["status"]["images"] = [
            {"names": dice.some(names, 1, 2), "sizeBytes": dice.one(SIZES)} for _ in range(dice.randint(0, 5))
        ]
    spec = scene.spec
    main_container(scene.pod)["image"] = dice.one(names)
    for index in range(dice.pick(0, 0, 1, 2)):
        spec["containers"].append({"name": f"image-{index}", "image": dice.one([*names, "never/seen"])})
    for index in range(dice.pick(0, 0, 1, 2)):
        init: Object = {"name": f"init-image-{index}", "image": dice.one(names)}
        spec.setdefault("initContainers", []).append(init | dice.sometimes({"restartPolicy": "Always"}, 0.3))
    for index in range(dice.pick(0, 0, 0, 1, 2)):
        spec.setdefault("volumes", []).append({"name": f"image-{index}", "image": {"reference": dice.one(names)}})
    scene.note("images")
