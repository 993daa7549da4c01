"""Quantities in the many forms that Kubernetes accepts."""

import re

from tests.differential.dice import Dice
from tests.differential.scene import Object

_MILLI = re.compile(r"(\d+)m")
_MIB = re.compile(r"(\d+)Mi")


def cpu(dice: Dice, milli: int) -> str:
    """An amount of cpu."""
    return dice.pick(
        f"{milli}m",
        f"{milli / 1000:g}" if milli < 1000000 else f"{milli}m",
        f"{milli / 1000:.3f}",
        f"{milli * 1000}u",
        f"{milli * 1000000}n",
        f"{milli}e-3",
        f"{milli / 1000:.3f}e0",
        f"+{milli}m",
        f"{milli * 10}E-4",
        f"{milli}.5m",
        f"{milli / 1000000:.6f}k",
    )


def memory(dice: Dice, mib: int) -> str:
    """An amount of memory; some forms are a little off."""
    number = mib << 20
    return dice.pick(
        f"{mib}Mi",
        f"{number}",
        f"{mib * 1024}Ki",
        f"{mib / 1024:g}Gi" if mib < 1000000 else f"{mib}Mi",
        f"{mib}M",
        f"{number // 1000}k",
        f"{mib / 1000:.3f}G",
        f"{number}000m",
        f"{number}.5",
        f"{mib}e6",
        f"{mib / 100:.2f}E8",
        f"{number}e0",
        f"{mib / 1048576:.7f}Ti",
    )


def rewrite(dice: Dice, resources: Object) -> None:
    """Write plain amounts of a resource list in other forms."""
    for name, text in resources.items():
        if name.startswith("hugepages"):
            continue  # whole pages only
        if milli := _MILLI.fullmatch(text):
            resources[name] = cpu(dice, int(milli[1]))
        elif mib := _MIB.fullmatch(text):
            resources[name] = memory(dice, int(mib[1]))
        elif name == "cpu" and text.isdigit() and dice.chance(0.3):
            resources[name] = cpu(dice, int(text) * 1000)


def milli(text: str | None) -> int:
    """What `sized` wrote for cpu."""
    found = _MILLI.fullmatch(text or "")
    return int(found[1]) if found else 0


def mib(text: str | None) -> int:
    """What `sized` wrote for memory."""
    found = _MIB.fullmatch(text or "")
    return int(found[1]) if found else 0
