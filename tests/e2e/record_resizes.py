"""`python -m tests.e2e.record_resizes PROGRAMS`: what an API server answers to resizes, into fixtures/resize/recordings.json.

`PROGRAMS` is the folder of the control plane (`make -C tests/e2e build`). There are no kubelets: a recording is what the
API server accepts or refuses, not what a kubelet then decides.
"""

import argparse
import copy
import json
import tempfile
from pathlib import Path
from typing import Any

from tests import FIXTURES
from tests.e2e.control_plane import control_plane

Json = dict[str, Any]
RECORDINGS = FIXTURES / "resize" / "recordings.json"
AMOUNTS = {"cpu": "4", "memory": "8Gi", "pods": "110"}


def of(cpu: str = "", memory: str = "", limit_cpu: str = "", limit_memory: str = "", **more: str) -> Json:
    """Resources of a container; `more` are other requests, with `_` for what names cannot have."""
    requests = {"cpu": cpu, "memory": memory} | {name.replace("_", "-"): text for name, text in more.items()}
    limits = {"cpu": limit_cpu, "memory": limit_memory}
    found = {"requests": requests, "limits": limits}
    return {part: kept for part, row in found.items() if (kept := {name: text for name, text in row.items() if text})}


def restart(resource: str) -> Json:
    """A container that restarts when the resource is resized."""
    return {"resizePolicy": [{"resourceName": resource, "restartPolicy": "RestartContainer"}]}


BURSTABLE = of("1", "1Gi", "2", "2Gi")
GUARANTEED = of("1", "1Gi", "1", "1Gi")
#: Name -> the containers of the pod, what they are to have, and more: objects beside it, other fields of the pod.
CASES: dict[str, Json] = {
    "more": {"has": [BURSTABLE], "wants": [of("1500m", "1Gi", "2", "2Gi")]},
    "less": {"has": [BURSTABLE], "wants": [of("500m", "512Mi", "2", "2Gi")]},
    "lower memory limit": {"has": [BURSTABLE], "wants": [of("1", "1Gi", "2", "1Gi")]},
    "lower memory limit with a restart": {
        "has": [BURSTABLE],
        "wants": [of("1", "1Gi", "2", "1Gi")],
        "container": restart("memory"),
    },
    "request above limit": {"has": [BURSTABLE], "wants": [of("3", "1Gi", "2", "2Gi")]},
    "no such unit": {"has": [BURSTABLE], "wants": [of("-1", "1Gi", "2", "2Gi")]},
    "burstable becomes guaranteed": {"has": [BURSTABLE], "wants": [of("2", "2Gi", "2", "2Gi")]},
    "guaranteed becomes burstable": {"has": [GUARANTEED], "wants": [of("1", "1Gi", "2", "2Gi")]},
    "guaranteed stays so": {"has": [GUARANTEED], "wants": [of("2", "2Gi", "2", "2Gi")]},
    "best effort gets requests": {"has": [of()], "wants": [of("1")]},
    "request is removed": {"has": [BURSTABLE], "wants": [of("", "1Gi", "2", "2Gi")]},
    "limit is removed": {"has": [BURSTABLE], "wants": [of("1", "1Gi", "", "2Gi")]},
    "limit is added": {"has": [of("1", "1Gi")], "wants": [of("1", "1Gi", "2")]},
    "ephemeral storage": {"has": [of("1", ephemeral_storage="1Gi")], "wants": [of("1", ephemeral_storage="2Gi")]},
    "beyond the node": {"has": [of("1", "1Gi")], "wants": [of("9", "1Gi")]},
    "beyond the node in both": {"has": [of("1", "1Gi")], "wants": [of("9", "90Gi")]},
    "all of the node": {"has": [of("1", "1Gi")], "wants": [of("4", "8Gi")]},
    "two containers": {"has": [BURSTABLE, of("500m")], "wants": [of("1500m", "1Gi", "2", "2Gi"), of("250m")]},
    "two containers beyond the node": {"has": [of("1"), of("1")], "wants": [of("3"), of("2")]},
    "an init container": {"has": [of("1")], "wants": [of("1")], "init": of("1"), "init wants": of("2")},
    "a sidecar": {
        "has": [of("1")],
        "wants": [of("1")],
        "init": of("1"),
        "init wants": of("2"),
        "init fields": {"restartPolicy": "Always"},
    },
    "a quota is exceeded": {
        "has": [of("1", "1Gi")],
        "wants": [of("3", "1Gi")],
        "quota": {"hard": {"requests.cpu": "2"}, "used": {"requests.cpu": "1"}},
    },
    "a quota is used up": {
        "has": [of("1", "1Gi")],
        "wants": [of("2", "1Gi")],
        "quota": {"hard": {"requests.cpu": "2"}, "used": {"requests.cpu": "1"}},
    },
    "a quota needs limits": {
        "has": [of("1", "1Gi")],
        "wants": [of("2", "1Gi")],
        "quota": {"hard": {"limits.cpu": "2"}, "used": {"limits.cpu": "0"}},
    },
    "a quota is exceeded already, and it gets less": {
        "has": [of("3", "1Gi")],
        "wants": [of("1", "1Gi")],
        "quota": {"hard": {"requests.cpu": "2"}, "used": {"requests.cpu": "3"}},
    },
    "above a LimitRange": {
        "has": [of("1", "1Gi", "1500m", "1Gi")],
        "wants": [of("1", "1Gi", "3", "1Gi")],
        "limits": [{"type": "Container", "max": {"cpu": "2"}}],
    },
    "below a LimitRange": {
        "has": [of("1", "1Gi")],
        "wants": [of("100m", "1Gi")],
        "limits": [{"type": "Container", "min": {"cpu": "500m"}}],
    },
    "beyond the ratio of a LimitRange": {
        "has": [of("1", "1Gi", "2", "1Gi")],
        "wants": [of("500m", "1Gi", "2", "1Gi")],
        "limits": [{"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}],
    },
    "above a LimitRange of pods": {
        "has": [of("1", "1Gi", "1", "1Gi"), of("1", "1Gi", "1", "1Gi")],
        "wants": [of("2", "1Gi", "2", "1Gi"), of("1", "1Gi", "1", "1Gi")],
        "limits": [{"type": "Pod", "max": {"cpu": "2"}}],
    },
    "a LimitRange has defaults": {
        "has": [of("1", "1Gi")],
        "wants": [of("2", "1Gi")],
        "limits": [{"type": "Container", "default": {"cpu": "1500m"}}],
    },
    "a LimitRange has a maximum, and the pod no limit": {
        "has": [of("1", "1Gi")],
        "wants": [of("2500m", "1Gi")],
        "limits": [{"type": "Container", "max": {"cpu": "2"}}],
    },
    "a LimitRange has a maximum, and the pod gets a limit": {
        "has": [of("1", "1Gi")],
        "wants": [of("1500m", "1Gi")],
        "limits": [{"type": "Container", "max": {"cpu": "2"}}],
    },
    "an init container that its node can resize": {
        "has": [of("1")],
        "wants": [of("1")],
        "init": of("1"),
        "init wants": of("2"),
        "node": "d",
    },
    "an init container that its node can resize, with a restart": {
        "has": [of("1")],
        "wants": [of("1")],
        "init": of("1"),
        "init wants": of("2"),
        "init fields": restart("cpu"),
        "node": "d",
    },
    "several things at once": {"has": [BURSTABLE], "wants": [of("", "1Gi", "2", "512Mi")]},
    "a kubelet that reports no resources": {
        "has": [BURSTABLE],
        "wants": [of("1500m", "1Gi", "2", "2Gi")],
        "bare": True,
    },
    "a static pod": {
        "has": [BURSTABLE],
        "wants": [of("1500m", "1Gi", "2", "2Gi")],
        "annotations": {"kubernetes.io/config.mirror": "x"},
    },
    "a pod that has ended": {"has": [BURSTABLE], "wants": [of("1500m", "1Gi", "2", "2Gi")], "phase": "Succeeded"},
    "on windows": {"has": [BURSTABLE], "wants": [of("1500m", "1Gi", "2", "2Gi")], "node": "w"},
    "on a node that is not there": {"has": [BURSTABLE], "wants": [of("9", "1Gi", "9", "2Gi")], "node": "nowhere"},
    "nothing changes": {"has": [BURSTABLE], "wants": [BURSTABLE]},
}


def node(name: str, system: str) -> Json:
    """A node as its kubelet reports it."""
    status = {
        "allocatable": AMOUNTS,
        "capacity": AMOUNTS,
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1.36.2", "operatingSystem": system},
    }
    if name == "d":
        status["declaredFeatures"] = ["InPlacePodVerticalScalingInitContainers"]
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": system}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def objects_of(number: int, case: Json) -> list[Json]:
    """A namespace of the case's own, with what bounds it, and the pod."""
    name = f"case-{number:02}"
    meta = {"name": "web-0", "namespace": name, "uid": f"pod-{name}", "annotations": case.get("annotations", {})}
    image = {"image": "registry.example.com/web:1", "terminationMessagePath": "/dev/termination-log"}
    containers = [
        {"name": f"c{at}", "resources": has, **image, **case.get("container", {})} for at, has in enumerate(case["has"])
    ]
    rows = [
        {
            "name": each["name"],
            "image": each["image"],
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {}},
            **({} if case.get("bare") else {"resources": each["resources"]}),
            **({} if case.get("bare") else {"allocatedResources": each["resources"].get("requests", {})}),
        }
        for each in containers
    ]
    init = (
        {"name": "init", "resources": case["init"], **image, **case.get("init fields", {})} if "init" in case else None
    )
    spec = {"nodeName": case.get("node", "a"), "containers": containers, **({"initContainers": [init]} if init else {})}
    status = {"phase": case.get("phase", "Running"), "containerStatuses": rows, "qosClass": _qos(case["has"])}
    found: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status},
    ]
    if "quota" in case:
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team", "namespace": name}}
        found.append(quota | {"spec": {"hard": case["quota"]["hard"]}, "status": case["quota"]})
    if "limits" in case:
        bounds = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "bounds", "namespace": name}}
        found.append(bounds | {"spec": {"limits": case["limits"]}})
    return found


def _qos(has: list[Json]) -> str:
    if not any(each.get("requests") or each.get("limits") for each in has):
        return "BestEffort"
    is_guaranteed = all(each.get("requests") == each.get("limits") and len(each.get("limits", {})) == 2 for each in has)
    return "Guaranteed" if is_guaranteed else "Burstable"


def wanted(pod: Json, case: Json) -> Json:
    """The pod with other resources."""
    new = copy.deepcopy(pod)
    for container, resources in zip(new["spec"]["containers"], case["wants"], strict=True):
        container["resources"] = resources
    if "init wants" in case:
        new["spec"]["initContainers"][0]["resources"] = case["init wants"]
    return new


def main() -> None:
    """Ask an API server about all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=Path)
    programs = parser.parse_args().programs
    nodes = [node("a", "linux"), node("d", "linux"), node("w", "windows")]
    cases = {name: objects_of(number, case) for number, (name, case) in enumerate(CASES.items())}
    recorded = []
    with (
        tempfile.TemporaryDirectory(prefix="kwhatif-resizes-") as folder,
        control_plane(programs, Path(folder), [*nodes, *(each for found in cases.values() for each in found)]) as plane,
    ):
        for name, objects in cases.items():
            path = f"/api/v1/namespaces/{objects[0]['metadata']['name']}/pods/web-0"
            pod = plane.api.send("GET", path).body
            refused = (400, 403, 404, 405, 422)
            answer = plane.api.send("PUT", f"{path}/resize", wanted(pod, CASES[name]), accept=refused)
            spec = answer.body.get("spec") if answer.status < 300 else None
            recorded.append(
                {
                    "name": name,
                    "objects": objects,
                    "wants": [each["resources"] for each in wanted(pod, CASES[name])["spec"]["containers"]],
                    **({"initWants": CASES[name]["init wants"]} if "init wants" in CASES[name] else {}),
                    "status": answer.status,
                    "message": answer.body.get("message", ""),
                    "resources": None if spec is None else [each["resources"] for each in spec["containers"]],
                }
            )
    RECORDINGS.parent.mkdir(exist_ok=True)
    lines = ",\n  ".join(json.dumps(each) for each in recorded)
    RECORDINGS.write_text(f'{{"nodes": {json.dumps(nodes)},\n "cases": [\n  {lines}\n]}}\n')
    for each in recorded:
        print(each["status"], each["name"], each["message"][:300], flush=True)


if __name__ == "__main__":
    main()
