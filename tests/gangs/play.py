"""What `schedule` makes of a case, and what of it has to agree with kube-scheduler."""

import json
import tempfile
from pathlib import Path
from typing import Any

import kwhatif

Json = dict[str, Any]


def play(case: Json) -> Json:
    """What kwhatif says becomes of the groups and pods."""
    with tempfile.TemporaryDirectory() as folder:
        return answer(case, written(case["cluster"], Path(folder) / "cluster.json"), Path(folder))


def answer(case: Json, cluster: str, folder: Path) -> Json:
    """What the report says about groups of pods."""
    session = kwhatif.load(cluster, kubernetes_version="1.37", feature_gates=case["gates"])
    report = kwhatif.schedule(session, written(case["manifest"], folder / "manifest.json"))
    groups: Json = json.loads(report.to_json())["podGroups"]
    return groups


def written(objects: list[Json], path: Path) -> str:
    """The path of a file with these objects."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def compared(groups: Json) -> Json:
    """What has to agree. The later sentences of a message depend on how often a pod was tried."""
    return {
        "groups": {row["group"]: (row["outcome"], first(row.get("message"))) for row in groups["groups"]},
        "pods": {
            row["pod"]: (row.get("node") or None, "" if row.get("node") else first(row.get("message")))
            for row in groups["pods"]
        },
        "victims": sorted(json.dumps(victim, sort_keys=True) for victim in groups.get("victims") or ()),
    }


def first(message: str | None) -> str:
    """What of a message does not depend on the number of attempts."""
    return (message or "").split(", pod group preemption")[0].split(". ")[0].rstrip(".")
