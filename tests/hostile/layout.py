"""The same objects as files of many forms. Whatever the form, the answer must be the same."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from typing import Any

import yaml

from kwhatif.sources.decoding.kinds import BY_KIND
from tests.differential.dice import Dice

#: File name -> bytes.
Files = dict[str, bytes]


_Base: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_Base):  # type: ignore[misc,valid-type] # whichever is installed
    """Without anchors: a shared value is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Quoted where YAML 1.2 or Go might read a number that PyYAML does not: 1e3."""
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="'" if text[:1] in tuple("+-.0123456789") else None
    )


_Dumper.add_representer(str, _string)


def _yaml(objects: list[Any]) -> bytes:
    # One by one: PyYAML puts an empty list on the line of its separator, where kwhatif allows nothing.
    documents = (yaml.dump(obj, Dumper=_Dumper, sort_keys=False, allow_unicode=True) for obj in objects)
    return "---\n".join(documents).encode("utf-8", "surrogatepass")


def _list(objects: list[Any]) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


def _json_documents(objects: list[Any]) -> bytes:
    return "\n---\n".join(map(json.dumps, objects)).encode() + b"\n"


def _tar(files: Files) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def _zip(name: str, data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, data)
    return made.getvalue()


#: End of a file's name -> how objects are written in it. Manifests know the first, and of single objects these are known, too.
PLAIN: dict[str, Callable[[list[Any]], bytes]] = {".yaml": _yaml, ".json": _list, ".yml": _json_documents}
PACKED: dict[str, Callable[[list[Any]], bytes]] = {
    ".yaml.gz": lambda objects: gzip.compress(_yaml(objects), mtime=0),
    ".json.gz": lambda objects: gzip.compress(_list(objects), mtime=0),
    ".yaml.bz2": lambda objects: bz2.compress(_yaml(objects)),
    ".yaml.xz": lambda objects: lzma.compress(_yaml(objects)),
    ".tar.gz": lambda objects: _tar({"dump/cluster.yaml": _yaml(objects)}),
    ".zip": lambda objects: _zip("dump/cluster.yaml", _yaml(objects)),
}


def _tree(place: Callable[[str, str, str, str], str], *, bare: bool = False) -> Callable[[list[Any]], bytes]:
    """How a tool lays out a cluster: a file for each object; `bare`: without kind and version."""

    def written(objects: list[Any]) -> bytes:
        files: Files = {}
        for number, obj in enumerate(objects):
            fields = obj if isinstance(obj, dict) else {}
            meta = fields.get("metadata")
            meta = meta if isinstance(meta, dict) else {}
            known = BY_KIND.get(str(fields.get("kind")))
            plural, group = ("others", "x.io") if known is None else (known.plural, known.group)
            path = place(group, plural, str(meta.get("namespace") or ""), str(meta.get("name") or number))
            kept = {key: value for key, value in fields.items() if key not in ("kind", "apiVersion")}
            data = kept if bare and isinstance(obj, dict) else obj
            files.setdefault(path.replace("\0", "").encode(errors="replace").decode(), json.dumps(data).encode())
        return _tar(files)

    return written


_INSIGHTS = {"nodes": "node", "pods": "pod", "poddisruptionbudgets": "pdbs", "storageclasses": "storage/storageclasses"}
#: The same for dumps of the cluster by tools that have a layout of their own; they lack some kinds, and say so.
TREES: dict[str, Callable[[list[Any]], bytes]] = {
    ".insights.tar.gz": _tree(
        lambda _, plural, space, name: (
            "/".join(filter(None, ("config", _INSIGHTS.get(plural, plural), space, name))) + ".json"
        ),
        bare=True,
    ),
    ".gather.tar.gz": _tree(
        lambda group, plural, space, name: (
            "/".join(filter(None, ("hub", f"namespaces/{space}" if space else "cluster", group, plural, name)))
            + ".yaml"
        )
    ),
    ".velero.tar.gz": _tree(
        lambda group, plural, space, name: (
            f"resources/{plural}{f'.{group}' if group else ''}"
            f"/{f'namespaces/{space}' if space else 'cluster'}/{name}.json"
        )
    ),
    ".inspect.tar.gz": _tree(
        lambda group, plural, space, name: (
            f"inspect.local.1/{f'namespaces/{space}' if space else 'cluster-scoped-resources'}"
            f"/{group or 'core'}/{plural}/{name}.yaml"
        )
    ),
}
#: JSON is read fastest, and most cases are not about how files are read.
_OFTEN = {".yaml": 0.25, ".json": 0.6, ".yml": 0.15}
_LISTS = ("cluster", "manifests")


def choose_form(dice: Dice, part: str, *, trees: bool = False) -> str:
    """How the file of a part ends; with `trees` also as a tool's dump, with which an answer may be another one."""
    if trees and part == "cluster" and dice.chance(0.12):
        return dice.one(list(TREES))
    if part == "cluster" and dice.chance(0.2):
        return dice.one(list(PACKED))
    return dice.weighted(_OFTEN)


def write(parts: dict[str, list[Any]], forms: dict[str, str]) -> Files:
    """Each part as a file of the form that the end of its name says."""
    return {part + forms[part]: _writer(part, forms[part])(objects) for part, objects in parts.items()}


def _writer(part: str, form: str) -> Callable[[list[Any]], bytes]:
    """Files of one object hold no list of objects."""
    return _json_documents if form == ".json" and part not in _LISTS else (PLAIN | PACKED | TREES)[form]
