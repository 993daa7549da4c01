"""`python -m tests.e2e.record PROGRAMS STORY…`: play stories, and write what they began with and what they came to.

`PROGRAMS` is the folder of the control plane (`make -C tests/e2e build`). `STORY` is a folder with an `action.yaml`:
`begin` has `nodes` (name -> cpu), `objects` that the API server finds when it starts, and `steps`, which come before
the story, such as `kubectl apply`; the other fields are those of all stories. Written are `cluster.yaml`, the cluster as
`kubectl get` prints it when the story begins, and `outcome.json`. Each story is played `--runs` times.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.control_plane import control_plane
from tests.e2e.ending import beginning, ending
from tests.e2e.stage import Stage, stage_of
from tests.e2e.stored import Object

Json = dict[str, Any]
_KINDS = (
    "nodes,namespaces,priorityclasses,resourcequotas,limitranges,poddisruptionbudgets,horizontalpodautoscalers,"
    "deployments,replicasets,statefulsets,controllerrevisions,daemonsets,jobs,cronjobs,pods"
)
_NAMESPACES = {"kube-system", "kube-public", "kube-node-lease"}


def main() -> None:
    """Record the stories that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=Path)
    parser.add_argument("stories", type=Path, nargs="+")
    parser.add_argument("--runs", type=int, default=2)
    asked = parser.parse_args()
    for story in asked.stories:
        action = yaml.safe_load((story / "action.yaml").read_text())
        played = [_play(asked.programs, action) for _ in range(asked.runs)]
        cluster, end = played[0]
        end = {"story": story.name, "runs": asked.runs} | end
        end["stable"] = len({json.dumps(_unnamed(other), sort_keys=True) for _, other in played}) == 1
        (story / "cluster.yaml").write_text(yaml.safe_dump_all(cluster, sort_keys=False, width=120))
        (story / "outcome.json").write_text(json.dumps(end, indent=1) + "\n")
        print(story.name, "stable" if end["stable"] else [_unnamed(other) for _, other in played], flush=True)


def _play(programs: Path, action: Json) -> tuple[list[Object], Json]:
    begin = action["begin"]
    objects = [*(_node(name, str(cpu)) for name, cpu in begin["nodes"].items()), *begin.get("objects", ())]
    with (
        tempfile.TemporaryDirectory(prefix="kwhatif-record-") as folder,
        control_plane(programs, Path(folder), objects) as plane,
        stage_of(plane, action.get("kcm", ()), **action.get("kubelet", {})) as stage,
    ):
        stage.settle(3)
        stage.play({"steps": begin.get("steps", ())})
        cluster = _cluster(stage)
        first = beginning(plane.api, stage.pods)
        commands = stage.play(action)
        return cluster, ending(plane.api, stage.pods, first, commands)


def _node(name: str, cpu: str) -> Object:
    amounts = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "spec": {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {"kubeletVersion": "v1.36.2"},
        },
    }


def _cluster(stage: Stage) -> list[Object]:
    ran = stage.kubectl.run("get", _KINDS, "-A", "-o", "json", "--show-managed-fields")
    assert ran.code == 0, ran.err
    found = []
    for obj in json.loads(ran.out)["items"]:
        metadata = obj["metadata"]
        if metadata["name"].startswith("system-") or (obj["kind"] == "Namespace" and metadata["name"] in _NAMESPACES):
            continue
        if obj["kind"] in ("Node", "Pod"):  # nothing that is applied there hangs on who owns which field
            metadata.pop("managedFields", None)
        found.append(obj)
    return found


def _unnamed(end: Json) -> Json:
    """The end without the names of pods, which differ from run to run."""
    without = {**end, "initialPodsGone": sorted(map(json.dumps, end["initialPodsGone"].values()))}
    return without | {"pending": sorted(json.dumps({**each, "pod": ""}) for each in end["pending"]), "commands": []}


if __name__ == "__main__":
    main()
