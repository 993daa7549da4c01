"""Where an object, or a field of it, was read: for messages, and for reports that point into files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.helm import HelmHook
from kwhatif.workloads.custom_kinds import Part

#: Names of fields, keys of maps, indexes of lists.
FieldPath = tuple[str | int, ...]
#: Line of a field in the file, by its path within the document.
FindLine = Callable[[FieldPath], int]

_PLAIN = re.compile(r"[\w-]+")


class Origin(NamedTuple):
    """Where an object stands: file, document (counted from 1), line (0: unknown), JSON pointer within the document."""

    source: str
    document: int = 1
    line: int = 0
    pointer: str = ""

    def where(self, name: str = "") -> str:
        """The place in words: `cluster.yaml, document 1, items[7], line 40 (Pod shop/web)`."""
        line = f", line {self.line}" if self.line else ""
        item = "".join(f", items[{index}]" for index in self.pointer.split("/items/")[1:])
        return f"{self.source}, document {self.document}{item}{line}" + (f" ({name})" if name else "")


class Place(NamedTuple):
    """An origin while its document is at hand: lines are found when they are asked for."""

    origin: Origin
    find_line: FindLine | None = None
    path: FieldPath = ()

    def item(self, index: int) -> Place:
        """The entry of the list that stands here."""
        origin = self.origin._replace(pointer=f"{self.origin.pointer}/items/{index}")
        return Place(origin, self.find_line, (*self.path, "items", index))

    def of(self, field: FieldPath = ()) -> Origin:
        """The origin with the line of a field of the object that stands here."""
        return self.origin._replace(line=self.find_line((*self.path, *field))) if self.find_line else self.origin


class Manifest(msgspec.Struct, frozen=True):
    """An object of a manifest, and where it stands."""

    object: KubernetesObject
    origin: Origin
    annotations: dict[str, str] = {}
    hook: HelmHook | None = None
    #: What of a custom resource the object stands for; None: it is what was written.
    part: Part | None = None


def to_text(path: FieldPath) -> str:
    """The path as Kubernetes writes it: `spec.containers[0].image`; a key that holds dots or slashes is quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
