"""Cases of a family: the base cluster, what the family is about, and now and then something else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.differential import cluster
from tests.differential.dice import Dice
from tests.differential.features import (
    config,
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
    "config": config.add,
    "dra": dra.add,
    "gates": gates.add,
}
#: In the order of the conformance corpus, whose `demo` is no random family.
FAMILIES = (*FEATURES, "mixed")

#: What goes well with everything.
_SPICE = ("resources", "taints", "nodeaffinity", "interpod", "spread", "ports", "images", "preemption", "nominated")
_LARGE = ("mixed", "preemption", "spread")
#: How often the nodes are (nearly) full.
_PRESSURE = {"preemption": 0.8, "nominated": 0.7, "resources": 0.5, "images": 0.5}


def generate(family: str, seed: int, index: int) -> Case:
    """The same arguments give the same case, on every machine."""
    dice = Dice(f"{family}/{seed}/{index}")
    scene = Scene(dice)
    cluster.build(scene, most_nodes=15 if family in _LARGE else 9, pressure=_PRESSURE.get(family, 0.3))
    for name in _features(dice, family):
        FEATURES[name](scene)
    finish(scene)
    case = scene.case(f"{family}-{seed}-{index}", family)
    return case._replace(cluster=_plain(case.cluster), pod=_plain(case.pod), config=_plain(case.config))


def _features(dice: Dice, family: str) -> list[str]:
    """Features in the order in which they are applied: those that look at the others come late."""
    if family == "mixed":
        names = set(dice.some([*_SPICE, "volumes", "dra"], 2, 5))
        names |= {name for name in ("config", "gates") if dice.chance(0.15)}
    else:
        names = {family}
        if family == "config":
            names |= set(dice.some([*_SPICE, "volumes", "dra"], 1, 3))
        elif dice.chance(0.3):
            names |= set(dice.some(_SPICE, 1, 2))
    return [name for name in FEATURES if name in names]


def _plain(value: Any) -> Any:
    """A copy in which nothing is shared, so that whoever shrinks a case may change it."""
    return json.loads(json.dumps(value))
