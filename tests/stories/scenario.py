"""The actions of recorded stories as steps of a scenario; and where a simulation's end differs from the recorded one."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Difference = tuple[str, object, object]

#: What the recordings call it -> how a pod went. Taken away by its own controller or by hand is all the same there.
HOW = {
    "PreemptionByScheduler": "Preempted",
    "EvictionByEvictionAPI": "Evicted",
    "DeletionByTaintManager": "TaintEviction",
    "DeletionByPodGC": "PodGC",
}
FLAGS = {"node-monitor-grace-period": "nodeMonitorGracePeriod", "node-monitor-period": "nodeMonitorPeriod"}


def scenario(action: Json) -> Json:
    kubelet = action.get("kubelet") or {}
    flags = dict(flag.lstrip("-").split("=", 1) for flag in action.get("kcm") or [])
    parameters = {
        "start": f"{kubelet.get('start', 1)}s",
        "readiness": "0s",
        "termination": f"{kubelet.get('stop', 2)}s",
        **{name: flags[flag] for flag, name in FLAGS.items() if flag in flags},
    }
    steps = [step(what, value) for one in action["steps"] for what, value in one.items()]
    return {"apiVersion": "kwhatif.dev/v1", "kind": "Scenario", "parameters": parameters, "steps": steps}


def target(kind: str, value: Json) -> str:
    if kind in ("Namespace", "Node", "PriorityClass", "PersistentVolume", "StorageClass"):
        return f"{kind.lower()}/{value['name']}"
    return f"{kind.lower()}/{value.get('namespace', 'default')}/{value['name']}"


def step(what: str, value: Any) -> Json:  # noqa: PLR0911, PLR0912 - one case for each step
    match what:
        case "apply":
            return {"apply": value}
        case "applyServerSide":
            return {"apply": value["objects"]}
        case "nodeStatus":
            amounts = {
                f"status.{part}.{name}": amount
                for part in ("capacity", "allocatable")
                for name, amount in value["resources"].items()
            }
            return {"set": {"object": f"node/{value['node']}", "values": amounts}}
        case "scale":
            return {"scale": {target(value.get("kind", "deployment"), value): value["replicas"]}}
        case "drain":
            args = ["--ignore-daemonsets", "--force", "--delete-emptydir-data", *value.get("args", [])]
            return {"drain": {"nodes": [value["node"]], "timeout": f"{value.get('timeout', 60)}s", "args": args}}
        case "cordon" | "uncordon":
            return {what: [value]}
        case "taint":
            return {"taint": {"nodes": [value["node"]], "taints": [value["taint"]]}}
        case "deleteNode":
            return {"delete": {"objects": [f"node/{value}"]}}
        case "loseNode":
            return {"fail": [value]}
        case "returnNode":
            return {"recover": [value]}
        case "label":
            return {"label": {"objects": [f"node/{value['node']}"], "labels": value["labels"]}}
        case "deletePod":
            return {"delete": {"objects": [target("pod", value)], "force": bool(value.get("force"))}}
        case "delete":
            return {"delete": {"objects": [target(value["kind"], value)]}}
        case "removeGates":
            return {"set": {"object": target("pod", value), "values": {"spec.schedulingGates": None}}}
        case "patch":
            return {"patch": {"object": target(value["kind"], value), "merge": value["patch"]}}
        case "wait":
            return {"wait": f"{value}s"}
        case "settle":
            return {"settle": {}}
    raise AssertionError(f"unknown step {what}")


def differences(want: Json, got: Json) -> Iterator[Difference]:
    """What, the control plane's end, the simulation's. Only what all recorded runs agree about is compared."""
    endless = got["settled"] in ("cycling", "horizon")
    if endless == want["settled"]:
        yield "settled", want["settled"], got["settled"]
    if not want["settled"]:
        return
    if want["stable"] or want.get("stablePlacement"):
        yield from _placements(want, got)
    if not want["stable"]:
        return
    waiting = Counter(
        (pod["workload"] or f"Pod {pod['pod']}", pod["message"] or "", pod["nominatedNodeName"])
        for pod in want["pending"]
    )
    yield from _unless_same(
        "pending",
        waiting,
        Counter((pod["owner"] or f"Pod {pod['pod']}", pod["message"], pod["nominatedNode"]) for pod in got["pending"]),
    )
    gone = Counter(
        (row["workload"] or f"Pod {pod}", row["was on"], HOW.get(row["reason"], "Removed"))
        for pod, row in want["initialPodsGone"].items()
    )
    yield from _unless_same(
        "gone",
        gone,
        Counter(
            (row["owner"] or f"Pod {row['pod']}", row["node"], row["how"] if row["how"] in HOW.values() else "Removed")
            for row in got["gone"]
            if row["initial"]
        ),
    )
    budgets = {row["budget"]: row["after"] for row in got["budgets"]}
    wanted = {name: budget["disruptionsAllowed"] for name, budget in want["budgets"].items()}
    yield from _unless_same("budgets", wanted, budgets)
    ended = [each["rc"] == 0 for each in want["commands"] if each["argv"][0] == "drain" and each.get("rc") is not None]
    drains = [each["ok"] for each in got["commands"] if each["command"].startswith("drain")]
    yield from _unless_same("drains", ended, drains)


def _placements(want: Json, got: Json) -> Iterator[Difference]:
    rows = {row["workload"]: row for row in got["workloads"]}
    for name, workload in want["workloads"].items():
        row = rows.get(name, {"after": {}, "pending": 0})
        wanted = {node: count for node, count in workload["nodes"].items() if count}
        yield from _unless_same(f"{name}: nodes", wanted, row["after"])
        yield from _unless_same(f"{name}: pending", workload["pending"], row["pending"])


def _unless_same(what: str, want: object, got: object) -> Iterator[Difference]:
    if want != got:
        yield what, want, got
