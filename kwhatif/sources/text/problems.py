"""Where an object, or a field of it, was read, and what is wrong there: one run reports everything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from kwhatif.errors import InputError, Problem
from kwhatif.kube.matching.field_errors import quoted_path
from kwhatif.kube.model.cluster import KubernetesObject
from kwhatif.kube.model.helm import HelmHook
from kwhatif.workloads.custom_kinds import Part

#: Names of fields, keys of maps, indexes of lists.
FieldPath = tuple[str | int, ...]
#: Line of a field in the file, by its path within the document.
FindLine = Callable[[FieldPath], int]


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


#: What to give in the place of a file that a tool makes manifests of.
BUILD = "give what `kustomize build` makes of it"
RENDER = "give what `helm template` makes of it"

#: An action of Helm's templates.
_ACTION = re.compile(rb"\{\{[^{}]*\}\}")
_BY_NAME = {"kustomization.yaml": BUILD, "kustomization.yml": BUILD, "Chart.yaml": RENDER, "values.yaml": RENDER}


class Problems:
    """All problems met so far."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def __len__(self) -> int:
        """How many things are wrong."""
        return len(self._found)

    def forget_after(self, count: int) -> None:
        """Keep the first `count`: what followed will be looked at again."""
        del self._found[count:]

    @property
    def found(self) -> tuple[Problem, ...]:
        """All of them."""
        return tuple(self._found)

    def add(self, where: str, message: str, hint: str = "", origin: Origin | None = None) -> None:
        """A file, or a document, is wrong; where it is known, `origin` says for programs which and where."""
        file, line = (origin.source, origin.line) if origin is not None else ("", 0)
        self._found.append(Problem(where, message, hint=hint, file=file, line=line))

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add problems that were found elsewhere."""
        self._found.extend(problems)

    def at(self, place: Place, name: str = "") -> ObjectProblems:
        """Where to report what is wrong with one object."""
        return ObjectProblems(self._found, place, name)

    def raise_if_any(self) -> None:
        """Give up if anything is wrong.

        Raises:
            InputError: with everything that was found.
        """
        if self._found:
            raise InputError(self._found)


class ObjectProblems:
    """What is wrong with one object: the place is said once, then field by field."""

    def __init__(self, found: list[Problem], place: Place, name: str) -> None:
        self._found = found
        self._place = place
        self.name = name

    @property
    def file(self) -> str:
        """The file that it stands in."""
        return self._place.origin.source

    def add(self, message: str, path: FieldPath = (), hint: str = "") -> None:
        """A field (or with no path the whole object) is wrong."""
        self._found.append(self._problem(message, path, quoted_path(path), hint))

    def add_named(self, message: str, path: FieldPath, hint: str = "") -> None:
        """A field is wrong, and the message names it itself."""
        self._found.append(self._problem(message, path, "", hint))

    def add_unless_there(self, message: str, path: FieldPath, hint: str = "") -> None:
        """A field is wrong; said only where nothing is known yet to be wrong with that field of that object."""
        problem = self._problem(message, path, quoted_path(path), hint)
        if not any((known.where, known.field) == (problem.where, problem.field) for known in self._found):
            self._found.append(problem)

    def where(self, path: FieldPath = ()) -> str:
        """The place of a field in words."""
        return self._place.of(path).where(self.name)

    def _problem(self, message: str, path: FieldPath, field: str, hint: str) -> Problem:
        origin = self._place.of(path)
        return Problem(origin.where(self.name), message, field, hint, origin.source, origin.line, object=self.name)


def hint_for_file(file: str) -> str:
    """By the name of the file; "" for any other."""
    return _BY_NAME.get(PurePath(file).name, "")


def hint_for_text(text: bytes) -> str:
    """By what stands in a text that is neither YAML nor JSON; "" for any other."""
    return f"it looks like a template: {RENDER}" if _ACTION.search(text) else ""
