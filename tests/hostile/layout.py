"""The same objects as files of many forms. Whatever the form, the answer must be the same."""

from __future__ import annotations

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

from tests.differential.dice import Dice

#: File name -> bytes.
Files = dict[str, bytes]


class _Dumper(yaml.SafeDumper):
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
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, allow_unicode=True).encode("utf-8", "surrogatepass")


def _list(objects: list[Any]) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


def _json_lines(objects: list[Any]) -> bytes:
    return "\n---\n".join(map(json.dumps, objects)).encode() + b"\n"


def _tar(name: str, data: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def _zip(name: str, data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, data)
    return made.getvalue()


#: Name of the form -> (end of the file's name, how objects are written in it). Those that manifests know come first.
PLAIN: dict[str, tuple[str, Callable[[list[Any]], bytes]]] = {
    "yaml": (".yaml", _yaml),
    "list": (".json", _list),
    "json documents": (".yaml", _json_lines),
}
PACKED: dict[str, tuple[str, Callable[[list[Any]], bytes]]] = {
    "gzip": (".yaml.gz", lambda objects: gzip.compress(_yaml(objects), mtime=0)),
    "gzip list": (".json.gz", lambda objects: gzip.compress(_list(objects), mtime=0)),
    "bzip2": (".yaml.bz2", lambda objects: bz2.compress(_yaml(objects))),
    "xz": (".yaml.xz", lambda objects: lzma.compress(_yaml(objects))),
    "tar": (".tar.gz", lambda objects: _tar("dump/cluster.yaml", _yaml(objects))),
    "zip": (".zip", lambda objects: _zip("dump/cluster.yaml", _yaml(objects))),
}


#: How objects are written in a file whose name ends so.
_WRITERS = {suffix: write_as for suffix, write_as in [*PLAIN.values(), *PACKED.values()] if write_as is not _json_lines}


def choose_form(dice: Dice, part: str) -> str:
    """How the file of a part ends."""
    if part not in ("cluster", "manifests"):
        return ".yaml"
    forms = PLAIN if part != "cluster" or dice.chance(0.7) else PACKED
    return forms[dice.one(list(forms))][0]


def write(parts: dict[str, list[Any]], forms: dict[str, str]) -> Files:
    """Each part as a file of the form that the end of its name says."""
    return {part + suffix: _WRITERS[suffix](parts[part]) for part, suffix in forms.items()}
