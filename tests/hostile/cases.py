"""A case: files, one of them or its objects mutated, and a command that reads them. The same seed, the same case."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.differential.dice import Dice
from tests.hostile import mutations
from tests.hostile.inputs import base
from tests.hostile.layout import Files, write


class Case(NamedTuple):
    """A command about files, and what was done to them."""

    command: list[str]
    files: Files
    done: str
    #: The objects behind the files, after the mutation; None where bytes were changed.
    parts: dict[str, list[Any]] | None


def make(seed: int, index: int) -> Case:
    """The case of this number."""
    dice = Dice(f"hostile/{seed}/{index}")
    parts = base(dice).parts()
    target = dice.weighted({"manifests": 0.45, "cluster": 0.35, "policy": 0.1, "config": 0.1})
    by_structure = dice.chance(0.75)
    done = []
    if by_structure:
        done = [mutations.structure(dice, parts[target]) for _ in range(dice.pick(1, 1, 1, 2, 4))]
    files = dict(write(dice, part, objects) for part, objects in parts.items())
    names = {name.partition(".")[0]: name for name in files}
    if not by_structure:
        what, files[names[target]] = mutations.damage(dice, files[names[target]])
        done = [what]
    return Case(_command(dice, names, target), files, f"{target}: {', '.join(done)}", parts if by_structure else None)


def _command(dice: Dice, names: dict[str, str], target: str) -> list[str]:
    source = ["--from", names["cluster"]]
    with_config = ["--scheduler-config", names["config"]] if target == "config" or dice.chance(0.2) else []
    if target == "policy":
        return ["gate", names["manifests"], *source, "--policy", names["policy"], "-o", dice.pick("table", "json")]
    if target == "cluster" and dice.chance(0.25):
        return dice.pick(
            ["preempt", *source],
            ["snapshot", "info", names["cluster"]],
            ["snapshot", "save", "s.json", "--anonymize", *source],
        )
    verb = dice.pick("schedule", "preempt", "gate")
    output = dice.pick("table", "wide", "json", "yaml", "markdown" if verb == "gate" else "json")
    extra = ["--explain"] if verb == "preempt" and output == "table" and dice.chance(0.5) else []
    return [verb, names["manifests"], *source, *with_config, "-o", output, *extra]
