"""Edits as a user gives them: texts, YAML data, files; with the manifests that they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import msgspec

from kwhatif.edits.edit import Assignment, Wrong
from kwhatif.edits.parse import parse_edit
from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import BASE
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import HelmHooks
from kwhatif.kube.model.kinds import Resource
from kwhatif.questions.manifests.edited import Given
from kwhatif.questions.manifests.hooks import in_phases
from kwhatif.sources.decoding.examine import data_of
from kwhatif.sources.manifests.applied import as_applied
from kwhatif.sources.manifests.edit_fields import check_fragment, field_assignment
from kwhatif.sources.manifests.given import NotAPath, named_input
from kwhatif.sources.manifests.read import read_manifest_set
from kwhatif.sources.text.documents import documents
from kwhatif.sources.text.files import find_inputs, read_inputs
from kwhatif.sources.text.problems import Problems

#: Characters of an edit that errors repeat: a line of a terminal.
_SHORT = 80


class EditsRead(NamedTuple):
    """Edits that could be read, and what is wrong with the others."""

    edits: tuple[Given, ...]
    problems: tuple[Problem, ...] = ()


def read_edits(
    said: Sequence[str | Mapping[str, Any]], *, namespace: str, stdin: BinaryIO, minor: int = BASE, option: str = "edit"
) -> EditsRead:
    """Edits in either spelling, for Kubernetes 1.`minor`; `option` is what they are called in errors."""
    return _read([(f"{option} {_shown(each)}", each) for each in said], EditReader(namespace, stdin, minor))


def read_edit_files(paths: Sequence[str], *, namespace: str, stdin: BinaryIO, minor: int = BASE) -> EditsRead:
    """Files with a YAML list of edits, for Kubernetes 1.`minor`."""
    problems = Problems()
    entries: list[tuple[str, Any]] = []
    for name, text in read_inputs(find_inputs(paths, stdin, problems), problems):
        for document in documents(name, text, problems):
            data = data_of(document, problems)
            if isinstance(data, list):
                entries += [(f"{name}, edit {number} {_shown(each)}", each) for number, each in enumerate(data, 1)]
            elif data is not None:
                problems.add(name, "is not a list of edits", "write `- cordon NODE`, or `- cordon: [NODE]`")
    read = _read(entries, EditReader(namespace, stdin, minor))
    return EditsRead(read.edits, (*problems.found, *read.problems))


def _shown(said: object) -> str:
    text = said if isinstance(said, str) else msgspec.json.encode(said, enc_hook=str).decode()
    return f"'{text if len(text) <= _SHORT else text[: _SHORT - 1] + '…'}'"


def placed(problems: Sequence[Problem], where: str) -> list[Problem]:
    """Problems of objects that are written in an edit, with the place of the edit."""
    return [problem._replace(where=f"{where}: {problem.where}") for problem in problems]


def _check_text(said: object) -> None:
    """Bytes of the command line that are not UTF-8 are half of a surrogate pair each."""
    try:
        if isinstance(said, str):
            said.encode()
    except UnicodeEncodeError:
        raise Wrong("is not valid UTF-8") from None


def _read(entries: Sequence[tuple[str, Any]], outside: EditReader) -> EditsRead:
    found: list[Given] = []
    problems: list[Problem] = []
    for where, said in entries:
        try:
            _check_text(said)
            found.append(Given(where, parse_edit(said, outside)))
        except Wrong as wrong:
            problems.append(Problem(where, wrong.message, hint=wrong.hint))
        except NotAPath:
            problems.append(Problem(where, "its manifest is text, not the name of a file", hint="give a file"))
        except InputError as wrong:
            problems.extend(placed(wrong.problems, where) if isinstance(said, Mapping) else wrong.problems)
    return EditsRead(tuple(found), tuple(problems))


def _hooks(caveats: Iterable[Caveat]) -> Iterator[str]:
    """That Helm hooks of a manifest are not there once it is applied."""
    for caveat in caveats:
        if isinstance(caveat, HelmHooks):
            names = [*caveat.before, *caveat.after, *(f"{name} ({hooks})" for name, hooks in caveat.left_out)]
            yield f"Helm hooks are left out: {', '.join(names)}"


class EditReader:
    """What edits name that stands elsewhere: manifests to read, and fields of the API (`edits.parse.Reader`)."""

    def __init__(self, namespace: str, stdin: BinaryIO, minor: int = BASE) -> None:
        self._minor = minor
        self._namespace = namespace
        self._stdin = stdin

    def objects(self, given: str | Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[str]]:
        """The objects of a manifest, read as those of a command are; Helm hooks that end have run, and are gone."""
        name = named_input(given, "apply")
        read = read_manifest_set([name], stdin=self._stdin, default_namespace=self._namespace, minor=self._minor)
        if read.problems:
            raise InputError(read.problems)
        applied = in_phases(tuple(map(as_applied, read.manifests))).staying
        if not applied:
            raise Wrong(f"{name} holds no object that scheduling reads", "; ".join(_hooks(read.caveats)))
        return [each.object for each in applied], tuple(_hooks(read.caveats))

    def field(self, resource: Resource, path: str, value: Any) -> Assignment:
        """A field by its path; text becomes what the field holds."""
        return field_assignment(resource, path, value, self._minor)

    def patch(self, resource: Resource, merge: Any) -> Mapping[str, Any]:
        """A merge patch; what it removes is not looked at."""
        if not isinstance(merge, Mapping):
            raise Wrong("the patch is not an object")
        check_fragment(resource, merge, self._minor)
        return merge
