"""A case as files: JSON for speed (it is YAML, too), or pretty YAML for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.differential.scene import Case


def write(case: Case, directory: Path) -> Path:
    """Write a case for both sides to read."""
    directory.mkdir(parents=True, exist_ok=True)
    cluster = {"apiVersion": "v1", "kind": "List", "items": case.cluster}
    _write_json(directory / "cluster.yaml", cluster)
    _write_json(directory / "pod.yaml", case.pod)
    config = directory / "config.yaml"
    config.unlink(missing_ok=True)
    if case.config is not None:
        _write_json(config, case.config)
    return directory


def _write_json(path: Path, value: Any) -> None:
    """With a line end: without it apimachinery's reader of YAML overlooks files of certain lengths."""
    path.write_text(json.dumps(value) + "\n")


def write_pretty(case: Case, directory: Path, title: str, expected: dict[str, Any]) -> None:
    """Write a case as the conformance corpus has them."""
    directory.mkdir(parents=True, exist_ok=True)
    order = sorted(case.cluster, key=lambda obj: (obj["kind"] == "Pod", obj["kind"] != "Node", obj["kind"]))
    (directory / "cluster.yaml").write_text("---\n".join(_yaml(obj) for obj in order))
    (directory / "pod.yaml").write_text(_yaml(case.pod))
    if case.config is not None:
        (directory / "config.yaml").write_text(_yaml(case.config))
    (directory / "case.txt").write_text(f"{title}\n")
    (directory / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=110)
