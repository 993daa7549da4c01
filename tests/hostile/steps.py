"""Edits of a cluster, as texts and as maps, and the files that hold them: lists of edits, scenarios."""

from typing import Any

from tests.differential.dice import Dice

Object = dict[str, Any]

_VERBS = ("cordon", "uncordon", "taint", "label", "add", "delete", "set", "patch", "priority")
_WORKLOAD_VERBS = ("scale", "budget")
_ACTS = ("drain", "fail", "recover", "evict", "wait")


def _verbs(workload: str) -> tuple[str, ...]:
    return (*_VERBS, *(_WORKLOAD_VERBS if workload else ()))


def text(dice: Dice, cluster: list[Object], *, acts: bool) -> str:
    """An edit as in `--if`, or, with `acts`, as in `--then`."""
    node, workload, pod = _names(dice, cluster)
    verb = dice.pick(*_verbs(workload), *(_ACTS if acts else ()))
    return {
        "taint": f"taint {node} {dice.pick('a=b:NoSchedule', 'a:NoExecute', 'a-', 'a=b:PreferNoSchedule')}",
        "label": f"label node/{node} {dice.pick('zone=b', 'zone-', 'x/y=')}",
        "add": f"add {dice.pick(1, 2, 30, 100_001, 10**12)} nodes like {node} {dice.pick('', 'zone=c')}",
        "delete": f"delete {dice.pick(f'node/{node}', pod, workload or pod, 'pod/*')}",
        "scale": f"scale {workload}={dice.pick(0, 1, 5, 40, 10**6, 2**31 - 1, -1)}",
        "set": f"set {dice.pick(f'node/{node} status.allocatable.cpu', f'{workload or pod} spec.replicas', f'{pod} spec.priority')}"
        f"={dice.pick('3', 'null', '-1', 'x', '2147483648', '{}')}",
        "patch": f"patch {dice.pick(f'node/{node}', workload or pod, pod)} "
        + dice.pick("'{\"spec\": {\"paused\": true}}'", "'{\"spec\": null}'", "'{\"metadata\": {\"labels\": null}}'", "[]", "{"),
        "priority": f"priority {dice.pick('high', 'low', 'x')}={dice.pick(0, 5, 2**31, -(2**31))}",
        "budget": f"budget {workload.partition('/')[2]} {dice.pick('minAvailable=1', 'maxUnavailable=50%', 'minAvailable=')}",
        "wait": f"wait {dice.pick('30s', '1h', '0s', '999999h', '-1s', 'x')}",
        "evict": f"evict {pod}",
        "drain": f"drain {node} {dice.pick('', '--ignore-daemonsets --force --delete-emptydir-data', '--timeout 1s', '--x')}",
    }.get(verb, f"{verb} {dice.pick(node, node, '*', '!gpu')}")  # fmt: skip


def scribble(dice: Dice, edit: str) -> str:
    """The text with something wrong in it."""
    place = dice.randrange(len(edit) + 1)
    odd = dice.pick("", " ", "=", "/", "'", '"', "{", "[", "*", "-", "\u202e", "\x1b[31m", "\udcff", "ü", ",", "!", "x" * 300, "9" * 30, "\n")  # fmt: skip
    return edit[:place] + odd + edit[dice.randrange(place, len(edit) + 1) if dice.chance(0.5) else place :]


def mapped(dice: Dice, cluster: list[Object], manifests: list[Object], *, acts: bool) -> Any:
    """An edit as in a file."""
    node, workload, pod = _names(dice, cluster)
    verb = dice.pick("text", "apply", *_verbs(workload), *(_ACTS if acts else ()))
    if verb == "text":
        return text(dice, cluster, acts=acts)
    return {
        verb: {
            "taint": {"nodes": [node], "taints": [dice.pick("a=b:NoSchedule", "a:NoExecute", "a-")]},
            "label": {"objects": [f"node/{node}"], "labels": {"zone": dice.pick("b", None)}},
            "add": {"count": dice.pick(1, 2, 30), "like": node, "labels": {"tier": "gold"}},
            "delete": {"objects": [dice.pick(f"node/{node}", pod, workload or pod)]},
            "scale": {workload: dice.pick(0, 1, 5, 40)},
            "set": {"object": f"node/{node}", "values": {"status.allocatable.cpu": dice.pick("3", 4, None)}},
            "patch": {
                "object": workload or f"node/{node}",
                "merge": {"spec": dice.pick({"paused": True}, None, {"replicas": 2})},
            },
            "priority": {dice.pick("high", "low"): dice.pick(5, 50000)},
            "budget": {"name": workload.partition("/")[2], "minAvailable": dice.pick(1, "50%")},
            "apply": manifests,
            "wait": dice.pick("30s", "1h", 5),
            "evict": {"pods": [pod]},
            "drain": {"nodes": [node], "args": ["--ignore-daemonsets", "--force"]},
        }.get(verb, [dice.pick(node, node, "*")])
    }


def scenario(dice: Dice, cluster: list[Object], manifests: list[Object]) -> Object:
    """A scenario of a few steps."""
    return {
        "apiVersion": "kwhatif.dev/v1",
        "kind": "Scenario",
        "parameters": dice.sometimes(
            {"start": "1s", "readiness": dice.pick("0s", "probe"), "termination": dice.pick("2s", "grace"), "horizon": "10m"}
        ),
        "steps": [mapped(dice, cluster, manifests, acts=True) for _ in range(dice.pick(1, 1, 2, 4))],
    }  # fmt: skip


def _names(dice: Dice, cluster: list[Object]) -> tuple[str, str, str]:
    """A node, a workload (empty: there is none) and a pod, as edits name them."""
    found: dict[str, list[str]] = {}
    for obj in cluster:
        meta = obj["metadata"]
        found.setdefault(obj["kind"], []).append(f"{meta.get('namespace', 'default')}/{meta['name']}")
    workloads = [
        f"{kind.lower()}/{name}"
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
        for name in found.get(kind, ())
    ]
    if dice.chance(0.05):  # names of nothing
        return "none", "deploy/default/none", "pod/default/none"
    node = dice.one(found.get("Node") or ["/none"]).partition("/")[2]
    pod = "pod/" + dice.one(found.get("Pod") or ["default/none"])
    return node, dice.one(workloads or [""]), pod
