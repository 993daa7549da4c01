"""A case: files, one of them or its objects mutated, and a command that reads them. The same seed, the same case."""

from __future__ import annotations

from typing import NamedTuple

from tests.differential.dice import Dice
from tests.hostile import mutations, steps
from tests.hostile.inputs import Parts, base
from tests.hostile.layout import Files, choose_form, write

#: How often which file is mutated; "text" is an edit on the command line, "names" the other arguments.
_TARGETS = {
    "manifests": 0.22, "cluster": 0.26, "policy": 0.06, "config": 0.06, "edits": 0.1, "scenario": 0.08,
    "descheduler": 0.08, "kubeconfig": 0.03, "text": 0.11,
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
    command, used = _command(dice, parts, target)
    parts = {part: parts[part] for part in used}
    by_structure = target == "text" or dice.chance(0.75)
    done = []
    if target != "text" and by_structure:
        done = [mutations.structure(dice, parts[target]) for _ in range(dice.pick(1, 1, 1, 2, 4))]
    forms = {part: choose_form(dice, part) for part in parts}
    files = write(parts, forms)
    if not by_structure:
        what, files[target + forms[target]] = mutations.damage(dice, files[target + forms[target]])
        done = [what]
    command = [
        word.format(**{part: part + form for part, form in forms.items()}) if word.startswith(("{", "2*{")) else word
        for word in command
    ]
    return Case(command, files, f"{target}: {', '.join(done)}", parts if by_structure else None, forms)


def _command(dice: Dice, parts: Parts, target: str) -> tuple[list[str], list[str]]:
    """The words of a command, files in braces, and the parts that it reads."""
    cluster = "cluster"
    command: list[str]
    if target == "kubeconfig":
        return [dice.pick("queue", "preempt"), "--kubeconfig", "{kubeconfig}"], ["kubeconfig"]
    if target == "descheduler" or (target == "cluster" and dice.chance(0.12)):
        if target == "cluster" or dice.chance(0.7):
            parts["cluster"] = parts["descheduled"]
        command = ["deschedule", "--policy", "{descheduler}", "--rounds", dice.pick("1", "2")]
        used = ["descheduler"]
    elif target == "policy":
        command, used = ["gate", "{manifests}", "--policy", "{policy}"], ["manifests", "policy"]
    elif target == "cluster" and dice.chance(0.15):
        command, used = dice.pick(["snapshot", "info", "{cluster}"], ["snapshot", "save", "s.json", "--anonymize", "--from", "{cluster}"]), []  # fmt: skip
        return command, [cluster]
    else:
        command, used = _question(dice, parts, target)
    command += ["--from", "{cluster}"]
    if target == "config" or dice.chance(0.15):
        command, used = [*command, "--scheduler-config", "{config}"], [*used, "config"]
    if target == "edits" or dice.chance(0.08):
        command, used = [*command, "--edits", "{edits}"], [*used, "edits"]
    if target == "text":
        for _ in range(dice.pick(1, 1, 2)):
            acts = command[0] == "simulate" and dice.chance(0.6)
            edit = steps.text(dice, parts["cluster"], acts=acts)
            option = "--then" if acts else "--if"
            command += [f"{option}={steps.scribble(dice, edit) if dice.chance(0.5) else edit}"]
    if dice.chance(0.3) and any(word == "--edits" or word.startswith("--if") for word in command):
        command.append("--compare")
    output = dice.pick("table", "wide", "json", "yaml", "markdown" if command[0] == "gate" else "json")
    explain = ["--explain"] if output == "table" and command[0] in _EXPLAIN and dice.chance(0.5) else []
    return [*command, "-o", output, *explain], [*used, cluster]


_EXPLAIN = ("preempt", "queue", "simulate", "drain", "outage")


def _question(dice: Dice, parts: Parts, target: str) -> tuple[list[str], list[str]]:
    verbs = {
        "schedule": 2,
        "preempt": 2,
        "gate": 2,
        "simulate": 3,
        "queue": 2,
        "drain": 2,
        "outage": 1,
        "capacity": 1.5,
        "advise": 1,
    }
    verb = dice.weighted(verbs) if target != "scenario" else "simulate"
    if target == "manifests" and verb not in ("schedule", "preempt", "gate", "capacity", "advise"):
        verb = "simulate"
    if verb == "capacity":
        return _capacity(dice, parts, target)
    if verb == "queue" or (verb == "preempt" and target == "cluster" and dice.chance(0.4)):
        return [verb], []
    if verb in ("drain", "outage"):
        nodes = [obj["metadata"]["name"] for obj in parts["cluster"] if obj["kind"] == "Node"]
        flags = dice.pick([], ["--deleted"]) if verb == "outage" else dice.some(_DRAIN)
        return [verb, *dice.pick(dice.some(nodes, 1, 2) or ["*"], ["*"]), *flags], []
    if verb == "simulate" and (target == "scenario" or dice.chance(0.2)):
        return ["simulate", *dice.pick([], ["{manifests}"]), "--scenario", "{scenario}"], ["manifests", "scenario"]
    return [verb, "{manifests}"], ["manifests"]


def _capacity(dice: Dice, parts: Parts, target: str) -> tuple[list[str], list[str]]:
    """How many more fit: of the manifests, of a workload by name, or of the cluster's own kinds."""
    nodes = [obj["metadata"]["name"] for obj in parts["cluster"] if obj["kind"] == "Node"]
    wanted = ["--target", dice.pick("1", "7", "30")]
    added = [*wanted, "--add-nodes-like", dice.one(nodes)] if nodes else wanted
    how = dice.pick([], ["--max", "20"], ["--with-preemption", "--max", "20"], wanted, added)
    deployments = [obj["metadata"] for obj in parts["cluster"] if obj["kind"] == "Deployment"]
    if deployments and target != "manifests" and dice.chance(0.3):
        meta = dice.one(deployments)
        return ["capacity", "like", f"deploy/{meta.get('namespace', 'default')}/{meta['name']}", *how], []
    if target != "manifests" and dice.chance(0.2):
        return ["capacity", "--max", "20"], []
    return ["capacity", dice.pick("{manifests}", "{manifests}", "2*{manifests}"), *how], ["manifests"]


_DRAIN = (
    "--ignore-daemonsets",
    "--force",
    "--delete-emptydir-data",
    "--disable-eviction",
    "--timeout=90s",
    "--grace-period=0",
)
