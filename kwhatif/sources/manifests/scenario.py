"""Scenario files: parameters of a simulation, and its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from msgspec.structs import replace

from kwhatif.edits.edit import SourcedEdit, Wrong
from kwhatif.edits.parse import parse_edit
from kwhatif.errors import InputError, Problem
from kwhatif.kube.gates import BASE
from kwhatif.kube.matching.field_errors import did_you_mean, nearest
from kwhatif.kube.model.quantity import parse_duration
from kwhatif.simulation.parameters import Parameters
from kwhatif.sources.decoding.lenient import data_of
from kwhatif.sources.manifests.edits import EditReader, placed
from kwhatif.sources.text.documents import documents
from kwhatif.sources.text.files import find_inputs, read_inputs
from kwhatif.sources.text.problems import Problems

API_VERSION, KIND = "kwhatif.dev/v1", "Scenario"
_FIELDS = ("apiVersion", "kind", "metadata", "parameters", "steps")
_SECOND = 1_000_000_000


class ScenarioFile(NamedTuple):
    """What a file says."""

    parameters: Parameters
    steps: tuple[SourcedEdit, ...] = ()


def parse_parameter(name: str, text: str) -> float | None:
    """The seconds of a parameter; None for `probe` and `grace`, where these are its words.

    Raises:
        ValueError: it is not a duration.
    """
    if text == _WORDS.get(name):
        return None
    seconds = parse_duration(text) / _SECOND
    if seconds < 0:
        raise ValueError(f"{text!r} is negative")
    return seconds


_WORDS = {"readiness": "probe", "termination": "grace"}
#: Parameter in the file -> field.
_PARAMETERS = {
    "start": "start",
    "readiness": "readiness",
    "termination": "termination",
    "nodeMonitorGracePeriod": "node_monitor_grace_period",
    "nodeMonitorPeriod": "node_monitor_period",
    "horizon": "horizon",
}


def read_scenario(
    path: str, parameters: Parameters, *, namespace: str, stdin: BinaryIO, minor: int = BASE
) -> ScenarioFile:
    """The scenario of a file, for Kubernetes 1.`minor`; `parameters` are what it does not give.

    Raises:
        InputError: with everything that is wrong with it.
    """
    problems = Problems()
    found: list[ScenarioFile] = []
    for name, text in read_inputs(find_inputs([path], stdin, problems), problems):
        for document in documents(name, text, problems):
            data = data_of(document, problems)
            if data is not None:
                found.append(_Reading(name, problems, EditReader(namespace, stdin, minor)).scenario(data, parameters))
    if problems.found:
        raise InputError(problems.found)
    if len(found) != 1:
        raise InputError([Problem(path, f"holds {len(found)} scenarios", hint="give a file with one")])
    return found[0]


class _Reading:
    """One document."""

    def __init__(self, where: str, problems: Problems, reader: EditReader) -> None:
        self._where = where
        self._problems = problems
        self._reader = reader

    def scenario(self, data: Any, parameters: Parameters) -> ScenarioFile:
        if not isinstance(data, Mapping) or (data.get("apiVersion"), data.get("kind")) != (API_VERSION, KIND):
            self._problems.add(self._where, "is not a scenario", f"write apiVersion: {API_VERSION} and kind: {KIND}")
            return ScenarioFile(parameters)
        for field in sorted(data.keys() - set(_FIELDS)):
            self._unknown(str(field), _FIELDS, "field")
        return ScenarioFile(self._parameters(data.get("parameters"), parameters), self._steps(data.get("steps")))

    def _unknown(self, name: str, known: Sequence[str], what: str) -> None:
        hint = did_you_mean(nearest(name, known)[:1], otherwise=f"there are {', '.join(known)}")
        self._problems.add(self._where, f"unknown {what} {name!r}", hint)

    def _parameters(self, given: Any, parameters: Parameters) -> Parameters:
        if given is None:
            return parameters
        if not isinstance(given, Mapping):
            self._problems.add(self._where, "parameters: is not a map of durations", "write `start: 5s`")
            return parameters
        found: dict[str, float | None] = {}
        for name, value in given.items():
            if name not in _PARAMETERS:
                self._unknown(str(name), list(_PARAMETERS), "parameter")
                continue
            try:
                found[_PARAMETERS[name]] = _seconds(name, value)
            except ValueError as wrong:
                self._problems.add(self._where, f"parameters.{name}: {wrong}")
        return replace(parameters, **found)

    def _steps(self, given: Any) -> tuple[SourcedEdit, ...]:
        if not isinstance(given, list) or not given:
            self._problems.add(self._where, "steps: is not a list of edits", "write `- cordon: [NODE]`")
            return ()
        steps: list[SourcedEdit] = []
        for number, step in enumerate(given, 1):
            where = f"{self._where}, step {number}"
            try:
                steps.append(SourcedEdit(where, parse_edit(step, self._reader)))
            except Wrong as wrong:
                self._problems.add(where, wrong.message, wrong.hint)
            except InputError as wrong:
                self._problems.extend(placed(wrong.problems, where))
        return tuple(steps)


def _seconds(name: str, value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{value!r} is not a duration such as 10s or 1m30s")  # noqa: TRY004 - bad input, not a bug
    return parse_parameter(name, value if isinstance(value, str) else f"{value}s")
