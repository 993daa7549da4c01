"""`python -m tests.differential.advice`: does kube-scheduler's own framework take kwhatif's advice?

Every advice for a random case is applied by editing the case's files. The framework must then place the pod; without any
one part, or with a request that is one unit larger, it must not. Where kwhatif has no advice, every single change of its
kinds is tried: none may help.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import kwhatif
from kwhatif.errors import InputError
from tests import ROOT
from tests.advising import patched
from tests.differential import files, oracle
from tests.differential.generate import FAMILIES, generate
from tests.differential.judge import outcome
from tests.differential.scene import HOSTNAME, Case, Object

SAVED = ROOT / "build" / "advice"
Changes = Sequence[Mapping[str, Any]]


def main(arguments: Sequence[str] | None = None) -> int:
    """0: all advice holds; 1: some does not; 2: the oracle is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.advice", description=__doc__)
    parser.add_argument("--cases", type=int, default=50, help="cases per family")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed gives the same cases")
    parser.add_argument("--families", help=f"some of: {','.join(FAMILIES)}")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    try:
        with oracle.Oracle() as asked, tempfile.TemporaryDirectory() as folder:
            for family in options.families.split(",") if options.families else FAMILIES:
                for index in range(options.cases):
                    case = generate(family, options.seed, index)
                    counts.update(Checker(by_oracle(asked), Path(folder)).check(case))
                    if sum(counts.values()) and index % 50 == 49:
                        print(f"{family} {index + 1}: {dict(counts)}", flush=True)
    except oracle.OracleMissing as missing:
        print(missing, file=sys.stderr)
        return 2
    print(f"seed {options.seed}: {dict(counts)}")
    return 1 if counts["wrong"] else 0


#: From folders with cases to what becomes of their pods: `fits`, `evicts`, `nowhere` …
Outcomes = Callable[[Sequence[Path]], list[str]]


def by_oracle(asked: oracle.Oracle) -> Outcomes:
    """What the framework says."""
    return lambda folders: [outcome(expected) for expected in asked.ask(folders)]


class Checker:
    """Checks the advice for one case."""

    def __init__(self, outcomes: Outcomes, folder: Path) -> None:
        self._ask = outcomes
        self._folder = folder

    def check(self, case: Case) -> Iterator[str]:
        """What to count."""
        yield "cases"
        row = _advised(files.write(case, self._folder / case.name))
        if row is None or row["outcome"] not in ("Unschedulable", "Preempts"):
            return
        yield "failing"
        if self._outcomes([case]) != [{"Unschedulable": "nowhere", "Preempts": "evicts"}[row["outcome"]]]:
            yield "other decision"  # `make fuzz` is about that
            return
        if not row["advice"]:
            yield "without advice"
            if row["outcome"] == "Unschedulable":
                yield from self._exhaust(case)
            return
        for advice in row["advice"]:
            yield "advice"
            yield from self._verify(case, advice)

    def _verify(self, case: Case, advice: Mapping[str, Any]) -> Iterator[str]:
        made = edited(case, advice["changes"])
        if made is None:
            yield "not edited"
            return
        wanted = ("fits",) if advice["outcome"] == "Placed" else ("fits", "evicts")
        variants: list[tuple[str, Case | None, bool]] = [("holds", made, True)]
        for place, change in enumerate(advice["changes"]):
            fewer = [*advice["changes"][:place], *advice["changes"][place + 1 :]]
            variants.append((f"without {change['kind']}", edited(case, fewer) if fewer else None, False))
            larger = _a_little_more(change)
            if larger is not None:
                more = [*advice["changes"][:place], larger, *advice["changes"][place + 1 :]]
                variants.append((f"less of {change['kind']}", edited(case, more), False))
        asked = [(what, each, holds) for what, each, holds in variants if each is not None]
        for (what, each, holds), found in zip(asked, self._outcomes([each for _, each, _ in asked]), strict=True):
            yield "asked"
            if found == "fails" and holds:
                yield "fails"  # in scoring, which a lone node is spared; `make fuzz` is about that
            elif (found in wanted) != holds:
                yield "wrong"
                _tell(each, f"{what}: {found}", advice)

    def _exhaust(self, case: Case) -> Iterator[str]:
        """All single changes: none may help where there is no advice."""
        tried = [(what, made) for what, changes in singles(case) if (made := edited(case, changes)) is not None]
        for (what, made), found in zip(tried, self._outcomes([made for _, made in tried]), strict=True):
            yield "singles"
            if found == "fits":
                yield "wrong"
                _tell(made, f"no advice, but this helps: {what}", {})

    def _outcomes(self, cases: Sequence[Case]) -> list[str]:
        folders = [files.write(case, self._folder / f"{case.name}-{number}") for number, case in enumerate(cases)]
        return self._ask(folders)


def _advised(folder: Path) -> Mapping[str, Any] | None:
    config = folder / "config.yaml"
    try:
        session = kwhatif.load(folder / "cluster.yaml", scheduler_config=config if config.exists() else None)
        report = kwhatif.advise(session, folder / "pod.yaml", validation="ignore", most=10).to_dict()
    except InputError:
        return None
    rows: list[Mapping[str, Any]] = report["advise"]["workloads"]
    return rows[0] if rows else None


def _tell(case: Case, what: str, advice: Mapping[str, Any]) -> None:
    target = SAVED / f"{case.name}-{abs(hash(what)) % 1000}"
    files.write_pretty(case, target, what, dict(advice))
    print(f"WRONG {case.name}: {what}\n  {json.dumps(advice.get('changes', []))[:700]}\n  {target.relative_to(ROOT)}")


_AMOUNT = re.compile(r"(\d+)(m|Ki|Mi|Gi|)")
_UNITS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def _a_little_more(change: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The same request, one unit larger: one milli-cpu, one byte, one device."""
    if (
        change["kind"] != "request-less"
        or len(change["patch"]) != 1
        or not isinstance(change["patch"][0]["value"], str)
    ):
        return None
    match = _AMOUNT.fullmatch(change["patch"][0]["value"])
    if match is None:
        return None
    number = int(match[1])
    value = f"{number * (1 if match[2] == 'm' else 1000) + 1}m"
    if change["about"] != "cpu":
        value = str(number * _UNITS[match[2]] + 1)
    return {**change, "patch": [{**change["patch"][0], "value": value}]}


# --- changes, made in the files ----------------------------------------------------------------------------------


def edited(case: Case, changes: Changes) -> Case | None:
    """The case with these changes; None where one of them is not for files."""
    pod: Object = deepcopy(case.pod)
    cluster = deepcopy(case.cluster)
    for change in changes:
        try:
            pod = patched(pod, change["patch"])
        except (KeyError, IndexError):
            return None  # it stands on another one, which is left out
        for edit in change["edits"]:
            if not _made(edit, cluster):
                return None
    return case._replace(cluster=cluster, pod=pod, form="documents")


def _made(edit: str | Mapping[str, Any], cluster: list[Object]) -> bool:
    if not isinstance(edit, str):
        cluster.extend(edit.get("apply", ()))
        return "apply" in edit
    verb, *words = edit.split()
    nodes = {obj["metadata"]["name"]: obj for obj in cluster if obj["kind"] == "Node"}
    match verb:
        case "uncordon":
            _uncordon(nodes[words[0]])
        case "taint":
            key, _, effect = words[1].removesuffix("-").partition(":")
            spec = nodes[words[0]]["spec"] = nodes[words[0]].get("spec") or {}
            spec["taints"] = [
                each for each in spec.get("taints") or () if (each["key"], each["effect"]) != (key, effect)
            ]
        case "label":
            meta = nodes[words[0].removeprefix("node/")]["metadata"]
            meta["labels"] = {**(meta.get("labels") or {}), **dict(word.split("=", 1) for word in words[1:])}
        case "delete":
            gone = {word.removeprefix("pod/") for word in words}
            cluster[:] = [obj for obj in cluster if obj["kind"] != "Pod" or _key(obj) not in gone]
        case "add":
            _add(int(words[0]), words[3], cluster)
        case _:
            return False
    return True


def _key(obj: Object) -> str:
    return f"{obj['metadata'].get('namespace', 'default')}/{obj['metadata']['name']}"


def _uncordon(node: Object) -> None:
    spec = node["spec"] = node.get("spec") or {}
    spec.pop("unschedulable", None)
    spec["taints"] = [each for each in spec.get("taints") or () if each["key"] != "node.kubernetes.io/unschedulable"]


def _add(count: int, like: str, cluster: list[Object]) -> None:
    """Nodes like one, and their CSINodes: without what only its state has brought about."""
    for number in range(count):
        for model in [obj for obj in cluster if obj["kind"] in ("Node", "CSINode") and obj["metadata"]["name"] == like]:
            new = deepcopy(model)
            new["metadata"]["name"] = f"{like}-new-{number + 1}"
            new["metadata"].pop("uid", None)
            if new["kind"] == "Node":
                new["metadata"]["labels"] = {**(new["metadata"].get("labels") or {}), HOSTNAME: new["metadata"]["name"]}
                _uncordon(new)
                taints = new["spec"]["taints"]
                new["spec"]["taints"] = [each for each in taints if not each["key"].startswith("node.kubernetes.io/")]
                new.get("status", {}).pop("images", None)
            cluster.append(new)


def singles(case: Case) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Every single change of the kinds that advice has, as far as they can be listed."""
    nodes = [obj for obj in case.cluster if obj["kind"] == "Node"]
    for node in nodes:
        name = node["metadata"]["name"]
        yield f"uncordon {name}", [_edit(f"uncordon {name}")]
        yield f"add {name}", [_edit(f"add 1 nodes like {name}")]
        for taint in (node.get("spec") or {}).get("taints") or ():
            text = f"taint {name} {taint['key']}:{taint['effect']}-"
            yield text, [_edit(text)]
            if taint["effect"] != "PreferNoSchedule" and not taint["key"].startswith("node.kubernetes.io/"):
                yield (
                    f"tolerate {taint}",
                    [_patch(case, "tolerations", [*_list(case, "tolerations"), _tolerating(taint)])],
                )
    for pod in (obj for obj in case.cluster if obj["kind"] == "Pod"):
        owners = pod["metadata"].get("ownerReferences") or ()
        if not any(owner.get("kind") in ("DaemonSet", "Node") for owner in owners):
            yield f"delete {_key(pod)}", [_edit(f"delete pod/{_key(pod)}")]
    for field in ("nodeSelector", "affinity", "topologySpreadConstraints", "nodeName", "schedulingGates"):
        value = case.pod["spec"].get(field)
        if value and (isinstance(value, str) or len(value) == 1):  # else that is several changes
            yield f"drop {field}", [_edit_patch({"op": "remove", "path": f"/spec/{field}"})]


def _list(case: Case, field: str) -> list[Any]:
    return list(case.pod["spec"].get(field) or ())


def _tolerating(taint: Mapping[str, Any]) -> dict[str, Any]:
    return {"key": taint["key"], "operator": "Exists", "effect": taint["effect"]}


def _edit(text: str) -> Mapping[str, Any]:
    return {"kind": "single", "patch": [], "edits": [text]}


def _edit_patch(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"kind": "single", "patch": [operation], "edits": []}


def _patch(case: Case, field: str, value: object) -> Mapping[str, Any]:
    op = "replace" if field in case.pod["spec"] else "add"
    return _edit_patch({"op": op, "path": f"/spec/{field}", "value": value})


if __name__ == "__main__":
    sys.exit(main())
