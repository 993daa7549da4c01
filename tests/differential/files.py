"""A case as files: JSON for speed (it is YAML, too), or pretty YAML for people."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.differential.scene import Case, Object


def write(case: Case, directory: Path) -> Path:
    """Write a case for both sides to read."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cluster.yaml").write_text("---\n".join(_documents(case)))
    (directory / "pod.yaml").write_text(_json(case.pod))
    config = directory / "config.yaml"
    config.unlink(missing_ok=True)
    if case.config is not None:
        config.write_text(_json(case.config))
    return directory


def _documents(case: Case) -> Iterator[str]:
    if case.form == "list":
        yield _json({"apiVersion": "v1", "kind": "List", "items": case.cluster})
    elif case.form == "typed lists":
        yield from map(_json, _typed_lists(case.cluster))
    else:
        yield from map(_json if case.form == "documents" else _yaml, case.cluster)


def _typed_lists(objects: list[Object]) -> Iterator[Object]:
    """As servers answer a list: the items do not say what they are."""
    kinds: dict[tuple[str, str], list[Object]] = {}
    for obj in objects:
        items = kinds.setdefault((obj["apiVersion"], obj["kind"]), [])
        items.append({field: value for field, value in obj.items() if field not in ("apiVersion", "kind")})
    for (version, kind), items in kinds.items():
        yield {"apiVersion": version, "kind": f"{kind}List", "metadata": {"resourceVersion": "1"}, "items": items}


def _json(value: Any) -> str:
    """With a line end: without it apimachinery's reader of YAML overlooks files of certain lengths."""
    return json.dumps(value) + "\n"


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
