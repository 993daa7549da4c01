"""A case: files, one of them or its objects mutated, and a command that reads them. The same seed, the same case."""

from typing import NamedTuple

from tests.differential.dice import Dice
from tests.hostile import mutations
from tests.hostile.commands import choose
from tests.hostile.inputs import Parts, base
from tests.hostile.layout import Files, choose_form, write

#: How often which file is mutated; "text" is an edit on the command line, "names" the other arguments.
_TARGETS = {
    "manifests": 0.22, "cluster": 0.26, "policy": 0.06, "config": 0.06, "edits": 0.1, "scenario": 0.08,
    "descheduler": 0.08, "kubeconfig": 0.03, "text": 0.11, "groups": 0.05, "types": 0.05,
}  # fmt: skip


class Case(NamedTuple):
    """A command about files, and what was done to them."""

    command: list[str]
    files: Files
    done: str
    #: The objects behind the files, after the mutation; None where bytes were changed.
    parts: Parts | None
    #: Part -> the end of its file's name, which says how its objects are written.
    forms: dict[str, str]


def make(seed: int, index: int) -> Case:
    """The case of this number."""
    dice = Dice(f"hostile/{seed}/{index}")
    parts = base(dice)
    target = dice.weighted(_TARGETS)
    command, used = choose(dice, parts, target)
    parts = mutations.copied({part: parts[part] for part in used})
    by_structure = target == "text" or dice.chance(0.75)
    done = []
    if target != "text" and by_structure:
        done = [mutations.structure(dice, parts[target]) for _ in range(dice.pick(1, 1, 1, 2, 4))]
    forms = {part: choose_form(dice, part, trees=True) for part in parts}
    files = write(parts, forms)
    if not by_structure:
        what, files[target + forms[target]] = mutations.damage(dice, files[target + forms[target]])
        done = [what]
    command = [
        word.format(**{part: part + form for part, form in forms.items()}) if word.startswith(("{", "2*{")) else word
        for word in command
    ]
    return Case(command, files, f"{target}: {', '.join(done)}", parts if by_structure else None, forms)
