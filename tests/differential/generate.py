"""Cases of a family: the base cluster, what the family is about, and now and then something else."""

import json
from collections.abc import Callable
from typing import Any

from tests.differential import cluster
from tests.differential.dice import Dice
from tests.differential.features import (
    config,
    demo,
    dra,
    gates,
    images,
    interpod,
    nodeaffinity,
    nominated,
    ports,
    preemption,
    resources,
    spread,
    taints,
    volumes,
)
from tests.differential.finish import finish
from tests.differential.notation import vary
from tests.differential.pressure import press
from tests.differential.scene import Case, Scene

Feature = Callable[[Scene], Any]

FEATURES: dict[str, Feature] = {
    "resources": resources.add,
    "taints": taints.add,
    "nodeaffinity": nodeaffinity.add,
    "interpod": interpod.add,
    "spread": spread.add,
    "ports": ports.add,
    "volumes": volumes.add,
    "images": images.add,
    "preemption": preemption.add,
    "nominated": nominated.add,
    "dra": dra.add,
    "gates": gates.add,
    "config": config.add,
    "demo": demo.add,
}
FAMILIES = (*FEATURES, "mixed")

#: What goes well with everything.
_SPICE = ("resources", "taints", "nodeaffinity", "interpod", "spread", "ports", "images", "preemption", "nominated")
_LARGE = ("mixed", "preemption", "spread")
#: How often the nodes are (nearly) full.
_PRESSURE = {"preemption": 0.8, "nominated": 0.7, "resources": 0.5, "images": 0.5}
#: How often the candidate must evict to find room, whatever else it wants; those not named see to it themselves.
_PRESSED = {
    "taints": 0.35,
    "nodeaffinity": 0.35,
    "interpod": 0.25,
    "spread": 0.25,
    "ports": 0.2,
    "volumes": 0.35,
    "images": 0.3,
    "config": 0.35,
    "dra": 0.25,
    "gates": 0.2,
    "mixed": 0.3,
}
#: How often objects are written in other ways than the usual.
_VARIED = 0.25


def generate(family: str, seed: int, index: int) -> Case:
    """The same arguments give the same case, on every machine."""
    dice = Dice(f"{family}/{seed}/{index}")
    scene = Scene(dice)
    cluster.build(scene, most_nodes=15 if family in _LARGE else 9, pressure=_PRESSURE.get(family, 0.3))
    for name in _features(dice, family):
        FEATURES[name](scene)
    if dice.chance(_PRESSED.get(family, 0)):
        press(scene)
    finish(scene)
    if dice.chance(_VARIED):
        vary(scene)
    case = scene.case(f"{family}-{seed}-{index}", family)
    return case._replace(cluster=_plain(case.cluster), pod=_plain(case.pod), config=_plain(case.config))


def _features(dice: Dice, family: str) -> list[str]:
    """Features in the order in which they are applied: those that look at the others come late."""
    if family == "mixed":
        names = set(dice.some([*_SPICE, *_SPICE, "volumes", "dra"], 2, 4))
        names |= {name for name in ("config", "gates") if dice.chance(0.15)}
    else:
        names = {family}
        if family == "config":
            names |= {*dice.some([*_SPICE, "volumes", "dra"], 0, 2), *dice.some(["resources", "volumes", "dra"], 0, 1)}
        elif dice.chance(0.3):
            names |= set(dice.some(_SPICE, 1, 2))
    return [name for name in FEATURES if name in names]


def _plain(value: Any) -> Any:
    """A copy in which nothing is shared, so that whoever shrinks a case may change it."""
    return json.loads(json.dumps(value))
