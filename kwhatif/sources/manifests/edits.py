"""Edits as a user gives them: texts, YAML data, files; with the manifests that they name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import msgspec
from msgspec import inspect

from kwhatif.edits.edit import Assignment, FoundRequests, SourcedEdit, Wrong
from kwhatif.edits.parse import parse_edit
from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import BASE
from kwhatif.kube.matching.field_errors import did_you_mean, nearest, quoted_path
from kwhatif.kube.model.caveat import Caveat
from kwhatif.kube.model.caveat.manifests import HelmHooks
from kwhatif.kube.model.cluster import Cluster
from kwhatif.kube.model.kinds import Resource
from kwhatif.questions.manifests.applied import in_phases
from kwhatif.report.edit_notes import EditNote, HooksLeftOut
from kwhatif.scheduler.release import NEWEST
from kwhatif.sources.decoding.lenient import data_of, reader
from kwhatif.sources.decoding.objects import CANDIDATES
from kwhatif.sources.decoding.stand_ins import settled
from kwhatif.sources.decoding.strict import ApiFields, api_fields, unknown_fields_and_wrong_types
from kwhatif.sources.manifests.applied import all_applied
from kwhatif.sources.manifests.given import NotAPath, named_input
from kwhatif.sources.manifests.read import read_manifest_set
from kwhatif.sources.text.documents import documents
from kwhatif.sources.text.files import find_inputs, read_inputs
from kwhatif.sources.text.problems import FieldPath, Problems
from kwhatif.sources.usage import read_usage


def field_assignment(resource: Resource, path: str, value: Any, minor: int = BASE) -> Assignment:
    """A field by its path, and its new value; text becomes what the field holds in the API server's table of fields.

    Raises:
        Wrong: there is no such field, or it does not take the value.
    """
    steps, code = _Path(_table_for(resource, minor), resource, path).steps()
    if isinstance(value, str):
        value = _typed(value, code)
    if value is not None:
        check_fragment(resource, _nested(steps, value), minor)
    return Assignment(steps, value)


def _typed(text: str, code: str) -> Any:
    """Text as a value of that type (see `api_fields`): strings stay, all else is JSON."""
    if text == "null":
        return None
    if code in ("s", "y", "q"):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _nested(steps: FieldPath, value: Any) -> Any:
    """An object with nothing but that field."""
    for step in reversed(steps):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def _table_for(resource: Resource, minor: int) -> ApiFields:
    """The fields of Kubernetes 1.`minor`; of a kind that it does not serve in v1 those of the newest release."""
    table = api_fields(f"1.{minor}")
    has_it = table.type_of(resource.api_version, resource.kind) is not None
    return table if has_it else api_fields(f"1.{NEWEST}")


def check_fragment(resource: Resource, fragment: Any, minor: int = BASE) -> None:
    """Part of an object, judged as the API server judges the whole.

    Raises:
        Wrong: there is no such field, or a value is wrong; the first that is.
    """
    table = _table_for(resource, minor)
    type_ = table.type_of(resource.api_version, resource.kind)
    assert type_ is not None, resource
    for finding in unknown_fields_and_wrong_types(fragment, type_, table):
        message = finding.message if finding.is_lax else f"{quoted_path(finding.path)}: {finding.message}"
        raise Wrong(message, finding.hint)

    def refuse(message: str, path: FieldPath, hint: str = "") -> None:
        raise Wrong(f"{quoted_path(path)}: {message}", hint)

    read = reader(resource.type)(fragment, (), refuse)
    CANDIDATES.validate(msgspec.convert({**read, "kind": resource.kind}, resource.type), refuse)


class _Path:
    """A path of a field, walked along the API server's table: `status.allocatable.nvidia.com/gpu` ends with a key."""

    _STEP = re.compile(r"\[(?P<quote>[\"']?)(?P<key>[^\]]*?)(?P=quote)\]|\.?(?P<name>[^.\[\]]+)")

    def __init__(self, table: ApiFields, resource: Resource, path: str) -> None:
        self._table = table
        self._resource = resource
        self._path = path

    def steps(self) -> tuple[FieldPath, str]:
        """The steps, and the code of the field's type.

        Raises:
            Wrong: there is no such field.
        """
        number = self._table.type_of(self._resource.api_version, self._resource.kind)
        code, rest = str(number), self._path.removeprefix(".")
        model: inspect.Type | None = inspect.type_info(self._resource.type)
        steps: list[str | int] = []
        while rest:
            if code[0] == "{" and not code[1:].isdigit() and rest[0] not in "[.":
                step, rest = rest, ""  # a key of simple values: dots belong to it
            else:
                step, rest = self._next(rest)
            here, code = self._below(code, step, steps)
            model = _model_below(model, here)
            steps.append(here)
            if model is None:
                raise Wrong(f"scheduling does not read {quoted_path(tuple(steps))}: nothing would change")
        if not steps:
            raise Wrong("the path is empty")
        return tuple(steps), code

    def _next(self, rest: str) -> tuple[str, str]:
        match = self._STEP.match(rest)
        if match is None:
            raise Wrong(
                f"{self._path!r} is not the path of a field", 'write spec.containers[0].name, or labels["a.b/c"]'
            )
        step = match["name"] if match["key"] is None else match["key"]
        return step, rest[match.end() :].removeprefix(".")

    def _below(self, code: str, step: str, before: Sequence[str | int]) -> tuple[str | int, str]:
        place = quoted_path(tuple(before))
        if code.isdigit():
            fields = self._table.types[int(code)]
            if step in fields:
                return step, fields[step]
            hint = did_you_mean(nearest(step, fields)[:1], otherwise=f"there {_are(list(fields))}")
            raise Wrong(f'unknown field "{quoted_path((*before, step))}"', hint)
        if code[0] == "[":
            if not step.isdigit():
                raise Wrong(f"{place} is a list: {step!r} is not an index", f"write {place}[0]")
            return int(step), code[1:]
        if code[0] == "{":
            return step, code[1:]
        raise Wrong(f"{place} holds nothing below: there is no {step!r} in it")


def _are(fields: Sequence[str]) -> str:
    shown = ", ".join(sorted(fields)[:8])
    return f"are {shown}" + (", …" if len(fields) > 8 else "")


def _model_below(model: inspect.Type | None, step: str | int) -> inspect.Type | None:
    """The type of a field as kwhatif reads it; None where it does not."""
    model = next(_options(model), None) if isinstance(model, inspect.UnionType) else model
    match model:
        case inspect.StructType():
            return next((field.type for field in model.fields if field.encode_name == step), None)
        case inspect.VarTupleType():
            return model.item_type
        case inspect.DictType():
            return model.value_type
    return None


def _options(union: inspect.UnionType) -> Iterator[inspect.Type]:
    return (option for option in union.types if not isinstance(option, inspect.NoneType))


#: Characters of an edit that errors repeat: a line of a terminal.
_SHORT = 80


class EditsRead(NamedTuple):
    """Edits that could be read, and what is wrong with the others."""

    edits: tuple[SourcedEdit, ...]
    problems: tuple[Problem, ...] = ()


def read_edits(
    edits: Sequence[str | Mapping[str, Any]],
    *,
    namespace: str,
    stdin: BinaryIO,
    minor: int = BASE,
    option: str = "edit",
    requests: Sequence[str] = (),
) -> EditsRead:
    """Edits in either spelling, for Kubernetes 1.`minor`.

    Args:
        edits: as text or data.
        namespace: of objects that name none.
        stdin: what `-` reads.
        minor: the release whose fields there are.
        option: the flag that they were given with: what errors call them.
        requests: the values of the flag `--requests`: one more edit, `requests from …`.
    """
    entries: list[tuple[str, Any]] = [(f"{option} {_shown(each)}", each) for each in edits]
    if requests:
        sources = [shlex.quote(each) for each in requests]
        entries.append((" ".join(f"--requests {each}" for each in sources), f"requests from {' '.join(sources)}"))
    return _read(entries, EditReader(namespace, stdin, minor))


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
    found: list[SourcedEdit] = []
    problems: list[Problem] = []
    for where, said in entries:
        try:
            _check_text(said)
            found.append(SourcedEdit(where, parse_edit(said, outside)))
        except Wrong as wrong:
            problems.append(Problem(where, wrong.message, hint=wrong.hint))
        except NotAPath:
            problems.append(Problem(where, "its manifest is text, not the name of a file", hint="give a file"))
        except InputError as wrong:
            problems.extend(placed(wrong.problems, where) if isinstance(said, Mapping) else wrong.problems)
    return EditsRead(tuple(found), tuple(problems))


def _hooks(caveats: Iterable[Caveat]) -> Iterator[HooksLeftOut]:
    """Helm hooks of a manifest are not there once it is applied."""
    for caveat in caveats:
        if isinstance(caveat, HelmHooks):
            others = (f"{name} ({hooks})" for name, hooks in caveat.left_out)
            yield HooksLeftOut((*caveat.before, *caveat.after, *others))


class EditReader:
    """What edits name that stands elsewhere: manifests to read, and fields of the API (`edits.parse.Reader`)."""

    def __init__(self, namespace: str, stdin: BinaryIO, minor: int = BASE) -> None:
        self._minor = minor
        self._namespace = namespace
        self._stdin = stdin

    def objects(self, given: str | Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[EditNote]]:
        """The objects of a manifest, read as those of a command are; Helm hooks that end have run, and are gone."""
        name = named_input(given, "apply")
        read = read_manifest_set([name], stdin=self._stdin, default_namespace=self._namespace, minor=self._minor)
        if read.problems:
            raise InputError(read.problems)
        applied = in_phases(all_applied(settled(read.manifests, Cluster()))).staying
        if not applied:
            hooks = ", ".join(hook for note in _hooks(read.caveats) for hook in note.hooks)
            hint = f"Helm hooks are left out: {hooks}" if hooks else ""
            raise Wrong(f"{name} holds no object that scheduling reads", hint)
        return [each.object for each in applied], tuple(_hooks(read.caveats))

    def requests(self, file: str, resource: str) -> FoundRequests:
        """What a file says that pods use, or should request."""
        return read_usage(file, stdin=self._stdin, resource=resource)

    def field(self, resource: Resource, path: str, value: Any) -> Assignment:
        """A field by its path; text becomes what the field holds."""
        return field_assignment(resource, path, value, self._minor)

    def patch(self, resource: Resource, merge: Any) -> Mapping[str, Any]:
        """A merge patch; what it removes is not looked at."""
        if not isinstance(merge, Mapping):
            raise Wrong("the patch is not an object")
        check_fragment(resource, merge, self._minor)
        return merge
