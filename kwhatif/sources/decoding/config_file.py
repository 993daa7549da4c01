"""Reading one file of configuration as strictly as kube-scheduler reads its own; policies and tables, too."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

from kwhatif.errors import InputError, Problem
from kwhatif.sources.decoding.lenient import data_of
from kwhatif.sources.text.documents import Document, documents
from kwhatif.sources.text.files import find_inputs, read_inputs
from kwhatif.sources.text.problems import Problems
from kwhatif.sources.text.yaml_text import FieldNode, YAMLProblem, line_tree, repeated_keys

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True)
class ConfigFile:
    """A configuration file, parsed."""

    name: str
    text: bytes
    data: Any

    def located(self, failure: InputError) -> InputError:
        """The failure with the file, and the line of its field, in the place of each problem."""
        return InputError([problem._replace(where=self._where(problem.field)) for problem in failure.problems])

    def line_of(self, field: str) -> int:
        """The line of a field, or of what holds it; 0 where that is not known."""
        node = self._tree
        if node is None:
            return 0
        for name, index in _STEP.findall(field):
            node = node.children.get(name or int(index), node)
        return node.line + 1

    @cached_property
    def _tree(self) -> FieldNode | None:
        with suppress(YAMLProblem):  # nearly all JSON is YAML
            return line_tree(self.text)
        return None

    def _where(self, field: str) -> str:
        line = self.line_of(field)
        return f"{self.name}, line {line}" if line else self.name


def read_config(
    path: str, *, stdin: BinaryIO, kind: str = "KubeSchedulerConfiguration", may_be_empty: bool = False
) -> ConfigFile:
    """Read one file, or "-"; of two equal keys neither counts. One that may be empty is then an empty object.

    Raises:
        InputError: the file cannot be read, or is not one YAML or JSON object.
    """
    file = read_data(path, stdin=stdin, kind=kind, may_be_empty=may_be_empty)
    if not isinstance(file.data, dict):
        raise InputError([Problem(path, f"expected a {kind}, which is an object")])
    return file


def read_data(path: str, *, stdin: BinaryIO, kind: str, may_be_empty: bool = False) -> ConfigFile:
    """As `read_config`, whatever the document is: a list, too.

    Raises:
        InputError: the file cannot be read, or is not one YAML or JSON document.
    """
    problems = Problems()
    texts = list(read_inputs(find_inputs([path], stdin, problems), problems))
    found: list[Document] = []
    for name, text in texts:
        found.extend(documents(name, text, problems))
        if not problems:
            with suppress(YAMLProblem):
                for line, key in repeated_keys(text):
                    problems.add(f"{name}, line {line}", f'key "{key}" already set in map')
    problems.raise_if_any()
    if may_be_empty and not found and texts:
        return ConfigFile(*texts[0], {})
    if len(found) != 1:
        raise InputError([Problem(path, f"expected one {kind}, found {len(found)} documents")])
    data = data_of(found[0], problems)
    problems.raise_if_any()
    name, text = texts[0]
    return ConfigFile(name, text, data)
