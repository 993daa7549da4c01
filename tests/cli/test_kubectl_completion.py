"""`kubectl whatif` is completed by the protocol of kubectl's plugins."""

import sys
import tomllib
from importlib import import_module

import pytest

from kwhatif.cli.about import completed
from tests import ROOT

#: What the shell is to do: nothing more, or to complete names of files.
NO_FILES, FILES = ":4", ":0"


def values(*words: str) -> list[str]:
    return [line.partition("\t")[0] for line in completed(list(words))]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sched",), ["schedule", NO_FILES]),
        (("snapshot", ""), ["info", "save", NO_FILES]),
        (("schedule", "--kubecon"), ["--kubeconfig", NO_FILES]),
        (("schedule", "-o", "j"), ["json", NO_FILES]),
        (("schedule", ""), [FILES]),
    ],
)
def test_candidates(words: tuple[str, ...], expected: list[str]) -> None:
    found = values(*words)
    assert sorted(found[:-1]) == sorted(expected[:-1])
    assert found[-1] in (NO_FILES, FILES)
    if expected[:-1]:
        assert found[-1] == expected[-1]


def test_all_commands_are_described() -> None:
    lines = completed([""])
    assert {"schedule", "drain", "capacity", "gate"} <= {line.partition("\t")[0] for line in lines}
    assert all(line.partition("\t")[2] for line in lines[:-1])
    assert lines == completed([])


def test_the_entry_point_is_the_name_that_kubectl_looks_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["kubectl_complete-whatif"].partition(":")
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-whatif", "sched"])
    getattr(import_module(module), function)()
    assert capsys.readouterr().out.splitlines()[-1] == NO_FILES
