"""JSON and YAML: nothing in them acts on a terminal, and the data stay the same."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import yaml

from kwhatif.render.data import to_json, to_yaml
from kwhatif.render.safe import is_safe

TEXTS = [
    "plain",
    "ünï €",
    "a\u202eb",
    "x\x7f\x9b\u2028y\x85",
    "\U000e0001z",
    "\x1b[31m\u202e",
    "two\nlines",
    "tab\t\u200b",
]


class Report:
    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def to_json(self, indent: int = 0) -> str:
        return msgspec.json.format(msgspec.json.encode(self.data), indent=indent).decode()

    def to_dict(self) -> dict[str, Any]:
        return self.data


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_what_could_act_is_escaped(text: str) -> None:
    report = Report({"name": text, text: [text]})
    for written, read in ((to_json(report), json.loads), (to_yaml(report), yaml.safe_load)):
        assert read(written) == report.data
        assert is_safe(written.replace("\n", ""))


def test_other_texts_stay_as_they_are() -> None:
    assert to_yaml(Report({"name": "ünï €"})) == "name: ünï €\n"
    assert '"ünï €"' in to_json(Report({"name": "ünï €"}))
