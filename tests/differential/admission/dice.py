"""What cases are made of: a seeded choice, and values that are worth choosing from."""

import random
from typing import Any

Json = dict[str, Any]

CPU = ("100m", "250m", "0.5", "1", "1500m", "2", "4", "2e0", "0")
#: Not 1.5Gi: the API server's quantities share parts of such, so that a sum may change what it was made of.
MEMORY = ("64Mi", "128M", "256Mi", "1Gi", "1G", "2147483648", "100Ki", "1e9")
STORAGE = ("1Gi", "500M", "10Gi", "1.5Gi", "3G")
KEYS = ("app", "team", "tier", "example.com/ring", "pod-template-hash")
VALUES = ("web", "db", "a", "b", "")
TOPOLOGIES = ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/rack", "x/a", "x/b", "x/c")
EXTENDED = "example.com/gpu"
TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "dedicated", "")


class Dice:
    """Everything follows from the seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def maybe(self, chance: float) -> bool:
        return self.dice.random() < chance

    def some(self, items: Any, most: int = 3) -> list[Any]:
        return self.dice.sample(list(items), self.dice.randint(0, min(most, len(items))))
